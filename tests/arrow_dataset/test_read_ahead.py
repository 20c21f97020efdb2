"""Files of datasets that pyarrow made are read ahead in groups: rows, order, errors are those of files read alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from same import assert_same
from small_files import bare_files, mixed_rows

from lance_arrow import LanceFormat, LanceFragmentScanOptions, LanceTable, write_table
from lance_arrow.arrow_dataset.ahead import read_ahead
from lance_arrow.arrow_dataset.file_group import BareFiles
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.scan_handler import FileScanHandler
from lance_arrow.errors import InvalidArgumentError, LanceError
from lance_arrow.scan.groups import opened_together
from lance_arrow.spi import ReadReport

F = pc.field
NUM_FILES, FILE_ROWS = 60, 10


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[int]]:
    """How many files of this test each group has that is read ahead."""
    counts: list[int] = []
    read = BareFiles.read_files

    def counted(self, *others):
        # Threads may still read ahead for a scan of the test before.
        if tmp_path.name in self.paths[0]:
            counts.append(len(self.paths))
        return read(self, *others)

    monkeypatch.setattr(BareFiles, "read_files", counted)
    return counts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return bare_files(tmp_path / "bare", mixed_rows(0, NUM_FILES * FILE_ROWS), FILE_ROWS)


def opened(folder: Path, **how: Any) -> pads.FileSystemDataset:
    return pads.dataset(folder, format=LanceFormat(), **how)


def alone(read: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Read with no file read ahead."""
    with monkeypatch.context() as patch:
        patch.setattr(FileScanHandler, "_may_read_ahead", lambda self, *others: False)
        return read()


@pytest.mark.parametrize("use_threads", [True, False])
def test_rows_and_order(folder: Path, use_threads: bool, groups: list[int]) -> None:
    rows = mixed_rows(0, NUM_FILES * FILE_ROWS)
    assert_same(rows, opened(folder).to_table(use_threads=use_threads))
    # The first two tell that files are asked for in order.
    assert len(groups) == 2
    assert groups[0] == 8
    assert sum(groups) in range(60 - 4, 60)
    assert_same(rows.select(["text", "id"]), opened(folder).to_table(columns=["text", "id"], use_threads=use_threads))
    assert opened(folder).to_table(columns=[], use_threads=use_threads).num_rows == rows.num_rows
    batches = list(opened(folder).to_batches(batch_size=7, use_threads=use_threads))
    assert max(batch.num_rows for batch in batches) <= 7
    assert_same(rows, pa.Table.from_batches(batches))
    names = opened(folder).to_table(columns=["__filename", "id"], use_threads=use_threads)["__filename"]
    assert names.to_pylist() == [path for path in opened(folder).files for _ in range(FILE_ROWS)]


@pytest.mark.parametrize("path", ["bare", "./bare", "bare/../bare"])
def test_relative_paths(path: str, folder: Path, monkeypatch: pytest.MonkeyPatch, groups: list[int]) -> None:
    monkeypatch.chdir(folder.parent)
    rows = mixed_rows(0, NUM_FILES * FILE_ROWS)
    assert_same(rows, pads.dataset(path, format=LanceFormat()).to_table())
    assert_same(rows.filter(F("id") > 90), pads.dataset(path, format=LanceFormat()).to_table(filter=F("id") > 90))
    assert groups


