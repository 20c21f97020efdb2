"""Files of 2.0 that we write: the reference reads them, and they hold what its own writer would put there."""

from __future__ import annotations

from pathlib import Path

import columns
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from blobs import first_kind, payloads
from same import assert_same, taken
from values import seeded
from witness import Witness

import lance_arrow
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.io import open_source
from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding
from lance_arrow.proto.reading import parse

pytestmark = pytest.mark.interop

GROUPS = [
    pytest.param(group, num_rows, nulls, id=f"{group}-{num_rows}-{nulls}")
    for group in columns.GROUPS
    for num_rows in (0, 1, 3000)
    for nulls in columns.NULLS
]


def descriptions(path: Path) -> dict[str, list[ArrayEncoding]]:
    """Descriptions of the pages of leaves, by path."""
    with LanceFileReader(open_source(path)) as file:
        metas = file.columns([leaf.column for leaf in file.leaves])
        return {
            leaf.path: [parse(ArrayEncoding, page.description, what="a page") for page in meta.pages]
            for leaf, meta in zip(file.leaves, metas, strict=True)
        }


def read_by_us(path: Path) -> pa.Table:
    with lance_arrow.LanceFile(path) as file:
        assert file.version == "2.0"
        return file.read()


@pytest.mark.cover(2)
@pytest.mark.parametrize(("group", "num_rows", "nulls"), GROUPS)
def test_every_type_is_read_by_the_reference(
    witness: Witness, tmp_path: Path, group: str, num_rows: int, nulls: str
) -> None:
    expected = columns.table(group, "2.0", num_rows, nulls)
    path = tmp_path / "file.lance"
    lance_arrow.write_table(expected, path, file_version="2.0", page_bytes=20_000, rows_per_zone=500)
    assert_same(expected, read_by_us(path))
    assert_same(expected, witness.read(path))
    assert lance_arrow.verify(path).ok


@pytest.mark.cover(1)
@pytest.mark.parametrize("name", ["int32_random", "bool_random", "string_words", "string_few", "string_zstd"])
@pytest.mark.parametrize("nulls", columns.NULLS)
def test_pages_are_described_as_the_reference_does(witness: Witness, tmp_path: Path, name: str, nulls: str) -> None:
    case = next(
        case for group in columns.GROUPS for case in columns.cases(group, "2.0", 500, nulls) if case.name == name
    )
    array = case.build(500, nulls)
    table = pa.table([array], schema=pa.schema([case.field_for(array, nulls)]))
    lance_arrow.write_table(table, tmp_path / "ours.lance", file_version="2.0")
    witness.write(table, tmp_path / "theirs.lance", "2.0")
    ours, theirs = (descriptions(tmp_path / f"{who}.lance")[name][0] for who in ("ours", "theirs"))
    for one in (ours, theirs):
        # Bytes under nulls differ, and with them the sum of all.
        one.binary.ClearField("null_adjustment") if one.HasField("binary") else None
        if one.HasField("dictionary"):
            one.dictionary.items.binary.ClearField("null_adjustment")
        one.binary.bytes.flat.compression.ClearField("level") if one.HasField("binary") else None
    assert str(ours) == str(theirs)


def test_lists_and_structs_in_several_pages(witness: Witness, tmp_path: Path) -> None:
    rng = seeded("written lists")
    inner = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])
    rows = [
        None if row % 7 == 3 else [{"a": row, "b": [f"t{row}"] * (j % 3)} for j in range(int(rng.integers(0, 4)))]
        for row in range(5000)
    ]
    expected = pa.table({"l": pa.array(rows, pa.large_list(inner)), "s": pa.array([{"x": row} for row in range(5000)])})
    path = tmp_path / "file.lance"
    lance_arrow.write_table(expected.slice(3, 4000), path, file_version="2.0", page_bytes=10_000)
    assert_same(expected.slice(3, 4000), read_by_us(path))
    assert_same(expected.slice(3, 4000), witness.read(path))
    picks = rng.integers(0, 4000, 50)
    with lance_arrow.LanceFile(path) as file:
        assert_same(taken(expected.slice(3, 4000), picks), file.take(picks))


