"""What a window of a filtered read takes: the filter's columns once, then the others of the rows that it leaves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from same import assert_same
from stores import CountingStore
from values import seeded

from lance_arrow import LanceFile, LanceTable, write_table
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.scan.sparse_selection import dense_share
from lance_arrow.scan.windows import WINDOW_ROWS, late_window_rows
from lance_arrow.spi import ReadReport
from lance_arrow.spi.layouts import RowRanges

# Each thread gets a window, larger than those of unfiltered reads.
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
    """Without zone maps: every row is judged by the filter."""
    made = tmp_path_factory.mktemp("late") / "file.lance"
    write_table(table, made, rows_per_zone=None)
    return made


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[str, ...], int]]:
    """Columns of each read, and how many rows."""
    seen: list[tuple[tuple[str, ...], int]] = []
    read = RowReader.read

    def watched(self: RowReader, nodes: Any, rows: RowRanges, *rest: Any, **named: Any) -> Any:
        seen.append((tuple(node.field.name for node in nodes), rows.num_rows))
        return read(self, nodes, rows, *rest, **named)

    monkeypatch.setattr(RowReader, "read", watched)
    return seen


def rows_by_column(reads: list[tuple[tuple[str, ...], int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for names, num_rows in reads:
        found.update(dict.fromkeys(names, num_rows))
    return found


SPARSE = {
    "integers": (F("random") < 40, {"random"}),
    "with nulls": (F("holes") < 60, {"holes"}),
    "text": (F("text") == "4321", {"text"}),
    "dictionary": ((F("word") == "red") & (F("random") < 200), {"word", "random"}),
    "two columns": ((F("random") < 5000) & (F("text") > "49"), {"random", "text"}),
    "no row": (F("random") < 0, {"random"}),
}


@pytest.mark.cover(1)
@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("columns", [None, ["text"], ["pair", "n"], ["random"], []], ids=str)
def test_few_rows_are_left(
    path: Path, table: pa.Table, reads: list[tuple[tuple[str, ...], int]], name: str, columns: list[str] | None
) -> None:
    condition, mentioned = SPARSE[name]
    expected = table.filter(condition)
    with LanceFile(path) as file:
        found = file.read(columns, filter=condition)
    assert found.num_rows == expected.num_rows
    if columns != []:
        assert_same(expected if columns is None else expected.select(columns), found)
    wanted = set(table.column_names if columns is None else columns)
    # Numbers and texts come as flags, if other columns are wanted as well; then they are read with these.
    late = wanted - mentioned and wanted - (mentioned - {"random", "holes", "text"})
    expected_rows = Counter(dict.fromkeys(mentioned, NUM_ROWS))
    expected_rows.update({name: found.num_rows for name in late if len(found)})
    assert rows_by_column(reads) == expected_rows
    assert len(reads) <= 2 * default_runtime().settings.num_threads


@pytest.mark.parametrize("sure_rows", [9_000, NUM_ROWS - 20_000])
def test_zones_are_sure_of_some_rows(
    tmp_path: Path, table: pa.Table, reads: list[tuple[tuple[str, ...], int]], sure_rows: int
) -> None:
    """Rows that are sure are not looked at: of flags, nothing is read twice."""
    write_table(table, tmp_path / "file.lance", rows_per_zone=8192)
    maybe_rows = NUM_ROWS - sure_rows // 8192 * 8192
    condition = (F("n") < sure_rows) | (F("random") < 1000)
    with LanceFile(tmp_path / "file.lance") as file:
        found = file.read(["text"], filter=condition)
        assert_same(table.filter(condition).select(["text"]), found)
        assert rows_by_column(reads)["random"] == maybe_rows
        assert rows_by_column(reads)["text"] == found.num_rows
        reads.clear()
        assert_same(table.filter(condition), file.read(filter=condition))
        read_rows = rows_by_column(reads)
        assert read_rows["random"] == read_rows["n"] == found.num_rows + maybe_rows
        assert read_rows["word"] == found.num_rows
        reads.clear()
        # Values of the filter's columns are all that is wanted: the few sure rows are looked at, too.
        assert_same(table.filter(condition).select(["random"]), file.read(["random"], filter=condition))
    at_most = NUM_ROWS if 2 * maybe_rows > NUM_ROWS else found.num_rows + maybe_rows
    assert maybe_rows <= rows_by_column(reads)["random"] <= at_most


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_many_rows_are_left_and_cut(
    path: Path, table: pa.Table, reads: list[tuple[tuple[str, ...], int]], share: float
) -> None:
    condition = F("random") < int(share * NUM_ROWS)
    with LanceFile(path) as file:
        found = file.read(filter=condition)
        assert_same(table.filter(condition), found)
        assert rows_by_column(reads)["random"] == NUM_ROWS + found.num_rows
        batches = list(file.to_batches(["n", "random"], 1000, filter=condition))
        assert all(len(batch) <= WINDOW_ROWS for batch in file.to_batches(filter=condition))
    assert all(len(batch) <= 1000 for batch in batches)
    assert_same(table.filter(condition).select(["n", "random"]), pa.Table.from_batches(batches))


def test_many_rows_are_left_by_a_filter_on_a_dictionary(path: Path, table: pa.Table) -> None:
    condition = (F("word") == "red") & (F("random") < NUM_ROWS // 2)
    with LanceFile(path) as file:
        assert_same(table.filter(condition), file.read(filter=condition))


def test_few_rows_of_a_table_are_read_at_once(table: pa.Table, tmp_path: Path) -> None:
    made = LanceTable.create(tmp_path / "table", table.slice(0, 500))
    condition = F("random") < NUM_ROWS // 3
    expected = table.slice(0, 500).filter(condition)
    assert 0 < expected.num_rows < 500
    assert_same(expected, made.to_table(filter=condition))
    assert made.to_table(["_rowid", "random"], filter=condition)["random"].equals(expected["random"])


def test_some_rows_are_asked_for(path: Path, table: pa.Table) -> None:
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
