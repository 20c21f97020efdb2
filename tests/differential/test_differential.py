"""A slice of `nox -s differential`: random nested tables of the reference read equal; and the comparison can fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from canonical import difference
from compare import compare
from random_tables import random_case
from witness import Witness

NUM_TABLES, NUM_TABLES_EVERY_DAY = 60, 12
# Kept: tables that once read wrong or are of a rare kind (here more than 8 MiB in pages of default size).
KEPT_SEEDS: dict[str, tuple[int, ...]] = {"2.0": (), "2.1": (), "2.2": (142,), "2.3": ()}


@pytest.mark.interop
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
def test_random_tables(witness: Witness, tmp_path: Path, version: str, whole_run: bool) -> None:
    count = NUM_TABLES if whole_run else NUM_TABLES_EVERY_DAY
    seeds = (*range(count), *KEPT_SEEDS[version])
    outcomes = {seed: compare(witness, tmp_path, version, seed) for seed in seeds}
    failures = {seed: outcome.failures for seed, outcome in outcomes.items() if outcome.failures}
    assert not failures, f"python tests/differential/run.py --version {version} --seed {next(iter(failures))}"
    assert sum(outcome.compared > 0 for outcome in outcomes.values()) > count * 3 // 4
    assert not list(tmp_path.iterdir())


def test_tables_are_the_same_at_every_call() -> None:
    first, again = random_case(7, "2.2"), random_case(7, "2.2")
    assert first.table.equals(again.table)
    assert (first.slices, first.writer_options) == (again.slices, again.writer_options)


def test_tables_are_valid() -> None:
    for seed in range(40):
        random_case(seed, "2.2").expected.validate(full=True)


LISTS = pa.array([[1, None], None, [], [3]], pa.list_(pa.int32()))
CHANGED = {
    "value": pa.array([[2, None], None, [], [3]], pa.list_(pa.int32())),
    "null item": pa.array([[1, 0], None, [], [3]], pa.list_(pa.int32())),
    "null list": pa.array([[1, None], [], [], [3]], pa.list_(pa.int32())),
    "border": pa.array([[1], None, [None], [3]], pa.list_(pa.int32())),
    "order": pa.array([[1, None], [], None, [3]], pa.list_(pa.int32())),
    "length": pa.array([[1, None], None, []], pa.list_(pa.int32())),
    "type": pa.array([[1, None], None, [], [3]], pa.list_(pa.int64())),
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_change_is_seen(what: str) -> None:
    wrapped = [pa.chunked_array([pa.StructArray.from_arrays([lists], ["s"])]) for lists in (LISTS, CHANGED[what])]
    assert difference(pa.chunked_array([LISTS]), pa.chunked_array([CHANGED[what]]), types=False)
    assert difference(*wrapped, types=False)


def test_bits_of_floats_are_seen() -> None:
    zeros, others = pa.chunked_array([[0.0, None]]), pa.chunked_array([[-0.0, None]])
    assert difference(zeros, others)
    nan = np.array([0x7FF8000000000001, 0x7FF8000000000001], np.uint64).view(np.float64)
    assert difference(pa.chunked_array([pa.array(nan)]), pa.chunked_array([pa.array(nan)])) is None


def test_chunks_and_what_lies_below_nulls_do_not_matter() -> None:
    hiding = pa.ListArray.from_arrays(pa.array([0, 2, 4, 4, 5]), pa.array([1, None, 8, 9, 3], pa.int32()))
    bitmap = pa.py_buffer(bytes([0b1101]))
    hiding = pa.Array.from_buffers(hiding.type, 4, [bitmap, hiding.buffers()[1]], children=[hiding.values])
    apart = pa.chunked_array([hiding.slice(0, 1), hiding.slice(1, 0), hiding.slice(1, 3)])
    assert difference(pa.chunked_array([LISTS]), apart) is None
    rows = np.array([3, 0, 0, 1])
    assert difference(apart, pa.chunked_array([[[3], [1, None]], [[1, None], None]], LISTS.type), rows) is None
    assert difference(apart, pa.chunked_array([[[3], [1, None], [1, None], []]], LISTS.type), rows)
