"""Local files too large to be read whole: many are opened by their ends at once, in tables and in folders."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from call_counts import count_calls
from same import assert_same
from small_files import noted_ends
from values import seeded

import lance_arrow
from lance_arrow import LanceFormat, LanceTable
from lance_arrow.arrow_dataset import file_group
from lance_arrow.arrow_dataset.ahead import read_ahead
from lance_arrow.arrow_dataset.scan_handler import FileScanHandler
from lance_arrow.container import joined_source
from lance_arrow.container.joined_files import SmallFiles
from lance_arrow.errors import CorruptFileError, FileChangedError, LanceError
from lance_arrow.scan import open_files

NUM_FILES, NUM_ROWS = 24, 12_000
REALS = [f"r{number}" for number in range(8)]
FILTERS = [
    pc.field("id") == 17 * NUM_ROWS // 2,
    pc.field("r0") > 3.0,
    pc.field("r1") > 0,
    (pc.field("text") == "word 7") & (pc.field("id") > NUM_ROWS),
    pc.field("text").is_null() | (pc.field("id") < 3),
]


def rows(first: int, version: int = 0) -> pa.Table:
    rng = seeded(f"medium {first} {version}")
    texts = pa.array([f"word {number}" for number in range(50)])
    codes = pa.array(rng.integers(0, 50, NUM_ROWS), mask=rng.random(NUM_ROWS) < 0.1)
    return pa.table(
        {
            "id": np.arange(first, first + NUM_ROWS),
            **{name: rng.standard_normal(NUM_ROWS) for name in REALS},
            "text": texts.take(codes),
        }
    )


@pytest.fixture(scope="module")
def parts() -> list[pa.Table]:
    return [rows(number * NUM_ROWS) for number in range(NUM_FILES)]


@pytest.fixture(scope="module")
def table(parts: list[pa.Table], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("medium") / "t.lance"
    made = LanceTable.create(place, parts[0])
    for part in parts[1:]:
        made.append(part)
    sizes = [file.stat().st_size for file in (place / "data").iterdir()]
    assert len(sizes) == NUM_FILES
    assert min(sizes) > 512 << 10
    return place


@pytest.fixture(scope="module")
def folder(parts: list[pa.Table], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("medium") / "bare"
    place.mkdir()
    for number, part in enumerate(parts):
        lance_arrow.write_table(part, place / f"{number:02}.lance")
    return place


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files are opened by their ends, by call."""
    return noted_ends(monkeypatch)


