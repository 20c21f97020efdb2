"""Takes of pages that were read before: one native call, with the results and the errors of the first take."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.row_reader import RowReader

ROWS = 3_000
Take = Callable[..., pa.Table]
DOORS = ("file", "dataset", "datasets of files", "table", "fragments")


def rows_of(start: int, stop: int) -> pa.Table:
    numbers = np.arange(start, stop)
    return pa.table(
        {
            "id": pa.array(numbers, mask=numbers % 7 == 3),
            "t": [None if number % 11 == 5 else f"text {number}" for number in numbers],
            "l": [list(range(number % 4)) for number in numbers],
            "s": [{"x": number * 0.5, "y": number % 2 == 0} for number in numbers],
        },
        schema=pa.schema(
            {
                "id": pa.int64(),
                "t": pa.string(),
                "l": pa.list_(pa.int32()),
                "s": pa.struct({"x": pa.float64(), "y": pa.bool_()}),
            },
            metadata={"of": "the schema"},
        ),
    )


EXPECTED = rows_of(0, ROWS)


@pytest.fixture(scope="module")
def takes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Take]:
    """A take of the same rows by each door; all pages were read twice."""
    folder = tmp_path_factory.mktemp("noted")
    lance_arrow.write_table(EXPECTED, folder / "file.lance", page_bytes=4_000)
    halves = [folder / "first.lance", folder / "second.lance"]
    for place, path in enumerate(halves):
        lance_arrow.write_table(rows_of(place * ROWS // 2, (place + 1) * ROWS // 2), path)
    found: dict[str, Take] = {
        "file": lance_arrow.LanceFile(folder / "file.lance").take,
        "dataset": lance_arrow.dataset(folder / "file.lance").take,
        "datasets of files": lance_arrow.dataset([str(path) for path in halves]).take,
        "table": lance_arrow.LanceTable.create(folder / "table.lance", EXPECTED).take,
        "fragments": lance_arrow.LanceTable.create(folder / "parts.lance", EXPECTED, max_rows_per_file=ROWS // 2).take,
    }
    for take in found.values():
        for start in (0, ROWS // 2):
            for _ in range(3):
                take(np.arange(start, start + ROWS // 2, 9))
    return found


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Notes of each take whether one call was all of it."""
    seen: list[bool] = []
    original = RowReader.take_noted

    def noted(self: RowReader, *given: Any) -> pa.Table | None:
        found = original(self, *given)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(RowReader, "take_noted", noted)
    return seen


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "rows",
    [
        [0],
        [1_499],
        [ROWS - 1],
        [5, 6, 7, 100],
        list(range(40, 90)),
        np.array([1_600, 1_700]),
        np.array([7]),
        np.arange(300, 0, -3)[::-1],
    ],
    ids=str,
)
def test_few_ascending_rows_take_one_call(takes: dict[str, Take], native: list[bool], door: str, rows: Any) -> None:
    found = takes[door](rows)
    assert found.equals(EXPECTED.take(pa.array(rows)))
    assert found.schema.metadata == EXPECTED.schema.metadata
    found.validate(full=True)
    assert native == [True]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "rows",
    [
        [],
        [7, 3],
        [3, 3],
        [1_499, 1_500, 2_999],
        (4, 9),
        [np.int64(4), 9],
        np.array([4, 9], np.int32),
        np.array([4, 9], np.uint64),
        pa.array([4, 9]),
        np.arange(ROWS),
    ],
    ids=str,
)
def test_other_rows_come_as_before(takes: dict[str, Take], door: str, rows: Any) -> None:
    assert takes[door](rows).equals(EXPECTED.take(pa.array(rows, pa.int64())))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([-1], "-1"),
        ([5, ROWS], str(ROWS)),
        ([1 << 63], str(1 << 63)),
        ([-(1 << 70)], str(-(1 << 70))),
        ([True], "True"),
        ([1.5], "1.5"),
        ([None], "None"),
        (["a"], "'a'"),
        (np.array([3, -4]), "-4"),
        (np.array([[1]]), r"\(1, 1\)"),
    ],
    ids=str,
)
def test_rows_that_do_not_exist_are_named(takes: dict[str, Take], door: str, rows: Any, what: str) -> None:
    with pytest.raises(InvalidArgumentError, match=what):
        takes[door](rows)


def test_memory_is_that_of_the_pool_and_ends_with_the_table(takes: dict[str, Take]) -> None:
    take = takes["file"]
    before = pa.total_allocated_bytes()
    table = take(list(range(0, 300, 3)))
    kept = table.column("t").chunk(0)
    assert pa.total_allocated_bytes() > before
    del table
    assert kept.to_pylist() == EXPECTED["t"].take(pa.array(range(0, 300, 3))).to_pylist()
    del kept
    assert pa.total_allocated_bytes() == before


@pytest.mark.parametrize("change", ["replaced", "gone"])
def test_a_dataset_sees_that_its_file_has_changed(tmp_path: Path, change: str) -> None:
    path = tmp_path / "file.lance"
    lance_arrow.write_table(EXPECTED, path)
    dataset = lance_arrow.dataset(path)
    for _ in range(4):
        assert dataset.take([3])["id"].to_pylist() == [None]
    if change == "gone":
        path.unlink()
        with pytest.raises(FileNotFoundError):
            dataset.take([3])
        return
    lance_arrow.write_table(rows_of(ROWS, 2 * ROWS), tmp_path / "other.lance")
    os.replace(tmp_path / "other.lance", path)
    assert dataset.take([3]).equals(rows_of(ROWS, 2 * ROWS).slice(3, 1))


def test_a_closed_file_is_refused(tmp_path: Path) -> None:
    lance_arrow.write_table(EXPECTED, tmp_path / "file.lance")
    file = lance_arrow.LanceFile(tmp_path / "file.lance")
    for _ in range(4):
        file.take([3])
    file.close()
    with pytest.raises(InvalidArgumentError, match="closed"):
        file.take([3])


def test_threads_take_at_once(takes: dict[str, Take]) -> None:
    wrong: list[int] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(150):
            rows = np.sort(random.choice(ROWS // 2, 5, replace=False))
            for take in takes.values():
                if not take(rows).equals(EXPECTED.take(rows)):
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


EXITS = """
import os, signal, sys, threading, time
import lance_arrow
# A process inherits an ignored SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
take = lance_arrow.LanceFile(sys.argv[1]).take
def work():
    while True:
        take([3, 700])
for _ in range(6):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
if sys.argv[2] == "interrupt":
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        while True:
            take([5])
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize("way", ["exit", "interrupt"])
def test_the_interpreter_ends_while_rows_are_taken(tmp_path: Path, way: str) -> None:
    path = tmp_path / "file.lance"
    lance_arrow.write_table(EXPECTED, path)
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", EXITS, str(path), way], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == ("interrupted\n" if way == "interrupt" else "")
