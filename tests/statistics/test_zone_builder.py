"""Zone maps: what they claim holds for the rows, and what is stored is what was built."""

from __future__ import annotations

import datetime
import decimal
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_arrow.arrays.column_tree import LeafNode, column_tree
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import column_mapping, fields_from_arrow
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, ResourceLimitError
from lance_arrow.settings import Limits
from lance_arrow.statistics.packed_zones import MAGIC
from lance_arrow.statistics.zone_bounds import MAX_BOUND_BYTES, successor
from lance_arrow.statistics.zone_builder import ZoneBuilder
from lance_arrow.statistics.zone_maps import ZoneMap, decode_zones, encode_zones
from lance_arrow.statistics.zone_types import bounds_type

UTC = datetime.UTC
D = decimal.Decimal
LONG = "x" * 80
INT64 = pa.int64()
SCALARS: list[tuple[pa.DataType, list[Any]]] = [
    *((type_, [0, 1, 5, 100, -7]) for type_ in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
    *((type_, [0, 1, 5, 200]) for type_ in (pa.uint8(), pa.uint16(), pa.uint32())),
    (pa.uint64(), [0, 1, 2**64 - 1]),
    (pa.int64(), [-(2**63), 2**63 - 1]),
    *(
        (type_, [0.0, -0.0, 1.5, -2.5, math.nan, math.inf, -math.inf])
        for type_ in (pa.float16(), pa.float32(), pa.float64())
    ),
    (pa.bool_(), [True, False]),
    (pa.date32(), [datetime.date(1969, 1, 1), datetime.date(2026, 11, 21)]),
    (pa.time64("us"), [datetime.time(1, 2, 3), datetime.time(23, 59)]),
    (pa.timestamp("ms"), [datetime.datetime(1960, 1, 1), datetime.datetime(2020, 2, 2, 3)]),
    (
        pa.timestamp("us", "Europe/Oslo"),
        [datetime.datetime(1960, 1, 1, tzinfo=UTC), datetime.datetime(2020, 1, 1, tzinfo=UTC)],
    ),
    (pa.duration("s"), [datetime.timedelta(days=-3), datetime.timedelta(seconds=5)]),
    (pa.decimal128(10, 2), [D("-1.00"), D("0.00"), D("12345678.90")]),
    (pa.decimal256(60, 3), [D("-1.000"), D(10) ** 50, D("-1.001") * D(10) ** 40]),
    (pa.binary(3), [b"abc", b"\0\0\0", b"\xff\xff\xff"]),
    *(
        (type_, ["", "a", "zz", LONG, LONG + "y", "\U0010ffff" * 40, "é" * 50])
        for type_ in (pa.string(), pa.large_string())
    ),
    *((type_, [b"", b"a", b"\xff" * 80, b"\xff" * 5 + b"a" * 80]) for type_ in (pa.binary(), pa.large_binary())),
    (pa.dictionary(pa.int8(), pa.string()), ["b", "a", LONG]),
]


def leaves_of(type_: pa.DataType) -> list[LeafNode]:
    schema = pa.schema([pa.field("c", type_)])
    (root,) = column_tree(schema, column_mapping(fields_from_arrow(schema), FileVersion.V2_2))
    return list(root.leaves())


def built(leaf: LeafNode, chunks: list[pa.Array], rows_per_zone: int, column_bytes: int | None = None) -> ZoneMap:
    builder, *others = builders = [ZoneBuilder(leaf, rows_per_zone) for _ in range(3)]
    for chunk in chunks:
        for one in builders:
            one.add(chunk)
    zones = builder.finish(column_bytes)
    zones.validate(full=True)
    # The second one fills the form that the first one may have made.
    stream, (first, second) = encode_zones(zones), (one.encode(column_bytes) for one in others)
    assert first == second
    assert first.startswith(MAGIC) if zones.num_rows == 1 else first == stream
    assert [one.rows_per_zone for one in others] == [builder.rows_per_zone] * 2
    num_rows = sum(map(len, chunks))
    for data in (stream, first):
        raw = np.frombuffer(data, np.uint8)
        decoded = decode_zones(raw, leaf, Limits(), rows_per_zone=builder.rows_per_zone, num_rows=num_rows)
        assert decoded is not None
        assert decoded.zones.equals(zones)
    return decoded


def sliced(array: pa.Array, borders: list[int]) -> list[pa.Array]:
    places = [0, *sorted(borders), len(array)]
    return [array.slice(start, stop - start) for start, stop in pairwise(places)]


def key(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def check_zone(zone: dict[str, Any], rows: int, items: list[Any]) -> None:
    """What one zone claims, against the items of its rows."""
    values = [key(item) for item in items if not (item is None or (isinstance(item, float) and math.isnan(item)))]
    assert zone["row_count"] == rows
    assert zone["value_count"] == len(items)
    assert zone["null_count"] == items.count(None)
    assert zone["nan_count"] == len(items) - len(values) - items.count(None)
    assert (zone["min"] is None) == (not values)
    if not values:
        assert zone["max"] is None
        assert not zone["min_exact"]
        assert not zone["max_exact"]
        return
    low, high = key(zone["min"]), key(zone["max"])
    assert low <= min(values)
    assert zone["min_exact"] == (low == min(values))
    assert zone["max_exact"] == (high == max(values))
    assert high is None or high >= max(values)
    for bound in (low, high):
        if isinstance(bound, bytes):
            assert len(bound) <= MAX_BOUND_BYTES + 3
        elif isinstance(bound, float) and bound == 0:
            assert math.copysign(1, bound) == (-1 if bound is low else 1)


def test_parts_of_zones_are_joined_as_they_come():
    (leaf,) = leaves_of(pa.int64())
    builder = ZoneBuilder(leaf, 100)
    for start in range(0, 30_000, 30):
        builder.add(pa.array(np.arange(start, start + 30)))
        # 1 + log2 of the parts.
        assert len(builder._parts) == len(builder._slots) == len(builder._first_rows) <= 12
    found = builder.finish()
    assert found.column("min").to_pylist() == list(range(0, 30_000, 100))
    assert found.column("row_count").to_pylist() == [100] * 300


@pytest.mark.parametrize(("type_", "values"), SCALARS, ids=lambda one: str(one) if isinstance(one, pa.DataType) else "")
@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_claims_of_flat_columns_hold(type_, values, data):
    rows = data.draw(st.lists(st.sampled_from([None, *values]), min_size=1, max_size=40))
    size = data.draw(st.sampled_from([1, 2, 7, 100]))
    borders = data.draw(st.lists(st.integers(0, len(rows)), max_size=3))
    array = pa.array([None, *rows], type_).slice(1)
    (leaf,) = leaves_of(type_)
    whole = built(leaf, [array], size)
    assert built(leaf, sliced(array, borders), size).zones.equals(whole.zones)
    stored = array.to_pylist()
    if pa.types.is_float16(type_):
        stored = [None if one is None else float(one) for one in stored]
    for number, zone in enumerate(whole.zones.to_pylist()):
        part = stored[number * size : (number + 1) * size]
        check_zone(zone, len(part), part)


def items_below(value: Any, type_: pa.DataType, steps: list[int]) -> list[Any]:
    """Visible items of a leaf in one value of a column."""
    if not steps:
        return [value]
    step, *rest = steps
    if isinstance(type_, pa.StructType):
        field = type_.field(step)
        return items_below(None if value is None else value[field.name], field.type, rest)
    if value is None:
        return []
    if isinstance(type_, pa.MapType):
        entries = pa.struct([type_.key_field, type_.item_field])
        pairs = [dict(zip((type_.key_field.name, type_.item_field.name), pair, strict=True)) for pair in value]
        return [item for pair in pairs for item in items_below(pair, entries, rest)]
    return [item for one in value for item in items_below(one, type_.value_type, rest)]


INTS = st.none() | st.integers(-5, 5)
PAIRS = st.none() | st.fixed_dictionaries({"x": INTS, "y": st.none() | st.text("ab", max_size=3)})
PAIR = pa.struct([("x", pa.int32()), ("y", pa.string())])
NESTED: list[tuple[pa.DataType, Any, list[list[int]]]] = [
    (PAIR, PAIRS, [[0], [1]]),
    (pa.struct([("s", PAIR)]), st.none() | st.fixed_dictionaries({"s": PAIRS}), [[0, 0], [0, 1]]),
    (pa.list_(pa.int32()), st.none() | st.lists(INTS, max_size=4), [[0]]),
    (pa.large_list(PAIR), st.none() | st.lists(PAIRS, max_size=4), [[0, 0], [0, 1]]),
    (
        pa.struct([("l", pa.list_(pa.list_(pa.int32())))]),
        st.none()
        | st.fixed_dictionaries({"l": st.none() | st.lists(st.none() | st.lists(INTS, max_size=3), max_size=3)}),
        [[0, 0, 0]],
    ),
    (
        pa.map_(pa.string(), pa.int32()),
        st.none() | st.lists(st.tuples(st.text("ab", max_size=2), INTS), max_size=3),
        [[0, 0], [0, 1]],
    ),
]


@pytest.mark.parametrize(("type_", "rows", "paths"), NESTED, ids=[str(one[0]) for one in NESTED])
@settings(max_examples=settings.default.max_examples // 3)
@given(data=st.data())
def test_claims_of_nested_columns_hold(type_, rows, paths, data):
    drawn = data.draw(st.lists(rows, min_size=1, max_size=20))
    array = pa.array(drawn, type_)
    # What lies under null lists must not count: hide some rows behind a second validity.
    hidden = np.array(data.draw(st.lists(st.booleans(), min_size=len(drawn), max_size=len(drawn))), np.bool_)
    valid = array.is_valid().to_numpy(zero_copy_only=False) & ~hidden
    children = [array.field(i) for i in range(type_.num_fields)] if isinstance(type_, pa.StructType) else None
    bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
    if children is not None:
        array = pa.StructArray.from_buffers(type_, len(array), [bitmap], children=children)
    elif not isinstance(type_, pa.MapType):
        array = pa.Array.from_buffers(type_, len(array), [bitmap, array.buffers()[1]], children=[array.values])
    size = data.draw(st.sampled_from([1, 3, 50]))
    borders = data.draw(st.lists(st.integers(0, len(drawn)), max_size=3))
    stored = array.to_pylist()
    for leaf, steps in zip(leaves_of(type_), paths, strict=True):
        whole = built(leaf, [array], size)
        assert built(leaf, sliced(array, borders), size).zones.equals(whole.zones)
        inner = [0, *steps[1:]] if isinstance(type_, pa.MapType) else steps
        for number, zone in enumerate(whole.zones.to_pylist()):
            part = stored[number * size : (number + 1) * size]
            check_zone(zone, len(part), [item for row in part for item in items_below(row, type_, inner)])


def test_fixed_size_lists_of_structs_hide_what_null_lists_hold():
    items = pa.array([{"x": value} for value in (1, 2, 30, 40, 5, 6)], pa.struct([("x", pa.int32())]))
    array = pa.FixedSizeListArray.from_arrays(items, 2, mask=pa.array([False, True, False]))
    (leaf,) = leaves_of(array.type)
    (zone,) = built(leaf, [array], 10).zones.to_pylist()
    assert (zone["min"], zone["max"], zone["value_count"], zone["row_count"]) == (1, 6, 4, 3)


@pytest.mark.parametrize(
    "type_",
    [
        pa.null(),
        pa.list_(pa.float32(), 4),
        pa.binary(65),
    ],
    ids=str,
)
def test_what_has_no_order_has_no_bounds(type_):
    (leaf,) = leaves_of(type_)
    assert bounds_type(leaf) is None


def test_no_rows_make_no_zones():
    (leaf,) = leaves_of(pa.int64())
    assert built(leaf, [], 8192).num_zones == 0
    assert built(leaf, [pa.array([], pa.int64())], 8192).num_zones == 0


@pytest.mark.parametrize("rows", [0, -1, 2**32, 1.5, True])
def test_zones_have_a_number_of_rows(rows):
    (leaf,) = leaves_of(pa.int64())
    with pytest.raises(InvalidArgumentError, match="rows_per_zone"):
        ZoneBuilder(leaf, rows)


def test_zones_grow_until_the_map_is_small():
    (leaf,) = leaves_of(pa.int64())
    array = pa.array(np.arange(100_000))
    for column_bytes, most in ((0, 4096), (20_000_000, 20_000)):
        found = built(leaf, [array], 10, column_bytes)
        assert len(encode_zones(found.zones)) <= most
        assert found.rows_per_zone % 10 == 0
        assert found.zones.column("min").to_pylist() == list(range(0, 100_000, found.rows_per_zone))
        in_chunks = built(leaf, sliced(array, [3, 5000, 77_777]), 10, column_bytes)
        assert encode_zones(in_chunks.zones) == encode_zones(found.zones)
    assert built(leaf, [array], 10).rows_per_zone == 10


@pytest.mark.parametrize(("type_", "values"), SCALARS, ids=lambda one: str(one) if isinstance(one, pa.DataType) else "")
@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_zones_of_zone_maps_are_those_of_the_values(type_, values, data):
    """Maps of parts are joined where their zones fit; where they do not, nothing was added, and values can be."""
    (leaf,) = leaves_of(type_)
    parts = data.draw(
        st.lists(st.lists(st.sampled_from([None, *values]), min_size=1, max_size=20), min_size=1, max_size=4)
    )
    builder = ZoneBuilder(leaf, 3)
    num_rows = 0
    for rows in parts:
        step = data.draw(st.sampled_from([1, 3, 6, 7, 12, 15]))
        array = pa.array(rows, type_)
        before = builder.rows_per_zone
        # A short part makes no zones longer.
        wider = before if len(rows) <= min(before, step) else max(before, step)
        starts = range(num_rows, num_rows + len(rows), step)
        fits = wider % before == 0 and wider <= 4 * before
        fits &= all(one // wider == (min(one + step, num_rows + len(rows)) - 1) // wider for one in starts)
        taken = builder.add_zones(built(leaf, [array], step))
        assert taken or not fits
        assert builder.rows_per_zone in (before, wider if taken else before)
        if not taken:
            builder.add(array)
        num_rows += len(rows)
        assert builder.num_rows == num_rows
    expected = built(leaf, [pa.array(rows, type_) for rows in parts], builder.rows_per_zone)
    assert builder.finish().equals(expected.zones)


def test_bounds_that_cannot_be_cut_outward():
    (leaf,) = leaves_of(pa.binary())
    (zone,) = built(leaf, [pa.array([b"\xff" * 65])], 10).zones.to_pylist()
    assert (zone["min"], zone["min_exact"], zone["max"], zone["max_exact"]) == (b"\xff" * 64, False, None, False)
    # One unbounded part leaves the whole unbounded, also when zones are joined.
    joined = built(leaf, [pa.array([b"\xff" * 65]), pa.array([b"a"])], 10).zones.to_pylist()
    assert (joined[0]["min"], joined[0]["max"]) == (b"a", None)


@given(st.binary(min_size=1, max_size=4), st.binary(max_size=3))
def test_successor_is_above_everything_with_the_prefix(prefix, rest):
    following = successor(prefix, False)
    assert (following is None) == (set(prefix) == {255})
    assert following is None or (following > prefix + rest and following > prefix + b"\xff" * 9)


@given(st.text(min_size=1, max_size=4), st.text(max_size=3))
def test_successor_of_text_is_text(prefix, rest):
    following = successor(prefix.encode(), True)
    assert (following is None) == (set(prefix) == {"\U0010ffff"})
    assert following is None or (following.decode().encode() == following and following > (prefix + rest).encode())


def test_nan_of_dictionaries_is_counted_zone_by_zone():
    items = pa.array([1.0, float("nan"), 2.0, None])
    column = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 2, 1, 1, 3, None, 0, 1, 0, 0], pa.int8()), items)
    (leaf,) = leaves_of(column.type)
    zones = built(leaf, [column], 4, column_bytes=1 << 20).zones.to_pylist()
    assert [(zone["nan_count"], zone["null_count"]) for zone in zones] == [(2, 0), (2, 2), (1, 0)]
    assert [(zone["min"], zone["max"]) for zone in zones] == [(1.0, 2.0), (None, None), (1.0, 1.0)]


def test_bounds_of_dictionaries_are_exact_side_by_side():
    items = pa.array(["a", "m" * 70, "z"])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, 1, 1, 2], pa.int8()), items)
    (leaf,) = leaves_of(column.type)
    zones = built(leaf, [column], 2, column_bytes=1 << 20).zones.to_pylist()
    assert [(zone["min_exact"], zone["max_exact"]) for zone in zones] == [(True, False), (False, False), (False, True)]
    assert [zone["min"] for zone in zones] == ["a", "m" * 64, "m" * 64]
    assert [zone["max"] for zone in zones] == ["m" * 63 + "n", "m" * 63 + "n", "z"]


