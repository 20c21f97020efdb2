"""Merged types hold every value of both; what no type holds is refused with the path."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from lance_arrow.conversion.casting import cast_array
from lance_arrow.conversion.schemas import Mismatch, merge_schemas, merge_types

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
FLOATS = [pa.float16(), pa.float32(), pa.float64()]


def extremes(type_: pa.DataType) -> pa.Array:
    if type_ in FLOATS:
        return pa.array([0.5, -0.0, 2.0 ** {16: 10, 32: 23, 64: 52}[type_.bit_width] + 1], type_)
    bits = type_.bit_width
    low, high = (0, 2**bits - 1) if pa.types.is_unsigned_integer(type_) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return pa.array([low, high, high - 1], type_)


@pytest.mark.parametrize(("one", "other"), list(itertools.product(INTEGERS + FLOATS, repeat=2)), ids=str)
def test_numbers_stay_what_they_are(one: pa.DataType, other: pa.DataType) -> None:
    try:
        merged = merge_types(one, other, "c")
    except Mismatch:
        # Only 64 bits are too many.
        assert {64} & {type_.bit_width for type_ in (one, other) if type_ in INTEGERS}
        return
    assert merged == merge_types(other, one, "c")
    for type_ in (one, other):
        values = extremes(type_)
        assert cast_array(cast_array(values, merged), type_).equals(values)
        assert [int(v * 2) for v in cast_array(values, merged).to_pylist()] == [int(v * 2) for v in values.to_pylist()]


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        (pa.decimal128(5, 1), pa.decimal128(9, 3), pa.decimal128(9, 3)),
        (pa.decimal128(38, 0), pa.decimal128(38, 10), pa.decimal256(48, 10)),
        (pa.decimal256(76, 0), pa.decimal128(5, 1), None),
        (pa.decimal128(5, 2), pa.int32(), pa.decimal128(12, 2)),
        (pa.time32("s"), pa.time64("us"), pa.time64("us")),
        (pa.date32(), pa.date64(), pa.date64()),
        (pa.date32(), pa.timestamp("s"), None),
        (pa.string(), pa.binary(), None),
        (pa.string_view(), pa.string(), pa.string()),
        (pa.list_(pa.int8(), 2), pa.list_(pa.int8(), 3), pa.list_(pa.int8())),
        (pa.list_(pa.int8(), 2), pa.list_(pa.int16(), 2), pa.list_(pa.int16(), 2)),
        (pa.list_(pa.int8()), pa.large_list(pa.int8()), pa.large_list(pa.int8())),
        (pa.map_(pa.string(), pa.int8()), pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int32())),
        (pa.dictionary(pa.int8(), pa.string()), pa.large_string(), pa.large_string()),
        (pa.uuid(), pa.binary(16), None),
    ],
    ids=str,
)
def test_other_types(one: pa.DataType, other: pa.DataType, merged: pa.DataType | None) -> None:
    for pair in ((one, other), (other, one)):
        if merged is None:
            with pytest.raises(Mismatch):
                merge_types(*pair, "c")
        else:
            assert merge_types(*pair, "c") == merged


def test_fields_keep_their_order_and_missing_ones_may_be_null() -> None:
    one = [pa.field("a", pa.int32(), False), pa.field("b", pa.string())]
    other = [pa.field("z", pa.int8(), False), pa.field("a", pa.int32(), False)]
    merged = merge_schemas([one, other])
    assert [field.name for field in merged] == ["a", "b", "z"]
    assert [field.nullable for field in merged] == [False, True, True]


def test_the_path_of_what_does_not_fit() -> None:
    one = pa.struct([("l", pa.list_(pa.struct([("x", pa.string())])))])
    other = pa.struct([("l", pa.list_(pa.struct([("x", pa.int8())])))])
    with pytest.raises(Mismatch) as caught:
        merge_types(one, other, "c")
    assert caught.value.path == "c.l.item.x"
