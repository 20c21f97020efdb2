"""Folders that are read and counted without Arrow's scan: their rows, near and far, and what is wrong with a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from bucket_server import Bucket, bucket
from filter_cases import filter_case
from same import assert_same
from small_files import bare_files, mixed_rows, noted_ends

import lance_arrow
from lance_arrow import LanceDataset
from lance_arrow.arrow_dataset.folder_reads import FolderReads
from lance_arrow.errors import CorruptFileError, FileChangedError, InvalidArgumentError
from lance_arrow.scan import open_files
from lance_arrow.scan.groups import group_sizes, opened_together

NUM_FILES, FILE_ROWS = 25, 40
OLD_COLUMNS = ["id", "s", "f", "word", "text", "b", "same"]
F = pc.field
_most_of_a_file = group_sizes.GroupSizes.most_of_a_file


@pytest.fixture(autouse=True)
def _by_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are opened by their ends, as those of megabytes, and more of them than stay open."""
    monkeypatch.setattr(group_sizes.GroupSizes, "most_of_a_file", lambda self, share, is_judged: 100)
    monkeypatch.setattr(open_files, "MOST_OPEN_FILES", 4)


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Reads and counts that Arrow had no part in."""
    found: list[str] = []
    for name in ("read", "count"):
        plain = getattr(FolderReads, name)

        def noted(self: FolderReads, *args: Any, plain: Any = plain, name: str = name) -> Any:
            made = plain(self, *args)
            if made is not None:
                found.append(name)
            return made

        monkeypatch.setattr(FolderReads, name, noted)
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    folder = tmp_path_factory.mktemp("store")
    with bucket(folder) as started:
        yield started


def rows_of(number: int) -> pa.Table:
    return mixed_rows(number * FILE_ROWS, (number + 1) * FILE_ROWS)


@pytest.mark.cover(4)
@pytest.mark.parametrize("number", range(60))
@pytest.mark.parametrize("is_far", [False, True], ids=["near", "far"])
def test_random_filters_find_the_rows_that_arrow_finds(
    number: int, is_far: bool, tmp_path: Path, server: Bucket, direct: list[str]
) -> None:
    case = next(
        one
        for one in (filter_case(700_000 + 100 * number + more) for more in range(100))
        if len(one.table) >= 40 and one.expected() is not None
    )
    name = f"random {number}"
    folder = bare_files(
        server.folder / name if is_far else tmp_path / name,
        case.table,
        9,
        file_version=case.file_version,
        rows_per_zone=case.rows_per_zone,
    )
    dataset = lance_arrow.dataset(name, filesystem=server.store()) if is_far else lance_arrow.dataset(folder)
    assert_same(case.expected(), dataset.to_table(filter=case.expression))
    assert dataset.count_rows(case.expression) == case.expected().num_rows
    column = case.table.column_names[0]
    assert_same(case.expected().select([column]), dataset.to_table([column], filter=case.expression))
    assert direct == ["read", "count", "read"]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
def test_files_of_all_generations(version: str, tmp_path: Path, direct: list[str]) -> None:
    rows = mixed_rows(0, NUM_FILES * FILE_ROWS)
    rows = rows.select(OLD_COLUMNS) if version == "2.0" else rows
    dataset = lance_arrow.dataset(bare_files(tmp_path / "d", rows, FILE_ROWS, file_version=version))
    assert_same(rows, dataset.to_table())
    assert_same(rows.filter(F("id") > 333).select(["word"]), dataset.to_table(["word"], filter=F("id") > 333))
    assert direct == ["read", "read"]


def test_generations_side_by_side(tmp_path: Path, direct: list[str]) -> None:
    versions = ["2.1", "2.1", "2.0", "2.3", "2.3", "2.3", "2.1"] * 3
    for number, version in enumerate(versions):
        part = rows_of(number).select(OLD_COLUMNS)
        lance_arrow.write_table(part, tmp_path / f"{number:02}.lance", file_version=version)
    expected = mixed_rows(0, len(versions) * FILE_ROWS).select(OLD_COLUMNS)
    dataset = lance_arrow.dataset(tmp_path)
    assert_same(expected, dataset.to_table())
    assert dataset.count_rows(F("word") == "word 1") == expected.filter(F("word") == "word 1").num_rows
    assert direct == ["read", "count"]


@pytest.mark.parametrize("how", [{}, {"verify": "full"}, {"verify": "off"}, {"dictionaries": "decode"}], ids=str)
def test_options_of_the_format(how: dict[str, Any], tmp_path: Path, direct: list[str]) -> None:
    folder = bare_files(tmp_path / "d", mixed_rows(0, NUM_FILES * FILE_ROWS), FILE_ROWS)
    dataset = lance_arrow.dataset(folder, **how)
    assert_same(dataset.scanner().to_table(), dataset.to_table())
    assert direct == ["read"]


def test_blobs(tmp_path: Path, direct: list[str]) -> None:
    field = pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = pa.schema([pa.field("id", pa.int64()), field])
    for number in range(10):
        rows = pa.table({"id": [number, -number], "blob": [bytes([number]) * 9000, None]}, schema=schema)
        lance_arrow.write_table(rows, tmp_path / f"{number}.lance")
    dataset = lance_arrow.dataset(tmp_path)
    assert dataset.to_table()["blob"].to_pylist() == dataset.scanner().to_table()["blob"].to_pylist()
    assert dataset.to_table(["blob"], filter=F("id") == 7)["blob"].to_pylist() == [bytes([7]) * 9000]
    assert direct == ["read", "read"]


@pytest.mark.parametrize("is_far", [False, True], ids=["near", "far"])
def test_a_damaged_file_is_named(is_far: bool, tmp_path: Path, server: Bucket) -> None:
    name = f"damaged {is_far}"
    rows = mixed_rows(0, NUM_FILES * FILE_ROWS)
    folder = bare_files(server.folder / name if is_far else tmp_path / name, rows, FILE_ROWS)
    path = sorted(folder.iterdir())[13]
    data = bytearray(path.read_bytes())
    data[:2000] = bytes(byte ^ 0x55 for byte in data[:2000])
    path.write_bytes(data)
    dataset = lance_arrow.dataset(name, filesystem=server.store()) if is_far else lance_arrow.dataset(folder)
    with pytest.raises(CorruptFileError, match=path.name):
        dataset.to_table()
    with pytest.raises(CorruptFileError, match=path.name):
        dataset.count_rows(pc.bit_wise_and(F("id"), 1) == 5)
    # What is left out is not looked at.
    assert dataset.count_rows(F("id") < 100) == 100


def test_a_file_that_was_replaced(tmp_path: Path) -> None:
    folder = bare_files(tmp_path / "d", mixed_rows(0, NUM_FILES * FILE_ROWS), FILE_ROWS)
    dataset = lance_arrow.dataset(folder)
    path = sorted(folder.iterdir())[7]
    for rows in (rows_of(7).slice(3), rows_of(8), pa.concat_tables([rows_of(7)] * 5)):
        made = path.with_suffix(".new")
        lance_arrow.write_table(rows, made)
        made.replace(path)
        found = dataset.to_table()
        assert_same(rows, found.slice(7 * FILE_ROWS, len(rows)))
        assert_same(dataset.scanner().to_table(), found)


def test_a_file_that_is_replaced_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of smaller files, the ends are all.
    rows = pa.table({"number": np.random.default_rng(3).random(9 * 20_000)})
    folder = bare_files(tmp_path / "d", rows, 20_000)
    dataset = lance_arrow.dataset(folder)
    path = sorted(folder.iterdir())[7]
    made = tmp_path / "new"
    lance_arrow.write_table(rows.slice(0, 20_000), made)
    plain = opened_together.as_one

    def replaced(*args: Any, **named: Any) -> Any:
        made.replace(path)
        return plain(*args, **named)

    monkeypatch.setattr(opened_together, "as_one", replaced)
    with pytest.raises(FileChangedError, match=path.name):
        dataset.to_table()


def test_far_folders_take_few_waves(server: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    bare_files(server.folder / "waves", mixed_rows(0, NUM_FILES * FILE_ROWS), FILE_ROWS)
    lance_arrow.write_table(rows_of(0), server.folder / "other.lance")
    store = server.store()
    lance_arrow.dataset("other.lance", filesystem=store).to_table()
    ends = noted_ends(monkeypatch)
    server.requests.clear()
    dataset = lance_arrow.dataset("waves", filesystem=store)
    # As a file and as a table; its files; the first of them.
    assert len(server.requests) == 4
    server.requests.clear()
    assert dataset.to_table(["id"]).num_rows == NUM_FILES * FILE_ROWS
    # Small files are their ends.
    assert len(server.requests) == NUM_FILES
    assert sum(ends) == NUM_FILES
    server.requests.clear()
    assert dataset.count_rows() == NUM_FILES * FILE_ROWS
    assert len(server.requests) == NUM_FILES


def test_far_files_that_are_named_one_by_one(server: Bucket, direct: list[str]) -> None:
    rows = mixed_rows(0, NUM_FILES * FILE_ROWS)
    folder = bare_files(server.folder / "named", rows, FILE_ROWS)
    names = [f"named/{path.name}" for path in sorted(folder.iterdir())]
    dataset = lance_arrow.dataset(names, filesystem=server.store())
    server.requests.clear()
    filtered = dataset.filter(F("id") < 50)
    assert not server.requests
    assert filtered.count_rows() == 50
    direct.clear()
    assert_same(rows, dataset.to_table())
    assert dataset.count_rows(F("id") < 77) == 77
    assert direct == ["read", "count"]
    (folder / "0003.lance").unlink()
    with pytest.raises(FileNotFoundError, match=r"0003\.lance"):
        lance_arrow.dataset(names, filesystem=server.store()).to_table()


def test_small_files_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct: list[str]) -> None:
    monkeypatch.setattr(group_sizes.GroupSizes, "most_of_a_file", _most_of_a_file)
    ends = noted_ends(monkeypatch)
    rows = mixed_rows(0, NUM_FILES * FILE_ROWS)
    dataset = lance_arrow.dataset(bare_files(tmp_path / "d", rows, FILE_ROWS))
    assert_same(rows, dataset.to_table())
    assert not ends
    assert direct == ["read"]


def test_a_filter_of_the_dataset_and_views(tmp_path: Path) -> None:
    rows = mixed_rows(0, NUM_FILES * FILE_ROWS)
    folder = bare_files(tmp_path / "d", rows, FILE_ROWS)
    dataset = lance_arrow.dataset(folder).filter(F("id") < 77)
    assert dataset.to_table(["id"], filter=F("id") > 70)["id"].to_pylist() == [71, 72, 73, 74, 75, 76]
    assert dataset.count_rows() == 77
    views = lance_arrow.dataset(folder, strings="view")
    assert views.to_table(["text"])["text"].cast(pa.string()).equals(rows["text"])


def test_other_wishes_are_for_arrow(tmp_path: Path, direct: list[str]) -> None:
    rows = mixed_rows(0, NUM_FILES * FILE_ROWS)
    folder = bare_files(tmp_path / "d", rows, FILE_ROWS)
    dataset = lance_arrow.dataset(folder)
    assert dataset.to_table({"twice": F("id") * 2})["twice"].to_pylist() == list(range(0, 2 * len(rows), 2))
    assert dataset.to_table(["id"], use_threads=False)["id"].to_pylist() == list(range(len(rows)))
    assert_same(rows.slice(0, 5), dataset.to_table(limit=5))
    part = LanceDataset(
        [dataset.fragments[2].subset(rows=(1, 3)), dataset.fragments[0]], dataset.schema, dataset.format
    )
    assert part.to_table(["id"])["id"].to_pylist() == [81, 82, *range(40)]
    assert direct == []


def test_errors_of_filters(tmp_path: Path) -> None:
    rows = pa.table({"n": np.arange(100), "d": np.arange(100)})
    dataset = lance_arrow.dataset(bare_files(tmp_path / "d", rows, 10))
    for read in (dataset.to_table, dataset.count_rows):
        with pytest.raises(InvalidArgumentError, match="divide by zero"):
            read(filter=pc.divide(F("n"), F("d")) == 1)
