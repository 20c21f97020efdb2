"""`merge_insert` on random tables: the rows, and the counts, that the reference gives for the same clauses."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from witness import Witness

from lance_arrow import LanceTable

pytestmark = pytest.mark.interop
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("v", pa.float64())])


def random_rows(rng: random.Random, keys: list[int | None]) -> pa.Table:
    rows = [
        {"id": key, "name": rng.choice([None, "a", "b", "ü" * 20]), "v": rng.choice([None, rng.random() * 10])}
        for key in keys
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def ordered(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", range(12))
def test_random_merges_by_turns(witness: Witness, tmp_path: Path, seed: int) -> None:
    """Each merges into a table of the other's, then the other into the result."""
    rng = random.Random(seed)
    rows = random_rows(rng, [*rng.sample(range(60), 30), *([None] * rng.randrange(2))])
    ours, theirs = tmp_path / "ours.lance", tmp_path / "theirs.lance"
    witness.write_directory(rows, ours, "2.2", max_rows_per_file=8)
    LanceTable.create(theirs, rows, max_rows_per_file=8, enable_stable_row_ids=rng.random() < 0.5)
    for _ in range(3):
        source = random_rows(rng, [*rng.sample(range(70), rng.randrange(1, 25))])
        clauses: list[tuple[str, str | None]] = []
        if rng.random() < 0.7:
            clauses.append(("when_matched_update_all", rng.choice([None, "source.v < target.v"])))
        if rng.random() < 0.7 or not clauses:
            clauses.append(("when_not_matched_insert_all", None))
        if rng.random() < 0.4:
            clauses.append(("when_not_matched_by_source_delete", rng.choice([None, "v > 3", "id % 2 = 0"])))
        before = LanceTable.open(ours).to_table().num_rows
        merge: Any = LanceTable.open(ours).merge_insert("id")
        for name, condition in clauses:
            merge = getattr(merge, name)(*([] if condition is None else [condition]))
        counts = merge.execute(source)
        witness.change_table(theirs, {"do": "merge_clauses", "on": ["id"], "rows": source, "clauses": clauses})
        found = LanceTable.open(ours).to_table()
        assert found.num_rows - before == counts["num_inserted_rows"] - counts["num_deleted_rows"]
        assert ordered(found) == ordered(LanceTable.open(theirs).to_table()), clauses
        assert ordered(witness.read_version(ours)) == ordered(witness.read_version(theirs))
        ours, theirs = theirs, ours
