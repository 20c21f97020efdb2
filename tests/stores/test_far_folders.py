"""Bare files in a folder of a store are opened and read many at a time, and never as rows of two versions of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from bucket_server import Bucket, bucket

import lance_arrow
from lance_arrow.container import joined_source
from lance_arrow.errors import FileChangedError
from lance_arrow.integrations.duckdb import relation

NUM_FILES, NUM_ROWS = 24, 20_000
TOTAL = NUM_FILES * NUM_ROWS
WAIT_SECONDS = 0.03
LEAST_WAITING = 8
_ID, _X = pads.field("id"), pads.field("x")
FILTERS = {
    "sorted": (_ID >= TOTAL // 2) & (_ID < TOTAL // 2 + 5),
    "of a border": (_ID >= NUM_ROWS - 3) & (_ID < NUM_ROWS + 3),
    "rare": _X < 5,
    "two columns": (_ID < 30_000) | (_X == 17),
    "nulls": pads.field("some").is_null() & (_X < 50),
    "nothing": _ID < 0,
}


def rows(first: int, version: int = 0) -> pa.Table:
    random = np.random.default_rng(first + version)
    return pa.table({
        "id": np.arange(first, first + NUM_ROWS),
        "x": random.integers(0, 1000, NUM_ROWS) + 1000 * version,
        "some": pa.array(random.random(NUM_ROWS), mask=random.random(NUM_ROWS) < 0.1),
        **{name: random.random(NUM_ROWS) for name in ("u", "v")},
    })  # fmt: skip


def write(folder: Path, **options: Any) -> None:
    folder.mkdir()
    for number in range(NUM_FILES):
        lance_arrow.write_table(rows(number * NUM_ROWS), folder / f"{number:02}.lance", **options)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    folder = tmp_path_factory.mktemp("folders")
    write(folder / "plain")
    write(folder / "bare", checksums=False, rows_per_zone=None)
    with bucket(folder, seconds=WAIT_SECONDS) as started:
        yield started


@pytest.mark.share(2)
@pytest.mark.cover(1)
@pytest.mark.parametrize("name", ["plain", "bare"])
@pytest.mark.parametrize("filter", FILTERS)
def test_filters_find_what_they_find_locally(name: str, filter: str, server: Bucket) -> None:
    far = lance_arrow.dataset(name, filesystem=server.store())
    near = lance_arrow.dataset(server.folder / name)
    condition = FILTERS[filter]
    assert far.count_rows(filter=condition) == near.count_rows(filter=condition)
    server.most_waiting = 0
    found = far.to_table(["id", "u"], filter=condition)
    assert found.sort_by("id").equals(near.to_table(["id", "u"], filter=condition).sort_by("id"))
    assert server.most_waiting >= LEAST_WAITING


def test_a_column_is_an_end_and_a_page_of_each_file(server: Bucket) -> None:
    far = lance_arrow.dataset("plain", filesystem=server.store())
    server.requests.clear()
    server.sent.clear()
    server.most_waiting = 0
    found = far.to_table(["v"])
    size = sum(file.stat().st_size for file in (server.folder / "plain").iterdir())
    assert found.equals(lance_arrow.dataset(server.folder / "plain").to_table(["v"]))
    assert server.most_waiting >= LEAST_WAITING
    # The first file is opened alone, for its schema, and a window that begins within a file asks for it once more.
    assert len(server.requests) <= 2 * NUM_FILES + NUM_FILES // 2
    assert sum(server.sent) < size / 2


@pytest.mark.parametrize(
    ("strings", "work"),
    [
        ("plain", lambda far: far.head(3)),
        ("plain", lambda far: far.head(3, filter=_X >= 0)),
        ("dictionary", lambda far: relation(far).limit(3).to_arrow_table()),
    ],
)
def test_first_rows_ask_once_what_the_first_file_is(
    strings: Any, work: Callable[[Any], pa.Table], server: Bucket
) -> None:
    server.requests.clear()
    far = lance_arrow.dataset("plain", filesystem=server.store(), strings=strings)
    opened = len(server.requests)
    # A listing, whether the folder is a table or a file, and the end of the first file, once for all.
    assert opened <= 4
    assert work(far).num_rows == 3
    of_first = [request for request in server.requests[opened:] if "/00.lance" in request]
    # What it is, which its end tells, and its pages.
    assert len(of_first) <= 4


def test_rows_are_taken_from_many_files_at_once(server: Bucket) -> None:
    far = lance_arrow.dataset("plain", filesystem=server.store())
    server.most_waiting = 0
    numbers = list(range(17, TOTAL, NUM_ROWS // 2))[::-1]
    found = far.take(numbers)
    assert found.equals(lance_arrow.dataset(server.folder / "plain").take(numbers))
    assert server.most_waiting >= LEAST_WAITING


@pytest.mark.parametrize("has_checksums", [True, False])
def test_files_that_are_replaced_while_they_are_read(
    has_checksums: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "swapped", checksums=has_checksums)
    asked = joined_source.ask_files
    swaps: list[int] = []

    def swapping(filesystem: Any, paths: Any, *rest: Any) -> Any:
        if not swaps:
            # Ends were read, and pages are read next.
            for number in range(NUM_FILES):
                swaps.append(number)
                new = rows(number * NUM_ROWS, version=1)
                lance_arrow.write_table(new, tmp_path / "swapped" / f"{number:02}.lance", checksums=has_checksums)
        return asked(filesystem, paths, *rest)

    monkeypatch.setattr(joined_source, "ask_files", swapping)
    with bucket(tmp_path) as own:
        far = lance_arrow.dataset("swapped", filesystem=own.store())
        try:
            found = far.to_table(["x"])["x"].to_numpy()
        except FileChangedError:
            found = None
        assert swaps
        if found is not None:
            written = [
                np.concatenate([rows(one * NUM_ROWS, version)["x"] for one in range(NUM_FILES)]) for version in (0, 1)
            ]
            assert (found == np.where(found < 1000, *written)).all()
            # All rows of a file have one version.
            assert (np.ptp(found.reshape(NUM_FILES, NUM_ROWS) // 1000, axis=1) == 0).all()
