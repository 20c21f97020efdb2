"""What a scan of many small fragments, or files, costs: calls of Python for each further one."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from small_files import small_file_rows

import lance_arrow
from lance_arrow import LanceTable, Runtime, Settings, write_table
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset

NUM_FRAGMENTS, FRAGMENT_ROWS = 400, 1000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("many") / "t.lance"
    rows = pa.Table.from_batches([small_file_rows(number, FRAGMENT_ROWS) for number in range(NUM_FRAGMENTS)])
    LanceTable.create(place, rows, max_rows_per_file=FRAGMENT_ROWS)
    return place


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("files")
    for number in range(NUM_FRAGMENTS):
        write_table(pa.Table.from_batches([small_file_rows(number, FRAGMENT_ROWS)]), place / f"{number:03}.lance")
    return place


def counted(read: Callable[[], pa.Table], num_rows: int) -> int:
    """Count the calls of a scan, in this thread."""
    calls: Counter[str] = Counter()

    def look(frame: Any, event: str, _: object) -> None:
        if event in ("call", "c_call"):
            calls[f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}"] += 1

    sys.setprofile(look)
    try:
        found = read()
    finally:
        sys.setprofile(None)
    assert found.num_rows == num_rows
    return sum(calls.values())


def rows_left(num_fragments: int, filter: str | None) -> int:
    return num_fragments * FRAGMENT_ROWS if filter is None else FRAGMENT_ROWS


def calls_of(path: Path, num_fragments: int, columns: Sequence[str], filter: str | None) -> int:
    """Count the calls of a scan of the first fragments; those of opening the table are left out."""
    reader = LanceTable.open(path)._reader.part(range(num_fragments))
    reader._runtime = Runtime(Settings(num_threads=1))
    projection = reader.projection(columns)
    return counted(lambda: reader.read(projection, filter), rows_left(num_fragments, filter))


def dataset_calls_of(
    path: Path,
    num_files: int,
    columns: Sequence[str],
    filter: str | None,
    cls: type[pads.FileSystemDataset] = LanceDataset,
) -> int:
    """Count the calls of a scan of a dataset of the first files; those of opening it are left out."""
    whole = lance_arrow.dataset(path)
    dataset = cls(whole.fragments[:num_files], whole.schema, whole.format, whole.filesystem)
    dataset.scanner()
    scanner = dataset.scanner(columns=list(columns), filter=filter, use_threads=False)
    return counted(scanner.to_table, rows_left(num_files, filter))


@pytest.mark.parametrize(
    ("num_columns", "filter", "most"),
    # About 5,750 where each fragment is read by itself, and 470 for each further column.
    [(10, None, 110), (1, None, 70), (10, "id >= 5000 AND id < 6000", 120)],
)
def test_a_further_fragment(path: Path, num_columns: int, filter: str | None, most: int) -> None:
    names = small_file_rows(0, 1).schema.names[:num_columns]
    few, many = NUM_FRAGMENTS // 4, NUM_FRAGMENTS
    calls_of(path, few, names, filter)
    calls = (calls_of(path, many, names, filter) - calls_of(path, few, names, filter)) / (many - few)
    assert calls < most


@pytest.mark.parametrize("place", ["path", "folder"])
@pytest.mark.parametrize(
    ("num_columns", "filter", "most"),
    # About 5,100 where each file is scanned by itself, and 420 for each further column.
    [(10, None, 100), (1, None, 50), (10, "id >= 5000 AND id < 6000", 90)],
)
def test_a_further_file_of_a_dataset(
    place: str, num_columns: int, filter: str | None, most: int, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(place)
    names = small_file_rows(0, 1).schema.names[:num_columns]
    few, many = NUM_FRAGMENTS // 4, NUM_FRAGMENTS
    dataset_calls_of(path, few, names, filter)
    calls = (dataset_calls_of(path, many, names, filter) - dataset_calls_of(path, few, names, filter)) / (many - few)
    assert calls < most


def test_a_further_file_of_a_dataset_that_pyarrow_made(folder: Path) -> None:
    names = small_file_rows(0, 1).schema.names

    def calls(num_files: int) -> int:
        return dataset_calls_of(folder, num_files, names, None, pads.FileSystemDataset)

    calls(NUM_FRAGMENTS // 4)
    assert (calls(NUM_FRAGMENTS) - calls(NUM_FRAGMENTS // 4)) / (NUM_FRAGMENTS * 3 // 4) < 180
