"""What pyarrow cannot do for a format that is not its own, and what does it: each row of docs/reference/datasets.md.

A row whose first half fails here is one that pyarrow has mended: strike it from the table.
"""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import lance_arrow
from lance_arrow import LanceDataset, LanceFileFragment, LanceFormat, write_table
from lance_arrow.scan.row_restriction import RowRestriction

ROWS = 100
TABLE = pa.table({"id": pa.array(range(ROWS), pa.int64()), "word": [f"w{i}" for i in range(ROWS)]})
OTHER = TABLE.append_column("k", TABLE["id"])
PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "datasets.md").read_text()
ROWS_OF_TABLE: dict[str, Callable[..., None]] = {}


def row(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Say which row of the table a test is about, by the code that its first cell begins with."""

    def note(test: Callable[..., None]) -> Callable[..., None]:
        ROWS_OF_TABLE[name] = test
        return test

    return note


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    for number in range(2):
        write_table(TABLE.slice(50 * number, 50), tmp_path / "data" / f"{number}.lance")
    return tmp_path / "data"


@pytest.fixture
def plain(folder: Path) -> pads.FileSystemDataset:
    """What `pyarrow.dataset.dataset` gives: pyarrow's own class."""
    dataset = pads.dataset(str(folder), format=LanceFormat())
    assert type(dataset) is pads.FileSystemDataset
    return dataset


def test_every_row_has_a_test() -> None:
    table = PAGE[PAGE.index("<!-- gaps -->") : PAGE.index("<!-- end of gaps -->")]
    named = re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)
    assert named == list(ROWS_OF_TABLE)


@row('format="lance"')
def test_formats_are_objects(folder: Path) -> None:
    with pytest.raises(ValueError, match="format 'lance' is not supported"):
        pads.dataset(str(folder), format="lance")
    assert pads.dataset(str(folder), format=LanceFormat()).count_rows() == ROWS


@row("dataset.format")
def test_the_format_of_a_dataset(plain: pads.FileSystemDataset) -> None:
    with pytest.raises(TypeError, match="lance"):
        _ = plain.format
    assert LanceDataset.from_dataset(plain).format == LanceFormat()


@row("dataset.get_fragments()")
def test_fragments_of_a_dataset(plain: pads.FileSystemDataset) -> None:
    (first, _) = plain.get_fragments()
    assert not hasattr(first, "path")
    assert LanceFileFragment.from_fragment(first).path == plain.files[0]
    assert [one.path for one in LanceDataset.from_dataset(plain).get_fragments()] == plain.files