def test_no_text_has_surrogates():
    assert successor("a\ud7ff".encode(), True) == "a\ue000".encode()
    (leaf,) = leaves_of(pa.string())
    (zone,) = built(leaf, [pa.array(["x" * 61 + "\ud7ff" + "cut"])], 10).zones.to_pylist()
    assert (zone["max"], zone["max_exact"]) == ("x" * 61 + "\ue000", False)


def test_text_that_is_no_utf8_is_bounded():
    (leaf,) = leaves_of(pa.string())
    broken = pa.array([b"ab\xff\xff", b"b\xe9"], pa.binary()).view(pa.string())
    (zone,) = built(leaf, [broken], 10).zones.to_pylist()
    assert (zone["min"], zone["max"], zone["min_exact"], zone["max_exact"]) == ("ab", "c", False, False)


def plain_map(type_: pa.DataType = INT64, values: Any = range(100)) -> tuple[LeafNode, bytes]:
    (leaf,) = leaves_of(type_)
    builder = ZoneBuilder(leaf, 10)
    builder.add(pa.array(values, type_))
    return leaf, encode_zones(builder.finish())


def decode(leaf: LeafNode, data: bytes, rows_per_zone: int = 10, num_rows: int = 100) -> ZoneMap | None:
    return decode_zones(np.frombuffer(data, np.uint8), leaf, Limits(), rows_per_zone=rows_per_zone, num_rows=num_rows)


