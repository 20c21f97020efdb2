"""Rows by number of many bare files: counted natively, read in groups, and those that files read one by one give."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from same import assert_same
from small_files import mixed_rows, noted_ends
from values import seeded

import lance_arrow
from lance_arrow import LanceFormat
from lance_arrow.arrow_dataset.joined_taking import JoinedTaking
from lance_arrow.arrow_dataset.scan_handler import FileScanHandler
from lance_arrow.errors import InvalidArgumentError, LanceError
from lance_arrow.scan import open_files

NUM_FILES, FILE_ROWS = 40, 30


@pytest.fixture(autouse=True)
def _few_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are more files than stay open, as of a folder of a hundred."""
    monkeypatch.setattr(open_files, "MOST_OPEN_FILES", 4)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files are opened by their ends, by call."""
    return noted_ends(monkeypatch)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files that are opened one by one."""
    found: list[str] = []
    open_one = FileScanHandler.opened

    def noted(self: FileScanHandler, place: Any) -> Any:
        found.append(place.path)
        return open_one(self, place)

    monkeypatch.setattr(FileScanHandler, "opened", noted)
    return found


def write(folder: Path, rows: pa.Table, **how: Any) -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(len(rows) // FILE_ROWS):
        part = rows.slice(number * FILE_ROWS, FILE_ROWS)
        lance_arrow.write_table(part, folder / f"{number:03}.lance", **how)
    return folder


def numbers_of(count: int, *, seed: str = "taken") -> np.ndarray:
    """Rows in no order, some of them twice."""
    rng = seeded(seed)
    found = rng.integers(0, count, 120)
    return np.concatenate([found, found[:5], [0, count - 1]])


@pytest.fixture
def rows() -> pa.Table:
    return mixed_rows(0, NUM_FILES * FILE_ROWS)


@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
def test_rows_are_those_that_are_asked_for(
    version: str, rows: pa.Table, tmp_path: Path, ends: list[int], opened: list[str]
) -> None:
    dataset = lance_arrow.dataset(write(tmp_path / "d", rows, file_version=version))
    wanted = numbers_of(len(rows))
    assert_same(rows.take(pa.array(wanted)), dataset.take(wanted))
    assert sum(ends) > NUM_FILES // 2
    # One file shows the counter what they look like; the schema of the dataset is that of the first one.
    assert len(set(opened)) <= 2
    for columns in (["id"], ["text", "st"], ["st.x", "id"]):
        expected = lance_arrow.dataset(tmp_path / "d").to_table(columns=columns).take(pa.array(wanted))
        assert_same(expected, dataset.take(wanted, columns))
    doubled = dataset.take(wanted, {"twice": pads.field("id") * 2})
    assert doubled["twice"].to_pylist() == [2 * one for one in rows["id"].take(pa.array(wanted)).to_pylist()]
    for wrong in (-1, len(rows)):
        with pytest.raises(InvalidArgumentError, match=str(wrong)):
            dataset.take([*range(0, len(rows), 40), wrong])


def test_files_of_several_forms(rows: pa.Table, tmp_path: Path, ends: list[int]) -> None:
    # Files of 2.0 have no null structs.
    rows = rows.drop_columns(["st"])
    folder = write(tmp_path / "d", rows)
    parts = [rows.slice(number * FILE_ROWS, FILE_ROWS) for number in range(NUM_FILES)]
    # Another generation, another order of columns, no rows, and no checksums.
    lance_arrow.write_table(parts[3], folder / "003.lance", file_version="2.0")
    lance_arrow.write_table(parts[7].select(rows.schema.names[::-1]), folder / "007.lance")
    parts[9] = rows.slice(0, 0)
    lance_arrow.write_table(parts[9], folder / "009.lance")
    lance_arrow.write_table(parts[11], folder / "011.lance", checksums=False)
    lance_arrow.write_table(parts[12], folder / "012.lance", file_version="2.3")
    whole = pa.concat_tables(parts)
    wanted = numbers_of(len(whole))
    dataset = lance_arrow.dataset(folder)
    assert_same(whole.take(pa.array(wanted)), dataset.take(wanted))
    assert sum(ends) > NUM_FILES // 2
    assert_same(whole.take(pa.array([3 * FILE_ROWS, 0])), dataset.take([3 * FILE_ROWS, 0]))


def test_counts_are_those_of_the_files(rows: pa.Table, tmp_path: Path, opened: list[str]) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    rng = seeded("counts")
    counts = rng.integers(0, 50, NUM_FILES)
    for number, count in enumerate(counts.tolist()):
        part = rows.slice(0, count) if number % 3 else rows.slice(0, count).select(["id", "text"])
        lance_arrow.write_table(part, folder / f"{number:03}.lance", checksums=number % 5 != 0)
    taking = JoinedTaking.of(lance_arrow.dataset(folder).fragments)
    assert taking is not None
    assert taking.num_rows().tolist() == counts.tolist()
    assert len(set(opened)) < NUM_FILES // 2
    assert JoinedTaking.of(lance_arrow.dataset(folder).fragments[:4]) is None


@pytest.mark.parametrize("count", [FILE_ROWS, FILE_ROWS - 1])
def test_a_file_that_was_replaced_gives_its_new_rows(count: int, rows: pa.Table, tmp_path: Path) -> None:
    dataset = lance_arrow.dataset(write(tmp_path / "d", rows))
    wanted = np.arange(0, len(rows), FILE_ROWS)
    assert_same(rows.take(pa.array(wanted)), dataset.take(wanted))
    new = mixed_rows(10_000, 10_000 + count)
    lance_arrow.write_table(new, tmp_path / "new.lance")
    os.replace(tmp_path / "new.lance", tmp_path / "d" / "005.lance")
    expected = rows.take(pa.array(wanted))["id"].to_pylist()
    expected[5] = new["id"][0].as_py()
    assert dataset.take(wanted)["id"].to_pylist() == expected


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-30],
        lambda data: data[:-8] + bytes(8),
        lambda data: data[:64] + bytes([data[64] ^ 1]) + data[65:],
    ],
)
def test_a_damaged_file_is_named(damage: Callable[[bytes], bytes], rows: pa.Table, tmp_path: Path) -> None:
    dataset = lance_arrow.dataset(write(tmp_path / "d", rows))
    wanted = np.arange(0, len(rows))
    dataset.take(wanted)
    bad = tmp_path / "d" / "017.lance"
    bad.write_bytes(damage(bad.read_bytes()))
    with pytest.raises(LanceError) as error:
        dataset.take(wanted)
    assert bad.name in str(error.value)
    with pytest.raises((LanceError, OSError)) as error:
        lance_arrow.dataset(tmp_path / "d").take(wanted)
    assert bad.name in str(error.value)


def test_partitions_and_blobs(rows: pa.Table, tmp_path: Path) -> None:
    place = tmp_path / "parts"
    pads.write_dataset(
        rows.select(["id"]).append_column("key", pa.array([f"k{number % 12}" for number in range(len(rows))])),
        place,
        format=LanceFormat(),
        partitioning=["key"],
        partitioning_flavor="hive",
    )
    dataset = lance_arrow.dataset(place, partitioning="hive")
    whole = dataset.to_table()
    wanted = numbers_of(len(rows))
    assert_same(whole.take(pa.array(wanted)), dataset.take(wanted))
    blobs = pa.table({"blob": pa.array([b"%d" % one for one in range(len(rows))], pa.large_binary())})
    field = pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    folder = write(tmp_path / "blobs", blobs.cast(pa.schema([field])))
    assert lance_arrow.dataset(folder).take(wanted)["blob"].to_pylist() == [b"%d" % one for one in wanted]
