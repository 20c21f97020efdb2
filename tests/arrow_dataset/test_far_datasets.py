"""Folders of bare files in a store, through pyarrow's own datasets: files that follow are asked for in groups."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from bucket_server import Bucket, bucket
from same import assert_same

import lance_arrow
from lance_arrow import LanceFormat
from lance_arrow.arrow_dataset.ahead.count_ahead import CountAhead
from lance_arrow.errors import CorruptFileError, InvalidArgumentError
from lance_arrow.io.obstore_filesystem import as_filesystem

NUM_FILES, NUM_ROWS = 20, 15_000
TOTAL = NUM_FILES * NUM_ROWS
F = pc.field
FILTERS = {
    "none": None,
    "sorted": (F("id") >= TOTAL // 2) & (F("id") < TOTAL // 2 + 5),
    "rare": F("x") < 5,
    "half": F("id") > TOTAL // 2,
    "words": F("word") == "w7",
    "nulls": F("some").is_null() & (F("x") < 50),
    "computed": pc.multiply(F("x"), 2) == 34,
    "nothing": F("id") < 0,
}


@functools.cache
def rows() -> pa.Table:
    random = np.random.default_rng(9)
    return pa.table({
        "id": np.arange(TOTAL),
        "x": random.integers(0, 1000, TOTAL),
        "some": pa.array(random.random(TOTAL), mask=random.random(TOTAL) < 0.1),
        "word": pa.array([f"w{number}" for number in range(50)]).take(pa.array(random.integers(0, 50, TOTAL))),
    })  # fmt: skip


def write(folder: Path) -> None:
    folder.mkdir()
    for number in range(NUM_FILES):
        part = rows().slice(number * NUM_ROWS, NUM_ROWS)
        lance_arrow.write_table(part, folder / f"{number:02}.lance")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    folder = tmp_path_factory.mktemp("store")
    write(folder / "files")
    with bucket(folder) as started:
        yield started


@pytest.fixture
def quiet(server: Bucket) -> Iterator[Bucket]:
    """The same files, without what a scan that was given up still asks for."""
    with bucket(server.folder) as started:
        yield started


def opened(server: Bucket, name: str = "files") -> pads.FileSystemDataset:
    found = pads.dataset(name, filesystem=as_filesystem(server.store()), format=LanceFormat())
    server.requests.clear()
    return found


def files_asked(server: Bucket) -> list[str]:
    """Names of the files that requests were for, once each."""
    return sorted({Path(one.split()[1].partition("?")[0]).name for one in server.requests})


@pytest.mark.parametrize("filter", FILTERS)
def test_rows_and_counts(filter: str, server: Bucket) -> None:
    condition = FILTERS[filter]
    expected = rows() if condition is None else rows().filter(condition)
    assert opened(server).count_rows(filter=condition) == expected.num_rows
    assert_same(expected, opened(server).to_table(filter=condition))
    assert_same(expected.select(["word"]), opened(server).to_table(columns=["word"], filter=condition))
    assert_same(expected.slice(0, 7), opened(server).head(7, filter=condition))


def test_counts_are_asked_for_together(quiet: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    groups: list[int] = []
    plain = CountAhead._count_group

    def noted(self: CountAhead, *args: Any) -> None:
        plain(self, *args)
        groups.append(len(self._known))

    monkeypatch.setattr(CountAhead, "_count_group", noted)
    dataset = opened(quiet)
    assert dataset.count_rows() == TOTAL
    # The first file by itself, and the end of each of the others.
    assert groups == [NUM_FILES - 1]
    assert len(quiet.requests) <= NUM_FILES + 1
    quiet.requests.clear()
    assert dataset.count_rows(filter=FILTERS["half"]) == TOTAL // 2 - 1
    assert groups == [NUM_FILES - 1] * 2
    # Zone maps decide on all rows but those of one zone.
    assert len(quiet.requests) <= NUM_FILES + 3


def test_a_scan_reads_most_files_in_two_waves(quiet: Bucket) -> None:
    assert opened(quiet).to_table(columns=["x"]).num_rows == TOTAL
    # An end and a column of each.
    assert len(quiet.requests) <= 2 * NUM_FILES + 4


def test_one_fragment_reads_its_own_file(quiet: Bucket) -> None:
    dataset = opened(quiet)
    for path, fragment in list(zip(dataset.files, dataset.get_fragments(), strict=True))[:3]:
        quiet.requests.clear()
        assert fragment.count_rows(filter=FILTERS["rare"]) > 0
        assert fragment.to_table(columns=["id"]).num_rows == NUM_ROWS
        assert files_asked(quiet) == [Path(path).name]


def test_a_damaged_file_is_named(server: Bucket) -> None:
    write(server.folder / "damaged")
    path = server.folder / "damaged" / "13.lance"
    data = bytearray(path.read_bytes())
    data[:40_000] = bytes(byte ^ 0x55 for byte in data[:40_000])
    path.write_bytes(data)
    with pytest.raises(CorruptFileError, match=r"13\.lance"):
        opened(server, "damaged").to_table()
    with pytest.raises(CorruptFileError, match=r"13\.lance"):
        opened(server, "damaged").count_rows(filter=FILTERS["computed"])
    # Ends are whole.
    assert opened(server, "damaged").count_rows() == TOTAL


def test_files_of_other_schemas_and_generations(server: Bucket) -> None:
    folder = server.folder / "mixed"
    write(folder)
    for number, version in ((3, "2.0"), (4, "2.3"), (9, "2.0")):
        part = rows().slice(number * NUM_ROWS, NUM_ROWS)
        lance_arrow.write_table(part, folder / f"{number:02}.lance", file_version=version)
    lacking = rows().slice(5 * NUM_ROWS, NUM_ROWS).drop_columns(["some"])
    lance_arrow.write_table(lacking, folder / "05.lance")
    assert opened(server, "mixed").count_rows() == TOTAL
    for name in ("rare", "words", "half"):
        assert opened(server, "mixed").count_rows(filter=FILTERS[name]) == rows().filter(FILTERS[name]).num_rows
    found = opened(server, "mixed").to_table()
    assert found["word"].equals(rows()["word"])
    assert found["some"].slice(5 * NUM_ROWS, NUM_ROWS).null_count == NUM_ROWS


def test_a_filter_that_fails_is_an_error(server: Bucket) -> None:
    condition = pc.divide(F("x"), F("id")) == 1
    for read in (opened(server).to_table, opened(server).count_rows):
        with pytest.raises((InvalidArgumentError, pa.ArrowInvalid), match="divide by zero"):
            read(filter=condition)
