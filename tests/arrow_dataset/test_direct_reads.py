"""Reads of a `LanceDataset` that Arrow need not scan: rows and schemas are those of its scanner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

import lance_arrow
from lance_arrow import LanceDataset, LanceFormat, LanceTable
from lance_arrow.arrow_dataset.direct_reads import FileReads, TableReads, direct_reads
from lance_arrow.arrow_dataset.folder_reads import FolderReads
from lance_arrow.arrow_dataset.scanner_options import ScannerOptions

F = pc.field
_NUM_ROWS = 2500
_FIELDS = pa.schema(
    [
        pa.field("id", pa.int64(), metadata={"unit": "none"}),
        pa.field("s", pa.string()),
        pa.field("nested", pa.struct({"x": pa.float64()})),
    ],
    metadata={"made": "here"},
)
ROWS = pa.table(
    [
        np.arange(_NUM_ROWS),
        pa.array([None if row % 7 == 0 else f"v{row % 20}" for row in range(_NUM_ROWS)]),
        pa.StructArray.from_arrays([np.arange(_NUM_ROWS) / 2], names=["x"]),
    ],
    schema=_FIELDS,
)
FILTERS = [None, F("id") < 100, (F("id") > 2000) & F("s").is_null(), F("id") < 0]
COLUMNS = [None, ["s"], ["nested", "id"]]


def datasets(folder: Path) -> Iterator[tuple[str, type, LanceDataset]]:
    lance_arrow.write_table(ROWS, folder / "one.lance")
    yield "file", FileReads, lance_arrow.dataset(folder / "one.lance")
    for name, num_files in (("some", 3), ("many", 25)):
        (folder / name).mkdir()
        step = -(-_NUM_ROWS // num_files)
        for number in range(num_files):
            part = ROWS.slice(number * step, step)
            lance_arrow.write_table(part, folder / name / f"{number:02}.lance")
        yield name, FolderReads, lance_arrow.dataset(folder / name)
    yield "named", FolderReads, lance_arrow.dataset([folder / "some" / f"{number:02}.lance" for number in (0, 1, 2)])
    table = LanceTable.create(folder / "table", ROWS, max_rows_per_file=1000)
    yield "table", TableReads, lance_arrow.dataset(folder / "table")
    table.delete("id % 3 = 0")
    yield "deletions", TableReads, lance_arrow.dataset(folder / "table")


def test_rows_and_schemas_are_those_of_the_scanner(tmp_path: Path) -> None:
    for name, kind, dataset in datasets(tmp_path):
        assert type(direct_reads(dataset, ScannerOptions())) is kind, name
        for where in FILTERS:
            assert dataset.count_rows(where) == dataset.scanner(filter=where).count_rows(), (name, where)
            for columns in COLUMNS:
                found, scanned = dataset.to_table(columns, where), dataset.scanner(columns, where).to_table()
                assert found.schema.equals(scanned.schema, check_metadata=True), (name, columns)
                assert found.equals(scanned), (name, columns, where)


def test_files_of_other_schemas_are_for_arrow(tmp_path: Path) -> None:
    lance_arrow.write_table(ROWS, tmp_path / "a.lance")
    lance_arrow.write_table(ROWS.drop_columns(["s"]), tmp_path / "b.lance")
    dataset = lance_arrow.dataset(tmp_path)
    expected = pa.concat_tables([ROWS, ROWS.drop_columns(["s"])], promote_options="default")
    for where in FILTERS:
        found = expected if where is None else expected.filter(where)
        assert dataset.count_rows(where) == found.num_rows, where
        assert dataset.to_table(filter=where).equals(found), where
    reads = dataset._folder_reads
    assert reads is not None
    assert reads.read(None, None) is None
    assert reads.count(FILTERS[1]) is None


def test_metadata_of_files_may_differ(tmp_path: Path) -> None:
    for number in range(10):
        field = ROWS.schema.field("id").with_metadata({"number": str(number)})
        schema = pa.schema([field, *list(ROWS.schema)[1:]], {"number": str(number)})
        lance_arrow.write_table(ROWS.cast(schema), tmp_path / f"{number}.lance")
    dataset = lance_arrow.dataset(tmp_path)
    found = dataset.to_table(filter=F("id") < 10)
    assert found.schema.equals(dataset.scanner(filter=F("id") < 10).to_table().schema, check_metadata=True)
    assert found["id"].to_pylist() == 10 * list(range(10))


def test_the_filter_of_the_dataset_counts(tmp_path: Path) -> None:
    for name, _, dataset in datasets(tmp_path):
        filtered = dataset.filter(F("id") < 50)
        both = filtered.to_table(["id"], filter=F("id") >= 40)
        assert both["id"].to_pylist() == [row for row in range(40, 50) if name != "deletions" or row % 3], name
        assert filtered.count_rows(F("id") >= 40) == both.num_rows


@pytest.mark.parametrize(
    "options",
    [
        {"columns": {"x": F("id")}},
        {"columns": ["nested.x"]},
        {"columns": []},
        {"columns": ["id", "unknown"]},
        {"use_threads": False},
        {"batch_size": 100},
        {"memory_pool": pa.system_memory_pool()},
    ],
)
def test_other_wishes_are_for_arrow(tmp_path: Path, options: dict[str, Any]) -> None:
    for name, _, dataset in datasets(tmp_path):
        assert direct_reads(dataset, ScannerOptions(**options)) is None, name


def test_other_datasets_are_for_arrow(tmp_path: Path) -> None:
    lance_arrow.write_table(ROWS, tmp_path / "a.lance")
    lance_arrow.write_table(ROWS, tmp_path / "b.lance")
    file = lance_arrow.dataset(tmp_path / "a.lance")
    (fragment,) = file.fragments
    other = pa.schema({"id": pa.int64(), "new": pa.string()})
    guaranteed = LanceFormat().make_fragment(fragment.path, fragment.filesystem, F("id") < 10)
    cases = {
        "another schema": file.replace_schema(other),
        "some rows": LanceDataset([fragment.subset(rows=(2, 5))], file.schema, file.format, fragment.filesystem),
        "a guarantee": LanceDataset([guaranteed], file.schema, file.format, fragment.filesystem),
        "options": LanceDataset.from_dataset(
            pads.dataset(
                tmp_path / "a.lance",
                format=LanceFormat(default_fragment_scan_options=lance_arrow.LanceFragmentScanOptions(zone_maps=False)),
            )
        ),
    }
    for name, dataset in cases.items():
        assert direct_reads(dataset, ScannerOptions()) is None, name
    assert cases["some rows"].to_table()["id"].to_pylist() == [2, 3, 4]
    assert cases["some rows"].count_rows(F("id") > 2) == 2


def test_a_file_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.lance"
    lance_arrow.write_table(ROWS, path)
    dataset = lance_arrow.dataset(path)
    assert dataset.count_rows(F("id") >= 0) == _NUM_ROWS
    lance_arrow.write_table(ROWS.slice(0, 10), tmp_path / "b.lance")
    (tmp_path / "b.lance").replace(path)
    assert dataset.count_rows(F("id") >= 0) == 10
    assert dataset.to_table().num_rows == 10