@pytest.fixture
def few_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are more files than stay open, as of a table of a hundred."""
    for module in (open_files, read_ahead):
        monkeypatch.setattr(module, "MOST_OPEN_FILES", NUM_FILES - 1)


@pytest.mark.usefixtures("few_stay_open")
@pytest.mark.parametrize("kind", ["table", "folder"])
@pytest.mark.parametrize("number", range(len(FILTERS)))
def test_filters_find_the_rows_that_arrow_finds(
    kind: str, number: int, parts: list[pa.Table], openings: list[int], request: pytest.FixtureRequest
) -> None:
    dataset = lance_arrow.dataset(request.getfixturevalue(kind))
    whole, filter = pa.concat_tables(parts), FILTERS[number]
    expected = whole.filter(filter)
    assert dataset.count_rows(filter=filter) == expected.num_rows
    assert_same(expected, dataset.to_table(filter=filter))
    names = ["text", "r3"]
    assert_same(expected.select(names), dataset.to_table(columns=names, filter=filter))
    # The file pruner tells which file may have one key.
    if number != 0:
        assert sum(openings) >= NUM_FILES // 2
        assert max(openings) > 2


@pytest.mark.usefixtures("few_stay_open")
@pytest.mark.parametrize("kind", ["table", "folder"])
@pytest.mark.parametrize("number", range(len(FILTERS)))
def test_datasets_of_pyarrow_are_read_ahead_by_ends(
    kind: str, number: int, parts: list[pa.Table], openings: list[int], request: pytest.FixtureRequest
) -> None:
    """The rows of a group are found at once, and are those of each file."""
    whole, filter = pa.concat_tables(parts), FILTERS[number]
    expected = whole.filter(filter)
    place = str(request.getfixturevalue(kind))

    def dataset() -> pads.Dataset:
        return pads.dataset(place, format=LanceFormat())

    assert dataset().count_rows(filter=filter) == expected.num_rows
    found = dataset().to_table(filter=filter)
    # Files of a table's folder are in the order of their names.
    assert_same(expected, found.sort_by("id") if kind == "table" else found)
    names = ["text", "r3"]
    assert dataset().to_table(columns=names, filter=filter).num_rows == expected.num_rows
    tagged = dataset().scanner(columns=["__filename", "id"], filter=filter, batch_size=700)
    batches = list(tagged.to_batches())
    assert max(map(len, batches)) <= 700
    of_files = (
        pa.Table.from_batches(batches, tagged.projected_schema).group_by("__filename").aggregate([([], "count_all")])
    )
    counts = dict(zip(of_files["__filename"].to_pylist(), of_files["count_all"].to_pylist(), strict=True))
    paths = [str(path) for path in Path(place).rglob("*.lance") if path.is_file()]
    assert counts == {path: count for path in paths if (count := lance_arrow.LanceFile(path).count_rows(filter))}
    # The pruner excludes files of which a group would be made.
    if number:
        assert sum(openings) >= NUM_FILES // 2


@pytest.mark.parametrize("kind", ["table", "folder"])
def test_rows_that_are_read_ahead_fit_into_memory(
    kind: str,
    parts: list[pa.Table],
    openings: list[int],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """Groups have as many files as may be held: else, their rows would be thrown away, and files read one by one."""
    monkeypatch.setattr(file_group, "most_held_bytes", lambda: 8 * parts[0].select(["r2", "text"]).nbytes)
    alone: list[str] = []
    reading = FileScanHandler.reading

    def noted(self: FileScanHandler, place: Any, *rest: Any, **how: Any) -> Any:
        alone.append(place.path)
        return reading(self, place, *rest, **how)

    monkeypatch.setattr(FileScanHandler, "reading", noted)
    place = str(request.getfixturevalue(kind))
    found = pads.dataset(place, format=LanceFormat()).to_table(columns=["r2", "text", "id"])
    assert_same(pa.concat_tables(parts).select(["r2", "text", "id"]), found.sort_by("id"))
    assert sum(openings) >= NUM_FILES // 2
    assert len(alone) <= NUM_FILES // 4


@pytest.mark.parametrize("kind", ["table", "folder"])
def test_columns_are_read_in_groups(
    kind: str, parts: list[pa.Table], openings: list[int], request: pytest.FixtureRequest
) -> None:
    dataset = lance_arrow.dataset(request.getfixturevalue(kind))
    whole = pa.concat_tables(parts)
    assert_same(whole.select(["r2"]), dataset.to_table(columns=["r2"]))
    assert sum(openings) >= NUM_FILES // 2
    batches = list(dataset.to_batches(columns=["id", "text"], batch_size=5_000))
    assert max(map(len, batches)) <= 5_000
    assert_same(whole.select(["id", "text"]), pa.Table.from_batches(batches))


@pytest.mark.parametrize("kind", ["table", "folder"])
def test_files_that_stay_open_are_read_by_themselves(
    kind: str, parts: list[pa.Table], openings: list[int], request: pytest.FixtureRequest
) -> None:
    whole, filter = pa.concat_tables(parts), pc.field("r0") > 3.0
    dataset = lance_arrow.dataset(request.getfixturevalue(kind))
    assert_same(whole.filter(filter), dataset.to_table(filter=filter))
    numbers = seeded("few").permutation(whole.num_rows)[:200]
    assert_same(whole.take(pa.array(numbers)), dataset.take(numbers))
    assert openings == []


@pytest.mark.usefixtures("few_stay_open")
def test_rows_are_taken_and_deleted(table: Path, parts: list[pa.Table], openings: list[int], tmp_path: Path) -> None:
    whole = pa.concat_tables(parts)
    numbers = seeded("taken").permutation(whole.num_rows)[:500]
    assert_same(whole.take(pa.array(numbers)), LanceTable.open(table).take(numbers))
    assert sum(openings) >= NUM_FILES
    own = tmp_path / "t.lance"
    shutil.copytree(table, own)
    LanceTable.open(own).delete("id % 7 = 3")
    left = whole.filter(pa.array(whole["id"].to_numpy() % 7 != 3))
    found = LanceTable.open(own)
    assert found.count_rows(pc.field("r1") > 0) == left.filter(pc.field("r1") > 0).num_rows
    assert_same(left.select(["r0"]), found.to_table(["r0"]))


@pytest.mark.usefixtures("few_stay_open")
def test_a_further_fragment_takes_few_calls(table: Path) -> None:
    dataset, filter = lance_arrow.dataset(table), pc.field("r0") > 3.0
    assert dataset.count_rows(filter=filter) == LanceTable.open(table).count_rows(filter)
    # 1,430 for each fragment before.
    assert count_calls(lambda: dataset.count_rows(filter=filter)) < 300 * NUM_FILES


def fails(place: Path, columns: list[str]) -> bool:
    try:
        lance_arrow.dataset(place).to_table(columns=columns)
    except CorruptFileError:
        return True
    return False


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x10
    path.write_bytes(bytes(data))


@pytest.mark.usefixtures("few_stay_open")
@pytest.mark.parametrize("kind", ["table", "folder"])
def test_damage_is_blamed_on_its_file(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    own = tmp_path / "own"
    shutil.copytree(request.getfixturevalue(kind), own)
    data = own / "data" if kind == "table" else own
    bad = sorted(data.iterdir())[5]
    flip(bad, bad.stat().st_size // 2)
    column = next(name for name in REALS if fails(own, [name]))
    # All columns are read whole, and one of them by the ends.
    for columns in (None, [column]):
        with pytest.raises(CorruptFileError) as error:
            lance_arrow.dataset(own).to_table(columns=columns)
        assert Path(str(error.value.path)).name == bad.name


@pytest.mark.usefixtures("few_stay_open")
@pytest.mark.parametrize(
    ("change", "kind"),
    [(lambda path: path.unlink(), OSError), (lambda path: os.truncate(path, 400_000), (LanceError, OSError))],
)
def test_a_file_that_is_missing_or_cut(change: Callable[[Path], None], kind: Any, table: Path, tmp_path: Path) -> None:
    own = tmp_path / "t.lance"
    shutil.copytree(table, own)
    bad = sorted((own / "data").iterdir())[3]
    change(bad)
    for read in (
        lambda: lance_arrow.dataset(own).to_table(columns=["r2"]),
        lambda: LanceTable.open(own).count_rows(pc.field("r0") > 3.0),
    ):
        with pytest.raises(kind) as error:
            read()
        assert bad.name in str(error.value)


@pytest.mark.parametrize("natively", [True, False])
def test_files_of_a_folder_that_are_replaced_while_they_are_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, natively: bool
) -> None:
    own = tmp_path / "own"
    shutil.copytree(folder, own)
    open_ends = SmallFiles.open_ends
    swapped: list[str] = []

    def swapping(filesystem: Any, paths: Any, *rest: Any, **how: Any) -> Any:
        found = open_ends(filesystem, paths, *rest, **how)
        # The end of each was read, and pages are read next: of a new file, which has as many bytes or not.
        for path in paths:
            swapped.append(path)
            part = rows(int(Path(path).stem) * NUM_ROWS, version=1)
            new = tmp_path / Path(path).name
            lance_arrow.write_table(part, new)
            os.replace(new, path)
        return found

    monkeypatch.setattr(SmallFiles, "open_ends", swapping)
    if not natively:
        # As where the system does not tell the state of an open file.
        monkeypatch.setattr(joined_source.JoinedSource, "positional", lambda self: None)
    with pytest.raises(FileChangedError):
        lance_arrow.dataset(own).to_table(columns=["r2"])
    assert swapped
