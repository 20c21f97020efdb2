"""Pages that compactions copy: the same rows, ids and zone maps as of pages that are encoded anew, and no damage."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from copied_early import copied_early
from same import assert_same
from witness import Witness

from lance_arrow import LanceFile, LanceTable
from lance_arrow.container.descriptions import Description
from lance_arrow.errors import CorruptPageError
from lance_arrow.files import copied_rows
from lance_arrow.proto import encodings_v21_pb2 as v21
from lance_arrow.runtime import default_runtime
from lance_arrow.table.verifying import verify

NEVER = 1 << 60
NESTED = pa.struct({"x": pa.int16(), "y": pa.list_(pa.string())})


def rows_of(start: int, stop: int) -> pa.Table:
    numbers = np.arange(start, stop)
    random = np.random.default_rng([7, start, stop])
    texts = [None if i % 7 == 0 else f"text {i % 911} " + "long " * (i % 23) for i in numbers.tolist()]
    nested = [None if i % 5 == 0 else {"x": i % 100, "y": [f"{i}", None][: i % 3]} for i in numbers.tolist()]
    return pa.table(
        {
            "id": numbers,
            "double": pa.array(random.random(len(numbers)), mask=numbers % 3 == 0),
            "text": pa.array(texts),
            "kind": pa.array([f"kind {i % 5}" for i in numbers.tolist()]).dictionary_encode(),
            "nested": pa.array(nested, NESTED),
            "same": pa.array(np.full(len(numbers), 5, np.int8)),
            "none": pa.nulls(len(numbers), pa.int32()),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(random.random(4 * len(numbers), np.float32)), 4),
        }
    )


def data_file(table: LanceTable, path: Path, number: int = 0) -> Path:
    return path / "data" / table.manifest.fragments[number].files[0].path


def zone_maps(path: Path) -> dict[str, tuple[int, pa.RecordBatch] | None]:
    """Rows per zone, and zones, of each leaf of a file."""
    with LanceFile(path) as file:
        opened = file._opened
        leaves = [leaf for root in opened.roots for leaf in root.leaves()]
        found = opened.zones.get(leaves)
        return {
            leaf.path: None if one is None else (one.rows_per_zone, one.zones)
            for leaf, one in zip(leaves, found, strict=True)
        }


def buffers(path: Path) -> list[dict[str, list[bytes]]]:
    """Bytes of the buffers of each page, by column."""
    content = path.read_bytes()
    with LanceFile(path) as file:
        container = file._opened.rows.file
        return [
            [
                b"".join(
                    content[start : start + size]
                    for start, size in zip(page.buffer_offsets, page.buffer_sizes, strict=True)
                )
                for page in meta.pages
            ]
            for meta in container.columns(range(container.footer.num_columns))
        ]


@pytest.mark.parametrize(("version", "rows"), [("2.1", 3000), ("2.2", 3000), ("2.2", 8192), ("2.3", 3000)])
def test_copies_are_what_encoding_makes(witness: Witness, tmp_path: Path, version: str, rows: int) -> None:
    """Rows, ids, zone maps and counts are the same; so are the bytes of pages, as they were."""
    copied, encoded = tmp_path / "copied", tmp_path / "encoded"
    table = LanceTable.create(
        copied, rows_of(0, 3 * rows), file_version=version, max_rows_per_file=rows, enable_stable_row_ids=True
    )
    table.update({"double": "0.5"}, f"id = {rows}")
    before = [one for number in range(3) for one in [buffers(data_file(table, copied, number))]]
    shutil.copytree(copied, encoded)
    with copied_early() as counts:
        table.compact()
    with copied_early(NEVER, NEVER) as none:
        LanceTable.open(encoded).compact()
    assert not none
    # The second fragment has a deleted row, which is the only one of the last.
    assert counts["id"] == 3
    assert len(counts) == 9
    names = [*table.schema.names, "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    ours, theirs = LanceTable.open(copied), LanceTable.open(encoded)
    assert_same(theirs.to_table(columns=names), ours.to_table(columns=names))
    assert_same(theirs.to_table(), witness.read_version(copied, None))
    assert [one.num_rows for one in ours.manifest.fragments] == [one.num_rows for one in theirs.manifest.fragments]
    found = buffers(data_file(ours, copied))
    for column, of_column in enumerate(found):
        assert of_column[0] == before[0][column][0]
        assert before[2][column][0] in of_column
    assert zone_maps(data_file(ours, copied)) == zone_maps(data_file(theirs, encoded))
    assert verify(copied).ok
    for condition in (f"id = {rows + 3}", "text IS NULL", "double > 0.99", "nested IS NULL", "same = 4"):
        assert_same(theirs.to_table(filter=condition), ours.to_table(filter=condition))


def test_damage_is_not_copied(tmp_path: Path) -> None:
    """A page that changed since it was read, and compared with its checksums, does not get a new checksum."""
    table = LanceTable.create(tmp_path / "t", rows_of(0, 9000), max_rows_per_file=3000)
    before = table.to_table()
    place = data_file(table, tmp_path / "t", 1)
    with LanceFile(place) as file:
        container = file._opened.rows.file
        page = container.columns([0])[0].pages[0]
        start = int(page.buffer_offsets[-1])
    content = place.read_bytes()
    files = sorted(tmp_path.rglob("*"))
    with place.open("r+b") as opened:
        opened.seek(start + 5)
        opened.write(bytes([content[start + 5] ^ 1]))
    with copied_early(), pytest.raises(CorruptPageError, match="checksum") as raised:
        table.compact()
    assert (raised.value.column, raised.value.page) == ("id", 0)
    assert raised.value.path is not None
    assert raised.value.path.endswith(place.name)
    assert raised.value.byte_range is not None
    assert raised.value.byte_range[0] <= start + 5 < raised.value.byte_range[1]
    assert sorted(tmp_path.rglob("*")) == files
    place.write_bytes(content)
    with copied_early():
        table.compact()
    assert_same(before, table.to_table())


def test_what_is_encoded(tmp_path: Path) -> None:
    """Blobs, fragments with deleted rows, small pages, and files of 2.0."""
    blobs = pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    rows = pa.table(
        [np.arange(30), [b"x" * i for i in range(30)]], schema=pa.schema([pa.field("id", pa.int64()), blobs])
    )
    table = LanceTable.create(tmp_path / "blobs", rows, max_rows_per_file=10)
    with copied_early() as counts:
        table.compact()
    assert counts == {"id": 3}
    assert_same(rows, table.to_table())

    table = LanceTable.create(tmp_path / "deleted", rows_of(0, 30), max_rows_per_file=10)
    table.delete("id = 3")
    with copied_early() as counts:
        table.compact()
    assert counts["id"] == 2

    table = LanceTable.create(tmp_path / "small", rows_of(0, 30), max_rows_per_file=10)
    with copied_early(11, NEVER) as counts:
        table.compact()
    assert not counts

    table = LanceTable.create(
        tmp_path / "2.0", rows_of(0, 30).drop_columns(["nested"]), max_rows_per_file=10, file_version="2.0"
    )
    with copied_early() as counts:
        table.compact()
    assert not counts


def test_pages_outside_the_format_are_encoded() -> None:
    """Other readers refuse the whole file: a compaction does not pass it on."""

    def is_private(*pages: Description) -> bool:
        meta = SimpleNamespace(pages=SimpleNamespace(descriptions=pages))
        return copied_rows._is_private(meta, default_runtime())  # type: ignore[arg-type]

    flat = v21.CompressiveEncoding(flat=v21.Flat(bits_per_value=8))
    private = v21.CompressiveEncoding(private_codec=v21.PrivateCodec(id="a.b/1", distribution="c", children=[flat]))
    plain, other = (v21.PageLayout(full_zip_layout=v21.FullZipLayout(value_compression=one)) for one in (flat, private))
    name = plain.DESCRIPTOR.full_name
    assert not is_private(Description(name, plain.SerializeToString()))
    assert is_private(Description(name, plain.SerializeToString()), Description(name, other.SerializeToString()))
    assert is_private(Description("vendor.Layout", b"", "vendor"))


def test_files_without_checksums_are_encoded(tmp_path: Path, witness: Witness) -> None:
    """Without checksums, damage of their pages would not be found; the new file has checksums, and zone maps."""
    rows = rows_of(0, 60)
    witness.write_directory(rows, tmp_path / "t", "2.2", max_rows_per_file=20)
    table = LanceTable.open(tmp_path / "t")
    before = table.to_table()
    with copied_early() as counts:
        table.compact()
    assert not counts
    assert_same(before, table.to_table())
    assert verify(tmp_path / "t").has_checksums
    # Its own files are copied beside those of the reference.
    table.append(rows_of(60, 90))
    witness.change_table(tmp_path / "t", {"do": "append", "rows": rows_of(90, 95)})
    table = LanceTable.open(tmp_path / "t")
    before = table.to_table()
    with copied_early() as counts:
        table.compact()
    assert counts["id"] == 2
    assert_same(before, table.to_table())
    assert_same(before, witness.read_version(tmp_path / "t", None))


def test_damaged_zone_maps_are_made_anew(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", rows_of(0, 16384), max_rows_per_file=8192)
    before = table.to_table()
    place = data_file(table, tmp_path / "t")
    expected = zone_maps(place)["id"]
    with LanceFile(place) as file:
        meta = file._opened.rows.file.columns([0])[0]
        start = int(meta.buffer_offsets[0])
    content = bytearray(place.read_bytes())
    content[start + 100] ^= 1
    place.write_bytes(content)
    with copied_early() as counts:
        LanceTable.open(tmp_path / "t").compact()
    table = LanceTable.open(tmp_path / "t")
    assert counts["id"] == 2
    assert_same(before, table.to_table())
    found = zone_maps(data_file(table, tmp_path / "t"))["id"]
    assert found is not None
    assert expected is not None
    assert found[1].slice(0, 1).equals(expected[1])
    assert verify(tmp_path / "t").ok


def test_fixed_size_lists_of_structs_are_encoded(witness: Witness, tmp_path: Path) -> None:
    """The reference does not read pages of null lists beside others."""
    items = [{"x": 0, "y": 1}, {"x": 2, "y": 3}, None]
    type_ = pa.list_(pa.struct({"x": pa.int32(), "y": pa.int64()}), 3)
    rows = pa.table({"id": range(4), "list": pa.array([None, items, None, None], type_)})
    table = LanceTable.create(tmp_path / "t", rows, max_rows_per_file=1, file_version="2.3")
    with copied_early() as counts:
        table.compact()
    assert counts == {"id": 4}
    assert_same(rows, table.to_table())
    assert_same(rows.select(["list"]), witness.read_version(tmp_path / "t", None, columns=["list"]))


def test_columns_of_several_files(tmp_path: Path) -> None:
    """Columns that were added, renamed, dropped and cast lie in several files, or in none."""
    table = LanceTable.create(tmp_path / "t", rows_of(0, 60), max_rows_per_file=20)
    table.add_columns({"twice": "id * 2"})
    table.alter_columns({"path": "text", "name": "words"}, {"path": "same", "data_type": pa.int64()})
    table.drop_columns(["kind"])
    table.add_columns([pa.field("new", pa.int8())])
    table.append(table.to_table().slice(0, 20))
    before = table.to_table()
    with copied_early() as counts:
        table.compact()
    assert counts["words"] == counts["twice"] == 4
    assert counts["same"] == 4
    # No file of the first fragments has it.
    assert counts["new"] <= 1
    assert_same(before, table.to_table())
    assert verify(tmp_path / "t").ok
    assert [len(fragment.files) for fragment in table.manifest.fragments] == [1]


def test_files_end_where_they_would(tmp_path: Path) -> None:
    """A fragment that does not fit the rest of a file is encoded; so is what would leave small pages before it."""
    table = LanceTable.create(tmp_path / "t", rows_of(0, 100), max_rows_per_file=25)
    table.append(rows_of(100, 110))
    table.append(rows_of(110, 150))
    before = table.to_table()
    with copied_early(20, NEVER) as counts:
        table.compact(target_rows_per_fragment=60)
    assert [fragment.num_rows for fragment in table.manifest.fragments] == [60, 15, 60, 15]
    assert_same(before, table.to_table())
    assert counts["id"] == 3


def test_few_rows_make_no_page(tmp_path: Path) -> None:
    """Rows that wait to be encoded take a fragment with them, if they would make a small page before it."""
    table = LanceTable.create(tmp_path / "t", rows_of(0, 25))
    for start, stop in ((25, 30), (30, 55), (55, 80)):
        table.append(rows_of(start, stop))
    before = table.to_table()
    with copied_early(20, NEVER) as counts:
        table.compact()
    assert_same(before, table.to_table())
    assert counts["id"] == 2
    with LanceFile(data_file(table, tmp_path / "t")) as file:
        (column,) = file._opened.rows.file.columns([0])
        assert np.diff(column.page_starts).tolist() == [25, 30, 25]


def test_progress(tmp_path: Path) -> None:
    """Rows are told as they are written, copied ones and others, up to all of them."""
    table = LanceTable.create(tmp_path / "t", rows_of(0, 100), max_rows_per_file=25)
    table.delete("id = 60")
    told: list[tuple[int, int]] = []
    with copied_early():
        table.compact(on_progress=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == [25, 50, 74, 99]
    assert {total for _, total in told} == {99}
