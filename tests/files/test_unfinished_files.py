"""`write_dataset` that fails: no part of a file stays under its final name, and the error says which file it was."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.fs as arrow_fs
import pytest
from full_disks import FullFileSystem, no_file_above

from lance_arrow import LanceFile, LanceFormat, LanceTable, write_table
from lance_arrow.errors import UnsupportedError

TABLE = pa.table({"n": np.random.default_rng(5).integers(0, 1 << 60, 200_000)})
ROOM_BYTES = 300_000
"""Less than the file takes, more than is written at once."""
PAGES = LanceFormat().make_write_options(page_bytes=1 << 16)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_full_disk(tmp_path: Path) -> None:
    with no_file_above(ROOM_BYTES), pytest.raises(OSError, match=r"part-0\.lance") as raised:
        pads.write_dataset(TABLE, tmp_path / "d", format=LanceFormat(), file_options=PAGES)
    assert names(tmp_path) == []
    assert raised.value.filename == str(tmp_path / "d" / "part-0.lance")
    pads.write_dataset(TABLE, tmp_path / "d", format=LanceFormat(), preserve_order=True)
    assert pads.dataset(tmp_path / "d", format=LanceFormat()).to_table().equals(TABLE)


def test_a_file_of_the_same_name_is_gone_and_others_stay(tmp_path: Path) -> None:
    write_table(TABLE.slice(0, 10), tmp_path / "part-0.lance")
    write_table(TABLE.slice(0, 10), tmp_path / "part-1.lance")
    with no_file_above(ROOM_BYTES), pytest.raises(OSError):
        pads.write_dataset(TABLE, tmp_path, format=LanceFormat(), existing_data_behavior="overwrite_or_ignore")
    assert names(tmp_path) == ["part-1.lance"]


def test_files_that_were_complete_stay(tmp_path: Path) -> None:
    parts = TABLE.append_column("part", pa.array(np.where(np.arange(len(TABLE)) < 1000, "a", "b")))
    with no_file_above(ROOM_BYTES), pytest.raises(OSError):
        pads.write_dataset(
            parts, tmp_path, format=LanceFormat(), partitioning=["part"], max_open_files=1, use_threads=False
        )
    assert set(names(tmp_path)) <= {"a/part-0.lance"}
    for name in names(tmp_path):
        with LanceFile(tmp_path / name) as file:
            assert file.num_rows == 1000


@pytest.mark.parametrize("fails_at_close", [False, True])
def test_a_full_disk_of_fsspec(tmp_path: Path, fails_at_close: bool) -> None:
    filesystem = FullFileSystem(ROOM_BYTES, fails_at_close=fails_at_close)
    with pytest.raises(OSError) as raised:
        pads.write_dataset(TABLE, str(tmp_path / "d"), format=LanceFormat(), filesystem=filesystem)
    assert raised.value.errno == errno.ENOSPC
    if not fails_at_close:
        assert raised.value.filename.endswith("d/part-0.lance")
    assert names(tmp_path) == []


def failing(error: BaseException) -> Iterator[pa.RecordBatch]:
    yield from TABLE.to_batches(max_chunksize=20_000)
    raise error


@pytest.mark.parametrize("error", [RuntimeError("the source"), KeyboardInterrupt()])
def test_a_source_that_fails(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)):
        pads.write_dataset(failing(error), tmp_path, format=LanceFormat(), schema=TABLE.schema, file_options=PAGES)
    assert left_in(lambda: names(tmp_path)) == []
    memory = fsspec.filesystem("memory")
    with pytest.raises(type(error)):
        pads.write_dataset(failing(error), "/unfinished", format=LanceFormat(), schema=TABLE.schema, filesystem=memory)
    assert left_in(lambda: [path for path in memory.find("/") if "unfinished" in path]) == []


def left_in(files: Callable[[], list[str]]) -> list[str]:
    """Return the files that stay: Arrow lets go of a writer once its last task has ended, perhaps after the call."""
    stop = time.monotonic() + 10
    while time.monotonic() < stop and files():
        time.sleep(0.01)
    return files()


def test_rows_that_cannot_be_written(tmp_path: Path) -> None:
    spans = pa.table({"span": pa.array([None], pa.month_day_nano_interval())})
    with pytest.raises(UnsupportedError):
        pads.write_dataset(spans, tmp_path, format=LanceFormat())
    assert names(tmp_path) == []


def test_a_visitor_that_fails(tmp_path: Path) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("the visitor")

    with pytest.raises(RuntimeError, match="the visitor"):
        pads.write_dataset(
            TABLE, tmp_path, format=LanceFormat(), file_options=LanceFormat().make_write_options(on_file=refuse)
        )
    assert names(tmp_path) == []


_INTERRUPTED = """
import sys, time
import pyarrow as pa, pyarrow.dataset as pads
from lance_arrow import LanceFormat

def batches():
    for number in range(200):
        if number == 3:
            print("writing", flush=True)
        time.sleep(0.01)
        yield pa.record_batch({"n": list(range(50_000))})

schema = pa.schema([("n", pa.int64())])
pads.write_dataset(batches(), sys.argv[1], format=LanceFormat(), schema=schema)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_interrupts_leave_a_whole_file_or_none(tmp_path: Path) -> None:
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + textwrap.dedent(_INTERRUPTED)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    for name in names(tmp_path):
        with LanceFile(tmp_path / name) as file:
            assert file.read().num_rows == file.num_rows


def test_streams_of_arrow_and_of_others(tmp_path: Path) -> None:
    """A filesystem of Python's own, as pyarrow sees it, and pyarrow's local one below a folder."""
    below = arrow_fs.SubTreeFileSystem(str(tmp_path), arrow_fs.LocalFileSystem())
    with no_file_above(ROOM_BYTES), pytest.raises(OSError):
        pads.write_dataset(TABLE, "d", format=LanceFormat(), filesystem=below)
    assert names(tmp_path) == []


def test_other_writers_name_the_file(tmp_path: Path) -> None:
    LanceTable.create(tmp_path / "t.lance", TABLE.slice(0, 100))
    before = names(tmp_path)
    with no_file_above(ROOM_BYTES):
        with pytest.raises(OSError) as alone:
            write_table(TABLE, tmp_path / "one.lance", page_bytes=1 << 16)
        with pytest.raises(OSError) as appended:
            LanceTable.open(tmp_path / "t.lance").append(TABLE, page_bytes=1 << 16)
    assert alone.value.filename == str(tmp_path / "one.lance")
    assert "t.lance/data/" in appended.value.filename
    assert str(tmp_path) in str(appended.value)
    assert names(tmp_path) == before
    assert LanceTable.open(tmp_path / "t.lance").to_table().equals(TABLE.slice(0, 100))
