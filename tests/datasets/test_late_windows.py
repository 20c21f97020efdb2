"""Windows of several pieces: rows that they leave are read at once, unless that would read the filter twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from same import assert_same
from stores import CountingStore
from values import seeded

from lance_arrow import LanceFile, write_table
from lance_arrow.assembly.short_runs import dense_share
from lance_arrow.datasets.late_reading import LateReader, late_window_rows
from lance_arrow.datasets.windows import WINDOW_ROWS
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import ReadReport

# Each thread gets a window of three pieces.
NUM_ROWS = 3 * WINDOW_ROWS * default_runtime().settings.num_threads
F = pc.field


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = seeded("windows")
    n = np.arange(NUM_ROWS)
    shuffled = rng.permutation(n)
    words = pa.array(["red", "green", "blue"])
    numbers = pa.array((shuffled % 997 % 3).astype("i1"), mask=shuffled % 11 == 0)
    return pa.table(
        {
            "n": n,
            "random": shuffled,
            "holes": pa.array(shuffled, mask=rng.random(NUM_ROWS) < 0.5),
            "text": pa.array(shuffled).cast(pa.string()),
            "word": pa.DictionaryArray.from_arrays(numbers, words),
            "pair": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(2 * NUM_ROWS, dtype="i2")), 2),
        }
    )


@pytest.fixture(scope="module")
def path(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without zone maps: every piece is judged by the filter."""
    made = tmp_path_factory.mktemp("late") / "file.lance"
    write_table(table, made, rows_per_zone=None)
    return made


@pytest.fixture
def gathered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For each window whose rows were read at once, how many pieces it had."""
    seen: list[int] = []
    gather = LateReader._gathered

    def watched(self: LateReader, pieces: list, pool: pa.MemoryPool | None) -> list[pa.RecordBatch]:
        seen.append(len(pieces))
        return gather(self, pieces, pool)

    monkeypatch.setattr(LateReader, "_gathered", watched)
    return seen


SPARSE = {
    "integers": (F("random") < 40, {"random"}),
    "with nulls": (F("holes") < 60, {"holes"}),
    "text": (F("text") == "4321", {"text"}),
    "dictionary": ((F("word") == "red") & (F("random") < 200), {"word", "random"}),
    "two columns": ((F("random") < 5000) & (F("text") > "49"), {"random", "text"}),
    "no row": (F("random") < 0, {"random"}),
}


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("columns", [None, ["text"], ["pair", "n"], ["random"], []], ids=str)
def test_few_rows_are_read_at_once(
    path: Path, table: pa.Table, gathered: list[int], name: str, columns: list[str] | None
) -> None:
    condition, mentioned = SPARSE[name]
    expected = table.filter(condition)
    with LanceFile(path) as file:
        found = file.read(columns, filter=condition)
    assert found.num_rows == expected.num_rows
    if columns != []:
        assert_same(expected if columns is None else expected.select(columns), found)
    # Where nothing but the filter's columns is wanted, there is nothing to read at once.
    if not mentioned.issuperset(table.column_names if columns is None else columns):
        assert gathered == [3] * default_runtime().settings.num_threads


def test_zones_are_sure_of_some_rows(tmp_path: Path, table: pa.Table, gathered: list[int]) -> None:
    write_table(table, tmp_path / "file.lance")
    condition = (F("n") < 9000) | (F("random") < 1000)
    with LanceFile(tmp_path / "file.lance") as file:
        assert_same(table.filter(condition), file.read(filter=condition))
        assert_same(table.filter(condition).select(["text"]), file.read(["text"], filter=condition))
    assert gathered


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_many_rows_are_read_at_once_too_and_cut(path: Path, table: pa.Table, gathered: list[int], share: float) -> None:
    condition = F("random") < int(share * NUM_ROWS)
    with LanceFile(path) as file:
        assert_same(table.filter(condition), file.read(filter=condition))
        assert gathered == [3] * default_runtime().settings.num_threads
        batches = list(file.to_batches(["n", "random"], 1000, filter=condition))
        assert all(len(batch) <= WINDOW_ROWS for batch in file.to_batches(filter=condition))
    assert all(len(batch) <= 1000 for batch in batches)
    assert_same(table.filter(condition).select(["n", "random"]), pa.Table.from_batches(batches))


def test_filters_on_what_cannot_be_joined_are_read_piece_by_piece(
    path: Path, table: pa.Table, gathered: list[int]
) -> None:
    condition = (F("word") == "red") & (F("random") < NUM_ROWS // 2)
    with LanceFile(path) as file:
        assert_same(table.filter(condition), file.read(filter=condition))
        assert not gathered


def test_rows_of_some_pieces_only(path: Path, table: pa.Table, gathered: list[int]) -> None:
    start, stop = WINDOW_ROWS // 2, 2 * WINDOW_ROWS + 7
    condition = (F("random") < 500) & (F("holes").is_valid())
    with LanceFile(path) as file:
        found = file.read(filter=condition, rows=(start, stop))
    assert_same(table.slice(start, stop - start).filter(condition), found)


def test_a_far_file_is_judged_in_one_round_for_each_window(
    path: Path, table: pa.Table, receipts: list[ReadReport]
) -> None:
    store = CountingStore({"file": path.read_bytes()})
    condition = F("random") < 20
    with LanceFile("file", filesystem=store) as file:
        assert_same(table.filter(condition), file.read(filter=condition))
        store.waves.clear()
        assert_same(table.filter(condition), file.read(filter=condition))
    num_windows = -(-NUM_ROWS // late_window_rows(NUM_ROWS, default_runtime().settings.num_threads))
    assert len(store.waves) <= 2 * num_windows


def test_narrow_columns_are_decoded_whole_sooner(path: Path) -> None:
    with LanceFile(path) as file:
        reader = file._rows
        shares = {}
        for root in reader.roots:
            leaves = list(root.leaves())
            shares[root.field.name] = dense_share(reader.weights([root]), len(leaves))
    assert 0.005 < shares["pair"] < shares["n"] < 0.03
    assert shares["n"] < shares["text"] <= 0.3