def test_usual_maps_are_small():
    _, data = plain_map()
    # 10 zones of two numbers and one row count.
    assert len(data) - 10 * 17 < 700


def test_any_damaged_byte_gives_a_map_or_is_refused():
    for type_, values in ((pa.int64(), range(100)), (pa.string(), [str(one) for one in range(99)] + [None])):
        leaf, data = plain_map(type_, values)
        for place in range(len(data)):
            for flip in (0x01, 0x80, 0xFF):
                damaged = bytearray(data)
                damaged[place] ^= flip
                try:
                    decode(leaf, bytes(damaged))
                except CorruptFileError:
                    continue


def test_truncated_maps_are_refused():
    leaf, data = plain_map()
    for stop in range(4, len(data) - 8):
        with pytest.raises(CorruptFileError):
            decode(leaf, data[:stop])


def test_maps_in_another_form_are_passed_over():
    leaf, _ = plain_map()
    assert decode(leaf, b"") is None
    assert decode(leaf, b"LANC something else") is None


@pytest.mark.parametrize(
    ("rows_per_zone", "num_rows", "message"),
    [
        (10, 99, "do not have 10 rows"),
        (11, 100, "do not have 11 rows"),
        (10, 101, "expected 11 "),
        (100, 100, "expected 1 "),
    ],
)
def test_maps_of_other_rows_are_refused(rows_per_zone, num_rows, message):
    leaf, data = plain_map()
    with pytest.raises(CorruptFileError, match=message):
        decode(leaf, data, rows_per_zone, num_rows)


