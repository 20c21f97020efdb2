"""Merges: every clause alone and together, against a plain join by hand."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import InvalidArgumentError

ROWS = pa.table(
    {
        "k": pa.array([1, 2, 3, 4, 5, None], pa.int64()),
        "g": ["a", "b", "a", "b", None, "a"],
        "v": pa.array([10, 20, 30, 40, 50, 60], pa.int32()),
    }
)
SOURCE = pa.table(
    {
        "k": pa.array([2, 3, 9, None, 5], pa.int64()),
        "g": ["b", "x", "z", "a", None],
        "v": pa.array([200, 300, 900, 600, 500], pa.int32()),
    }
)


def rows(table: LanceTable) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_table().to_pylist()), key=repr)


def by_hand(on: list[str], *, update: bool, delete: bool, insert: bool, others: bool) -> list[tuple[Any, ...]]:
    source, kept, met = SOURCE.to_pylist(), [], set()
    for row in ROWS.to_pylist():
        key = [row[name] for name in on]
        found = next((i for i, one in enumerate(source) if None not in key and [one[name] for name in on] == key), None)
        if found is None:
            if not others:
                kept.append(row)
            continue
        met.add(found)
        if not delete:
            kept.append(source[found] if update else row)
    if insert:
        kept += [one for i, one in enumerate(source) if i not in met]
    return sorted((tuple(row.values()) for row in kept), key=repr)


@pytest.mark.cover(1)
@pytest.mark.parametrize("on", ["k", "g", "k g"])
@pytest.mark.parametrize("stable", [False, True])
def test_every_mixture_of_clauses(tmp_path: Path, stable: bool, on: str) -> None:
    names = on.split()
    for number, (matched, insert, others) in enumerate(
        itertools.product(["", "update", "delete"], [False, True], [False, True])
    ):
        if not (matched or insert or others):
            continue
        table = LanceTable.create(tmp_path / f"{number}.lance", ROWS, max_rows_per_file=2, enable_stable_row_ids=stable)
        merge = table.merge(SOURCE, on=names)
        if matched:
            merge = getattr(merge, "when_matched_update_all" if matched == "update" else "when_matched_delete")()
        if insert:
            merge = merge.when_not_matched_insert_all()
        if others:
            merge = merge.when_not_matched_by_source_delete()
        counts = merge.execute(max_rows_per_file=3)
        expected = by_hand(names, update=matched == "update", delete=matched == "delete", insert=insert, others=others)
        assert rows(table) == expected
        assert table.version == 2
        change = counts["num_inserted_rows"] - counts["num_deleted_rows"]
        assert len(expected) == ROWS.num_rows + change
        if stable:
            ids = table.to_table(columns=["_rowid"])["_rowid"].to_pylist()
            assert len(set(ids)) == len(ids)


def test_conditions(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", ROWS)
    merge = table.merge(SOURCE, on="k").when_matched_update_all("source.v > target.v + 200 AND target.g IS NOT NULL")
    assert merge.execute() == {"num_inserted_rows": 0, "num_updated_rows": 1, "num_deleted_rows": 0}
    assert rows(table) == sorted([*rows_but(3), (3, "x", 300)], key=repr)
    merge = table.merge(SOURCE, on="k").when_not_matched_by_source_delete("v > 30")
    assert merge.execute()["num_deleted_rows"] == 2
    assert sorted(row[2] for row in rows(table)) == [10, 20, 50, 300]
    with pytest.raises(InvalidArgumentError, match="not understood"):
        table.merge(SOURCE, on="k").when_matched_update_all("source.v + 1").execute()
    condition = pc.field("source", "v") > pc.field("target", "v")
    assert table.merge(SOURCE, on="k").when_matched_update_all(condition).execute()["num_updated_rows"] == 2


def rows_but(key: int) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in ROWS.to_pylist() if row["k"] != key]


def test_some_columns(tmp_path: Path) -> None:
    """Columns that the source has not keep their values, or are null where rows are new."""
    table = LanceTable.create(tmp_path / "t.lance", ROWS, enable_stable_row_ids=True)
    before = {row["k"]: row["_rowid"] for row in table.to_table(columns=["k", "_rowid"]).to_pylist()}
    table.merge(SOURCE.select(["v", "k"]), on="k").when_matched_update_all().when_not_matched_insert_all().execute()
    found = {row["k"]: row for row in table.to_table(columns=["k", "g", "v", "_rowid"]).to_pylist()}
    assert [found[k]["g"] for k in (2, 3, 5, 9)] == ["b", "a", None, None]
    assert [found[k]["v"] for k in (1, 2, 3, 5, 9)] == [10, 200, 300, 500, 900]
    assert all(found[k]["_rowid"] == before[k] for k in (1, 2, 3, 4, 5))


def test_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, ROWS)
    files = sorted(path.rglob("*.*"))
    twice = pa.concat_tables([SOURCE, SOURCE])
    for merge, message in (
        (table.merge(SOURCE, on="k"), "would change no rows"),
        (table.merge(SOURCE, on="k").when_matched_fail(), "would change no rows"),
        (table.merge(SOURCE, on="k").when_matched_update_all().when_matched_delete(), "several actions"),
        (table.merge(SOURCE, on="k").when_matched_fail().when_not_matched_insert_all(), "has a row of the key"),
        (table.merge(SOURCE, on="nope").when_matched_delete(), "no column 'nope'"),
        (table.merge(SOURCE.select(["v"]), on="k").when_matched_delete(), "not in the source"),
        (table.merge(twice, on="k").when_matched_update_all(), "several rows of the source"),
        (table.merge(SOURCE.append_column("x", SOURCE["v"]), on="k").when_matched_delete(), "no column 'x'"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            merge.execute()
    for on in ([], 3, ["k", "k"], None):
        with pytest.raises(InvalidArgumentError, match="on is"):
            table.merge(SOURCE, on=on)  # type: ignore[arg-type]
    assert (table.version, sorted(path.rglob("*.*"))) == (1, files)


def test_after_others(tmp_path: Path) -> None:
    """What others inserted since is matched, not inserted twice."""
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, ROWS)
    stale = LanceTable.open(path)
    table.append(SOURCE.slice(2, 1))
    counts = stale.merge(SOURCE, on="k").when_matched_update_all().when_not_matched_insert_all().execute()
    assert counts == {"num_inserted_rows": 1, "num_updated_rows": 4, "num_deleted_rows": 0}
    assert [row["k"] for row in stale.to_table().to_pylist()].count(9) == 1


def test_many_keys(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    ids = random.permutation(5000)
    big = pa.table({"a": ids // 70, "b": pa.array([f"s{i % 70}" for i in ids.tolist()]), "v": np.zeros(5000)})
    table = LanceTable.create(tmp_path / "t.lance", big, max_rows_per_file=700)
    some = big.slice(100, 1500).set_column(2, "v", pa.array(np.arange(1500.0)))
    merge = table.merge(iter(some.to_batches(max_chunksize=77)), on=["b", "a"], schema=some.schema)
    assert merge.when_matched_update_all().execute()["num_updated_rows"] == 1500
    joined = table.to_table().join(some, ["a", "b"], right_suffix="_new", join_type="inner")
    assert joined.num_rows == 1500
    assert joined["v"].to_pylist() == joined["v_new"].to_pylist()
    assert table.count_rows() == 5000
