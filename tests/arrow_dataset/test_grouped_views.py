"""Datasets of many small files are scanned in groups: rows, order and errors are those of a scan file by file."""

from __future__ import annotations

import copy
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.fs
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from made_once import copied
from same import assert_same
from small_files import bare_files, mixed_rows, noted_ends

import lance_arrow
from lance_arrow import LanceFormat, LanceFragmentScanOptions, LanceTable, write_table
from lance_arrow.arrow_dataset import grouped_view
from lance_arrow.arrow_dataset.file_group import BareFiles
from lance_arrow.arrow_dataset.fragment_group import FragmentGroup
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment
from lance_arrow.arrow_dataset.scan_handler import FileScanHandler
from lance_arrow.errors import InvalidArgumentError, LanceError
from lance_arrow.runtime import default_runtime
from lance_arrow.scan import open_files
from lance_arrow.scan.groups import group_sizes, opened_together
from lance_arrow.spi import ReadReport

_POOLS: list[pa.MemoryPool] = []
F = pc.field
NUM_FILES, FILE_ROWS = 60, 10


_most_files = grouped_view._most_files


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many files each plan of a scan is of."""
    counts: list[int] = []
    plan = FileScanHandler.plan

    def counted(self, place, request):
        group = place.payload
        counts.append(
            len(group.numbers) if isinstance(group, FragmentGroup)
            else len(group.paths) if isinstance(group, BareFiles)
            else 1
        )  # fmt: skip
        return plan(self, place, request)

    monkeypatch.setattr(FileScanHandler, "plan", counted)
    return counts


def one_by_one(read: Callable[[], Any]) -> Any:
    """Scan with no group."""
    least, grouped_view.LEAST_GROUPED = grouped_view.LEAST_GROUPED, 1 << 40
    try:
        return read()
    finally:
        grouped_view.LEAST_GROUPED = least


def files(folder: Path, rows: pa.Table | None = None, **how: Any) -> Path:
    """A folder of bare files."""
    rows = mixed_rows(0, NUM_FILES * FILE_ROWS) if rows is None else rows
    return bare_files(folder, rows, FILE_ROWS, **how)


def table(path: Path, **how: Any) -> Path:
    """A table of as many fragments."""
    rows = mixed_rows(0, NUM_FILES * FILE_ROWS)
    key = ("table of as many files", repr(how))
    return copied(key, path, lambda made: LanceTable.create(made, rows, max_rows_per_file=FILE_ROWS, **how))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What each test copies."""
    folder = tmp_path_factory.mktemp("made")
    return {"table": table(folder / "t.lance"), "files": files(folder / "bare")}


@pytest.fixture(params=["table", "files"])
def place(request: pytest.FixtureRequest, made: dict[str, Path], tmp_path: Path) -> Path:
    return shutil.copytree(made[request.param], tmp_path / made[request.param].name)


