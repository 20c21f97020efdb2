"""Pages that were read before are found natively: the same rows as at first, under any budget, by many threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow import LanceFile, Runtime, Settings
from lance_arrow.engine import OpenPages

ROWS = 30_000


def table() -> pa.Table:
    random = np.random.default_rng(4)
    lists = pa.array([list(range(row % 4)) if row % 9 else None for row in range(ROWS)], pa.list_(pa.int32()))
    return pa.table(
        {
            "number": random.integers(0, 1 << 40, ROWS),
            "nullable": pa.array(random.random(ROWS), mask=random.random(ROWS) < 0.2),
            "text": [f"text {row}" for row in range(ROWS)],
            "large": [f"{row:07d}" * (1 + row % 90) for row in range(ROWS)],
            "lists": lists,
            "struct": pa.StructArray.from_arrays([lists, pa.array(range(ROWS))], ["a", "b"]),
        }
    )


@pytest.fixture(scope="module", params=["2.1", "2.2", "2.3", "2.0"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("noted") / f"{request.param}.lance"
    lance_arrow.write_table(table(), path, file_version=request.param, page_bytes=20_000)
    return path


def picks() -> Iterator[np.ndarray]:
    random = np.random.default_rng(6)
    for size in (1, 1, 1, 2, 7, 60, 700):
        yield np.sort(random.choice(ROWS, size, replace=False))
    yield np.arange(11_000, 19_000)
    yield np.array([ROWS - 1, 0, 5, 5])


@pytest.mark.share(2)
def test_rows_are_the_same_however_often_they_are_read(path: Path) -> None:
    expected = table()
    with LanceFile(path) as file:
        for _ in range(3):
            for rows in picks():
                found = file.take(rows)
                found.validate(full=True)
                assert found.equals(expected.take(rows))
                assert file.take(rows, ["text", "number"]).equals(expected.select(["text", "number"]).take(rows))
            assert pa.Table.from_batches(file.to_batches(batch_size=1_000)).equals(expected)


@pytest.mark.cover(1)
@pytest.mark.parametrize("budget_bytes", [0, 3_000, 40_000])
def test_threads_share_pages_that_a_small_cache_drops(path: Path, budget_bytes: int) -> None:
    expected = table()
    runtime = Runtime(Settings(num_threads=2, index_cache_bytes=budget_bytes))

    def read(seed: int) -> None:
        random = np.random.default_rng(seed)
        for turn in range(40):
            rows = np.sort(random.choice(ROWS, 1 + turn % 5, replace=False))
            names = [["number", "text"], ["lists", "large"], ["struct"]][turn % 3]
            assert file.take(rows, names).equals(expected.select(names).take(rows))

    with LanceFile(path, runtime=runtime) as file, ThreadPoolExecutor(8) as threads:
        list(threads.map(read, range(8)))
        assert runtime.indices.held_bytes <= budget_bytes


def test_what_is_noted_is_counted_and_goes_with_its_file(path: Path) -> None:
    runtime = Runtime(Settings(num_threads=1))
    with LanceFile(path, runtime=runtime) as file:
        # Lists of 2.0 have columns of their own: rows do not tell which pages below them they need.
        names = ["number", "nullable", "text", "large"] if path.stem == "2.0" else None
        for _ in range(3):
            file.take([5, 9_000], names)
        (noted,) = [index for index in runtime.indices._held.values() if isinstance(index, OpenPages)]
        assert runtime.indices.held_bytes >= noted.nbytes > 0
        # Columns that are read once are not noted.
        file.take([5], ["number"])
        assert sum(isinstance(index, OpenPages) for index in runtime.indices._held.values()) == 1
    del file
    assert runtime.indices.held_bytes == 0


def test_datasets_see_files_that_were_replaced(path: Path, tmp_path: Path) -> None:
    mine = tmp_path / "file.lance"
    mine.write_bytes(path.read_bytes())
    dataset = lance_arrow.dataset(mine)
    expected = table()
    for _ in range(4):
        assert dataset.take([3, 70]).equals(expected.take([3, 70]))
    other = expected.take(np.arange(ROWS)[::-1])
    lance_arrow.write_table(other, tmp_path / "other.lance")
    os.replace(tmp_path / "other.lance", mine)
    for _ in range(4):
        assert dataset.take([3, 70]).equals(other.take([3, 70]))


@pytest.mark.share(2)
def test_many_files_of_a_dataset_are_taken_by_number(path: Path, tmp_path: Path) -> None:
    expected = table()
    for number in range(3):
        lance_arrow.write_table(expected.slice(10_000 * number, 10_000), tmp_path / f"{number}.lance")
    dataset = lance_arrow.dataset(tmp_path)
    names = ["text", "number"]
    for rows in ([15_000], [15_000, 15_001], [1, 29_999], [20_000, 10_000], [15_000], [9_999]):
        for _ in range(2):
            assert dataset.take(rows).equals(expected.take(rows))
            assert dataset.take(rows, names).equals(expected.select(names).take(rows))
    for wrong in ([-1], [ROWS], [15_000, ROWS]):
        with pytest.raises(lance_arrow.errors.InvalidArgumentError, match="does not exist"):
            dataset.take(wrong)