def test_one_dataset_is_scanned_again_and_by_threads(folder: Path) -> None:
    rows, dataset = mixed_rows(0, NUM_FILES * FILE_ROWS), opened(folder)
    found: list[pa.Table] = []
    threads = [threading.Thread(target=lambda: found.append(dataset.to_table())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    for one in [*found, dataset.to_table()]:
        assert_same(rows, one)


def test_scans_that_leave_out_files_soon_read_none_ahead(folder: Path, groups: list[int]) -> None:
    dataset = opened(folder)
    rows = mixed_rows(0, NUM_FILES * FILE_ROWS)
    some = [*range(20), *range(20, 60, 3)]
    fragments = LanceDataset.from_dataset(dataset).fragments
    part = pads.FileSystemDataset(
        [fragments[number] for number in some], dataset.schema, LanceFormat(), dataset.filesystem
    )
    expected = pa.concat_tables([rows.slice(FILE_ROWS * number, FILE_ROWS) for number in some])
    assert_same(expected, part.to_table())
    assert len(groups) <= 3
    groups.clear()
    for number in (0, 7, 8, 9, 30):
        assert_same(rows.slice(FILE_ROWS * number, FILE_ROWS), fragments[number].to_table())
    assert groups == []


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "condition",
    [
        F("id") >= 0,
        F("word") == "word 1",
        (F("s").is_null() & (F("id") > 200)) | F("b"),
        ~F("text").isin(["x"]),
        F("st", "x") > 100,
    ],
    ids=str,
)
def test_filters(folder: Path, condition: pc.Expression, groups: list[int]) -> None:
    expected = mixed_rows(0, NUM_FILES * FILE_ROWS).filter(condition)
    assert_same(expected, opened(folder).to_table(filter=condition))
    assert_same(expected.select(["f"]), opened(folder).to_table(columns=["f"], filter=condition))
    assert opened(folder).count_rows(filter=condition) == expected.num_rows
    assert groups


def test_files_that_zone_maps_exclude_are_not_read_ahead(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    read_small_files = opened_together.read_small_files

    def counted(filesystem, paths, *others):
        read.extend(paths)
        return read_small_files(filesystem, paths, *others)

    monkeypatch.setattr(opened_together, "read_small_files", counted)
    condition = (F("id") >= 300) & (F("id") < 330)
    assert opened(folder).to_table(filter=condition)["id"].to_pylist() == list(range(300, 330))
    assert {Path(path).name for path in read} <= {"0030.lance", "0031.lance", "0032.lance"}


def test_a_filter_that_fails_is_the_error_of_a_file(
    folder: Path, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> str:
        with pytest.raises(InvalidArgumentError) as caught:
            opened(folder).to_table(filter=pc.divide(pc.scalar(1), F("id") - 511) > 0)
        return str(caught.value)

    found = read()
    assert groups
    assert found == alone(read, monkeypatch)


@pytest.mark.parametrize(
    "condition",
    [
        pc.divide(pc.scalar(1000), F("id") + 1) > 100,
        pc.match_substring(F("s"), "7"),
        pc.match_like(F("word"), "%1"),
        F("id") * 2 + 1 == 301,
    ],
    ids=str,
)
def test_filters_that_may_fail_are_read_ahead(folder: Path, condition: pc.Expression, groups: list[int]) -> None:
    expected = mixed_rows(0, NUM_FILES * FILE_ROWS).filter(condition)
    assert_same(expected, opened(folder).to_table(filter=condition))
    assert opened(folder).count_rows(filter=condition) == expected.num_rows
    assert len(groups) > 1


def test_wishes_have_files_read_alone(folder: Path, groups: list[int], tmp_path: Path) -> None:
    options = LanceFragmentScanOptions(zone_maps=False)
    assert opened(folder).to_table(fragment_scan_options=options).num_rows == NUM_FILES * FILE_ROWS
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    assert opened(folder).to_table(memory_pool=pool).num_rows == NUM_FILES * FILE_ROWS
    rows = mixed_rows(0, 200).select(["id", "s"])
    old = bare_files(tmp_path / "old", rows, FILE_ROWS, file_version="2.0")
    assert_same(rows, opened(old).to_table())
    LanceTable.create(tmp_path / "t.lance", rows, max_rows_per_file=FILE_ROWS)
    assert_same(rows, opened(tmp_path / "t.lance").to_table().sort_by("id"))
    assert groups == []


def test_receipts_have_each_file(folder: Path, groups: list[int], receipts: list[ReadReport]) -> None:
    assert opened(folder).to_table().num_rows == NUM_FILES * FILE_ROWS
    assert len(receipts) == NUM_FILES
    assert groups == []


def test_hive_folders(tmp_path: Path, groups: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = mixed_rows(0, 600)
    for part in range(3):
        (tmp_path / f"kind={part}").mkdir()
        bare_files(tmp_path / f"kind={part}", rows.slice(200 * part, 200), FILE_ROWS)
    dataset = opened(tmp_path, partitioning="hive")
    read, folders = BareFiles.read_files, set()

    def noted(self, *others):
        folders.update(Path(path).parent for path in self.paths if tmp_path.name in path)
        return read(self, *others)

    with monkeypatch.context() as patch:
        patch.setattr(BareFiles, "read_files", noted)
        # Of its own filter nothing is left for the files.
        assert dataset.to_table(columns=["id"], filter=F("kind") == 1)["id"].to_pylist() == list(range(200, 400))
    # Threads of one scan may each begin to read ahead, and then the same files.
    assert folders <= {tmp_path / "kind=1"}
    groups.clear()
    found = dataset.to_table(columns=["id", "kind"])
    assert found["id"].to_pylist() == list(range(600))
    assert found["kind"].to_pylist() == [number // 200 for number in range(600)]
    assert groups


def test_files_of_other_schemas(tmp_path: Path, groups: list[int]) -> None:
    rows = mixed_rows(0, 600)
    for number in range(60):
        part = rows.slice(10 * number, 10)
        if 30 <= number < 35 or number == 40:
            part = part.drop_columns(["s"])
        write_table(part, tmp_path / f"{number:03}.lance", file_version="2.1" if number == 50 else "2.2")
    found = opened(tmp_path, schema=rows.schema).to_table()
    assert_same(rows.drop_columns(["s"]), found.drop_columns(["s"]))
    lacking = [*range(300, 350), *range(400, 410)]
    assert found["s"].to_pylist() == [
        None if number in lacking else value for number, value in enumerate(rows["s"].to_pylist())
    ]
    assert groups


@pytest.mark.share(2)
@pytest.mark.parametrize("damage", ["absent", "cut", "longer", "value", "footer"])
def test_damage_is_blamed_on_its_file(folder: Path, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = opened(folder)
    damaged = Path(dataset.files[23])
    content = bytearray(damaged.read_bytes())
    if damage == "absent":
        damaged.unlink()
    elif damage == "value":
        content[0] ^= 1
    elif damage == "footer":
        content[-1] ^= 1
    if damage != "absent":
        damaged.write_bytes({"cut": content[:-1], "longer": content + b"\0"}.get(damage, content))

    def read() -> tuple[type[Exception], str]:
        with pytest.raises((LanceError, OSError)) as caught:
            dataset.to_table()
        return caught.type, str(caught.value)

    found = read()
    assert damaged.name in found[1]
    assert found == alone(read, monkeypatch)


def test_the_first_rows_take_few_files(folder: Path, groups: list[int]) -> None:
    assert opened(folder).head(5)["id"].to_pylist() == list(range(5))
    assert len(groups) <= 2


def test_rows_that_take_too_much_memory_are_read_file_by_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, groups: list[int]
) -> None:
    monkeypatch.setattr("lance_arrow.settings.Settings.window_bytes", lambda self, *others: 1 << 14)
    assert_same(mixed_rows(0, NUM_FILES * FILE_ROWS), opened(folder).to_table())
    monkeypatch.setattr(read_ahead, "MOST_AHEAD", 16)
    assert_same(mixed_rows(0, NUM_FILES * FILE_ROWS), opened(folder).to_table())
