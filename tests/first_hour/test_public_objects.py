"""Every public class: one line of `repr` without secrets, and pickles that read the same, or an error that helps.

A class of `lance_arrow.__all__` without a factory here fails.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

import lance_arrow
from lance_arrow import LanceDataset, LanceFile, LanceFormat, LanceTable, LanceWriter, errors

ROWS = pa.table({"id": range(100), "price": [n * 0.5 for n in range(100)], "name": [f"n{n}" for n in range(100)]})
BLOBS = pa.table(
    [pa.array([b"one", b"two"], pa.large_binary())],
    pa.schema([pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})]),
)
CLASSES = sorted(name for name in lance_arrow.__all__ if inspect.isclass(getattr(lance_arrow, name)))
PROTOCOLS = {"pickle": pickle.dumps, "cloudpickle": cloudpickle.dumps}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lance_arrow.write_table(ROWS, tmp_path / "file.lance")
    lance_arrow.write_table(BLOBS, tmp_path / "blobs.lance")
    table = LanceTable.create(tmp_path / "table", ROWS)
    table.tags.create("first", 1)
    table.branches.create("other", 1)
    return tmp_path


def a_receipt(folder: Path) -> lance_arrow.Receipts:
    with lance_arrow.receipts() as found:
        lance_arrow.read_table(folder / "file.lance")
    return found


FACTORIES: dict[str, Callable[[Path], Any]] = {
    "ConvertReport": lambda folder: lance_arrow.convert(folder / "file.lance", folder / "new.lance"),
    "ExportReport": lambda folder: lance_arrow.export(folder / "file.lance", folder / "new.csv"),
    "LanceCatalog": lance_arrow.catalog,
    "LanceDataset": lambda folder: lance_arrow.dataset(folder / "table").filter(pc.field("id") < 50),
    "LanceFile": lambda folder: LanceFile(folder / "file.lance", dictionaries="decode"),
    "LanceFileFragment": lambda folder: lance_arrow.dataset(folder / "file.lance").fragments[0].subset(rows=(2, 5)),
    "LanceFormat": lambda folder: LanceFormat(version=1, blobs="descriptors"),
    "LanceFragmentScanOptions": lambda folder: lance_arrow.LanceFragmentScanOptions(zone_maps=False),
    "LanceReadOptions": lambda folder: lance_arrow.LanceReadOptions(json="bytes"),
    "LanceTable": lambda folder: LanceTable.open(folder / "table"),
    "LanceWriteOptions": lambda folder: LanceFormat().make_write_options(checksums=False),
    "LanceWriter": lambda folder: LanceWriter(folder / "open.lance", ROWS.schema),
    "Limits": lambda folder: lance_arrow.Limits(max_description_depth=4),
    "Receipts": a_receipt,
    "Runtime": lambda folder: lance_arrow.Runtime(),
    "SalvageReport": lambda folder: lance_arrow.salvage(folder / "file.lance"),
    "Settings": lambda folder: lance_arrow.Settings(num_threads=3),
    "TableSalvageReport": lambda folder: lance_arrow.salvage(folder / "table"),
    "WrittenFragments": lambda folder: lance_arrow.write_fragments(ROWS, folder / "table"),
    "VerifyReport": lambda folder: lance_arrow.verify(folder / "file.lance"),
}
# Objects that methods of these return.
REACHED: dict[str, Callable[[Path], Any]] = {
    "BlobFile": lambda folder: LanceFile(folder / "blobs.lance").take_blobs("blob", [0])[0],
    "BuiltZones": lambda folder: lance_arrow.build_zones(folder / "file.lance")[0],
    "CleanupReport": lambda folder: LanceTable.open(folder / "table").cleanup(),
    "CompactionReport": lambda folder: LanceTable.open(folder / "table").compact(),
    "DatasetDescription": lambda folder: LanceTable.open(folder / "table").describe(),
    "EditResult": lambda folder: LanceTable.open(folder / "table").delete("id < 5"),
    "FragmentZones": lambda folder: lance_arrow.dataset(folder / "file.lance").fragments[0].zones,
    "ReadReport": lambda folder: a_receipt(folder).total,
    "TableBranches": lambda folder: LanceTable.open(folder / "table").branches,
    "TableMerge": lambda folder: LanceTable.open(folder / "table").merge(ROWS, on="id").when_matched_delete(),
    "TableMergeInsert": lambda folder: LanceTable.open(folder / "table").merge_insert("id").when_matched_delete(),
    "TableTags": lambda folder: LanceTable.open(folder / "table").tags,
    "VersionMeta": lambda folder: LanceTable.open(folder / "table").history()[0],
}
# What belongs to one process, and what its error offers instead.
STAYS = {
    "BlobFile": "pickle the LanceFile, the column and the row number",
    "FragmentZones": "pickle the fragment",
    "LanceWriter": "pickle the path and the schema",
    "Runtime": "pickle its settings",
    "TableBranches": "pickle the LanceTable",
    "TableMerge": "pickle the LanceTable and the rows",
    "TableMergeInsert": "pickle the LanceTable and the rows",
    "TableTags": "pickle the LanceTable",
}
SHOWN = {
    "DatasetDescription": ("columns=3", "id", "price"),
    "EditResult": ("operation='delete'", "version=2", "num_deleted_rows=5"),
    "LanceDataset": ("files=1", "id < 50", "table", "price: double"),
    "LanceFile": ("file.lance", "rows=100", "columns=3", "version=2.2"),
    "LanceFileFragment": ("file.lance", "2..5"),
    "LanceFormat": ("version=1", "blobs='descriptors'"),
    "LanceTable": ("table", "version=1", "fragments=1"),
    "LanceWriter": ("open.lance", "rows=0", "columns=3", "open"),
    "Receipts": ("1 reads", "100 rows"),
    "Runtime": ("plugins=", "num_threads="),
    "TableBranches": ("other",),
    "WrittenFragments": ("mode='append'", "read_version=1", "file_version='2.2'"),
    "TableMerge": ("id", "deletes"),
    "TableMergeInsert": ("id", "deletes"),
    "TableTags": ("first", "1"),
}
EVERY = {**FACTORIES, **REACHED}


def test_every_public_class_has_a_factory() -> None:
    assert sorted(FACTORIES) == CLASSES


def shown_class(name: str) -> str:
    return "ReadOptions" if name == "LanceReadOptions" else name


@pytest.mark.parametrize("name", EVERY)
def test_repr_is_one_line_that_names_the_class(name: str, folder: Path) -> None:
    made = EVERY[name](folder)
    text = repr(made)
    assert "\n" not in text
    assert type(made).__name__ == shown_class(name)
    assert text.startswith((f"{shown_class(name)}(", f"<{shown_class(name)} ")), text
    for part in SHOWN.get(name, ()):
        assert part in text, text


def facts(made: Any) -> Any:
    """What an object must keep on its way: itself if it has equality, else its rows and its place."""
    if isinstance(made, LanceFile):
        return made.name, made.read()
    if isinstance(made, lance_arrow.LanceCatalog):
        return made.uri, made.list_tables()
    if isinstance(made, LanceTable):
        return made.uri, made.version, made.to_table()
    if isinstance(made, pads.Dataset):
        return type(made), made.files, made.to_table()
    if isinstance(made, pads.Fragment):
        return type(made), made.path, made.to_table()
    return list(made) if isinstance(made, lance_arrow.Receipts) else made


@pytest.mark.parametrize("how", PROTOCOLS)
@pytest.mark.parametrize("name", sorted(EVERY.keys() - STAYS.keys()))
def test_pickles_are_equivalent(name: str, how: str, folder: Path) -> None:
    made = EVERY[name](folder)
    back = pickle.loads(PROTOCOLS[how](made))
    assert type(back) is type(made)
    assert facts(back) == facts(made)


@pytest.mark.parametrize("how", PROTOCOLS)
@pytest.mark.parametrize("name", STAYS)
def test_what_stays_says_what_to_pickle_instead(name: str, how: str, folder: Path) -> None:
    made = EVERY[name](folder)
    with pytest.raises(errors.NotPicklableError, match=STAYS[name]) as caught:
        PROTOCOLS[how](made)
    assert isinstance(caught.value, TypeError)


def test_a_file_keeps_its_options_and_stays_open(folder: Path) -> None:
    lance_arrow.write_table(pa.table({"d": ROWS["name"].dictionary_encode()}), folder / "words.lance")
    with LanceFile(folder / "words.lance", dictionaries="decode") as file:
        back = pickle.loads(pickle.dumps(file))
    assert back.schema.field("d").type == pa.string()
    assert back.read().num_rows == 100
    back.close()


@pytest.mark.parametrize("own", [{"runtime": lance_arrow.Runtime()}, {}])
def test_files_that_cannot_be_opened_again(own: dict[str, Any], folder: Path) -> None:
    source = folder / "file.lance" if own else (folder / "file.lance").read_bytes()
    with (
        LanceFile(source, **own) as file,
        pytest.raises(errors.NotPicklableError, match="pickle the bytes or the path"),
    ):
        pickle.dumps(file)


def test_a_wide_dataset_is_one_short_line(folder: Path) -> None:
    lance_arrow.write_table(pa.table({f"column {n}": [n] for n in range(200)}), folder / "wide.lance")
    text = repr(lance_arrow.dataset(folder / "wide.lance"))
    assert "column 4: int64 and 195 more" in text
    assert len(text) < 200 + len(str(folder))
    assert isinstance(lance_arrow.dataset(folder / "wide.lance"), LanceDataset)
