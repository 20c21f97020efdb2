"""Columns of extension types and packed structs as we write them: read equal by us and by the reference."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from same import assert_same, taken
from values import seeded
from witness import Witness

import lance_arrow
from lance_arrow.errors import UnsupportedError

pytestmark = pytest.mark.interop

IDS = pa.array([b"0" * 16, None, bytes(range(16))], pa.uuid())
TENSORS = pa.ExtensionArray.from_storage(
    pa.fixed_shape_tensor(pa.float32(), [2, 2]), pa.array([[1.0] * 4, [2.0] * 4, [3.5] * 4], pa.list_(pa.float32(), 4))
)
TABLE = pa.table(
    {
        "id": IDS,
        "tensor": TENSORS,
        "flag": pa.array([1, None, 0], pa.bool8()),
        "struct": pa.StructArray.from_arrays([IDS, TENSORS], ["id", "tensor"]),
        "list": pa.ListArray.from_arrays(pa.array([0, 2, 2, 3], pa.int32()), IDS),
    }
)


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
def test_extension_types_survive(witness: Witness, tmp_path: Path, version: str) -> None:
    path = tmp_path / "file.lance"
    lance_arrow.write_table(TABLE, path, file_version=version)
    with lance_arrow.LanceFile(path) as file:
        assert file.schema.equals(TABLE.schema)
        assert file.read().equals(TABLE)
        assert file.take([2, 0, 2]).equals(TABLE.take(pa.array([2, 0, 2])))
    for name in TABLE.column_names:
        theirs = witness.read(path, [name])
        assert theirs.schema.field(name).type == TABLE.schema.field(name).type
        assert theirs.column(name).to_pylist() == TABLE.column(name).to_pylist()


@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
def test_rows_without_a_packed_struct_are_taken(witness: Witness, tmp_path: Path, version: str) -> None:
    """Wished to be zipped; of zipped ones the reference aborts where no row that it takes has any."""
    metadata = {"lance-encoding:packed": "true", "lance-encoding:structural-encoding": "fullzip"}
    struct = pa.struct([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int16(), nullable=False)])
    type_ = pa.list_(pa.field("item", struct, metadata=metadata))
    rows = [None if n % 5 == 0 else [{"a": n, "b": k} for k in range(n % 4)] for n in range(200)]
    table = pa.table({"c": pa.array(rows, type_)})
    path = tmp_path / "file.lance"
    lance_arrow.write_table(table, path, file_version=version)
    empty = [n for n, row in enumerate(rows) if not row]
    assert witness.take(path, empty).equals(table.take(pa.array(empty)))
    assert witness.read(path).equals(table)


PAIRS = pa.list_(pa.struct({"x": pa.int32(), "s": pa.string()}), 2)
LISTS_OF_TUPLES = {
    "list": pa.list_(PAIRS),
    "large list": pa.large_list(PAIRS),
    "list of lists": pa.list_(pa.list_(PAIRS)),
    "map": pa.map_(pa.string(), PAIRS),
    "struct": pa.struct({"l": pa.list_(PAIRS)}),
    "tuples of lists": pa.list_(pa.struct({"l": pa.list_(pa.list_(pa.struct({"x": pa.int64()}), 3))}), 2),
    "lists of tuples of lists": pa.list_(pa.list_(pa.struct({"l": pa.list_(pa.int32())}), 2)),
}


def random_rows(type_: pa.DataType, rng: random.Random, *, is_there: bool = False) -> object:
    """A value of a nested type: null, empty or short at every level.

    Tuples of several fields, and their fields, are never null: the reference does not read its own files with such
    nulls ("Structural sibling fields have incompatible validity metadata").
    """
    is_tuple = isinstance(type_, pa.FixedSizeListType)
    if not is_there and not (is_tuple and type_.value_type.num_fields > 1) and rng.random() < 0.15:
        return None
    if isinstance(type_, pa.MapType):
        return [(f"k{n}", random_rows(type_.item_type, rng)) for n in range(rng.randrange(3))]
    if is_tuple:
        return [random_rows(type_.value_type, rng, is_there=True) for _ in range(type_.list_size)]
    if isinstance(type_, pa.ListType | pa.LargeListType):
        return [random_rows(type_.value_type, rng) for _ in range(rng.randrange(4))]
    if isinstance(type_, pa.StructType):
        return {one.name: random_rows(one.type, rng, is_there=type_.num_fields > 1) for one in type_}
    return rng.randrange(1000) if pa.types.is_integer(type_) else f"text {rng.randrange(50)}"


@pytest.mark.cover(1)
@pytest.mark.parametrize("num_rows", [1, 7, 900])
@pytest.mark.parametrize("name", LISTS_OF_TUPLES)
def test_null_and_empty_lists_of_tuples(witness: Witness, tmp_path: Path, name: str, num_rows: int) -> None:
    """2.3 tells null lists around fixed-size lists of structs; the reference writes and reads them there too."""
    rng = random.Random(name)
    rows = [random_rows(LISTS_OF_TUPLES[name], rng) for _ in range(num_rows)]
    table = pa.table({"c": pa.array([None, *rows, None], LISTS_OF_TUPLES[name])})
    path = tmp_path / "file.lance"
    lance_arrow.write_table(table, path, file_version="2.3")
    picks = seeded(name).integers(0, len(table), 40)
    for read in (path, witness.write(table, tmp_path / "theirs.lance", "2.3")):
        with lance_arrow.LanceFile(read) as file:
            assert_same(table, file.read())
            assert_same(taken(table, picks), file.take(picks))
    assert_same(table, witness.read(tmp_path / "theirs.lance"))
    assert_same(table, witness.read(path))
    for version in ("2.1", "2.2"):
        if name != "tuples of lists" or version == "2.1":
            with pytest.raises(UnsupportedError):
                lance_arrow.write_table(table, tmp_path / "old.lance", file_version=version)


PACKED_TENSORS = pa.struct({"x": pa.int32(), "v": pa.list_(pa.float32(), 3), "f": pa.list_(pa.bool_(), 8)})


@pytest.mark.parametrize("preset", ["fast", "default", "compact"])
@pytest.mark.parametrize("version", ["2.2", "2.3"])
def test_packed_structs_with_fixed_size_lists(witness: Witness, tmp_path: Path, version: str, preset: str) -> None:
    """Zipped, as the reference writes them: chunks of them it does not read."""
    field = pa.field("p", PACKED_TENSORS, metadata={"lance-encoding:packed": "true"})
    rows = [{"x": n, "v": [n, n / 2, -n], "f": [n % (k + 1) == 0 for k in range(8)]} for n in range(3000)]
    table = pa.table([pa.array(rows, PACKED_TENSORS)], schema=pa.schema([field]))
    path = tmp_path / "file.lance"
    lance_arrow.write_table(table, path, file_version=version, preset=preset)
    for read in (path, witness.write(table, tmp_path / "theirs.lance", version)):
        with lance_arrow.LanceFile(read) as file:
            assert_same(table, file.read())
            assert_same(taken(table, [2999, 0, 7, 7]), file.take([2999, 0, 7, 7]))
    assert_same(table, witness.read(path))
    with pytest.raises(UnsupportedError):
        lance_arrow.write_table(table, tmp_path / "old.lance", file_version="2.1", preset=preset)


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
def test_any_dictionary_is_worth_it_by_divisor_one(witness: Witness, tmp_path: Path, version: str) -> None:
    """As many items as values: the reference takes 1."""
    field = pa.field("s", pa.string(), metadata={"lance-encoding:dict-divisor": "1"})
    table = pa.table([pa.array([f"text {n * n % 4001}" for n in range(4000)])], schema=pa.schema([field]))
    path = tmp_path / "file.lance"
    lance_arrow.write_table(table, path, file_version=version)
    for read in (path, witness.write(table, tmp_path / "theirs.lance", version)):
        assert_same(table, lance_arrow.read_table(read))
    assert_same(table, witness.read(path))
