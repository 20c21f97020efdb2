"""Blobs of both kinds that the reference wrote: bytes, descriptors, files; through every door."""

from __future__ import annotations

import pickle
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from blobs import FIRST, SECOND, SECOND_TYPE, first_kind, payloads, second_kind, second_table, write_second
from same import assert_same, taken
from witness import Witness

import lance_arrow
from lance_arrow import LanceFile, LanceFormat, Runtime, Settings
from lance_arrow.errors import InvalidArgumentError, MissingFileError, UnsupportedError
from lance_arrow.spi import ReadReport

pytestmark = pytest.mark.interop

VALUES = payloads(300)
# The reference keeps 64 KiB and less in the data file, packs more into sidecars, and gives 4 MiB one of their own.
PLACED = [b"small", None, b"", bytes(100_000), b"\1" * 70_000, None, b"\2" * 5_000_000, b"last"]


@pytest.fixture(scope="module", params=["2.0", "2.1", "2.2"])
def first(request: pytest.FixtureRequest, witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Several pages of blobs of the first kind."""
    path = tmp_path_factory.mktemp("first") / "file.lance"
    slices = [(0, 100), (100, 101), (101, 300)]
    return witness.write(first_kind(VALUES), path, request.param, slices=slices, data_cache_bytes=1)


@pytest.fixture(scope="module", params=["2.2", "2.3"])
def second(
    request: pytest.FixtureRequest, witness: Witness, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """A table of blobs of the second kind, and its data file alone."""
    return write_second(witness, second_table(PLACED), tmp_path_factory.mktemp("second"), request.param)


def values_of(table: pa.Table) -> list[bytes | None]:
    return table.column("b").to_pylist()


def test_first_kind_is_read_through_every_door(witness: Witness, first: Path) -> None:
    expected = first_kind(VALUES)
    assert_same(witness.read(first), expected)
    assert len(witness.describe(first)["columns"][0]) > 1, "several pages are wanted"
    with LanceFile(first) as file:
        assert file.schema == expected.schema
        assert_same(expected, file.read())
        assert_same(expected.select(["n"]), file.read(["n"]))
        assert_same(expected, pa.Table.from_batches(file.to_batches(batch_size=17)))
        assert_same(expected, pa.table(file))
    assert_same(expected, lance_arrow.read_table(first))
    dataset = pads.dataset(first, format=LanceFormat())
    assert dataset.schema == expected.schema
    assert_same(expected, dataset.to_table())
    assert_same(expected, pa.Table.from_batches(dataset.to_batches(batch_size=29)))


def test_first_kind_is_taken_in_any_order(first: Path) -> None:
    expected = first_kind(VALUES)
    with LanceFile(first) as file:
        for indices in ([5], [299, 3, 3, 100, 0, 0], np.arange(299, -1, -3), list(range(90, 110)), []):
            assert_same(taken(expected, indices), file.take(indices))
        assert_same(taken(expected, [7, 2]).select(["b"]), file.take([7, 2], columns=["b"]))


def test_filters_look_at_blobs_and_leave_them_alone(first: Path) -> None:
    expected = first_kind(VALUES)
    with LanceFile(first) as file:
        for mask in (pc.field("n").isin([7, 8, 250]), pc.field("b").is_null(), pc.field("n") < 0):
            assert_same(expected.filter(mask), file.read(filter=mask))
            assert_same(expected.filter(mask).select(["b"]), file.read(["b"], filter=mask))
        assert file.count_rows(pc.field("b").is_null()) == VALUES.count(None)
    dataset = pads.dataset(first, format=LanceFormat())
    assert_same(expected.filter(pc.field("b").is_valid()), dataset.to_table(filter=pc.field("b").is_valid()))


def test_descriptors_of_the_first_kind_name_bytes_of_the_file(first: Path) -> None:
    content = first.read_bytes()
    with LanceFile(first, blobs="descriptors") as file:
        table = file.read()
        assert table.schema == file.schema
        assert file.schema.field("b").type == pa.struct([("position", pa.uint64()), ("size", pa.uint64())])
        assert file.schema.field("b").metadata == {key.encode(): value.encode() for key, value in FIRST.items()}
        sizes = file.read(["b.size"]).column("size")
    places = table.column("b").to_pylist()
    assert [None if one is None else content[one["position"] :][: one["size"]] for one in places] == VALUES
    assert sizes.to_pylist() == [None if value is None else len(value) for value in VALUES]
    dataset = lance_arrow.dataset(first, blobs="descriptors")
    assert_same(table, dataset.to_table())
    with LanceFile(first) as file, pytest.raises(InvalidArgumentError, match="size"):
        file.read(["b.size"])


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("values", [[], [None] * 9, [b""] * 9, [b"same"] * 2000], ids=["none", "null", "empty", "same"])
def test_monotonous_columns_of_the_first_kind(
    witness: Witness, tmp_path: Path, version: str, values: list[bytes | None]
) -> None:
    expected = first_kind(values)
    with LanceFile(witness.write(expected, tmp_path / "file.lance", version)) as file:
        assert_same(expected, file.read())


def nested(leaf: pa.Array, field: pa.Field) -> pa.Array:
    """struct<inner: struct<x: blob, y>>, both with nulls."""
    rows = np.arange(len(leaf))
    inner = pa.StructArray.from_arrays(
        [leaf, pa.array(rows)], fields=[field, pa.field("y", pa.int64())], mask=pa.array(rows % 4 == 1)
    )
    return pa.StructArray.from_arrays([inner], fields=[pa.field("inner", inner.type)], mask=pa.array(rows % 5 == 2))


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_first_kind_within_structs(witness: Witness, tmp_path: Path, version: str) -> None:
    field = pa.field("x", pa.large_binary(), metadata=FIRST)
    expected = pa.table({"s": nested(pa.array(payloads(60), pa.large_binary()), field)})
    path = witness.write(expected, tmp_path / "file.lance", version)
    with LanceFile(path) as file:
        assert_same(expected, file.read())
        assert_same(taken(expected, [59, 2, 2, 30]), file.take([59, 2, 2, 30]))
        leaf = pc.struct_field(expected.column("s").combine_chunks(), ["inner", "x"])
        assert file.read(["s.inner.x"]).column("x").to_pylist() == leaf.to_pylist()
        found = file.take_blobs("s.inner.x", range(60))
        assert [None if blob is None else blob.read() for blob in found] == leaf.to_pylist()
        assert file.read(["s.inner.y"]).column("y").null_count
    assert_same(expected, pads.dataset(path, format=LanceFormat()).to_table())


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_lists_of_the_first_kind_are_refused_by_name(witness: Witness, tmp_path: Path, version: str) -> None:
    item = pa.field("item", pa.large_binary(), metadata=FIRST)
    table = pa.table({"odd": pa.array([[b"a"], None, []], pa.list_(item)), "n": [1, 2, 3]})
    with LanceFile(witness.write(table, tmp_path / "file.lance", version)) as file:
        assert_same(table.select(["n"]), file.read(["n"]))
        with pytest.raises(UnsupportedError, match=r"lists.*odd"):
            file.read()


def test_second_kind_is_read_through_every_door(witness: Witness, second: tuple[Path, Path]) -> None:
    root, alone = second
    kinds = witness.read_directory(root, ["b"], "blobs_descriptions").column("b").to_pylist()
    assert [row and row["kind"] for row in kinds] == [0, None, 0, 1, 1, None, 2, 0]
    assert values_of(witness.read_directory(root)) == PLACED
    with LanceFile(alone) as file:
        assert file.schema.field("b").type == pa.large_binary()
        assert file.schema.field("b").metadata == {key.encode(): value.encode() for key, value in FIRST.items()}
        table = file.read()
        assert table.schema == file.schema
        assert values_of(table) == PLACED
        assert values_of(file.take([7, 6, 6, 1])) == [PLACED[7], PLACED[6], PLACED[6], None]
    dataset = lance_arrow.dataset(alone)
    assert values_of(dataset.to_table()) == PLACED
    assert dataset.schema == table.schema


def test_descriptors_of_the_second_kind_are_the_references(witness: Witness, second: tuple[Path, Path]) -> None:
    root, alone = second
    expected = witness.read_directory(root, ["b"], "blobs_descriptions")
    with LanceFile(alone, blobs="descriptors") as file:
        assert_same(expected, file.read(["b"]))
        assert file.schema.field("b").type == expected.schema.field("b").type
        assert file.schema.field("b").metadata == expected.schema.field("b").metadata


def test_files_of_blobs_are_the_references(witness: Witness, second: tuple[Path, Path]) -> None:
    root, alone = second
    wanted = [6, 0, 2, 3]
    with LanceFile(alone) as file:
        found = file.take_blobs("b", wanted)
        assert [blob and blob.readall() for blob in found] == witness.take_blobs(root, "b", wanted)
        assert file.take_blobs("b", [1]) == [None]


@pytest.mark.parametrize("version", ["2.2", "2.3"])
@pytest.mark.parametrize("form", ["list", "large_list", "struct"])
def test_second_kind_below_others(witness: Witness, tmp_path: Path, version: str, form: str) -> None:
    values = [*payloads(40, 300), bytes(70_000)]
    items = second_kind(values)
    field = pa.field("item", SECOND_TYPE, metadata=SECOND)
    if form == "struct":
        array = nested(items, field)
    else:
        offsets = np.array([0, 3, 3, 10, 10, 30, 41])
        kind = pa.list_(field) if form == "list" else pa.large_list(field)
        make = pa.ListArray if form == "list" else pa.LargeListArray
        array = make.from_arrays(
            pa.array(offsets, pa.int32() if form == "list" else pa.int64()),
            items,
            type=kind,
            mask=pa.array([False, True, False, False, False, False]),
        )
    root, alone = write_second(witness, pa.table({"c": array}), tmp_path, version)
    expected = witness.read_directory(root).column("c").to_pylist()
    with LanceFile(alone) as file:
        assert file.read().column("c").to_pylist() == expected
        rows = list(range(len(array)))[::-2]
        assert file.take(rows).column("c").to_pylist() == [expected[row] for row in rows]
        pieces = [row for batch in file.to_batches(batch_size=2) for row in batch.column(0).to_pylist()]
        assert pieces == expected
    assert lance_arrow.dataset(alone).to_table().column("c").to_pylist() == expected


def test_addresses_are_followed_only_when_allowed(witness: Witness, tmp_path: Path) -> None:
    outside = tmp_path / "outside.bin"
    outside.write_bytes(bytes(range(200)))
    uri = outside.as_uri()
    root, alone = write_second(witness, second_table([b"in", uri, (uri, 8, 16), None]), tmp_path, "2.2")
    with LanceFile(alone) as file:
        for read in (file.read, lambda: file.take([1]), lambda: file.take_blobs("b", [2])):
            with pytest.raises(UnsupportedError, match="allow_external_blobs"):
                read()
        assert values_of(file.take([0])) == [b"in"], "rows without addresses are read"
    with pytest.raises(UnsupportedError, match="allow_external_blobs"):
        lance_arrow.dataset(alone).to_table()
    expected = values_of(witness.read_directory(root))
    assert expected == [b"in", bytes(range(200)), bytes(range(8, 24)), None]
    with LanceFile(alone, allow_external_blobs=True) as file:
        assert values_of(file.read()) == expected
        assert [blob and blob.read() for blob in file.take_blobs("b", [2, 1])] == [expected[2], expected[1]]
    assert values_of(lance_arrow.dataset(alone, allow_external_blobs=True).to_table()) == expected
    assert values_of(lance_arrow.read_table(alone, allow_external_blobs=True)) == expected
    outside.unlink()
    with LanceFile(alone, allow_external_blobs=True) as file, pytest.raises(FileNotFoundError):
        file.read()


def test_sidecars_lie_beside_the_file_in_its_own_filesystem(second: tuple[Path, Path]) -> None:
    _, alone = second
    memory = fsspec.filesystem("memory")
    memory.put(str(alone.parent), "/blobs", recursive=True)
    try:
        with LanceFile("memory://blobs/file.lance") as file:
            assert values_of(file.read()) == PLACED
        assert values_of(lance_arrow.dataset("/blobs/file.lance", filesystem=memory).to_table()) == PLACED
        (sidecar,) = [
            name for name in memory.ls("/blobs/file", detail=False) if name.endswith("/01" + "0" * 30 + ".blob")
        ]
        memory.rm(sidecar)
        with LanceFile("memory://blobs/file.lance") as file:
            with pytest.raises(MissingFileError, match=r"file/0100") as found:
                file.read()
            assert found.value.column == "b"
            assert values_of(file.take([0, 3])) == [PLACED[0], PLACED[3]]
    finally:
        memory.rm("/blobs", recursive=True)


def test_receipts_count_sidecars(second: tuple[Path, Path], receipts: list[ReadReport]) -> None:
    with LanceFile(second[1]) as file:
        file.take([4], columns=["b"])
        (report,) = receipts
        assert len(PLACED[4]) <= report.fetched_bytes < len(PLACED[4]) + 10_000
    lance_arrow.dataset(second[1]).to_table(columns=["b"])
    assert receipts[-1].fetched_bytes >= sum(len(value or b"") for value in PLACED)


def test_files_in_memory_have_no_sidecars(second: tuple[Path, Path]) -> None:
    with LanceFile(second[1].read_bytes()) as file:
        assert values_of(file.take([0, 2, 7])) == [PLACED[0], PLACED[2], PLACED[7]]
        with pytest.raises(UnsupportedError, match="without a path"):
            file.take([3])


def test_formats_of_other_options_differ(first: Path) -> None:
    plain, shown, allowed = LanceFormat(), LanceFormat(blobs="descriptors"), LanceFormat(allow_external_blobs=True)
    assert len({plain, shown, allowed, LanceFormat(blobs="bytes")}) == 3
    for one in (plain, shown, allowed):
        copy = pickle.loads(pickle.dumps(one))
        assert (copy, copy.blobs, copy.allow_external_blobs) == (one, one.blobs, one.allow_external_blobs)
    assert repr(shown) == "LanceFormat(blobs='descriptors')"
    dataset = pickle.loads(pickle.dumps(lance_arrow.dataset(first, blobs="descriptors")))
    assert pa.types.is_struct(dataset.to_table().schema.field("b").type)
    for wrong in ("Bytes", None, 1):
        with pytest.raises(InvalidArgumentError, match="blobs is"):
            LanceFormat(blobs=wrong)
        with pytest.raises(InvalidArgumentError, match="blobs is"):
            LanceFile(first, blobs=wrong)


def test_ranges_batches_and_filters_of_the_first_kind(first: Path) -> None:
    expected = first_kind(VALUES)
    rows = [(90, 103), (150, 290)]
    wanted = pa.concat_tables([expected.slice(start, stop - start) for start, stop in rows])
    with LanceFile(first) as file:
        assert_same(wanted, file.read(rows=rows))
        assert_same(wanted.select(["b"]), file.read(["b"], rows=rows))
        batches = list(file.to_batches(batch_size=17, rows=rows))
        assert {batch.num_rows for batch in batches[:-1]} == {17}
        assert_same(wanted, pa.Table.from_batches(batches))
        for condition in (pc.field("n") > 200, pc.field("b").is_valid()):
            kept = wanted.filter(condition)
            assert_same(kept, file.read(filter=condition, rows=rows))
            batches = list(file.to_batches(batch_size=30, filter=condition, rows=rows))
            assert max(batch.num_rows for batch in batches) <= 30
            assert_same(kept, pa.Table.from_batches(batches, file.schema))
        with pytest.raises(InvalidArgumentError, match=r"b\.position"):
            file.read(["b.position"])


def test_blobs_of_a_stream_share_its_budget(first: Path) -> None:
    sizes = [0 if value is None else len(value) for value in VALUES]
    piece_bytes = 2 * max(sizes)
    runtime = Runtime(Settings(memory_budget_bytes=8 * piece_bytes, num_threads=2))
    assert runtime.settings.blob_piece_bytes == piece_bytes
    with LanceFile(first, runtime=runtime) as file:
        batches = list(file.to_batches(["b"]))
        assert pa.Table.from_batches(batches).column("b").to_pylist() == VALUES
    held = [sum(len(value or b"") for value in batch.column("b").to_pylist()) for batch in batches]
    assert len(batches) > 1
    assert max(held) <= piece_bytes
