"""`head`: how many rows are decoded for a few, by every door, and how scans begin for callers that stop early."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from bridge_toys import Log, ToyTasks, toy_format, write_toy
from pyarrow import acero

import lance_arrow
from lance_arrow import LanceFormat, LanceTable
from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.handler_protocol import ScanRequest, ScanTasks
from lance_arrow.arrow_dataset.scan_handler import FileScanHandler
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.windows import WINDOW_ROWS, SlowStart, Windows
from lance_arrow.spi import ReadReport
from lance_arrow.spi.layouts import RowRanges

ROWS = 4 * WINDOW_ROWS + 1000
TABLE = pa.table({"id": np.arange(ROWS), "half": np.arange(ROWS) / 2})


@pytest.fixture
def long_pause() -> Iterator[None]:
    """Give a caller of a few rows all the time it takes to stop, on a busy machine too."""
    before = bridge.set_pause_micros(200_000)
    yield
    bridge.set_pause_micros(before)


@pytest.fixture(scope="module", params=[1, 16])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of one fragment, or of 16, whose first rows are deleted."""
    path = tmp_path_factory.mktemp("heads") / "t"
    table = LanceTable.create(path, TABLE, max_rows_per_file=-(-ROWS // request.param))
    table.delete("id < 3 OR id = 6")
    return path


def decoded(receipts: Sequence[ReadReport]) -> int:
    """Return the most rows that were decoded of a column, once all reads are over."""
    deadline = time.monotonic() + 10
    while not receipts and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    return max(ReadReport.total(receipts).decoded_rows.values())


def first(num_rows: int) -> pa.Table:
    return TABLE.filter((pc.field("id") >= 3) & (pc.field("id") != 6)).slice(0, num_rows)


@pytest.mark.parametrize("num_rows", [1, 10, 1000])
def test_tables_decode_the_rows_alone(path: Path, receipts: list[ReadReport], num_rows: int) -> None:
    doors: list[Callable[[], pa.Table]] = [
        lambda: LanceTable.open(path).dataset().head(num_rows),
        lambda: lance_arrow.dataset(path).head(num_rows),
        lambda: lance_arrow.dataset(path).head(num_rows, columns=["id", "half"]),
        lambda: lance_arrow.dataset(path).head(num_rows, batch_size=7, use_threads=False),
    ]
    for door in doors:
        receipts.clear()
        assert door().equals(first(num_rows))
        assert decoded(receipts) == num_rows


def test_tables_show_what_a_scan_shows(path: Path) -> None:
    dataset = lance_arrow.dataset(path)
    columns = ["half", "_rowid"]
    assert dataset.head(4, columns=columns).equals(dataset.scanner(columns=columns).head(4))
    assert dataset.head(4, columns=columns)["_rowid"].to_pylist() == [3, 4, 5, 7]
    assert dataset.head(-1).equals(TABLE.schema.empty_table())
    assert dataset.head(0).equals(TABLE.schema.empty_table())
    assert dataset.head(ROWS + 5).num_rows == ROWS - 4
    doubled = {"twice": pc.field("id") * 2}
    assert dataset.head(2, columns=doubled)["twice"].to_pylist() == [6, 8]
    large = dataset.filter(pc.field("id") > 100)
    assert large.head(2)["id"].to_pylist() == dataset.head(2, filter="id > 100")["id"].to_pylist() == [101, 102]
    assert dataset.replace_schema(pa.schema([("id", pa.int64())])).head(2).to_pydict() == {"id": [3, 4]}
    fits = lance_arrow.dataset(path).head(2, memory_pool=pa.system_memory_pool())
    assert fits.equals(first(2))


@pytest.mark.parametrize(
    ("filter", "most_decoded"),
    [
        (pc.bit_wise_and(pc.field("id"), 1) == 0, 1 << 13),
        (pc.field("half") > 30_000, 1 << 17),
        (pc.field("id") == ROWS - 1, 1 << 17),
        (pc.field("id") < 0, 0),
    ],
)
@pytest.mark.parametrize("num_rows", [1, 300])
def test_tables_with_a_filter(
    path: Path, receipts: list[ReadReport], filter: pc.Expression, most_decoded: int, num_rows: int
) -> None:
    dataset = lance_arrow.dataset(path)
    found = dataset.head(num_rows, columns=["half", "id"], filter=filter)
    # Parts of the table grow; zones that hold none of the rows are not decoded.
    assert not receipts or max(ReadReport.total(receipts).decoded_rows.values(), default=0) <= most_decoded
    whole = LanceTable.open(path).to_table(columns=["half", "id"], filter=filter)
    assert found.equals(whole.slice(0, num_rows).combine_chunks())
    assert found.schema.equals(dataset.scanner(columns=["half", "id"], filter=filter).projected_schema)


def test_filters_that_do_not_fit_are_refused(path: Path) -> None:
    dataset = lance_arrow.dataset(path)
    for wrong in ("missing > 3", pc.field("missing") > 3, pc.field("id") == "x"):
        with pytest.raises(InvalidArgumentError):
            dataset.head(3, filter=wrong)
    with pytest.raises(InvalidArgumentError):
        dataset.head(3, columns=["missing"])
    with pytest.raises(InvalidArgumentError):
        dataset.head(3, columns=["missing"], filter="id > 3")


def test_files_decode_the_rows_alone(tmp_path: Path, receipts: list[ReadReport]) -> None:
    lance_arrow.write_table(TABLE, tmp_path / "f.lance")
    assert lance_arrow.dataset(tmp_path / "f.lance").head(10).equals(TABLE.slice(0, 10))
    assert decoded(receipts) == 10


@pytest.mark.usefixtures("long_pause")
def test_datasets_of_pyarrow_begin_with_few_rows(tmp_path: Path, receipts: list[ReadReport]) -> None:
    lance_arrow.write_table(TABLE, tmp_path / "f.lance")
    dataset = pads.dataset(tmp_path / "f.lance", format=LanceFormat())
    assert dataset.head(10).equals(TABLE.slice(0, 10))
    assert decoded(receipts) == SlowStart.FIRST_WINDOW
    receipts.clear()
    batches = [batch.num_rows for batch in dataset.to_batches()]
    first = SlowStart.batch_spans(SlowStart.FIRST_WINDOW)
    assert len(first) == 1 + SlowStart.ASKED_AHEAD
    rest = WINDOW_ROWS - SlowStart.FIRST_WINDOW - (1 << 14)
    assert batches[:-2] == [stop - start for start, stop in first] + [1 << 14, rest, *[WINDOW_ROWS] * 2]
    decoded(receipts)
    receipts.clear()
    assert dataset.to_table().equals(TABLE)
    assert decoded(receipts) == ROWS
    batches = [batch.num_rows for batch in dataset.to_batches(batch_size=1000)]
    assert (sum(batches), max(batches)) == (ROWS, 1000)


@pytest.mark.usefixtures("long_pause")
def test_tables_opened_by_pyarrow_begin_with_few_rows(path: Path, receipts: list[ReadReport]) -> None:
    dataset = pads.dataset(path, format=LanceFormat())
    # The files are in the order of their names.
    found = dataset.head(5)
    assert decoded(receipts) == SlowStart.FIRST_WINDOW
    table = dataset.to_table()
    assert found.equals(table.slice(0, 5))
    assert table.sort_by("id").equals(first(ROWS))


@pytest.mark.usefixtures("long_pause")
@pytest.mark.parametrize("file_rows", [4, 100, 3000])
def test_of_many_files_the_first_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_rows: int) -> None:
    parts = [TABLE.slice(number * file_rows, file_rows) for number in range(30)]
    for number, part in enumerate(parts):
        lance_arrow.write_table(part, tmp_path / f"{number:02}.lance")
    planned: list[str] = []
    plan = FileScanHandler.plan

    def watched(self: FileScanHandler, place: FilePlace, request: ScanRequest) -> ScanTasks:
        planned.append(place.path)
        return plan(self, place, request)

    monkeypatch.setattr(FileScanHandler, "plan", watched)
    dataset = pads.dataset(tmp_path, format=LanceFormat())
    assert dataset.head(3).equals(TABLE.slice(0, 3))
    gc.collect()
    time.sleep(0.1)
    # Few rows are one batch: Arrow asks for the end of the file, and goes on with the next.
    assert len(planned) == 1 or file_rows < SlowStart.FIRST_ROWS
    assert dataset.to_table().equals(pa.concat_tables(parts))
    scanner = dataset.scanner()
    assert scanner.head(3).equals(TABLE.slice(0, 3))
    # The same options again: what was given up before does not count.
    assert scanner.to_table().equals(pa.concat_tables(parts))
    assert scanner.head(file_rows * 20).equals(pa.concat_tables(parts).slice(0, file_rows * 20))


def test_a_slow_start_leaves_no_row_out() -> None:
    for num_rows in (3 * WINDOW_ROWS, 4 * WINDOW_ROWS, 700_001):
        windows = SlowStart(Windows(RowRanges.one(10, 10 + num_rows), 1).listed())
        sizes = [one.num_rows for one in windows]
        steps = [1 << 11, 1 << 14] if num_rows >= 4 * WINDOW_ROWS else [1 << 11]
        assert sizes[: len(steps) + 1] == [*steps, WINDOW_ROWS - sum(steps)]
        assert sum(sizes) == num_rows
        assert [one.num_rows for one in windows[1:3]] == sizes[1:3]
        starts = [int(one.starts[0]) for one in windows]
        assert starts == [10 + sum(sizes[:number]) for number in range(len(sizes))]
    alone = SlowStart([RowRanges.one(0, 16_384)])
    assert [one.num_rows for one in alone] == [16_384]
    alone = SlowStart([RowRanges.one(0, 50_000)])
    assert [one.num_rows for one in alone] == [2048, 50_000 - 2048]
    for num_rows in (1, 2, 7, 8, 9, 100, 1030, 2048, 50_000):
        spans = SlowStart.batch_spans(num_rows)
        assert spans[0][0] == 0
        assert [start for start, _ in spans[1:]] == [stop for _, stop in spans[:-1]]
        assert spans[-1][1] == num_rows
        assert len(spans) <= 1 + SlowStart.ASKED_AHEAD
        assert all(start < stop for start, stop in spans)


def test_small_sources_alone_do_not_start_slowly(tmp_path: Path) -> None:
    lance_arrow.write_table(TABLE.slice(0, 20_000), tmp_path / "f.lance")
    batches = pads.dataset(tmp_path / "f.lance", format=LanceFormat()).to_batches()
    assert [batch.num_rows for batch in batches] == [20_000]


def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_files: int, **hooks: object) -> tuple[pads.Dataset, Log]:
    """Make files of 20 batches whose tasks return ten of them each, and start slowly."""
    for number in range(num_files):
        write_toy(tmp_path / f"{number}.toy", pa.table({"a": list(range(40))}), rows_per_batch=2)
    monkeypatch.setattr(ToyTasks, "starts_slowly", True, raising=False)
    monkeypatch.setattr(ToyTasks, "__len__", lambda self: 2)
    batches = ToyTasks._batches
    monkeypatch.setattr(
        ToyTasks,
        "_batches",
        lambda self, index: [one for own in range(10 * index, 10 * index + 10) for one in batches(self, own)],
    )
    file_format = toy_format(**hooks)
    paths = [str(tmp_path / f"{number}.toy") for number in range(num_files)]
    return pads.dataset(paths, format=file_format), file_format.handler.log