@pytest.fixture(autouse=True)
def _larger_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few files would be divided further, for more threads to read them."""
    monkeypatch.setattr(grouped_view, "_most_files", lambda count: 20)


def check(open_: Callable[[], LanceDataset], **how: Any) -> pa.Table:
    """Compare a read, a scan, its batches and its count with those of a scan file by file."""
    expected = one_by_one(lambda: open_().scanner(**how).to_table())
    found = open_().to_table(**how)
    assert_same(expected, found)
    assert_same(expected, open_().scanner(**how).to_table())
    for batch_size, use_threads in ((7, True), (1000, False)):
        scanner = open_().scanner(batch_size=batch_size, use_threads=use_threads, **how)
        batches = list(scanner.to_batches())
        assert max((batch.num_rows for batch in batches), default=0) <= batch_size
        assert sum(batch.num_rows for batch in batches) == expected.num_rows
        assert scanner.count_rows() == expected.num_rows
        if expected.num_columns:
            assert_same(expected, pa.Table.from_batches(batches, expected.schema))
    assert open_().count_rows(filter=how.get("filter")) == expected.num_rows
    assert_same(expected.slice(0, 23), open_().scanner(**how).head(23))
    return found


def test_rows_and_order(place: Path, planned: list[int]) -> None:
    rows = mixed_rows(0, NUM_FILES * FILE_ROWS)
    assert_same(rows, check(lambda: lance_arrow.dataset(place)))
    assert max(planned) > 8
    for names in (["id"], ["text", "st", "b"], []):
        check(lambda names=names: lance_arrow.dataset(place), columns=names)
    check(lambda: lance_arrow.dataset(place), columns={"twice": F("id") * 2, "x": F("st", "x")})
    dataset = lance_arrow.dataset(place)
    assert_same(rows, copy.copy(dataset).to_table())
    planned.clear()
    assert_same(rows, pickle.loads(pickle.dumps(dataset)).scanner().to_table())
    assert max(planned) > 8


@pytest.mark.parametrize("version", ["2.1", "2.3"])
def test_other_generations(tmp_path: Path, version: str, planned: list[int], whole_run: bool) -> None:
    """Tables and bare files of each version; every day, a table of one and files of the other."""
    rows = mixed_rows(0, NUM_FILES * FILE_ROWS)
    makers = [make for make, one in ((table, "2.1"), (files, "2.3")) if whole_run or one == version]
    for make in makers:
        place = make(tmp_path / make.__name__, file_version=version)
        planned.clear()
        assert_same(rows, check(lambda place=place: lance_arrow.dataset(place)))
        assert max(planned) > 8


@pytest.mark.cover(1)
@pytest.mark.parametrize(
    "condition",
    [
        F("id") == 311,
        F("id") < 30,
        F("id") < 0,
        F("s").is_null() & (F("id") > 200),
        F("st", "x") > 500,
        F("word") == "word 1",
        F("none").is_null(),
        pc.Expression._call("random", [], pc.RandomOptions()) < 2.0,
    ],
    ids=str,
)
def test_filters(place: Path, condition: pc.Expression, planned: list[int]) -> None:
    everything = mixed_rows(0, NUM_FILES * FILE_ROWS)
    expected = everything if "random" in str(condition) else everything.filter(condition)
    assert_same(expected, check(lambda: lance_arrow.dataset(place), filter=condition))
    assert_same(expected.select(["f"]), lance_arrow.dataset(place).to_table(columns=["f"], filter=condition))
    assert_same(expected, lance_arrow.dataset(place).filter(condition).to_table())
    assert max(planned) > 8


def test_a_filter_that_fails_is_told_as_for_one_file(place: Path) -> None:
    condition = pc.divide(pc.scalar(1), F("id") - 311) > 0

    def read() -> str:
        with pytest.raises(InvalidArgumentError) as caught:
            lance_arrow.dataset(place).to_table(filter=condition)
        return str(caught.value)

    assert read() == one_by_one(read)


def test_files_that_zone_maps_exclude_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = files(tmp_path / "bare")
    sizes: list[int] = []
    read = opened_together.read_small_files

    def counted(filesystem, paths, *others):
        sizes.append(len(paths))
        return read(filesystem, paths, *others)

    monkeypatch.setattr(opened_together, "read_small_files", counted)
    dataset = lance_arrow.dataset(folder)
    assert dataset.to_table(filter=(F("id") >= 300) & (F("id") < 330))["id"].to_pylist() == list(range(300, 330))
    assert sum(sizes) <= 4


def test_tables_with_deletions_and_row_ids(tmp_path: Path, planned: list[int]) -> None:
    path = table(tmp_path / "t.lance", enable_stable_row_ids=True)
    changed = LanceTable.open(path)
    changed.delete(F("id").isin([0, 3, *range(100, 140), 399, 599]))
    changed.update({"f": "f + 1"}, "id % 11 = 3")
    changed.append(mixed_rows(600, 700), max_rows_per_file=9)
    found = check(lambda: lance_arrow.dataset(path))
    assert_same(found, LanceTable.open(path).to_table())
    names = ["id", "_rowid", "_rowaddr", "_row_last_updated_at_version"]
    check(lambda: lance_arrow.dataset(path), columns=names)
    check(lambda: lance_arrow.dataset(path), columns=["_rowid"], filter=pc.bit_wise_and(F("id"), 3) == 1)
    check(LanceTable.open(path).dataset, columns=names)
    assert max(planned) > 8


def test_an_index_leaves_out_fragments(tmp_path: Path, planned: list[int]) -> None:
    path = table(tmp_path / "t.lance", rows_per_zone=None)
    LanceTable.open(path).create_zone_map("id")
    assert check(lambda: lance_arrow.dataset(path), filter=F("id") > 570).num_rows == 29


def test_files_that_are_named_one_by_one(tmp_path: Path, planned: list[int]) -> None:
    paths = sorted(files(tmp_path / "bare").iterdir())
    assert_same(mixed_rows(0, 600), lance_arrow.dataset(paths).scanner().to_table())
    assert max(planned) > 8
    paths[30].unlink()
    for read in (LanceDataset.to_table, lambda dataset: dataset.scanner().to_table()):
        with pytest.raises(FileNotFoundError, match=paths[30].name):
            read(lance_arrow.dataset(paths))


def test_files_elsewhere(tmp_path: Path, planned: list[int]) -> None:
    filesystem = MemoryFileSystem()
    for path in files(tmp_path / "bare").iterdir():
        filesystem.pipe_file(f"/grouped/{path.name}", path.read_bytes())
    check(lambda: lance_arrow.dataset("/grouped", filesystem=filesystem), filter=F("id") > 300)
    assert_same(mixed_rows(0, 600), lance_arrow.dataset("memory://grouped").to_table())
    assert max(planned) > 8
    filesystem.rm("/grouped", recursive=True)
    below = pa.fs.SubTreeFileSystem(str(tmp_path), pa.fs.LocalFileSystem())
    planned.clear()
    assert_same(mixed_rows(0, 600), check(lambda: lance_arrow.dataset("bare", filesystem=below)))
    assert max(planned) > 8


def test_larger_files_are_judged_by_zone_maps(place: Path, monkeypatch: pytest.MonkeyPatch, planned: list[int]) -> None:
    monkeypatch.setattr(group_sizes, "SMALL_FILE_BYTES", 100)
    # As of a dataset of more files.
    monkeypatch.setattr(open_files, "MOST_OPEN_FILES", 10)
    ends = noted_ends(monkeypatch)
    assert check(lambda: lance_arrow.dataset(place), filter=F("id") >= 311).num_rows == 289
    assert max(planned) > 8
    assert max(ends) > 8
    assert check(lambda: lance_arrow.dataset(place), filter=F("id") == 311).num_rows == 1


def test_hive_folders(tmp_path: Path, planned: list[int]) -> None:
    rows = mixed_rows(0, 600)
    (tmp_path / "p").mkdir()
    for part in range(3):
        files(tmp_path / "p" / f"kind={part}", rows.slice(200 * part, 200))
    partitioning = pads.partitioning(pa.schema([("kind", pa.int32())]), flavor="hive")

    def open_() -> LanceDataset:
        return lance_arrow.dataset(tmp_path / "p", partitioning=partitioning)

    found = check(open_)
    assert found["kind"].to_pylist() == [number // 200 for number in range(600)]
    planned.clear()
    assert check(open_, filter=F("kind") == 1)["id"].to_pylist() == list(range(200, 400))
    assert check(open_, columns=["kind", "id"], filter=(F("kind") == 2) & (F("id") > 590)).num_rows == 9
    assert max(planned) > 8


def test_files_of_other_schemas(tmp_path: Path, planned: list[int]) -> None:
    rows = mixed_rows(0, 600)
    folder = tmp_path / "bare"
    folder.mkdir()
    for number in range(60):
        part = rows.slice(10 * number, 10)
        if 20 <= number < 25 or number == 40:
            part = part.drop_columns(["s"])
        if number >= 45:
            part = part.append_column("new", pa.array([number] * 10))
        write_table(part, folder / f"{number:03}.lance", file_version="2.1" if number == 30 else "2.2")
    schema = rows.schema.append(pa.field("new", pa.int64()))
    found = check(lambda: lance_arrow.dataset(folder, schema=schema))
    assert found["new"].null_count == 450
    assert found["s"].null_count == 200 + sum(1 for i in [*range(200, 250), *range(400, 410)] if i % 3)
    check(lambda: lance_arrow.dataset(folder, schema=schema), columns=["new", "id"], filter=F("new").is_valid())
    assert max(planned) > 8


def test_scans_that_ask_for_files_see_files(place: Path, planned: list[int]) -> None:
    dataset = lance_arrow.dataset(place)
    names = dataset.to_table(columns=["id", "__filename"])["__filename"].to_pylist()
    assert names == [path for path in dataset.files for _ in range(FILE_ROWS)]
    numbers = dataset.to_table(columns=["__fragment_index"])["__fragment_index"].to_pylist()
    assert numbers == [number for number in range(NUM_FILES) for _ in range(FILE_ROWS)]
    tagged = list(dataset.scanner(columns=["id"]).scan_batches())
    assert sorted(LanceFileFragment.from_fragment(one.fragment).path for one in tagged) == sorted(dataset.files)
    assert len(list(dataset.get_fragments())) == NUM_FILES
    assert set(planned) == {1}
    planned.clear()
    assert pads.Scanner.from_dataset(dataset).to_table().num_rows == NUM_FILES * FILE_ROWS
    options = LanceFragmentScanOptions(zone_maps=False)
    assert dataset.to_table(fragment_scan_options=options).num_rows == NUM_FILES * FILE_ROWS
    few = type(dataset)(list(dataset.get_fragments())[:5], dataset.schema, dataset.format, dataset.filesystem)
    assert few.to_table().num_rows == 5 * FILE_ROWS
    assert set(planned) == {1}


def test_what_cannot_be_joined_is_scanned_as_before(tmp_path: Path, planned: list[int]) -> None:
    rows = mixed_rows(0, 200)
    old = files(tmp_path / "old", rows.select(["id", "s"]), file_version="2.0")
    assert_same(rows.select(["id", "s"]), lance_arrow.dataset(old).to_table())
    schema = pa.schema([pa.field("x", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
    values = pa.table([pa.array([b"%d" % i * 50 for i in range(200)], pa.large_binary())], schema)
    assert lance_arrow.dataset(files(tmp_path / "blobs", values)).to_table()["x"].to_pylist() == values["x"].to_pylist()
    full = lance_arrow.dataset(files(tmp_path / "full", rows), verify="full")
    assert_same(rows, full.to_table())
    buffers = [pa.py_buffer((tmp_path / "full" / f"{number:04}.lance").read_bytes()) for number in range(20)]
    fragments = [LanceFormat().make_fragment(one) for one in buffers]
    in_memory = LanceDataset(fragments, rows.schema, LanceFormat(), None)
    assert_same(rows, in_memory.to_table())
    assert set(planned) == {1}


def test_parts_of_files_are_scanned_as_such(tmp_path: Path, planned: list[int]) -> None:
    dataset = lance_arrow.dataset(files(tmp_path / "bare"))
    fragments = [one.subset(rows=(2, 5)) if number == 30 else one for number, one in enumerate(dataset.fragments)]
    shown = LanceDataset(fragments, dataset.schema, dataset.format, dataset.filesystem)
    expected = [*range(300), 302, 303, 304, *range(310, 600)]
    assert shown.to_table(columns=["id"])["id"].to_pylist() == expected
    assert max(planned) > 8


def test_the_first_rows_take_few_files(place: Path, planned: list[int]) -> None:
    batches = lance_arrow.dataset(place).to_batches(columns=["id"], use_threads=False)
    assert next(batches)["id"].to_pylist() == list(range(10))
    assert planned[0] == 1


@pytest.mark.cover(1)
@pytest.mark.parametrize("damage", ["absent", "cut", "longer", "value", "footer"])
@pytest.mark.parametrize("condition", [None, F("id") >= 0], ids=str)
def test_damage_is_blamed_on_its_file(place: Path, damage: str, condition: pc.Expression | None) -> None:
    dataset = lance_arrow.dataset(place)
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
            pickle.loads(pickle.dumps(dataset)).to_table(filter=condition)
        return caught.type, str(caught.value)

    found = read()
    assert damaged.name in found[1]
    assert found == one_by_one(read)


def test_a_watched_scan_has_a_receipt_for_each_file(place: Path, receipts: list[ReadReport]) -> None:
    assert lance_arrow.dataset(place).to_table(columns=["id"]).num_rows == 600
    assert len(receipts) == NUM_FILES


def test_the_memory_pool_of_the_caller_is_used(place: Path) -> None:
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    # Threads of Arrow's may still hold a batch for a moment when the table is there already.
    _POOLS.append(pool)
    found = lance_arrow.dataset(place).to_table(memory_pool=pool)
    assert pool.max_memory() > 0
    del found


def test_groups_leave_work_for_each_thread() -> None:
    assert _most_files(12) == 8
    assert _most_files(200) == 200 // (2 * default_runtime().settings.num_threads)
    assert _most_files(1_000_000) == 512


def test_random_tables(tmp_path: Path, planned: list[int], whole_run: bool) -> None:
    rng = np.random.default_rng(11)
    for number in range(6 if whole_run else 2):
        path, rows = tmp_path / f"{number}.lance", mixed_rows(0, int(rng.integers(100, 900)))
        names = [name for name in rows.schema.names if rng.random() < 0.6] or ["id"]
        LanceTable.create(
            path, rows, max_rows_per_file=int(rng.integers(3, 40)), enable_stable_row_ids=bool(number % 2)
        )
        changed = LanceTable.open(path)
        for _ in range(3):
            step = rng.integers(3)
            if step == 0:
                changed.delete(f"id % {rng.integers(2, 9)} = 1")
            elif step == 1:
                changed.append(mixed_rows(1000, 1000 + int(rng.integers(1, 200))), max_rows_per_file=7)
            else:
                changed.update({"f": "f * 2"}, f"id % {rng.integers(2, 9)} = 0")
        check(lambda path=path: lance_arrow.dataset(path), columns=names)
        low = int(rng.integers(0, 500))
        condition = (F("id") >= low) & (F("id") < low + int(rng.integers(1, 400)))
        check(lambda path=path: lance_arrow.dataset(path), columns=names, filter=condition)
    assert max(planned) > 8
