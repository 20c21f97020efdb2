"""Counts without a filter: files of a schema that the count has seen are counted natively, and refused as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

import lance_arrow
from lance_arrow import LanceFormat, LanceFragmentScanOptions
from lance_arrow.errors import CorruptFileError, LanceError
from lance_arrow.scan.open_files import OpenFiles

NUM_FILES = 50
TABLE = pa.table({"n": pa.array(range(400)), "s": pa.array([f"text {n}" for n in range(400)])})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(NUM_FILES):
        lance_arrow.write_table(TABLE.slice(number), tmp_path / f"{number:02}.lance")
    return tmp_path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    get = OpenFiles.get

    def look(self: OpenFiles, place: Any, scan_options: Any = None) -> Any:
        found.append(Path(place.path).name)
        return get(self, place, scan_options)

    monkeypatch.setattr(OpenFiles, "get", look)
    return found


def dataset_of(folder: Path, **options: Any) -> pads.FileSystemDataset:
    return pads.dataset(str(folder), format=LanceFormat(**options))


def rows_of(numbers: range) -> int:
    return sum(len(TABLE) - number for number in numbers)


def test_few_files_are_opened(folder: Path, opened: list[str]) -> None:
    dataset = dataset_of(folder)
    opened.clear()
    assert dataset.count_rows() == rows_of(range(NUM_FILES))
    assert len(opened) == 2
    opened.clear()
    assert lance_arrow.dataset(folder).count_rows() == rows_of(range(NUM_FILES))
    assert len(opened) <= 3


def test_each_file_is_opened_where_all_of_it_is_to_be_checked(folder: Path, opened: list[str]) -> None:
    dataset = dataset_of(folder, verify="full")
    opened.clear()
    assert dataset.count_rows() == rows_of(range(NUM_FILES))
    assert len(opened) == NUM_FILES
    opened.clear()
    wishes = LanceFragmentScanOptions(verify="full")
    assert dataset_of(folder).scanner(fragment_scan_options=wishes).count_rows() == rows_of(range(NUM_FILES))
    assert len(opened) >= NUM_FILES


def test_files_of_other_kinds_among_them(folder: Path) -> None:
    """Another schema, another order of columns, other versions, no rows, no checksums."""
    others = [
        (pa.table({"n": pa.array(range(7), pa.int32())}), {}),
        (TABLE.select(["s", "n"]).slice(10), {}),
        (TABLE.slice(20), {"file_version": "2.0"}),
        (TABLE.slice(30), {"file_version": "2.1"}),
        (TABLE.slice(0, 0), {}),
        (TABLE.slice(40), {"checksums": False}),
    ]
    for number, (table, options) in enumerate(others):
        lance_arrow.write_table(table, folder / f"{number:02}-other.lance", **options)
    expected = rows_of(range(NUM_FILES)) + sum(len(table) for table, _ in others)
    assert dataset_of(folder).count_rows() == expected


def test_filtered_counts_are_counts_of_the_filter(folder: Path) -> None:
    dataset = dataset_of(folder)
    assert dataset.count_rows() == rows_of(range(NUM_FILES))
    assert dataset.count_rows(filter=pc.field("n") >= 399) == NUM_FILES
    assert dataset.count_rows(filter=pc.field("n") < 1) == 1
    assert dataset.filter(pc.field("n") < 2).count_rows() == 3


def test_parts_of_files_are_counted_as_parts(folder: Path) -> None:
    fragments = lance_arrow.dataset(folder).fragments
    parts = [fragment.subset(rows=(0, 5)) for fragment in fragments]
    whole = lance_arrow.dataset(folder)
    cut = type(whole)(parts, whole.schema, whole.format, whole.filesystem)
    assert cut.count_rows() == 5 * NUM_FILES


@pytest.mark.parametrize("verify", ["touched", "off"])
def test_damaged_files_are_refused_as_they_are_alone(folder: Path, verify: str) -> None:
    path = folder / f"{NUM_FILES - 1}.lance"
    content = path.read_bytes()
    first = int.from_bytes(content[-40:-32], "little")
    dataset = dataset_of(folder, verify=verify)
    for at in [*range(first, len(content), 37), *range(len(content) - 40, len(content))]:
        damaged = bytearray(content)
        damaged[at] ^= 4
        path.write_bytes(damaged)
        alone = pads.dataset([str(path)], format=LanceFormat(verify=verify), schema=TABLE.schema)
        assert outcome(dataset) == outcome(alone, rows_of(range(NUM_FILES - 1))), at


def outcome(dataset: pads.FileSystemDataset, more: int = 0) -> object:
    try:
        return dataset.count_rows() + more
    except LanceError as error:
        return type(error), str(error)


def test_files_that_are_gone_or_none(folder: Path) -> None:
    dataset = dataset_of(folder)
    (folder / "40.lance").unlink()
    with pytest.raises(FileNotFoundError, match=r"40\.lance"):
        dataset.count_rows()
    (folder / "40.lance").write_bytes(b"no Lance file")
    with pytest.raises(CorruptFileError, match=r"40\.lance"):
        dataset.count_rows()