@pytest.mark.usefixtures("long_pause")
def test_others_begin_when_arrow_asks_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, log = toys(tmp_path, monkeypatch, 4)
    assert dataset.head(1)["a"].to_pylist() == [0]
    time.sleep(0.1)
    assert (len(log.places), log.started) == (2, [0])  # inspected, then planned
    assert dataset.to_table()["a"].to_pylist() == list(range(40)) * 4
    assert len(log.places) == 6


@pytest.mark.usefixtures("long_pause")
def test_others_begin_when_nobody_asks_or_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream in no order: Arrow holds the first file as long as it waits for the others."""
    dataset, log = toys(tmp_path, monkeypatch, 4)
    scan = acero.Declaration("scan", acero.ScanNodeOptions(dataset))
    reader = scan.to_reader()
    reader.read_next_batch()
    del reader
    deadline = time.monotonic() + 10
    while len(log.places) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(log.places) == 5


def test_an_error_of_the_first_file_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(index: int) -> None:
        raise ZeroDivisionError

    dataset, _ = toys(tmp_path, monkeypatch, 4, on_run=fail)
    with pytest.raises(ZeroDivisionError):
        dataset.head(1)
    dataset, _ = toys(tmp_path, monkeypatch, 4, on_plan=lambda: fail(0))
    with pytest.raises(ZeroDivisionError):
        dataset.to_table()


@pytest.mark.parametrize("pause_micros", [0, 300])
def test_scans_of_one_scanner_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pause_micros: int) -> None:
    dataset, _ = toys(tmp_path, monkeypatch, 6)
    before = bridge.set_pause_micros(pause_micros)
    failed: list[BaseException] = []

    def scan(scanner: pads.Scanner, few: bool) -> None:
        try:
            for _ in range(20):
                if few:
                    assert scanner.head(3)["a"].to_pylist() == [0, 1, 2]
                else:
                    assert scanner.head(240)["a"].to_pylist() == list(range(40)) * 6
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    try:
        for _ in range(5):
            scanner = dataset.scanner()
            threads = [threading.Thread(target=scan, args=(scanner, few)) for few in (True, False, True)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
                assert not thread.is_alive()
    finally:
        bridge.set_pause_micros(before)
    assert not failed
