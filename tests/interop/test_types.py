"""Every type the reference writes, in every version it writes it in: read, taken and scanned equal."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pyarrow as pa
import pytest
from random_rows import random_array
from same import assert_same, taken
from values import seeded
from witness import Witness, WitnessDied, WitnessRefused

import lance_arrow
from lance_arrow.errors import UnsupportedError

pytestmark = pytest.mark.interop

ROWS = 230
SPARSE = {"lance-encoding:structural-encoding": "sparse"}
ZIPPED = {"lance-encoding:structural-encoding": "fullzip"}
FILES = {
    **{version: (version, None) for version in ("2.1", "2.2", "2.3")},
    **{f"{version}-zipped": (version, ZIPPED) for version in ("2.1", "2.2", "2.3")},
    "2.3-sparse": ("2.3", SPARSE),
}


def fsl(item: pa.DataType, size: int = 2) -> pa.DataType:
    return pa.list_(item, size)


def struct(**children: pa.DataType) -> pa.DataType:
    return pa.struct(list(children.items()))


def deep(levels: int, list_first: bool) -> pa.DataType:
    """Lists and structs in turn."""
    type_ = pa.int32()
    for level in range(levels):
        type_ = pa.list_(type_) if (level % 2 == 0) == list_first else struct(x=type_, y=pa.int8())
    return type_


WORDS = pa.dictionary(pa.int16(), pa.string())
PAIR = struct(a=pa.int32(), b=pa.string())
TYPES = {
    "bools": fsl(pa.bool_(), 8),
    "odd_bools": fsl(pa.bool_(), 3),
    "tensors": fsl(fsl(fsl(pa.int16()), 3)),
    "tensors_of_bools": fsl(fsl(pa.bool_(), 3)),
    "tensors_of_nulls": fsl(pa.null()),
    "deep_tensors_of_nulls": fsl(fsl(pa.null()), 3),
    "fsl_of_bytes": fsl(pa.binary(3)),
    "fsl_of_decimals": fsl(pa.decimal128(9, 2)),
    "fsl_of_wide_decimals": fsl(pa.decimal256(60, 2)),
    "fsl_of_times": fsl(pa.timestamp("us", "UTC")),
    "fsl_of_dates": fsl(pa.date32()),
    "fsl_of_half_floats": fsl(pa.float16()),
    "list_of_tensors": pa.list_(fsl(fsl(pa.float32()))),
    "deep_lists": deep(12, True),
    "deep_structs": deep(12, False),
    "large_lists": pa.large_list(pa.large_list(pa.large_binary())),
    "mixed_lists": pa.list_(pa.large_list(pa.list_(pa.int8()))),
    "struct_of_null": struct(n=pa.null()),
    "list_of_nulls": pa.list_(pa.null()),
    "list_of_half_floats": pa.list_(pa.float16()),
    "list_of_wide_decimals": pa.list_(pa.decimal256(60, 3)),
    "list_of_durations": pa.list_(pa.duration("us")),
    "durations": struct(**{unit: pa.duration(unit) for unit in ("s", "ms", "us", "ns")}),
    "times": struct(a=pa.time32("s"), b=pa.time32("ms"), c=pa.time64("us"), d=pa.time64("ns"), e=pa.date64()),
    "moments": struct(a=pa.timestamp("s"), b=pa.timestamp("ns", "+01:00"), c=pa.timestamp("ms", "Europe/Berlin")),
    "list_of_words": pa.list_(WORDS),
    "struct_of_words": struct(w=WORDS, n=pa.dictionary(pa.int8(), pa.large_string())),
    "deep_words": struct(x=struct(y=pa.list_(pa.dictionary(pa.uint8(), pa.large_binary())))),
    "dictionary_of_integers": pa.dictionary(pa.int16(), pa.int64()),
    "dictionary_of_bools": pa.dictionary(pa.int16(), pa.bool_()),
    "dictionary_of_floats": pa.dictionary(pa.uint32(), pa.float32()),
    "uuid": pa.uuid(),
    "list_of_uuids": pa.list_(pa.uuid()),
    "struct_of_uuid": struct(u=pa.uuid()),
    "tensor": pa.fixed_shape_tensor(pa.float32(), [2, 3]),
    "list_of_fixed_shape_tensors": pa.list_(pa.fixed_shape_tensor(pa.float32(), [2])),
    "opaque": pa.opaque(pa.int32(), "kind", "vendor"),
    "opaque_structs": pa.opaque(struct(a=pa.int32()), "kind", "vendor"),
    "opaque_lists": pa.opaque(pa.list_(pa.int32()), "kind", "vendor"),
    "bool8": pa.bool8(),
}
SINCE_2_2 = {
    "tuples": fsl(PAIR),
    "tuples_of_tuples": fsl(struct(f=fsl(PAIR, 3), z=pa.int32())),
    "tuples_of_lists": fsl(struct(l=pa.list_(pa.int32()))),
    "tuples_of_maps": fsl(struct(m=pa.map_(pa.string(), pa.int32()))),
    "tuples_of_tensors": fsl(struct(v=fsl(pa.float32(), 3), w=fsl(pa.bool_(), 8))),
    "tuples_of_words": fsl(struct(w=WORDS)),
    "tuples_of_nulls": fsl(struct(n=pa.null(), a=pa.int32())),
    "struct_of_tuples": struct(s=fsl(PAIR)),
    "map": pa.map_(pa.int32(), pa.string()),
    "map_of_structs": pa.map_(pa.string(), PAIR),
    "map_by_structs": pa.map_(struct(a=pa.int32()), pa.list_(pa.int32())),
    "map_of_maps": pa.map_(pa.string(), pa.map_(pa.int32(), pa.float64())),
    "map_by_dates": pa.map_(pa.date32(), pa.list_(pa.string())),
    "map_by_bytes": pa.map_(pa.binary(4), pa.decimal128(5, 1)),
    "map_of_nulls": pa.map_(pa.large_binary(), pa.null()),
    "map_of_words": pa.map_(pa.int8(), WORDS),
    "list_of_maps": pa.list_(pa.map_(pa.int32(), pa.int32())),
}
SINCE_2_3 = {
    "list_of_tuples": pa.list_(fsl(PAIR)),
    "map_of_tuples": pa.map_(pa.string(), fsl(PAIR)),
    "tuples_of_lists_of_tuples": fsl(struct(l=pa.list_(fsl(struct(a=pa.int32()), 3)))),
    "lists_of_tuples_of_lists": pa.list_(fsl(struct(l=pa.list_(pa.int32())))),
    "structs_of_nothing": struct(e=pa.struct([]), a=pa.int32()),
    "struct_of_nothing_alone": struct(e=pa.struct([])),
    "list_of_nothing": pa.list_(pa.struct([])),
    "list_of_structs_of_nothing": pa.list_(struct(e=pa.struct([]), a=pa.int32())),
    "tuples_of_nothing": fsl(pa.struct([])),
    "tuples_of_structs_of_nothing": fsl(struct(e=pa.struct([]), a=pa.int32())),
}


NEVER_ZIPPED = {
    *("bools", "odd_bools", "tensors_of_bools", "tuples_of_tensors"),
    *("list_of_tuples", "map_of_tuples", "tuples_of_lists_of_tuples", "lists_of_tuples_of_lists"),
}
"""What the writer panics on when it is told to zip it, or writes without a meaning."""


def types_of(version: str, metadata: dict[str, str] | None = None) -> dict[str, pa.DataType]:
    types = TYPES | (SINCE_2_2 if version > "2.1" else {}) | (SINCE_2_3 if version > "2.2" else {})
    return {name: type_ for name, type_ in types.items() if metadata is not ZIPPED or name not in NEVER_ZIPPED}


def table_of(types: dict[str, pa.DataType], metadata: dict[str, str] | None) -> pa.Table:
    arrays = [random_array(type_, ROWS, random.Random(name)) for name, type_ in types.items()]
    fields = [pa.field(name, type_, metadata=metadata) for name, type_ in types.items()]
    return pa.table(arrays, schema=pa.schema(fields, metadata={"of": "schema"}))


@pytest.mark.parametrize("name", FILES)
def test_types_read_take_and_scan_equal(witness: Witness, tmp_path: Path, name: str) -> None:
    version, metadata = FILES[name]
    expected = table_of(types_of(version, metadata), metadata)
    path = witness.write(expected, tmp_path / "file.lance", version)
    picks = seeded(name).integers(0, ROWS, 90)
    with lance_arrow.LanceFile(path) as file:
        assert file.schema.equals(expected.schema, check_metadata=False)
        assert_same(expected, file.read())
        assert_same(taken(expected, picks), file.take(picks))
    assert_same(expected, lance_arrow.dataset(path).to_table())


@pytest.mark.parametrize(
    ("version", "type_"),
    [
        *(("2.1", type_) for type_ in SINCE_2_2.values()),
        *(("2.2", type_) for name, type_ in SINCE_2_3.items() if "nothing" in name or name == "list_of_tuples"),
    ],
    ids=str,
)
def test_what_older_versions_refuse_to_write(
    witness: Witness, tmp_path: Path, version: str, type_: pa.DataType
) -> None:
    """Keeps the lists above honest: a type moves up as soon as its writer takes it."""
    with pytest.raises((WitnessRefused, WitnessDied)):
        witness.write(table_of({"x": type_}, None), tmp_path / "file.lance", version)


def full_lists(items: pa.Array, rows: int) -> pa.Array:
    """Lists of one to three items, none null."""
    sizes = [1 + row % 3 for row in range(rows)]
    offsets = [0, *itertools.accumulate(sizes)]
    assert offsets[-1] <= len(items)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items.slice(0, offsets[-1]))


def tuples(array: pa.Array, nested: pa.DataType) -> pa.Array:
    """Fixed-size lists of two structs around a field, some null."""
    mask = pa.array([n % 11 == 5 for n in range(len(array) // 2)])
    return pa.FixedSizeListArray.from_arrays(pa.StructArray.from_arrays([array], fields=list(nested)), 2, mask=mask)


@pytest.mark.parametrize(("version", "metadata"), [("2.2", None), ("2.2", ZIPPED), ("2.3", None), ("2.3", ZIPPED)])
def test_full_lists_of_tuples(witness: Witness, tmp_path: Path, version: str, metadata: dict[str, str] | None) -> None:
    """All that the writer of 2.2 takes, and no reader of its own reads; two pages of several chunks each."""
    rows = 4000
    numbers = pa.array([None if n % 7 == 0 else n for n in range(4 * rows)], pa.int32())
    inner = pa.array([None if n % 5 == 0 else list(range(n % 4)) for n in range(4 * rows)], pa.list_(pa.int16()))
    pairs = tuples(numbers, struct(a=pa.int32()))
    columns = {
        "numbers": full_lists(pairs, rows),
        "lists": full_lists(tuples(inner, struct(l=inner.type)), rows),
        "structs": full_lists(pa.StructArray.from_arrays([pairs], ["t"]), rows),
    }
    for name, column in columns.items():
        expected = pa.table([column], schema=pa.schema([pa.field("x", column.type, metadata=metadata)]))
        path = witness.write(expected, tmp_path / f"{name}.lance", version)
        picks = seeded(name).integers(0, rows, 60)
        with lance_arrow.LanceFile(path) as file:
            assert_same(expected, file.read())
            assert_same(taken(expected, picks), file.take(picks))
            assert_same(expected, pa.Table.from_batches(file.to_batches(batch_size=777)))


class Celsius(pa.ExtensionType):
    """A type a user registers."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        super().__init__(pa.float32(), "test.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return self.unit.encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Celsius:
        return cls(serialized.decode())