def test_blobs(witness: Witness, tmp_path: Path) -> None:
    expected = first_kind(payloads(300))
    path = tmp_path / "file.lance"
    lance_arrow.write_table(expected, path, file_version="2.0")
    assert_same(expected, read_by_us(path))
    assert_same(expected, witness.read(path))


def test_zone_maps_prune_and_hinder_nobody(witness: Witness, tmp_path: Path) -> None:
    """They are global buffers, which the descriptor names: columns with a zone index are refused by the reference."""
    table = pa.table({"n": np.arange(50_000), "s": [f"{row:06}" for row in range(50_000)]})
    path = tmp_path / "file.lance"
    lance_arrow.write_table(table, path, file_version="2.0", rows_per_zone=1000)
    assert_same(table, witness.read(path))
    with LanceFileReader(open_source(path)) as file:
        assert set(file.zone_maps) == {0, 1}
    kept = (pc.field("n") >= 7000) & (pc.field("s") < "007010")
    plan = lance_arrow.dataset(path).explain(filter=kept)
    (planned,) = plan.files
    assert planned.zones_pruned > 40
    assert_same(table.slice(7000, 10), pads.dataset(path, format=lance_arrow.LanceFormat()).to_table(filter=kept))
    with lance_arrow.LanceFile(path) as file:
        assert_same(table.slice(7000, 10), file.read(filter=kept))


def test_checksums_notice_a_flipped_bit(tmp_path: Path) -> None:
    path = tmp_path / "file.lance"
    lance_arrow.write_table(pa.table({"n": np.arange(1000)}), path, file_version="2.0")
    content = bytearray(path.read_bytes())
    content[100] ^= 4
    path.write_bytes(content)
    with lance_arrow.LanceFile(path) as file, pytest.raises(CorruptFileError, match="checksum"):
        file.read()


def test_null_structs_are_refused(tmp_path: Path) -> None:
    structs = pa.array([{"x": 1}, None], pa.struct([("x", pa.int8())]))
    for column in (structs, pa.array([[{"x": 1}, None]], pa.list_(structs.type))):
        with pytest.raises(UnsupportedError, match="cannot be null") as caught:
            lance_arrow.write_table(pa.table({"c": column}), tmp_path / "file.lance", file_version="2.0")
        assert str(caught.value.column).startswith("c")
        assert not (tmp_path / "file.lance").exists()


def test_null_lists_hide_null_structs(witness: Witness, tmp_path: Path) -> None:
    """What a null list covers is no row of anybody."""
    items = pa.array([{"x": 1}, None], pa.struct([("x", pa.int8())]))
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2]), items, mask=pa.array([False, True]))
    expected = pa.table({"c": lists})
    path = tmp_path / "file.lance"
    lance_arrow.write_table(expected, path, file_version="2.0")
    for actual in (read_by_us(path), witness.read(path)):
        assert actual.to_pylist() == expected.to_pylist()


def test_tables_of_2_0(witness: Witness, tmp_path: Path) -> None:
    rows = pa.table({"n": [1, 2], "s": [{"x": "a", "l": [1]}, {"x": None, "l": []}]})
    table = lance_arrow.LanceTable.create(tmp_path / "table.lance", rows, file_version="2.0")
    table.append(rows)
    table.delete("n = 1")
    expected = rows.take([1, 1])
    assert_same(expected, table.to_table())
    assert_same(expected, witness.read_directory(tmp_path / "table.lance"))
    (file,) = {file.version.value for fragment in table.manifest.fragments for file in fragment.files}
    assert file == "2.0"


def test_lists_that_are_all_empty_hold_columns_of_nulls(witness: Witness, tmp_path: Path) -> None:
    item = pa.struct([("a", pa.int64()), ("none", pa.null())])
    expected = pa.table({"x": pa.array([[], None, []], pa.list_(item)), "y": [1, 2, 3]})
    path = tmp_path / "file.lance"
    lance_arrow.write_table(expected, path, file_version="2.0")
    assert_same(expected, read_by_us(path))
    assert_same(expected, witness.read(path))
    with lance_arrow.LanceFile(path) as file:
        assert_same(expected.take([2, 0]), file.take([2, 0]))