@row("dataset.take(indices)")
def test_takes_of_a_dataset(folder: Path, plain: pads.FileSystemDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    original = LanceFormat().handler.__class__.plan

    def counted(self: Any, place: Any, request: Any) -> Any:
        asked.append(1)
        return original(self, place, request)

    monkeypatch.setattr(LanceFormat().handler.__class__, "plan", counted)
    assert plain.take([99, 3])["id"].to_pylist() == [99, 3]
    assert asked == [1, 1]
    asked.clear()
    assert lance_arrow.dataset(folder).take([99, 3])["id"].to_pylist() == [99, 3]
    assert asked == []


@row("dataset.head(n)")
def test_heads_of_a_dataset(folder: Path, plain: pads.FileSystemDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[object, str, object]] = []
    handler = LanceFormat().handler.__class__
    original = handler.plan

    def counted(self: Any, place: Any, request: Any) -> Any:
        read.append((self, Path(place.path).name, place.rows))
        return original(self, place, request)

    monkeypatch.setattr(handler, "plan", counted)
    assert plain.head(5).equals(TABLE.slice(0, 5))
    assert ("0.lance", None) in [(name, rows) for _, name, rows in read]
    ours = lance_arrow.dataset(folder)
    assert ours.head(5).equals(TABLE.slice(0, 5))
    # What pyarrow reads ahead may be planned as late as this, by the handler of its own dataset.
    own = [(name, rows) for one, name, rows in read if one is ours.format.handler]
    assert own == [("0.lance", RowRestriction((0,), (5,)))]


@row("dataset.to_table()")
def test_interruptions_of_a_scan(folder: Path) -> None:
    """`test_lance_dataset` interrupts one; pyarrow's own waits in C++ until the scan is done."""
    assert pads.Dataset.to_table is not LanceDataset.to_table
    assert lance_arrow.dataset(folder).to_table().equals(TABLE)


@row("pickle.dumps(dataset)")
def test_pickles_lose_the_partitioning_object(tmp_path: Path) -> None:
    (tmp_path / "g=1").mkdir()
    write_table(TABLE, tmp_path / "g=1" / "f.lance")
    dataset = pads.dataset(str(tmp_path), format=LanceFormat(), partitioning="hive")
    again = pickle.loads(pickle.dumps(dataset))
    assert dataset.partitioning is not None
    assert again.partitioning is None
    assert again.to_table(filter=pc.field("g") == 1).num_rows == ROWS
    assert again.to_table(filter=pc.field("g") == 2).num_rows == 0


@row("write_dataset(..., file_visitor=f)")
def test_visitors_of_written_files(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="lance"):
        pads.write_dataset(TABLE, str(tmp_path / "a"), format=LanceFormat(), file_visitor=print)
    written: list[str] = []
    options = LanceFormat().make_write_options(on_file=lambda file: written.append(file.path))
    pads.write_dataset(TABLE, str(tmp_path / "b"), format=LanceFormat(), file_options=options)
    assert [Path(path).name for path in written] == ["part-0.lance"]


@row("write_dataset(dataset, folder)")
def test_datasets_written_without_a_format(plain: pads.FileSystemDataset, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="lance"):
        pads.write_dataset(plain, str(tmp_path / "a"))
    pads.write_dataset(plain, str(tmp_path / "b"), format=LanceFormat())
    assert lance_arrow.dataset(tmp_path / "b").count_rows() == ROWS
    pads.write_dataset(LanceDataset.from_dataset(plain), str(tmp_path / "c"))
    assert lance_arrow.dataset(tmp_path / "c").count_rows() == ROWS


@row('dataset("memory://folder")')
def test_urls_of_fsspec(folder: Path) -> None:
    filesystem = MemoryFileSystem()
    filesystem.pipe_file("/gaps/f.lance", (folder / "0.lance").read_bytes())
    with pytest.raises(ValueError, match="memory"):
        pads.dataset("memory://gaps", format=LanceFormat())
    assert pads.dataset("fsspec+memory://gaps", format=LanceFormat()).count_rows() == 50
    assert pads.dataset("/gaps", format=LanceFormat(), filesystem=filesystem).count_rows() == 50
    assert lance_arrow.dataset("memory://gaps").count_rows() == 50
    filesystem.rm("/gaps", recursive=True)


@row("union.children")
def test_unions_with_parquet(plain: pads.FileSystemDataset, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "f.parquet")
    union = pads.dataset([plain, pads.dataset(tmp_path / "f.parquet")])
    assert union.count_rows(filter=pc.field("id") < 10) == 20
    first = union.children[0]
    with pytest.raises(TypeError, match="lance"):
        _ = first.format
    assert LanceDataset.from_dataset(first).format == LanceFormat()


@row("dataset.filter(f).get_fragments()")
def test_fragments_of_a_filtered_dataset(plain: pads.FileSystemDataset) -> None:
    filtered = plain.filter(pc.field("id") > 10)
    with pytest.raises(ValueError, match="filtered"):
        list(filtered.get_fragments())
    assert len(LanceDataset.from_dataset(filtered).fragments) == 2


# --- nothing else fails ----------------------------------------------------------------------------------------------


def first_file(dataset: pads.FileSystemDataset) -> pads.FileSystemDataset:
    return pads.dataset(dataset.files[0], format=LanceFormat())


CALLS: dict[type, dict[str, Callable[[Any], object]]] = {
    pads.FileSystemDataset: {
        "count_rows": lambda one: one.count_rows(),
        "filter": lambda one: one.filter(pc.field("id") < 3).to_table(),
        "get_fragments": lambda one: list(one.get_fragments()),
        "head": lambda one: one.head(3),
        "join": lambda one: one.join(pads.dataset(TABLE), "id", right_suffix="_r").to_table(),
        # One file: over several, pyarrow often loses their order, of Parquet as of any format, and refuses the keys.
        "join_asof": lambda one: first_file(one).join_asof(pads.dataset(OTHER), "id", "word", 0).to_table(),
        "replace_schema": lambda one: one.replace_schema(one.schema),
        "scanner": lambda one: one.scanner().to_table(),
        "sort_by": lambda one: one.sort_by([("id", "descending")]).to_table(),
        "take": lambda one: one.take([3, 1]),
        "to_batches": lambda one: list(one.to_batches()),
        "to_table": lambda one: one.to_table(),
        "from_paths": lambda one: type(one).from_paths(one.files, one.schema, LanceFormat(), one.filesystem),
    },
    LanceFileFragment: {
        "count_rows": lambda one: one.count_rows(),
        "first_parts": lambda one: list(one.first_parts(3, None)),
        "from_fragment": LanceFileFragment.from_fragment,
        "head": lambda one: one.head(3),
        "open": lambda one: one.open().size(),
        "opened_rows": lambda one: one.opened_rows(),
        "scanner": lambda one: one.scanner().to_table(),
        "split_by_zone": lambda one: one.split_by_zone(),
        "subset": lambda one: one.subset(rows=(0, 3)),
        "take": lambda one: one.take([3, 1]),
        "to_batches": lambda one: list(one.to_batches()),
        "to_table": lambda one: one.to_table(),
    },
    pads.Scanner: {
        "count_rows": lambda one: one.count_rows(),
        "from_batches": lambda one: pads.Scanner.from_batches(iter(one.to_batches()), schema=TABLE.schema).to_table(),
        "head": lambda one: one.head(3),
        "scan_batches": lambda one: list(one.scan_batches()),
        "take": lambda one: one.take(pa.array([3, 1])),
        "to_batches": lambda one: list(one.to_batches()),
        "to_reader": lambda one: one.to_reader().read_all(),
        "to_table": lambda one: one.to_table(),
    },
    LanceFormat: {
        "equals": lambda one: one.equals(LanceFormat()),
        "make_write_options": lambda one: one.make_write_options(),
        "write_options": lambda one: one.write_options(None),
    },
}
# Tested elsewhere, with arguments of their own.
ELSEWHERE = {"from_dataset", "from_fragment", "take_as", "inspect", "make_fragment", "from_handler", "scan"}


@pytest.mark.parametrize("cls", CALLS, ids=lambda cls: cls.__name__)
def test_every_public_method_is_called(plain: pads.FileSystemDataset, cls: type) -> None:
    fragment = LanceFileFragment.from_fragment(next(plain.get_fragments()))
    made = {
        pads.FileSystemDataset: plain,
        LanceFileFragment: fragment,
        pads.Scanner: plain.scanner(),
        LanceFormat: LanceFormat(),
    }[cls]
    methods = {name for name, held in inspect.getmembers(cls, callable) if not name.startswith("_")}
    assert methods - set(CALLS[cls]) - ELSEWHERE == set()
    for name, call in CALLS[cls].items():
        assert call(made) is not None, name
    for name, _ in inspect.getmembers(cls, lambda held: not callable(held)):
        if not name.startswith("_") and not (cls is pads.FileSystemDataset and name == "format"):
            getattr(made, name)
