"""Files that releases 0.19 to 0.32 wrote as 2.1 while that was a draft; no later release of the reference reads them.

What they hold is what `draft_files/make.py` gave to each release; its receipts tell how the release itself read it.
"""

from __future__ import annotations

import importlib.util
import json
import lzma
import tarfile
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from same import difference, take_rows, whole
from values import seeded

import lance_arrow
from lance_arrow.errors import LanceError
from lance_arrow.runtime import Runtime
from lance_arrow.spi.loading import entry_points, load_plugins

FOLDER = Path(__file__).parents[1] / "data" / "draft_files"
RELEASES = sorted(path.name for path in FOLDER.iterdir() if (path / "receipt.json").exists())
FILES = [
    (release, path.name.removesuffix(".lance.xz"))
    for release in RELEASES
    for path in sorted((FOLDER / release).glob("*.lance.xz"))
]
NEEDED = {"0.19.2", "0.22.0", "0.25.0", "0.29.0", "0.31.0"}
SMALL = ("numbers", "lists", "structs", "text", "fixed_lists")


@cache
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_draft_files", FOLDER / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def given(group: str) -> pa.Table:
    """What every release was given, of one group."""
    return maker().columns(group)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drafts")


def plain(unpacked: Path, release: str, group: str) -> Path:
    """The file, unpacked once."""
    path = unpacked / f"{release}-{group}.lance"
    if not path.exists():
        path.write_bytes(lzma.decompress((FOLDER / release / f"{group}.lance.xz").read_bytes()))
    return path


def assert_same(expected: pa.Table, actual: pa.Table, rows: np.ndarray | None = None) -> None:
    actual.validate(full=True)
    assert actual.column_names == expected.column_names
    for name in expected.column_names:
        want, got = whole(expected[name]), whole(actual[name])
        want = want if rows is None else take_rows(want, rows)
        assert got.type.equals(want.type), (name, got.type, want.type)
        assert len(got) == len(want), name
        assert difference(want, got) is None, (name, difference(want, got))


def test_releases_that_must_be_there() -> None:
    assert set(RELEASES) >= NEEDED
    for release in RELEASES:
        receipt = json.loads((FOLDER / release / "receipt.json").read_text())
        # Groups that came later are there for the releases that they are about.
        assert set(receipt) >= set(maker().GROUPS) - {"runs"}
        for group, told in receipt.items():
            assert set(told) == set(given(group).column_names)


@pytest.mark.cover(1)
@pytest.mark.parametrize(("release", "group"), FILES)
def test_reads_what_was_given(unpacked: Path, release: str, group: str) -> None:
    path = plain(unpacked, release, group)
    receipt = json.loads((FOLDER / release / "receipt.json").read_text())[group]
    with lance_arrow.LanceFile(path) as file:
        assert file.version == "2.1"
        names = file.schema.names
        # Whatever the release read as it was given is in the file, and little else.
        assert set(names) >= {name for name, how in receipt.items() if how == "same"}
        assert all(receipt[name] == "same" or name in maker().UNREAD for name in names)
        expected = given(group).select(names)
        assert_same(expected, file.read())
        assert_same(expected, pa.Table.from_batches(file.to_batches(batch_size=77), file.schema))
        count = expected.num_rows
        for rows in (seeded(release + group).integers(0, count, 40), np.array([count - 1, 0, 0]), np.arange(3, 9)):
            assert_same(expected, file.take(rows), rows)
    assert_same(expected, pads.dataset(path, format=lance_arrow.LanceFormat()).to_table())


@pytest.mark.parametrize("release", RELEASES)
def test_filters_and_projections(unpacked: Path, release: str) -> None:
    path = plain(unpacked, release, "numbers")
    dataset = lance_arrow.dataset(path)
    field = pads.field("int32_null")
    wanted = (field > 20) & field.is_valid()
    expected = given("numbers").select(["uint8", "int32_null"]).filter(wanted)
    assert expected.num_rows
    assert_same(expected, dataset.to_table(columns=["uint8", "int32_null"], filter=wanted))
    assert dataset.count_rows(filter=field.is_null()) == given("numbers")["int32_null"].null_count


@pytest.mark.parametrize("release", RELEASES)
def test_tables(tmp_path: Path, release: str) -> None:
    with tarfile.open(FOLDER / release / "table.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    expected = given("structs").select(["pair", "null_int"])
    expected = expected.filter(pa.array(range(expected.num_rows)).to_numpy() >= 50)
    table = lance_arrow.LanceTable.open(tmp_path / "table.lance")
    assert_same(expected, table.to_table())
    assert_same(expected, lance_arrow.dataset(tmp_path / "table.lance").to_table())


@pytest.mark.cover(1)
@pytest.mark.parametrize(("release", "group"), [pair for pair in FILES if pair[1] in SMALL])
def test_damage_gives_rows_or_an_error(
    unpacked: Path, tmp_path: Path, release: str, group: str, whole_run: bool
) -> None:
    """Nothing but rows that Arrow finds whole, or a located error: bits flipped in pages, descriptions and tables."""
    whole_file = plain(unpacked, release, group).read_bytes()
    rng = seeded(f"damage {release} {group}")
    with lance_arrow.LanceFile(plain(unpacked, release, group)) as file:
        names, num_rows = file.schema.names, file.num_rows
    # The second half of the places lies in the metadata, where descriptions are.
    described = whole_file.find(b"/lance.encodings.PageLayout")
    places = [*rng.integers(0, described, 15), *rng.integers(described - 64, len(whole_file), 25)]
    places = places if whole_run else places[::3]
    outcomes = {"rows": 0, "error": 0}
    for number, place in enumerate(places):
        damaged = bytearray(whole_file)
        damaged[int(place)] ^= 1 << int(rng.integers(0, 8))
        path = tmp_path / f"{number}.lance"
        path.write_bytes(damaged)
        try:
            with lance_arrow.LanceFile(path) as file:
                for name in names:
                    outcomes[read_column(file, name, num_rows)] += 1
        except LanceError:
            outcomes["error"] += 1
        path.unlink()
    assert outcomes["rows"]
    assert outcomes["error"]


def read_column(file: lance_arrow.LanceFile, name: str, num_rows: int) -> str:
    """Read and take a column of a damaged file."""
    try:
        column = file.read(columns=[name])
        taken = file.take([0, min(5, num_rows - 1)], columns=[name])
    except LanceError:
        return "error"
    for table in (column, taken):
        table.validate(full=not has_judged_values(table.schema.field(0).type))
    return "rows"


def has_judged_values(type_: pa.DataType) -> bool:
    """Whether Arrow calls some values invalid by themselves: which of them are damaged is not for a reader to say."""
    if pa.types.is_nested(type_):
        return any(has_judged_values(type_.field(n).type) for n in range(type_.num_fields))
    return pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_temporal(type_)


def test_without_the_plugin_the_page_is_named(unpacked: Path) -> None:
    """The drafts come through the plugin door alone: without their entry point nobody reads them."""
    path = plain(unpacked, "0.25.0", "structs")
    runtime = Runtime(plugins=load_plugins([point for point in entry_points() if point.name != "layout.drafts"]))
    with (
        lance_arrow.LanceFile(path, runtime=runtime) as file,
        pytest.raises(LanceError, match=r"lance\.encodings\.PageLayout"),
    ):
        file.read()
