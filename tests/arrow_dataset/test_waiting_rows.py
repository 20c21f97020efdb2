"""Rows of `write_dataset` wait in the bridge: few large calls of Python, bounded by what all open files may hold."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from bridge_toys import ToyFormat, ToyHandler

from lance_arrow import LanceFile, LanceFormat
from lance_arrow.arrow_dataset.dataset_sink import DatasetSink
from lance_arrow.errors import InvalidArgumentError

NUM_ROWS = 300_000
NUM_FILES = 20
HIVE = pads.partitioning(pa.schema([("part", pa.int32())]), flavor="hive")
TABLE = pa.table(
    {
        "part": pa.array(np.arange(NUM_ROWS, dtype=np.int32) % NUM_FILES),
        "i": np.arange(NUM_ROWS),
        "s": pa.array([None if i % 11 == 0 else f"text {i}" for i in range(NUM_ROWS)]),
        "l": pa.array([None if i % 7 == 0 else [i] * (i % 3) for i in range(NUM_ROWS)], pa.list_(pa.int32())),
    }
)


def written_by_toy(table: pa.Table, folder: Path, **options: object) -> dict[str, list[list[int]]]:
    """Write a toy dataset; return rows of each batch of each call, per file."""
    handler = ToyHandler(**options)
    pads.write_dataset(table, folder, format=ToyFormat(handler), partitioning=HIVE, basename_template="{i}.toy")
    read = pads.dataset(folder, format=ToyFormat(handler), partitioning=HIVE).to_table().sort_by("i")
    assert read.select(table.column_names).equals(table)
    return handler.log.calls


def test_a_file_gets_one_batch_in_one_call(tmp_path: Path) -> None:
    calls = written_by_toy(TABLE, tmp_path / "d")
    assert len(calls) == NUM_FILES
    assert set(map(str, calls.values())) == {f"[[{NUM_ROWS // NUM_FILES}]]"}


def test_dictionaries_are_not_unified(tmp_path: Path) -> None:
    table = TABLE.select(["part", "i"]).append_column("d", TABLE["i"].cast(pa.string()).dictionary_encode())
    calls = written_by_toy(table, tmp_path / "d")
    for ((*batches,),) in calls.values():
        assert len(batches) > 1
        assert sum(batches) == NUM_ROWS // NUM_FILES


def test_large_files_get_large_calls(tmp_path: Path) -> None:
    rows = 3_000_000
    table = pa.table({"part": pa.array(np.zeros(rows, np.int32)), "i": np.arange(rows)})
    ((*calls, (*rest,)),) = written_by_toy(table, tmp_path / "d").values()
    # 24 MB in calls of at least 8 MiB, of batches of any size.
    assert all(sum(batches) * 8 >= 8 << 20 for batches in calls)
    assert 1 <= len(calls) <= 2
    assert sum(map(sum, calls)) + sum(rest) == rows


def test_files_that_hold_too_much_hand_it_over(tmp_path: Path) -> None:
    most_bytes = 1 << 20
    calls = written_by_toy(TABLE, tmp_path / "d", most_bytes=most_bytes)
    row_bytes = TABLE.drop_columns("part").nbytes / NUM_ROWS
    assert len(calls) == NUM_FILES
    # What waits is at most twice what all may hold; a file alone has its share, and one batch of Arrow's.
    largest = max(sum(batches) for each in calls.values() for batches in each) * row_bytes
    assert largest <= most_bytes
    assert any(len(each) > 1 for each in calls.values())


def test_a_file_may_be_told_to_write_pages_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    write = DatasetSink.write

    def watched(self: DatasetSink, batches: list[pa.RecordBatch], most_bytes: int) -> int:
        held = write(self, batches, most_bytes)
        told.append((most_bytes, held))
        return held

    class Small(DatasetSink):
        """As with a budget of 1 MiB."""

        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)
            self.most_bytes = 1 << 19

    monkeypatch.setattr(DatasetSink, "write", watched)
    monkeypatch.setattr("lance_arrow.arrow_dataset.scan_handler.DatasetSink", Small)
    for version in ("2.0", "2.2"):
        folder = tmp_path / version
        options = LanceFormat().make_write_options(file_version=version)
        pads.write_dataset(TABLE, folder, format=LanceFormat(), file_options=options, partitioning=HIVE)
        read = pads.dataset(folder, format=LanceFormat(), partitioning=HIVE).to_table().sort_by("i")
        assert read.select(TABLE.column_names).equals(TABLE)
        assert told
        assert all(held <= most_bytes < 1 << 19 for most_bytes, held in told)
        told.clear()
        with LanceFile(next(folder.glob("*/*.lance"))) as file:
            assert file.num_rows == NUM_ROWS // NUM_FILES


def test_an_array_that_contradicts_itself_is_refused_by_name(tmp_path: Path) -> None:
    # The last offset is right, so that only a look at all of them finds the fault.
    offsets = pa.py_buffer(np.array([0, 1 << 20, 5], np.int32))
    wrong = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"texts"))
    batch = pa.record_batch({"i": pa.array([1, 2]), "s": wrong})
    with pytest.raises(InvalidArgumentError, match="offsets") as caught:
        pads.write_dataset([batch, batch], tmp_path / "d", format=LanceFormat(), schema=batch.schema)
    assert caught.value.column == "s"
    assert not list((tmp_path / "d").glob("*.lance"))


class Memory:
    """Owner of the bytes of one batch."""

    def __init__(self, num_bytes: int) -> None:
        self.data = np.zeros(num_bytes, np.int8)

    def batch(self) -> pa.RecordBatch:
        size = self.data.nbytes
        buffer = pa.foreign_buffer(self.data.ctypes.data, size, self)
        return pa.record_batch({"i": pa.Array.from_buffers(pa.int8(), size, [None, buffer])})


def test_slices_that_wait_do_not_keep_their_arrays(tmp_path: Path) -> None:
    num_batches, num_rows = 20, 100_000
    alive: list[weakref.ref[Memory]] = []
    left: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(num_batches):
            memory = Memory(num_rows)
            alive.append(weakref.ref(memory))
            yield memory.batch()
        # All rows wait for the end of the file: they are less than a call is made for.
        patience = time.monotonic() + 30
        while sum(one() is not None for one in alive) > num_batches // 2 and time.monotonic() < patience:
            time.sleep(0.01)
        left.append(sum(one() is not None for one in alive))

    schema = pa.schema([("i", pa.int8())])
    pads.write_dataset(
        batches(), tmp_path / "d", format=LanceFormat(), schema=schema, max_rows_per_group=1000, max_rows_per_file=0
    )
    assert left[0] <= num_batches // 2
    assert pads.dataset(tmp_path / "d", format=LanceFormat()).count_rows() == num_batches * num_rows