@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
def test_extension_types_keep_their_metadata(witness: Witness, tmp_path: Path, version: str) -> None:
    celsius = Celsius("0.1 K")
    storage = pa.array([20.5, None, -3], pa.float32())
    note = {"note": "kept"}
    unknown = {"ARROW:extension:name": "test.unknown", "ARROW:extension:metadata": "some"}
    fields = [
        pa.field("plain", celsius, metadata=note),
        pa.field("nested", struct(t=celsius, u=pa.uuid())),
        pa.field("tensor", pa.fixed_shape_tensor(pa.int8(), [2, 2], dim_names=["a", "b"])),
        pa.field("unknown", pa.int32(), metadata=note | unknown),
        pa.field("json", pa.json_(), metadata=note),
    ]
    arrays = [
        celsius.wrap_array(storage),
        random_array(fields[1].type, 3, random.Random(1)),
        random_array(fields[2].type, 3, random.Random(2)),
        pa.array([1, None, 3], pa.int32()),
        pa.array(['{"a":1}', None, "[]"], pa.json_()),
    ]
    pa.register_extension_type(celsius)
    try:
        path = witness.write(pa.table(arrays, schema=pa.schema(fields)), tmp_path / "file.lance", version)
        with lance_arrow.LanceFile(path) as file:
            table = file.read()
            assert file.take([2, 0]).column("plain").to_pylist() == [storage[2].as_py(), 20.5]
        assert lance_arrow.dataset(path).schema.equals(table.schema, check_metadata=True)
        assert lance_arrow.dataset(path).to_table().equals(table)
        for name in ("plain", "nested", "tensor", "unknown", "json"):
            assert table.column(name).combine_chunks().equals(arrays[table.schema.get_field_index(name)])
        assert table.schema.field("plain").type.unit == "0.1 K"
        assert table.schema.field("plain").metadata[b"note"] == b"kept"
        metadata = {key.encode(): value.encode() for key, value in (note | unknown).items()}
        assert dict(table.schema.field("unknown").metadata) == metadata
        assert table.schema.field("json").metadata == {b"note": b"kept"}
        # Stored as binary JSON: what it is, the metadata tells.
        stored = lance_arrow.read_table(path, json="bytes")
        json = stored.schema.field("json")
        assert json.type == pa.large_binary()
        assert json.metadata[b"ARROW:extension:name"] == b"lance.json"
        assert json.metadata[b"note"] == b"kept"
        assert witness.read(path).column("json").to_pylist() == stored.column("json").to_pylist()
    finally:
        pa.unregister_extension_type("test.celsius")


def test_binaries_of_no_bytes_are_refused_by_name(tmp_path: Path, witness: Witness) -> None:
    """The reference writes them as pages of one scalar; here 0 bytes would stand for values of any length."""
    table = pa.table({"c": pa.array([b"", None], pa.binary(0))})
    path = witness.write(table, tmp_path / "reference.lance", "2.2")
    with (
        lance_arrow.LanceFile(path) as file,
        pytest.raises(UnsupportedError, match=r"fixed_size_binary\[0\] cannot be read yet .*'c'"),
    ):
        file.read()
    for version in ("2.0", "2.1", "2.2", "2.3"):
        with pytest.raises(UnsupportedError, match="no bytes cannot be stored"):
            lance_arrow.write_table(table, tmp_path / "ours.lance", file_version=version)
        assert not (tmp_path / "ours.lance").exists()
