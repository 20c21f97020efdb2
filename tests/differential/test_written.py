"""A slice of `run.py --written`: random nested tables that we write read equal by us and by the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from random_tables import random_case
from witness import Witness
from written import compare_written, write_case

from lance_arrow.errors import UnsupportedError

NUM_TABLES, NUM_TABLES_EVERY_DAY = 40, 5
# Tables that were once written or judged wrong.
KEPT_SEEDS: dict[str, tuple[int, ...]] = {
    "2.0": (),
    # Pages that tell differently of null structs around lists; compressed codes; structs never null in null ones.
    "2.1": (164, 11304, 11389, 12810),
    # Tuples beside others; dictionaries without items; nulls around fields without nulls; slices that Arrow refuses to
    # flatten; takes that find no value of a packed struct, where the reference dies of its own files too.
    "2.2": (53, 82, 153, 280, 10308, 11324, 11641, 11846),
    # Lists of lists of tuples; maps of maps of nothing, which Arrow's cast dies of; batches, some with a bitmap; packed
    # structs that the metadata wishes zipped.
    "2.3": (38, 10910, 13759, 21731, 305923, 306139),
}


@pytest.mark.interop
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
def test_random_tables(witness: Witness, tmp_path: Path, version: str, whole_run: bool) -> None:
    count = NUM_TABLES if whole_run else NUM_TABLES_EVERY_DAY
    seeds = (*range(count), *KEPT_SEEDS[version])
    outcomes = {seed: compare_written(witness, tmp_path, version, seed) for seed in seeds}
    failures = {seed: outcome.failures for seed, outcome in outcomes.items() if outcome.failures}
    assert not failures, f"python tests/differential/run.py --written --version {version} --seed {next(iter(failures))}"
    assert sum(outcome.compared > 0 for outcome in outcomes.values()) > count * 3 // 4
    assert not list(tmp_path.iterdir())


def test_files_are_the_same_at_every_write(tmp_path: Path) -> None:
    num_written = 0
    for seed in range(12):
        paths = [tmp_path / f"{seed}-{again}.lance" for again in range(2)]
        try:
            for path in paths:
                write_case(random_case(seed, "2.2"), path, "2.2", np.random.default_rng(seed))
        except UnsupportedError:
            continue
        num_written += 1
        assert paths[0].read_bytes() == paths[1].read_bytes()
    assert num_written >= 8


@pytest.mark.interop
def test_a_wrong_value_is_seen(witness: Witness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_something_else(case: object, path: Path, version: str, rng: np.random.Generator, presets: object) -> None:
        right = random_case(seed, version)
        changed = [pa.nulls(right.table.num_rows, field.type) for field in right.table.schema]
        fields = [field.with_nullable(True) for field in right.table.schema]
        wrong = type(right)(pa.table(changed, schema=pa.schema(fields)), right.slices, right.writer_options)
        write_case(wrong, path, version, rng)

    seed = 2
    assert not compare_written(witness, tmp_path, "2.2", seed).failures
    monkeypatch.setattr("written.write_case", write_something_else)
    assert compare_written(witness, tmp_path, "2.2", seed).failures
