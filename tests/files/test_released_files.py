"""Files and tables that are no longer used close their files, without a run of the garbage collector."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_arrow
from lance_arrow import LanceFile, LanceTable, write_table

ROWS = pa.table({"id": range(5000), "words": [["a", None], [], None, ["b"], ["c"]] * 1000})
USES: dict[str, Callable[[Path], object]] = {
    "read": lambda folder: LanceFile(folder / "file.lance").read(),
    "take": lambda folder: LanceFile(folder / "file.lance").take([7, 0]),
    "read_all_compared": lambda folder: LanceFile(folder / "file.lance", verify="full").read(),
    "half_of_the_batches": lambda folder: next(iter(LanceFile(folder / "file.lance").to_batches(batch_size=100))),
    "table": lambda folder: LanceTable.open(folder / "table.lance").to_table(filter="id > 4000"),
    "table_take": lambda folder: LanceTable.open(folder / "table.lance").take([4999, 1]),
    "dataset": lambda folder: lance_arrow.dataset(folder / "table.lance").to_table(),
    "dataset_of_files": lambda folder: lance_arrow.dataset(folder / "file.lance").to_table(filter=pc.field("id") > 7),
}


@pytest.fixture(params=["2.0", "2.2"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    write_table(ROWS, tmp_path / "file.lance", file_version=request.param)
    LanceTable.create(tmp_path / "table.lance", ROWS, file_version=request.param, max_rows_per_file=2000)
    gc.collect()
    gc.disable()
    yield tmp_path
    gc.enable()


def is_open(folder: Path) -> bool:
    return any(Path(one.path).is_relative_to(folder) for one in psutil.Process().open_files())


@pytest.mark.cover(1)
@pytest.mark.parametrize("use", USES)
def test_files_are_closed_without_the_collector(folder: Path, use: str) -> None:
    USES[use](folder)
    # Threads of a scan may be about to let go.
    deadline = time.monotonic() + 10
    while is_open(folder) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_open(folder)


def test_a_file_that_is_used_is_open(folder: Path) -> None:
    file = LanceFile(folder / "file.lance")
    file.take([3])
    assert is_open(folder)
    file.close()
    assert not is_open(folder)