def forged(**columns: pa.Array) -> bytes:
    table = pa.RecordBatch.from_pydict(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_batch(table)
    return sink.getvalue().to_pybytes()


def numbers(*values: int) -> pa.Array:
    return pa.array(values, pa.uint8())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (forged(min=pa.array([1]), max=pa.array([2])), "columns"),
        (forged(min=pa.array([1], pa.int32()), max=pa.array([2]), row_count=numbers(9)), "min of type int32"),
        (forged(min=pa.array([3]), max=pa.array([2]), row_count=numbers(9)), "above the upper"),
        (forged(min=pa.array([3]), max=pa.array([None], pa.int64()), row_count=numbers(9)), "without an upper bound"),
        (forged(min=pa.array([None], pa.int64()), max=pa.array([2]), row_count=numbers(9)), "bounds without values"),
        (
            forged(min=pa.array([1]), max=pa.array([2]), null_count=numbers(9), row_count=numbers(9)),
            "bounds without values",
        ),
        (forged(min=pa.array([1]), max=pa.array([2]), null_count=numbers(10), row_count=numbers(9)), "more nulls"),
        (forged(min=pa.array([1]), max=pa.array([2]), nan_count=numbers(1), row_count=numbers(9)), "cannot be NaN"),
        (
            forged(min=pa.array([1]), max=pa.array([2]), row_count=numbers(9), value_count=numbers(8)),
            "one item per row",
        ),
        (forged(min=pa.array([1]), max=pa.array([2]), row_count=pa.array([2**63], pa.uint64())), "63 bits"),
        (forged(min=pa.array([1]), max=pa.array([2]), row_count=pa.array([None], pa.uint8())), "nulls among"),
    ],
)
def test_maps_that_contradict_themselves_are_refused(data, message):
    (leaf,) = leaves_of(pa.int64())
    with pytest.raises(CorruptFileError, match=message):
        decode(leaf, data, 9, 9)


def test_nan_is_no_bound():
    (leaf,) = leaves_of(pa.float64())
    data = forged(min=pa.array([math.nan]), max=pa.array([2.0]), row_count=numbers(9))
    with pytest.raises(CorruptFileError, match="NaN as a bound"):
        decode(leaf, data, 9, 9)


def test_compressed_maps_are_refused_before_they_grow():
    (leaf,) = leaves_of(pa.int64())
    batch = pa.RecordBatch.from_pydict(
        {"min": pa.array([1] * 99), "max": pa.array([1] * 99), "row_count": numbers(*[1] * 99)}
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    with pytest.raises(CorruptFileError, match="compressed"):
        decode(leaf, sink.getvalue().to_pybytes(), 1, 99)


def test_large_maps_are_refused_by_the_limit():
    leaf, data = plain_map()
    with pytest.raises(ResourceLimitError):
        decode_zones(
            np.frombuffer(data, np.uint8), leaf, Limits(max_metadata_bytes=100), rows_per_zone=10, num_rows=100
        )
