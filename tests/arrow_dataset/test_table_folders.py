"""Folders of tables given to pyarrow: files are adopted, counted and read in groups, with the rows of the table."""

from __future__ import annotations

import gc
import pickle
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import fsspec
import made_once
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from call_counts import count_calls
from fsspec.implementations.dirfs import DirFileSystem
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem
from same import assert_same
from small_files import mixed_rows, small_file_rows
from values import seeded

import lance_arrow
from lance_arrow import LanceFile, LanceFormat, LanceTable
from lance_arrow.arrow_dataset.ahead.table_files import TableFiles
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.scan_handler import FileScanHandler
from lance_arrow.arrow_dataset.table_session import TableSessions
from lance_arrow.errors import LanceError, TableNotFoundError

F = pc.field
NUM_FRAGMENTS, FRAGMENT_ROWS = 60, 10


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many files each group has that is read ahead."""
    counts: list[int] = []
    read = TableFiles.read

    def counted(self, *others):
        found = read(self, *others)
        counts.append(found[0])
        return found

    monkeypatch.setattr(TableFiles, "read", counted)
    return counts


def opened(path: Path, **how: Any) -> pads.FileSystemDataset:
    return pads.dataset(path, format=LanceFormat(**how))


def plain(path: Path, **how: Any) -> LanceTable:
    rows = mixed_rows(0, NUM_FRAGMENTS * FRAGMENT_ROWS)
    made_once.copied(
        ("table of small files", repr(how)),
        path,
        lambda made: LanceTable.create(made, rows, max_rows_per_file=FRAGMENT_ROWS, **how),
    )
    return LanceTable.open(path)


def deleted(path: Path) -> LanceTable:
    table = plain(path)
    table.delete("id % 7 = 3 OR (id >= 200 AND id < 210)")
    return table


def widened(path: Path) -> LanceTable:
    table = plain(path)
    table.add_columns({"twice": F("id") * 2})
    table.delete("id % 11 = 0")
    return table


def with_row_ids(path: Path) -> LanceTable:
    table = plain(path, enable_stable_row_ids=True)
    table.update({"word": pc.scalar("changed")}, where="id % 50 = 1")
    table.delete("id % 13 = 5")
    return table


def appended(path: Path) -> LanceTable:
    table = plain(path)
    more = mixed_rows(1000, 1300).drop_columns(["s"])
    table.drop_columns(["s"])
    for start in range(0, 300, 100):
        table.append(more.slice(start, 100))
    return table


@pytest.fixture(scope="module")
def copied() -> Callable[..., LanceTable]:
    """Makes a table at a path as a maker does, by copying what the maker once made."""

    def copy(make: Callable[[Path], LanceTable], path: Path) -> LanceTable:
        made_once.copied(make, path, make)
        return LanceTable.open(path)

    return copy


MAKERS: list[Callable[[Path], LanceTable]] = [plain, deleted, widened, with_row_ids, appended]


@pytest.mark.cover(1)
@pytest.mark.parametrize("use_threads", [True, False])
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_rows_are_those_of_the_table(
    tmp_path: Path,
    make: Callable[[Path], LanceTable],
    copied: Callable[..., LanceTable],
    use_threads: bool,
    groups: list[int],
) -> None:
    table = copied(make, tmp_path / "t.lance")
    rows = table.to_table().sort_by("id")
    dataset = opened(tmp_path / "t.lance")
    assert_same(rows, dataset.to_table(use_threads=use_threads).sort_by("id"))
    assert max(groups) > 8
    names = ["b", "id"]
    assert_same(rows.select(names), dataset.to_table(columns=names, use_threads=use_threads).sort_by("id"))
    assert dataset.to_table(columns=[], use_threads=use_threads).num_rows == rows.num_rows
    assert dataset.count_rows() == rows.num_rows
    for condition in (F("id") >= 300, F("word") == "word 1", F("st", "x") > 100, (F("id") > 90) & (F("id") < 95)):
        expected = rows.filter(condition)
        assert_same(expected, dataset.to_table(filter=condition, use_threads=use_threads).sort_by("id"))
        assert dataset.count_rows(filter=condition) == expected.num_rows
    batches = list(dataset.to_batches(batch_size=7, use_threads=use_threads))
    assert max(batch.num_rows for batch in batches) <= 7
    assert_same(rows, pa.Table.from_batches(batches).sort_by("id"))


@pytest.mark.share(2)
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_rows_name_their_file(
    tmp_path: Path,
    make: Callable[[Path], LanceTable],
    copied: Callable[..., LanceTable],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied(make, tmp_path / "t.lance")
    wanted = ["__filename", "id"]
    found = opened(tmp_path / "t.lance").to_table(columns=wanted)
    with monkeypatch.context() as patch:
        patch.setattr(FileScanHandler, "_may_read_ahead", lambda self, *others: False)
        assert_same(opened(tmp_path / "t.lance").to_table(columns=wanted), found)


@pytest.mark.cover(1)
@pytest.mark.parametrize("path", ["t.lance", "./t.lance", "../here/t.lance", "t.lance/data"])
@pytest.mark.parametrize("make", [deleted, widened], ids=lambda make: make.__name__)
def test_relative_paths(
    tmp_path: Path,
    make: Callable[[Path], LanceTable],
    copied: Callable[..., LanceTable],
    path: str,
    monkeypatch: pytest.MonkeyPatch,
    groups: list[int],
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    rows = copied(make, Path("t.lance")).to_table().sort_by("id")
    dataset = pads.dataset(path, format=LanceFormat())
    assert dataset.count_rows() == rows.num_rows
    assert_same(rows, dataset.to_table().sort_by("id"))
    # Once more, with the version fixed.
    assert dataset.count_rows() == rows.num_rows
    assert dataset.count_rows(filter=F("id") > 300) == rows.filter(F("id") > 300).num_rows
    assert groups


def test_paths_below_a_filesystem_of_a_folder(tmp_path: Path) -> None:
    rows = deleted(tmp_path / "t.lance").to_table().sort_by("id")
    below = SubTreeFileSystem(str(tmp_path), LocalFileSystem())
    dataset = pads.dataset("t.lance", format=LanceFormat(), filesystem=below)
    for _ in range(2):
        assert dataset.count_rows() == rows.num_rows
        assert_same(rows, dataset.to_table().sort_by("id"))


def test_other_filesystems(tmp_path: Path) -> None:
    rows = deleted(tmp_path / "t.lance").to_table().sort_by("id")
    store = DirFileSystem(str(tmp_path), fsspec.filesystem("local"))
    for filesystem, path in ((store, "t.lance"), (fsspec.filesystem("local"), str(tmp_path / "t.lance"))):
        dataset = pads.dataset(path, format=LanceFormat(), filesystem=filesystem)
        for _ in range(2):
            assert dataset.count_rows() == rows.num_rows
            assert_same(rows, dataset.to_table().sort_by("id"))


def test_random_tables(tmp_path: Path, whole_run: bool) -> None:
    rng = seeded("folders of tables")
    for number in range(5 if whole_run else 2):
        table = plain(tmp_path / f"{number}.lance", enable_stable_row_ids=bool(number % 2))
        for _ in range(int(rng.integers(1, 5))):
            low = int(rng.integers(0, 600))
            change = int(rng.integers(0, 5))
            if change == 0:
                table.delete(f"id >= {low} AND id < {low + int(rng.integers(1, 80))}")
            elif change == 1:
                table.update(
                    {"same": pc.scalar(pa.scalar(1, pa.int16()))}, where=f"id % {int(rng.integers(2, 40))} = 0"
                )
            elif change == 2:
                table.append(mixed_rows(2000 + low, 2000 + low + int(rng.integers(1, 30))).select(table.schema.names))
            elif change == 3 and "word" in table.schema.names:
                table.drop_columns(["word"])
            elif "more" not in table.schema.names:
                table.add_columns({"more": F("id") + 1})
        expected = table.to_table()
        for use_threads in (True, False):
            found = opened(tmp_path / f"{number}.lance").to_table(use_threads=use_threads)
            assert_same(
                expected.sort_by([("id", "ascending"), ("same", "ascending")]),
                found.sort_by([("id", "ascending"), ("same", "ascending")]),
            )
        condition = F("id") > int(rng.integers(0, 600))
        assert opened(tmp_path / f"{number}.lance").count_rows(filter=condition) == expected.filter(condition).num_rows


def test_versions_stay_apart(tmp_path: Path) -> None:
    table = plain(tmp_path / "t.lance")
    before = opened(tmp_path / "t.lance")
    assert before.count_rows() == 600
    chosen = LanceFormat()
    same = pads.dataset(tmp_path / "t.lance", format=chosen)
    table.delete("id < 100")
    # Fixed when its schema was read; another dataset of the same format sees the new version.
    assert same.count_rows() == 600
    assert pads.dataset(tmp_path / "t.lance", format=chosen).count_rows() == 500
    assert before.to_table().num_rows == 600
    assert opened(tmp_path / "t.lance", version=1).to_table().num_rows == 600
    assert opened(tmp_path / "t.lance").to_table().num_rows == 500


def test_fragments_made_again_begin_another_dataset(tmp_path: Path) -> None:
    table = plain(tmp_path / "t.lance")
    chosen = LanceFormat()
    files = pads.dataset(tmp_path / "t.lance", format=chosen).files
    first = [chosen.make_fragment(path) for path in files]
    assert sum(one.count_rows() for one in first) == 600
    table.delete("id < 100")
    assert sum(chosen.make_fragment(path).count_rows() for path in files) == 500
    assert sum(one.count_rows() for one in first) == 600


def test_threads_make_datasets_side_by_side(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.lance" for number in range(3)]
    for number, path in enumerate(paths):
        plain(path).delete(f"id < {number * 100}")
    chosen, found, errors = LanceFormat(), Counter(), []

    def read(number: int) -> None:
        try:
            for _ in range(5):
                found[number] += pads.dataset(paths[number], format=chosen).to_table(columns=["id"]).num_rows
        except LanceError as error:
            errors.append(error)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert found == {0: 3000, 1: 2500, 2: 2000}


def test_fragments_travel(tmp_path: Path) -> None:
    deleted(tmp_path / "t.lance")
    dataset = opened(tmp_path / "t.lance")
    copied = pickle.loads(pickle.dumps(dataset))
    assert_same(dataset.to_table().sort_by("id"), copied.to_table().sort_by("id"))


@pytest.mark.parametrize("damage", ["absent", "cut", "value"])
def test_damage_is_blamed_on_its_file(tmp_path: Path, damage: str) -> None:
    plain(tmp_path / "t.lance")
    dataset = opened(tmp_path / "t.lance")
    assert dataset.count_rows() == 600
    damaged = Path(dataset.files[23])
    content = bytearray(damaged.read_bytes())
    content[0] ^= 1
    if damage == "absent":
        damaged.unlink()
    else:
        damaged.write_bytes(content if damage == "value" else content[:-1])
    for use_threads in (True, False):
        with pytest.raises((LanceError, OSError), match=damaged.name):
            dataset.to_table(use_threads=use_threads)


def test_an_unexpected_error_ahead_reaches_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain(tmp_path / "t.lance")
    read, count = TableFiles.read, [0]

    def failing(self, *others):
        count[0] += 1
        if count[0] > 1:
            raise ZeroDivisionError("of the test")
        return read(self, *others)

    monkeypatch.setattr(TableFiles, "read", failing)
    with pytest.raises(ZeroDivisionError, match="of the test"):
        opened(tmp_path / "t.lance").to_table()


def test_scans_that_are_given_up_let_go(tmp_path: Path) -> None:
    plain(tmp_path / "t.lance")
    dataset = opened(tmp_path / "t.lance")
    for _ in range(5):
        reader = dataset.scanner().to_reader()
        assert reader.read_next_batch().num_rows == FRAGMENT_ROWS
        del reader
    assert dataset.to_table().num_rows == 600
    del dataset
    gc.collect()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("large") / "t.lance"
    rows = pa.Table.from_batches([small_file_rows(number, 1000) for number in range(300)])
    LanceTable.create(place, rows, max_rows_per_file=1000)
    return place


def test_files_are_adopted_without_python(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    adopt = TableSessions.adopt
    monkeypatch.setattr(TableSessions, "adopt", lambda self, place: asked.append(place.path) or adopt(self, place))
    dataset = opened(large)
    assert len(dataset.files) == 300
    assert len(asked) == 1
    assert dataset.count_rows() == 300_000
    # Once the version is fixed, the bridge counts: fewer calls than files.
    assert count_calls(dataset.count_rows, of_c=False) < 150


@pytest.mark.parametrize("condition", [None, F("narrow") == 17, F("id") < 5000], ids=str)
def test_calls_of_a_further_file(large: Path, condition: pc.Expression | None) -> None:
    dataset = opened(large)
    fragments = LanceDataset.from_dataset(dataset).fragments

    def scan(count: int) -> int:
        part = pads.FileSystemDataset(fragments[:count], dataset.schema, LanceFormat(), dataset.filesystem)
        scanner = part.scanner(filter=condition, use_threads=False)
        return count_calls(scanner.to_table, of_c=False)

    scan(100)
    # About 4,400 where each file is scanned by itself.
    assert (scan(300) - scan(100)) / 200 < 60


def test_rows_are_counted_as_numpy_counts_them(large: Path) -> None:
    found = opened(large).to_table(columns=["id"])["id"].to_numpy()
    assert (np.sort(found) == np.arange(300_000)).all()


def ids(dataset: pads.Dataset, **how: Any) -> list[int]:
    return sorted(dataset.to_table(columns=["id"], **how)["id"].to_pylist())


@pytest.mark.parametrize("use_threads", [True, False])
def test_a_union_of_versions(tmp_path: Path, use_threads: bool) -> None:
    plain(tmp_path / "t.lance").delete("id % 2 = 1")
    versions = [opened(tmp_path / "t.lance", version=number) for number in (1, 2)]
    both = pads.UnionDataset(versions[0].schema, versions)
    expected = sorted([*range(600), *range(0, 600, 2)])
    for _ in range(3):
        assert ids(both, use_threads=use_threads) == expected
    assert both.count_rows(filter=F("id") >= 0) == both.count_rows() == len(expected)


@pytest.mark.parametrize("use_threads", [True, False])
def test_a_union_of_filesystems_with_equal_paths(tmp_path: Path, use_threads: bool) -> None:
    plain(tmp_path / "0" / "t.lance")
    shutil.copytree(tmp_path / "0", tmp_path / "1")
    LanceTable.open(tmp_path / "1" / "t.lance").delete("id % 3 = 1")
    stores = [DirFileSystem(str(tmp_path / name), fsspec.filesystem("local")) for name in "01"]
    chosen = LanceFormat()
    datasets = [pads.dataset("t.lance", format=chosen, filesystem=store) for store in stores]
    both = pads.UnionDataset(datasets[0].schema, datasets)
    expected = sorted([*range(600), *(value for value in range(600) if value % 3 != 1)])
    for _ in range(3):
        assert ids(both, use_threads=use_threads) == expected
    assert both.count_rows(filter=F("id") >= 0) == both.count_rows() == len(expected)


@pytest.mark.parametrize("has_deletions", [True, False])
@pytest.mark.parametrize(
    ("door", "name"),
    [(door, name) for door in ("pyarrow", "own", "url") for name in ("t", "t/data", "above", "one")]
    # pyarrow knows no patterns.
    + [(door, "t/data/*.lance") for door in ("own", "url")],
)
def test_a_table_that_lost_its_versions_is_refused(
    tmp_path: Path, door: str, name: str, *, has_deletions: bool
) -> None:
    """Its deleted rows, and files of older versions, would be back."""
    table = LanceTable.create(tmp_path / "t", pa.table({"id": range(20)}), max_rows_per_file=5)
    table.delete("id >= 3")
    if not has_deletions:
        table.compact()
        table.cleanup(older_than=timedelta(0), dry_run=False)
        shutil.rmtree(tmp_path / "t" / "_deletions", ignore_errors=True)
    shutil.rmtree(tmp_path / "t" / "_versions")
    one = sorted((tmp_path / "t" / "data").iterdir())[0]
    path = {"above": tmp_path, "one": one}.get(name, tmp_path / name)
    opening: dict[str, Callable[[], pads.Dataset]] = {
        "pyarrow": lambda: opened(path),
        "own": lambda: lance_arrow.dataset(path),
        "url": lambda: lance_arrow.dataset(f"file://{path}"),
    }
    with pytest.raises(TableNotFoundError, match="'data' belong to a table whose versions are lost"):
        opening[door]().to_table()
    with pytest.raises(TableNotFoundError, match="'data' belong to a table whose versions are lost"):
        lance_arrow.verify(tmp_path / "t")
    assert lance_arrow.verify(one).ok
    with LanceFile(one) as file:
        assert file.num_rows == (5 if has_deletions else 3)


def test_a_folder_named_data_is_no_table(tmp_path: Path) -> None:
    for name in ("data", "data/deep/data"):
        (tmp_path / name).mkdir(parents=True)
        lance_arrow.write_table(pa.table({"id": [1, 2]}), tmp_path / name / "f.lance")
    assert lance_arrow.dataset(tmp_path).to_table()["id"].to_pylist() == [1, 2, 1, 2]
