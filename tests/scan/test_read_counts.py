"""Every way to read sends a receipt, with figures; `lance_arrow.receipts()` collects them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

import lance_arrow
from lance_arrow import LanceFile, LanceFormat, LanceTable, Runtime
from lance_arrow.spi import ReadReport

NUM_ROWS = 1000
ROWS = pa.table({"a": range(NUM_ROWS), "s": [f"text {row}" for row in range(NUM_ROWS)]})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("receipts") / "file.lance"
    lance_arrow.write_table(ROWS, path)
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("receipts") / "table.lance"
    LanceTable.create(path, ROWS, max_rows_per_file=400)
    return path


def _file(read: Callable[[LanceFile], Any]) -> Callable[[Path, Path], Any]:
    def of(file: Path, _: Path) -> Any:
        with LanceFile(file) as opened:
            return read(opened)

    return of


def _table(read: Callable[[LanceTable], Any]) -> Callable[[Path, Path], Any]:
    return lambda _, table: read(LanceTable.open(table))


def _dataset(read: Callable[[Any], Any]) -> Callable[[Path, Path], Any]:
    return lambda file, _: read(pads.dataset(file, format=LanceFormat()))


def _table_dataset(read: Callable[[Any], Any]) -> Callable[[Path, Path], Any]:
    return lambda _, table: read(lance_arrow.dataset(table))


DOORS: dict[str, Callable[[Path, Path], Any]] = {
    "file.read": _file(lambda file: file.read()),
    "file.read filtered": _file(lambda file: file.read(filter=pc.field("a") > 500)),
    "file.take": _file(lambda file: file.take([5, 1, 5])),
    "file.to_batches": _file(lambda file: list(file.to_batches(batch_size=100))),
    "file.to_batches filtered": _file(lambda file: list(file.to_batches(filter=pc.field("a") > 500))),
    "file.count_rows": _file(lambda file: file.count_rows(pc.field("s") == "text 5")),
    "file as a stream": _file(pa.table),
    "read_table": lambda file, _: lance_arrow.read_table(file),
    "dataset.to_table": _dataset(pads.Dataset.to_table),
    "dataset.to_table filtered": _dataset(lambda dataset: dataset.to_table(filter=pc.field("a") > 500)),
    "dataset.head": _dataset(lambda dataset: dataset.head(3)),
    "dataset.take": _dataset(lambda dataset: dataset.take([5, 1])),
    "dataset.count_rows": _dataset(lambda dataset: dataset.count_rows(filter=pc.field("s") == "text 5")),
    "fragment.to_table": _dataset(lambda dataset: next(dataset.get_fragments()).to_table()),
    "fragment.take": _dataset(lambda dataset: next(dataset.get_fragments()).take([7])),
    "lance dataset.take": lambda file, _: lance_arrow.dataset(file).take([5, 1]),
    "lance dataset.take of a filter": lambda file, _: lance_arrow.dataset(file).take([1], filter=pc.field("a") > 9),
    "table.to_table": _table(lambda table: table.to_table()),
    "table.to_table filtered": _table(lambda table: table.to_table(filter="a > 500")),
    "table.take": _table(lambda table: table.take([999, 1])),
    "table.take_row_ids": _table(lambda table: table.take_row_ids([1])),
    "table.to_batches": _table(lambda table: list(table.to_batches(batch_size=100))),
    "table.count_rows": _table(lambda table: table.count_rows("s = 'text 5'")),
    "table dataset.to_table": _table_dataset(lambda dataset: dataset.to_table()),
    "table dataset.take": _table_dataset(lambda dataset: dataset.take([999, 1])),
    "table dataset.head": _table_dataset(lambda dataset: dataset.head(3)),
    "table dataset.count_rows": _table_dataset(lambda dataset: dataset.count_rows(filter=pc.field("s") == "text 5")),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_sends_a_receipt_with_figures(door: str, file: Path, table: Path) -> None:
    with lance_arrow.receipts() as found:
        DOORS[door](file, table)
    assert len(found) >= 1
    total = found.total
    assert total.files >= 1
    assert total.pages >= 1
    assert total.requests >= 1
    assert total.fetched_bytes >= total.requested_bytes >= 1
    assert total.columns
    assert total.seconds > 0


@pytest.mark.parametrize(("door", "rows"), [("table.take", 2), ("table.take_row_ids", 1), ("file.take", 3)])
def test_a_take_counts_its_rows(door: str, rows: int, file: Path, table: Path) -> None:
    with lance_arrow.receipts() as found:
        DOORS[door](file, table)
    (report,) = found
    assert report.rows == rows
    assert report.columns == ("a", "s")


def test_a_take_of_blobs_sends_one(tmp_path: Path) -> None:
    blobs = pa.field("image", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    path = tmp_path / "blobs.lance"
    lance_arrow.write_table(pa.table([pa.array([b"x" * 9000, b"y"], pa.large_binary())], pa.schema([blobs])), path)
    with LanceFile(path) as file, lance_arrow.receipts() as found:
        file.take_blobs("image", [0])
    (report,) = found
    assert (report.rows, report.columns) == (1, ("image",))
    assert report.requests


def test_small_files_that_are_taken_together_count_once_they_are_fetched(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "many.lance", ROWS, max_rows_per_file=50)
    wanted = list(range(0, NUM_ROWS, 50))
    sizes = sum(path.stat().st_size for path in (tmp_path / "many.lance" / "data").iterdir())
    with lance_arrow.receipts() as found:
        table.take(wanted)
        table.take(wanted)
    first, second = found
    assert (first.files, first.rows, first.pages) == (20, 20, 40)
    assert (first.requests, first.fetched_bytes) == (20, sizes)
    assert (second.files, second.rows, second.pages) == (20, 20, 40)
    assert (second.requests, second.fetched_bytes) == (0, 0)


def test_a_reader_that_stops_gets_its_receipt(file: Path, table: Path) -> None:
    with LanceFile(file) as opened, lance_arrow.receipts() as found:
        batches = opened.to_batches(batch_size=100)
        next(batches)
        batches.close()
    (report,) = found
    assert report.rows == 100
    with lance_arrow.receipts() as found:
        batches = LanceTable.open(table).to_batches(batch_size=100)
        next(batches)
        batches.close()
    (report,) = found
    assert 100 <= report.rows < NUM_ROWS


def test_a_read_that_fails_sends_none(file: Path) -> None:
    with LanceFile(file) as opened, lance_arrow.receipts() as found:
        with pytest.raises(lance_arrow.errors.InvalidArgumentError):
            opened.take([NUM_ROWS])
        with pytest.raises(lance_arrow.errors.InvalidArgumentError):
            opened.read(filter=pc.divide(pc.scalar(1), pc.field("a") - 5) > 0)
    assert len(found) == 0


def test_only_reads_within_the_block_count(file: Path) -> None:
    with LanceFile(file) as opened:
        with lance_arrow.receipts() as outer:
            opened.take([1])
            with lance_arrow.receipts() as inner:
                opened.take([1, 2])
            opened.take([1, 2, 3])
        opened.take([1, 2, 3, 4])
    assert [report.rows for report in outer] == [1, 2, 3]
    assert [report.rows for report in inner] == [2]
    assert outer[-1].rows == 3
    assert [report.rows for report in outer[:2]] == [1, 2]
    assert "3 reads" in repr(outer)
    outer.clear()
    assert len(outer) == 0


def test_receipts_of_another_runtime(file: Path) -> None:
    runtime = Runtime()
    with lance_arrow.receipts(runtime) as found, LanceFile(file) as other, LanceFile(file, runtime=runtime) as own:
        other.take([1])
        own.take([1, 2])
    assert [report.rows for report in found] == [2]


def test_total_adds_up() -> None:
    first = ReadReport(
        files=1, pages=2, rows=3, decoded_rows={"a": 3}, columns=("a",), filter="f", seconds=1.0,
        stage_seconds={"rows": 0.5},
    )  # fmt: skip
    second = ReadReport(
        files=4, pages=5, rows=6, decoded_rows={"a": 1, "b": 2}, zones_total=7, zones_pruned=2, zones_read=5,
        requests=8, requested_bytes=9, fetched_bytes=10, columns=("b", "a"), filter="f", seconds=2.0,
        stage_seconds={"rows": 1.0, "zones": 0.25},
    )  # fmt: skip
    assert ReadReport.total([first, second]) == ReadReport(
        files=5, pages=7, rows=9, decoded_rows={"a": 4, "b": 2}, zones_total=7, zones_pruned=2, zones_read=5,
        requests=8, requested_bytes=9, fetched_bytes=10, columns=("a", "b"), filter="f", seconds=3.0,
        stage_seconds={"rows": 1.5, "zones": 0.25},
    )  # fmt: skip
    assert ReadReport.total([]) == ReadReport()
    assert ReadReport.total([first, ReadReport()]).filter is None
