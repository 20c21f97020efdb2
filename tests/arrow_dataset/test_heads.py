"""`head`: how many rows are decoded for a few, by every door, and how scans begin for callers that stop early."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from bridge_toys import ToyTasks, toy_format, write_toy

import lance_arrow
from lance_arrow import LanceFormat, LanceTable
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.windows import WINDOW_ROWS, SlowStart, Windows
from lance_arrow.spi import ReadReport, RowRanges

ROWS = SlowStart.LEAST_ROWS + 1000
TABLE = pa.table({"id": np.arange(ROWS), "half": np.arange(ROWS) / 2})


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


def test_datasets_of_pyarrow_begin_with_few_rows(tmp_path: Path, receipts: list[ReadReport]) -> None:
    lance_arrow.write_table(TABLE, tmp_path / "f.lance")
    dataset = pads.dataset(tmp_path / "f.lance", format=LanceFormat())
    assert dataset.head(10).equals(TABLE.slice(0, 10))
    batches = [batch.num_rows for batch in dataset.to_batches()]
    # Arrow asks for 16 batches ahead: the first ones are small, and slices of few windows.
    assert batches[:26] == [1 << 10] * 24 + [WINDOW_ROWS - 24 * (1 << 10), WINDOW_ROWS]
    decoded(receipts)
    receipts.clear()
    assert dataset.to_table().equals(TABLE)
    assert decoded(receipts) == ROWS
    batches = [batch.num_rows for batch in dataset.to_batches(batch_size=1000)]
    assert (sum(batches), max(batches)) == (ROWS, 1000)


def test_a_slow_start_leaves_no_row_out() -> None:
    for num_rows in (SlowStart.LEAST_ROWS, 700_001):
        windows = SlowStart(Windows(RowRanges.one(10, 10 + num_rows), 1).listed())
        sizes = [one.num_rows for one in windows]
        assert sizes[:3] == [1 << 13, 1 << 14, WINDOW_ROWS - (1 << 13) - (1 << 14)]
        assert sum(sizes) == num_rows
        assert [one.num_rows for one in windows[1:3]] == sizes[1:3]
        starts = [int(one.starts[0]) for one in windows]
        assert starts == [10 + sum(sizes[:number]) for number in range(len(sizes))]
        assert [windows.most_batch_rows(number) for number in range(4)] == [1 << 10, 1 << 10, WINDOW_ROWS, WINDOW_ROWS]


def test_small_sources_do_not_start_slowly(tmp_path: Path, receipts: list[ReadReport]) -> None:
    table = TABLE.slice(0, SlowStart.LEAST_ROWS - 1)
    lance_arrow.write_table(table, tmp_path / "f.lance")
    batches = pads.dataset(tmp_path / "f.lance", format=LanceFormat()).to_batches()
    assert [batch.num_rows for batch in batches][:2] == [WINDOW_ROWS, WINDOW_ROWS]


def test_the_first_task_of_a_slow_start_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_toy(tmp_path / "f.toy", pa.table({"a": list(range(40))}), rows_per_batch=2)
    started: list[list[int]] = []

    def begun_meanwhile(index: int) -> None:
        time.sleep(0.1)
        started.append(sorted(file_format.handler.log.started))

    file_format = toy_format(on_run=lambda index: begun_meanwhile(index) if not index else None)
    dataset = pads.dataset(str(tmp_path / "f.toy"), format=file_format)
    monkeypatch.setattr(ToyTasks, "starts_slowly", True, raising=False)
    assert dataset.to_table()["a"].to_pylist() == list(range(40))
    monkeypatch.setattr(ToyTasks, "starts_slowly", False)
    file_format.handler.log.started.clear()
    assert dataset.to_table()["a"].to_pylist() == list(range(40))
    slow, fast = started
    assert slow == [0]
    assert len(fast) > 1
