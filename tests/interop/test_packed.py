"""Byte streams, packed structs and fixed-size lists of structs that the reference wrote read equal, row by row too."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from same import assert_same, taken
from values import seeded
from witness import Witness

import lance_arrow

pytestmark = pytest.mark.interop

ROWS = (1, 5, 1025, 20_000)
PACKED = {"lance-encoding:packed": "true"}
Make = Callable[[int], pa.Array]


def check(witness: Witness, tmp_path: Path, expected: pa.Table, version: str, pattern: str | None = None) -> None:
    """Write, and read whole, by rows in no order, in batches, and as a dataset."""
    half = expected.num_rows // 2
    # Two calls of the writer are two pages, so what differs between pages and joins them is read too. They are given
    # copies: the writer aborts on slices of fixed-size lists of structs.
    parts = pa.concat_tables([expected.slice(0, half), expected.slice(half)])
    path = witness.write(parts, tmp_path / "file.lance", version, data_cache_bytes=1)
    if pattern is not None:
        pages = [page["encoding"] for column in witness.describe(path)["columns"] for page in column]
        assert any(re.search(pattern, page) for page in pages), pages
    rng = seeded(f"{expected.schema}{expected.num_rows}")
    indices = np.concatenate([rng.integers(0, expected.num_rows, 40), [0, expected.num_rows - 1, 0]])
    with lance_arrow.LanceFile(path) as file:
        assert_same(expected, file.read())
        assert_same(taken(expected, indices), file.take(indices))
        assert_same(taken(expected, indices[:1]), file.take(indices[:1]))
        batches = list(file.to_batches(batch_size=max(1, expected.num_rows // 3)))
        assert_same(expected, pa.Table.from_batches(batches, file.schema))
    assert_same(expected, pads.dataset(path, format=lance_arrow.LanceFormat()).to_table())
    path.unlink()


def one_column(array: pa.Array, metadata: dict[str, str] | None = None) -> pa.Table:
    plain = pa.array(range(len(array)), pa.int64())
    fields = [pa.field("odd", array.type, metadata=metadata), pa.field("plain", pa.int64())]
    return pa.table([array, plain], schema=pa.schema(fields))


def floats(num_rows: int, data_type: pa.DataType, nulls: bool) -> pa.Array:
    values = 1.0 + seeded("streams").random(num_rows) * 1e-4
    values[::7] = -0.0
    return pa.array(values, data_type, mask=np.arange(num_rows) % 5 == 2 if nulls else None)


@pytest.mark.parametrize("num_rows", ROWS[1:])
@pytest.mark.parametrize("scheme", ["lz4", "zstd"])
@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_byte_streams(witness: Witness, tmp_path: Path, version: str, scheme: str, num_rows: int) -> None:
    metadata = {"lance-encoding:compression": scheme, "lance-encoding:bss": "on"}
    cases = [(data_type, nulls) for data_type in (pa.float32(), pa.float64()) for nulls in (False, True)]
    arrays = [floats(num_rows, *case) for case in cases]
    fields = [pa.field(f"c{n}", array.type, metadata=metadata) for n, array in enumerate(arrays)]
    expected = pa.table(arrays, schema=pa.schema(fields))
    pattern = rf"General\(compression={scheme}, values=ByteStreamSplit\(values=Flat\(64\)" if num_rows > 1000 else None
    check(witness, tmp_path, expected, version, pattern)


def numbers(num_rows: int, data_type: pa.DataType) -> pa.Array:
    values = seeded(str(data_type)).integers(0, 120, num_rows)
    return pa.array(values.astype(np.int32) if pa.types.is_date32(data_type) else values).cast(data_type)


def decimals(num_rows: int, data_type: pa.DataType) -> pa.Array:
    return numbers(num_rows, pa.int32()).cast(data_type)


def texts(num_rows: int, data_type: pa.DataType) -> pa.Array:
    return pa.array(["äb" * (n % 7) + str(n) * (n % 3) for n in range(num_rows)]).cast(data_type)


def binaries(num_rows: int, data_type: pa.DataType) -> pa.Array:
    return pa.array([(b"%d" % n).rjust(data_type.byte_width) for n in range(num_rows)], data_type)


def items(num_rows: int, item: pa.DataType, dimension: int, nulls: bool) -> pa.Array:
    rng = seeded(f"{item}{dimension}")
    mask = rng.random(num_rows * dimension) < 0.3 if nulls else None
    bits = rng.integers(0, 2, num_rows * dimension)
    values = pa.array(bits.astype(bool), mask=mask) if pa.types.is_boolean(item) else pa.array(bits, item, mask=mask)
    return pa.FixedSizeListArray.from_arrays(values, dimension)


def nested_items(num_rows: int) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(items(num_rows * 2, pa.int16(), 3, True), 2)


def structs(children: dict[str, Make], num_rows: int, nulls: str = "none") -> pa.Array:
    arrays = [make(num_rows) for make in children.values()]
    mask = {"none": None, "some": np.arange(num_rows) % 3 == 0, "all": np.ones(num_rows, bool)}[nulls]
    return pa.StructArray.from_arrays(arrays, list(children), mask=None if mask is None else pa.array(mask))


def of(make: Callable[..., pa.Array], *arguments: object) -> Make:
    return lambda num_rows: make(num_rows, *arguments)


FIXED: dict[str, dict[str, Make]] = {
    "one": {"a": of(numbers, pa.int32())},
    "numbers": {
        str(data_type): of(numbers, data_type)
        for data_type in (pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.float32(), pa.float64())
    },
    "decimals": {
        "a": of(decimals, pa.decimal128(30, 2)),
        "b": of(decimals, pa.decimal256(50, 3)),
        "c": of(binaries, pa.binary(7)),
    },
    "temporal": {
        "a": of(numbers, pa.date32()),
        "b": of(numbers, pa.timestamp("us", "Europe/Berlin")),
        "c": of(numbers, pa.time64("ns")),
        "d": of(numbers, pa.duration("ms")),
    },
}
VARIABLE: dict[str, dict[str, Make]] = {
    "text": {"a": of(texts, pa.string())},
    "texts": {"a": of(numbers, pa.int64()), "b": of(texts, pa.string()), "c": of(texts, pa.binary())},
    "large": {"a": of(texts, pa.large_string()), "b": of(numbers, pa.int8()), "c": of(texts, pa.large_binary())},
    "lists": {"a": of(numbers, pa.int32()), "v": of(items, pa.float32(), 3, False)},
    "nullable_lists": {"v": of(items, pa.float64(), 3, True), "a": of(texts, pa.string())},
    "bits": {"a": of(texts, pa.string()), "v": of(items, pa.bool_(), 8, False)},
    "lists_of_lists": {"a": of(texts, pa.string()), "v": nested_items, "n": of(decimals, pa.decimal128(20))},
}


@pytest.mark.share(2)
@pytest.mark.cover(2)
@pytest.mark.parametrize("nulls", ["none", "some", "all"])
@pytest.mark.parametrize(
    ("version", "name"), [*(("2.1", name) for name in FIXED), *(("2.2", name) for name in [*FIXED, *VARIABLE])]
)
def test_packed_structs(witness: Witness, tmp_path: Path, version: str, name: str, nulls: str) -> None:
    children = {**FIXED, **VARIABLE}[name]
    pattern = None if nulls == "all" else r"VariablePackedStruct" if name in VARIABLE else r"=PackedStruct"
    for num_rows in ROWS:
        seen = pattern if num_rows > 5 else None
        check(witness, tmp_path, one_column(structs(children, num_rows, nulls), PACKED), version, seen)


@pytest.mark.parametrize("name", ["numbers", "texts"])
def test_packed_structs_in_lists(witness: Witness, tmp_path: Path, name: str) -> None:
    values = structs({**FIXED, **VARIABLE}[name], 4000, "some")
    item = pa.field("item", values.type, metadata=PACKED)
    offsets = pa.array([*range(0, 4000, 4), 4000], pa.int32())
    array = pa.ListArray.from_arrays(
        offsets, values, type=pa.list_(item), mask=pa.array([n % 9 == 1 for n in range(1000)])
    )
    check(witness, tmp_path, one_column(array), "2.2")


def tuples(values: pa.Array, dimension: int, nulls: bool) -> pa.Array:
    mask = pa.array(np.arange(len(values) // dimension) % 4 == 1) if nulls else None
    return pa.FixedSizeListArray.from_arrays(values, dimension, mask=mask)


def nullable(num_rows: int) -> pa.Array:
    return pa.array([None if n % 3 == 0 else n for n in range(num_rows)], pa.int32())


def lists(num_rows: int) -> pa.Array:
    return pa.array([None if n % 5 == 2 else list(range(n % 4)) for n in range(num_rows)], pa.list_(pa.int16()))


POINT: dict[str, Make] = {"a": nullable, "b": of(texts, pa.string())}
DEEP: dict[str, Make] = {"a": nullable, "l": lists, "v": of(items, pa.float32(), 2, True)}


def in_struct(num_rows: int) -> pa.Array:
    inner = tuples(structs(POINT, num_rows * 2, "some"), 2, True)
    return pa.StructArray.from_arrays(
        [inner, nullable(num_rows)], ["x", "y"], mask=pa.array(np.arange(num_rows) % 6 == 5)
    )


TUPLES: dict[str, Make] = {
    "plain": lambda n: tuples(structs({"a": of(numbers, pa.int32())}, n * 2), 2, False),
    "one": lambda n: tuples(structs(POINT, n), 1, True),
    "nulls": lambda n: tuples(structs(POINT, n * 3, "some"), 3, True),
    "wide": lambda n: tuples(structs(POINT, n * 70, "some"), 70, True),
    "all_null": lambda n: tuples(structs(POINT, n * 2, "all"), 2, False),
    "lists": lambda n: tuples(structs(DEEP, n * 3, "some"), 3, True),
    "in_struct": in_struct,
    "twice": lambda n: tuples(
        pa.StructArray.from_arrays([tuples(structs(DEEP, n * 6, "some"), 3, True)], ["t"]), 2, True
    ),
}


@pytest.mark.parametrize("name", TUPLES)
def test_fixed_size_lists_of_structs(witness: Witness, tmp_path: Path, name: str) -> None:
    for num_rows in (1, 5, 700, 3000):
        if name == "wide" and num_rows > 700:
            continue
        check(witness, tmp_path, one_column(TUPLES[name](num_rows)), "2.2")


def test_fixed_size_lists_of_packed_structs(witness: Witness, tmp_path: Path) -> None:
    values = structs(FIXED["numbers"], 3000)
    item = pa.field("item", values.type, metadata=PACKED)
    array = pa.FixedSizeListArray.from_arrays(values, type=pa.list_(item, 3))
    check(witness, tmp_path, one_column(array), "2.2", r"=PackedStruct")


def test_fields_of_a_packed_struct_can_be_named(witness: Witness, tmp_path: Path) -> None:
    expected = one_column(structs(VARIABLE["texts"], 50, "some"), PACKED)
    path = witness.write(expected, tmp_path / "file.lance", "2.2")
    wanted = ["odd.b", "plain", "odd.a"]
    reference = pads.dataset(expected).to_table(columns=wanted)
    with lance_arrow.LanceFile(path) as file:
        assert_same(reference, file.read(columns=wanted))
        assert_same(taken(reference, [4, 0, 4]), file.take([4, 0, 4], columns=wanted))
    dataset = pads.dataset(path, format=lance_arrow.LanceFormat())
    assert_same(reference, dataset.to_table(columns=wanted))


ZIPPED = {"lance-encoding:packed": "true", "lance-encoding:structural-encoding": "fullzip"}


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("num_rows", ROWS[:3])
def test_packed_structs_of_one_width_are_zipped(num_rows: int, nulls: bool, witness: Witness, tmp_path: Path) -> None:
    fields = [("a", pa.int32()), ("b", pa.float64()), ("c", pa.binary(5))]
    rows = [{"a": n, "b": n / 2, "c": b"%05d" % n} for n in range(num_rows)]
    array = pa.array([None if nulls and n % 4 == 1 else row for n, row in enumerate(rows)], pa.struct(fields))
    check(witness, tmp_path, one_column(array, ZIPPED), "2.3", r"Zipped.*PackedStruct\(" if num_rows > 1 else None)
