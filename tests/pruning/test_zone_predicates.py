"""Zones judged by a filter, against Arrow's own filter of their rows."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from zones_in_memory import leaves_of, zone_maps

from lance_arrow.libarrow.expressions import native_expressions
from lance_arrow.pruning.zone_predicates import Verdict, ZonePredicate, is_understood
from lance_arrow.pruning.zone_pruning import PruneResult, prune_zones, zone_predicate
from lance_arrow.spi.layouts import RowRanges
from lance_arrow.statistics.zone_builder import ZoneBuilder
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.statistics.zone_types import is_repeated
from lance_arrow.structure.row_selection import difference

OSLO = pa.timestamp("us", "Europe/Oslo")
NOON = datetime.datetime(2020, 2, 2, 12, tzinfo=datetime.UTC)
LONG = "b" * 70
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i8": (pa.int8(), [-128, -1, 0, 1, 5, 127]),
    "i32": (pa.int32(), [-(2**31), -1, 0, 1, 5, 2**31 - 1]),
    "i64": (pa.int64(), [-(2**53) - 1, -1, 0, 1, 5, 2**53 + 1]),
    "u64": (pa.uint64(), [0, 1, 5, 2**63, 2**64 - 1]),
    "f32": (pa.float32(), [0.0, -0.0, 1.5, -1.5, math.nan, math.inf, -math.inf]),
    "f64": (pa.float64(), [0.0, -0.0, 1.5, -1.5, math.nan, math.inf, -math.inf]),
    "b": (pa.bool_(), [True, False]),
    "s": (pa.string(), ["", "a", "ab", "b", LONG, LONG + "c", "é" * 40, "\U0010ffff" * 20]),
    "ls": (pa.large_string(), ["", "a", "ab", "b", LONG]),
    "raw": (pa.binary(), [b"", b"a", b"ab", b"\xff" * 70, b"\xff"]),
    "fsb": (pa.binary(2), [b"aa", b"ab", b"\xff\xff"]),
    "d": (pa.decimal128(9, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("0.01"), Decimal("5.00")]),
    "date": (pa.date32(), [datetime.date(1969, 12, 31), datetime.date(2020, 2, 2)]),
    "t": (OSLO, [NOON, NOON + datetime.timedelta(microseconds=1), NOON - datetime.timedelta(days=999)]),
    "naive": (pa.timestamp("s"), [datetime.datetime(1960, 1, 1), datetime.datetime(2020, 2, 2, 12)]),
    "dic": (pa.dictionary(pa.int8(), pa.string()), ["a", "ab", "b"]),
}
ROWS_PER_ZONE = 4
LITERALS: dict[str, list[Any]] = {
    name: [*values, None, *more]
    for name, (_, values) in VALUES.items()
    for more in [
        {
            "i8": [2.5, 1000],
            "i32": [2.5, 2**40],
            "i64": [2.5],
            "f32": [1, pa.scalar(1.5, pa.float64())],
            "d": [1, Decimal("0.005"), Decimal("5.0")],
            "t": [pa.scalar(NOON, pa.timestamp("ns", "UTC")), pa.scalar(NOON, pa.timestamp("s", "UTC"))],
            "naive": [pa.scalar(datetime.datetime(2020, 2, 2, 12), pa.timestamp("ns"))],
            "date": [pa.scalar(datetime.datetime(2020, 2, 2), pa.timestamp("us"))],
        }.get(name, [])
    ]
}


def scalar(name: str, value: Any) -> pa.Scalar:
    if isinstance(value, pa.Scalar):
        return value
    type_ = VALUES[name][0]
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    try:
        return pa.scalar(value, type_)
    except (pa.ArrowInvalid, OverflowError, TypeError):
        return pa.scalar(value)


@st.composite
def leaf_conditions(draw: st.DrawFn, names: list[str]) -> pc.Expression:
    name = draw(st.sampled_from(names))
    field = pc.field(name) if draw(st.booleans()) else pc.field("st", name)
    literal = scalar(name, draw(st.sampled_from(LITERALS[name])))
    kind = draw(st.integers(0, 9))
    if kind <= 4:
        left, right = (field, pc.scalar(literal))[:: draw(st.sampled_from([1, -1]))]
        compare = draw(st.sampled_from(["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]))
        return pc.Expression._call(compare, [left, right])
    if kind == 5:
        members = draw(st.lists(st.sampled_from([*VALUES[name][1], None]), max_size=4))
        type_ = VALUES[name][0]
        wanted = pa.array(members, type_.value_type if pa.types.is_dictionary(type_) else type_)
        is_in = pc.Expression._call("is_in", [field], pc.SetLookupOptions(wanted, skip_nulls=draw(st.booleans())))
        wraps = draw(st.booleans())
        return pc.if_else(field.is_valid(), is_in, pc.scalar(pa.scalar(None, pa.bool_()))) if wraps else is_in
    if kind == 6:
        return field.is_null(nan_is_null=draw(st.booleans()))
    if kind == 7:
        return field.is_valid()
    if kind == 8 and name in ("f32", "f64", "i32"):
        return pc.is_nan(field)
    if kind == 9 and name in ("s", "ls", "raw"):
        prefix = draw(st.sampled_from(["", "a", "b", LONG, "é"]))
        if draw(st.booleans()):
            return pc.starts_with(field, prefix)
        return pc.match_like(field, prefix + draw(st.sampled_from(["%", "_", "", "%b"])))
    return field == pc.field(name)


def conditions(names: list[str]) -> st.SearchStrategy[pc.Expression]:
    return st.recursive(
        leaf_conditions(names),
        lambda inner: (
            st.builds(lambda a, b: a & b, inner, inner)
            | st.builds(lambda a, b: a | b, inner, inner)
            | st.builds(lambda a: ~a, inner)
            | st.builds(lambda a: a.is_null(), inner)
            | st.builds(lambda a, b: pc.Expression._call("and", [a, b]), inner, inner)
        ),
        max_leaves=4,
    )


@st.composite
def tables(draw: st.DrawFn, names: list[str]) -> pa.Table:
    num_rows = draw(st.integers(1, 12))
    columns = {}
    for name in names:
        type_, values = VALUES[name]
        few = draw(st.lists(st.sampled_from([None, *values]), min_size=1, max_size=3))
        rows = draw(st.lists(st.sampled_from(few), min_size=num_rows, max_size=num_rows))
        columns[name] = pa.array(rows, type_)
    mask = pa.array(draw(st.lists(st.booleans(), min_size=num_rows, max_size=num_rows)))
    columns["st"] = pa.StructArray.from_arrays(list(columns.values()), names=names, mask=mask)
    return pa.table(columns)


@pytest.mark.parametrize("name", VALUES)
@settings(max_examples=settings.default.max_examples // 2, deadline=None)
@given(data=st.data())
def test_verdicts_hold(name, data):
    names = [name, data.draw(st.sampled_from(["i64", "f64", "s"]))]
    names = list(dict.fromkeys(names))
    table = data.draw(tables(names))
    expression = data.draw(conditions(names))
    zones = [table.slice(start, ROWS_PER_ZONE) for start in range(0, len(table), ROWS_PER_ZONE)]
    try:
        left = table.append_column("row", pa.array(np.arange(len(table)))).filter(expression).column("row")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        assume(False)
    kept = np.bincount(left.to_numpy() // ROWS_PER_ZONE, minlength=len(zones)).tolist()
    predicate = zone_predicate(native_expressions, expression, table.schema)
    assert predicate is not None
    verdicts = predicate.verdicts(zone_maps(table, ROWS_PER_ZONE), len(zones))
    for verdict, count, zone in zip(verdicts, kept, zones, strict=True):
        assert verdict != Verdict.NO or count == 0
        assert verdict != Verdict.ALL or count == len(zone)


NUMBERS = pa.table({"x": pa.array([1, 2, 3, 4, None, None, 7, 8, 10, 10, 10, 10], pa.int32())})
TEXTS = pa.table({"x": ["a", "ab", "abc", "ac", "b", "b", "b", "b", LONG, LONG + "c", LONG, LONG]})
DECIMALS = pa.table({"x": pa.array([Decimal(one) for one in ("1.50", "2.00", "7.25")], pa.decimal128(9, 2))})
WIDE = pa.table({"x": pa.array([2**53 + 1, 2**60 + 7, 2**62 + 1], pa.int64())})
FLOATS = pa.table({"x": [1.0, 2.0, math.nan, 3.0, 1.0, 2.0, 2.0, 2.0, -0.0, 0.0, 0.0, 0.0]})
PREFIXES = pa.table({"x": ["ab", "abc", "abz", "b", "a", "ab", "abc", "abd", "ab", "ab0", "ab1", "abz"]})
BYTES = pa.table({"x": pa.array([0, 1, 2, 3, 4, 5, 254, 255, 3, 4, 5, 6], pa.uint8())})
DATES = pa.table({"x": pa.array([1, 2, 3, 4, 5, 6, 7, 8, 4, 5, 6, 7], pa.int32()).cast(pa.date32())})
STEPS = pa.table({"x": pa.array([1, 2, 3, 3, 5, 6, 7, 8, 3, 4, 5, 6], pa.int64())})


def stepping(type_: pa.DataType) -> pa.Table:
    return STEPS.cast(pa.schema([("x", type_)]))


AFTER_THREE = pa.scalar(datetime.timedelta(seconds=3), pa.duration("ms"))
NEARLY_ONE = pa.scalar(999, pa.int64()).cast(pa.time64("ns"))
THIRD_SECOND = datetime.datetime(1970, 1, 1, 0, 0, 3)
PAIRS = pa.table({"x": [5, 5, 5, 5, 1, 2, 3, 4, 3, 3, 3, 3], "y": [5, 6, 7, 9, 5, 6, 7, 8, 3, 3, 3, 3]})
x, y = pc.field("x"), pc.field("y")
NO, MAYBE, ALL = Verdict


@pytest.mark.parametrize(
    ("table", "expression", "expected"),
    [
        (NUMBERS, x > 8, [NO, NO, ALL]),
        (NUMBERS, x >= 7, [NO, MAYBE, ALL]),
        (NUMBERS, x == 10, [NO, NO, ALL]),
        (NUMBERS, x != 10, [ALL, MAYBE, NO]),
        (NUMBERS, x > 4.5, [NO, MAYBE, ALL]),
        (NUMBERS, ~(x > 5), [ALL, NO, NO]),
        (NUMBERS, x.is_null(), [NO, MAYBE, NO]),
        (NUMBERS, x.is_valid(), [ALL, MAYBE, ALL]),
        (NUMBERS, x.isin([2, 10]), [MAYBE, NO, ALL]),
        (NUMBERS, x.isin([5, 6]), [NO, NO, NO]),
        (NUMBERS, pc.if_else(x.is_valid(), x.isin([10]), pc.scalar(pa.scalar(None, pa.bool_()))), [NO, NO, ALL]),
        (NUMBERS, (x >= 1) & (x <= 4), [ALL, NO, NO]),
        (NUMBERS, (x < 2) | (x > 9), [MAYBE, NO, ALL]),
        (NUMBERS, pc.Expression._call("or", [x < 2, x > 9]), [MAYBE, NO, ALL]),
        (NUMBERS, pc.Expression._call("and", [x >= 1, x <= 4]), [ALL, NO, NO]),
        (NUMBERS, pc.Expression._call("true_unless_null", [x]), [ALL, MAYBE, ALL]),
        (PAIRS, x == y, [MAYBE, NO, ALL]),
        (PAIRS, y == x, [MAYBE, NO, ALL]),
        (PAIRS, x < y, [MAYBE, ALL, NO]),
        (PAIRS, x <= y, [ALL, ALL, ALL]),
        (NUMBERS, x.cast(pa.int64()) > 8, [NO, NO, ALL]),
        (NUMBERS, x.cast(pa.int8(), safe=False) > 8, [MAYBE, MAYBE, MAYBE]),
        (NUMBERS, x.cast(pa.uint64(), safe=False) > 8, [MAYBE, MAYBE, MAYBE]),
        (BYTES, x.cast(pa.int8(), safe=False) > 3, [MAYBE, MAYBE, MAYBE]),
        (BYTES, x.cast(pa.int16()) > 3, [NO, ALL, MAYBE]),
        (BYTES, x.cast(pa.uint32()) > 3, [NO, ALL, MAYBE]),
        (DATES, x.cast(pa.timestamp("us")) > datetime.datetime(1970, 1, 5), [NO, ALL, MAYBE]),
        (stepping(pa.duration("s")), x.cast(pa.duration("ms")) > AFTER_THREE, [NO, ALL, MAYBE]),
        (stepping(pa.time64("us")), x.cast(pa.time64("ns")) > NEARLY_ONE, [ALL, ALL, ALL]),
        (
            stepping(pa.timestamp("s")),
            x.cast(pa.timestamp("ms")) > THIRD_SECOND,
            [NO, ALL, MAYBE],
        ),
        (NUMBERS, x + 1 > 100, [MAYBE, MAYBE, MAYBE]),
        (NUMBERS, (x + 1 > 100) & (x > 8), [NO, NO, MAYBE]),
        (NUMBERS, pc.scalar(False), [NO, NO, NO]),
        (NUMBERS, pc.scalar(True), [ALL, ALL, ALL]),
        (NUMBERS, x == pa.scalar(None, pa.int32()), [NO, NO, NO]),
        (TEXTS, pc.starts_with(x, "a"), [ALL, NO, NO]),
        (TEXTS, pc.starts_with(x, "ab"), [MAYBE, NO, NO]),
        (TEXTS, pc.match_like(x, "bb%"), [NO, NO, MAYBE]),
        (PREFIXES, pc.starts_with(x, "ab"), [MAYBE, MAYBE, ALL]),
        (PREFIXES, ~pc.starts_with(x, "ab"), [MAYBE, MAYBE, NO]),
        (PREFIXES, pc.starts_with(x, "abz"), [MAYBE, NO, MAYBE]),
        (TEXTS, x > LONG[:64], [NO, NO, MAYBE]),
        (TEXTS, x < "b", [ALL, NO, NO]),
        (TEXTS, x.isin(["c", "aa"]), [MAYBE, NO, NO]),
        (FLOATS, x > 3, [NO, NO, NO]),
        (FLOATS, ~(x > 3), [ALL, ALL, ALL]),
        (FLOATS, x < 5, [MAYBE, ALL, ALL]),
        (FLOATS, x != 7, [ALL, ALL, ALL]),
        (FLOATS, x == 0, [NO, NO, ALL]),
        (FLOATS, x.isin([0.0]), [NO, NO, MAYBE]),
        (FLOATS, pc.is_nan(x), [MAYBE, NO, NO]),
        (FLOATS, x.is_null(nan_is_null=True), [MAYBE, NO, NO]),
    ],
    ids=str,
)
def test_zones_are_decided(table, expression, expected):
    predicate = zone_predicate(native_expressions, expression, table.schema)
    assert predicate.verdicts(zone_maps(table, 4), 3).tolist() == expected


def test_without_zone_maps_no_zones_are_counted():
    undecided = PruneResult(RowRanges.one(3, 9), RowRanges.one(0, 0))
    assert (undecided.zones_total, undecided.zones_pruned, undecided.zones_all) == (0, 0, 0)
    assert difference(undecided.rows, undecided.all).num_rows == 6


@pytest.mark.parametrize(
    ("within", "left", "sure", "counts"),
    [
        ([(2, 12)], [(4, 12)], [(8, 12)], (3, 1, 1)),
        ([(2, 6)], [(4, 6)], [], (2, 1, 0)),
        ([(0, 4)], [], [], (1, 1, 0)),
        ([(9, 10)], [(9, 10)], [(9, 10)], (1, 0, 1)),
        ([(0, 4), (8, 9), (11, 12)], [(8, 9), (11, 12)], [(8, 9), (11, 12)], (2, 1, 1)),
        ([(0, 1), (3, 4), (7, 8)], [(7, 8)], [], (2, 1, 0)),
    ],
    ids=str,
)
def test_rows_are_left_and_sure(within, left, sure, counts):
    predicate = zone_predicate(native_expressions, x >= 7, NUMBERS.schema)
    chosen = RowRanges(*(np.array(side, np.int64) for side in zip(*within, strict=True)))
    found = prune_zones(zone_maps(NUMBERS, 4), np.array([0, 4, 8, 12]), predicate, chosen)
    for rows, expected in ((found.rows, left), (found.all, sure)):
        assert [
            pair for pair in zip(rows.starts.tolist(), rows.stops.tolist(), strict=True) if pair[0] < pair[1]
        ] == expected
    assert (found.zones_total, found.zones_pruned, found.zones_all) == counts
    nothing = prune_zones(
        zone_maps(NUMBERS, 4),
        np.array([0, 4, 8, 12]),
        zone_predicate(native_expressions, x > 10, NUMBERS.schema),
        chosen,
    )
    assert (nothing.rows.num_rows, nothing.all.num_rows, nothing.zones_pruned) == (0, 0, counts[0])


@pytest.mark.parametrize(
    ("table", "expression", "expected"),
    [
        # Arrow gives literals as few digits as they need.
        (DECIMALS, x > Decimal(5), [NO, NO, ALL]),
        (DECIMALS, x == Decimal("2.0"), [NO, ALL, NO]),
        (DECIMALS, x < Decimal("1.505"), [ALL, NO, NO]),
        # Floats round integers of more than 53 bits.
        (WIDE, x.cast(pa.float64(), safe=False) > 2.0**61, [NO, NO, ALL]),
        (WIDE, x.cast(pa.float64(), safe=False) == 2.0**62, [NO, NO, ALL]),
    ],
    ids=str,
)
def test_numbers_of_other_widths_are_compared(table, expression, expected):
    predicate = zone_predicate(native_expressions, expression, table.schema)
    assert predicate.verdicts(zone_maps(table, 1), 3).tolist() == expected
    assert [len(table.slice(row, 1).filter(expression)) * ALL for row in range(3)] == expected


def test_nothing_follows_what_begins_with_the_last_byte():
    values = [b"\xff", b"\xff\xff", b"\xffa", b"\xff", b"a", b"b", b"\xfe", b"c", b"a", b"\xff", b"b", b"c"]
    table = pa.table({"x": pa.array(values)})
    predicate = zone_predicate(native_expressions, pc.starts_with(x, b"\xff"), table.schema)
    assert predicate.verdicts(zone_maps(table, 4), 3).tolist() == [ALL, NO, MAYBE]


def test_calls_are_found_wherever_they_are():
    predicate = zone_predicate(native_expressions, (x > 1) & ((x < 3) | ~(x == 2)), NUMBERS.schema)
    for function in ("greater", "less", "equal", "invert", "or_kleene"):
        assert predicate.calls(function)
    assert not predicate.calls("random")
    assert not zone_predicate(native_expressions, pc.scalar(True), NUMBERS.schema).calls("random")


def test_what_is_no_call_is_understood():
    left, right = zone_predicate(native_expressions, x > 1, NUMBERS.schema).tree[2]
    assert is_understood(left)
    assert is_understood(right)
    assert not is_understood(zone_predicate(native_expressions, x + 1 > 1, NUMBERS.schema).tree[2][0])


def test_indices_of_null_items_are_valid_to_arrow():
    column = pa.DictionaryArray.from_arrays(pa.array([1, 1, None, 1], pa.int8()), pa.array(["a", None]))
    table = pa.table({"x": column})
    for expression in (x.is_valid(), x.is_null(), x == "a", x.isin(["a"])):
        (verdict,) = zone_predicate(native_expressions, expression, table.schema).verdicts(zone_maps(table, 4), 1)
        kept = len(table.filter(expression))
        assert verdict == Verdict.MAYBE or kept == (4 if verdict == Verdict.ALL else 0)


def test_items_of_lists_are_not_rows():
    table = pa.table({"x": [[1, 2], [], [3], None]})
    maps = zone_maps_of_items(table)
    predicate = ZonePredicate(("call", "is_null", (("field", ("x", "item"), pa.int64()),), False, pa.bool_()))
    assert predicate.verdicts(maps, 1).tolist() == [Verdict.MAYBE]


def zone_maps_of_items(table: pa.Table) -> dict[tuple[str, ...], ZoneMap]:
    (leaf,) = leaves_of(table.schema)
    builder = ZoneBuilder(leaf, 4)
    builder.add(table.column(0).combine_chunks())
    return {("x", "item"): ZoneMap(builder.finish(), 4, is_repeated(leaf))}


def test_long_chains_are_judged():
    expression = pc.scalar(False)
    for value in range(100, 400):
        expression = expression | (x == value)
    assert zone_predicate(native_expressions, expression, NUMBERS.schema).verdicts(
        zone_maps(NUMBERS, 4), 3
    ).tolist() == [
        NO,
        NO,
        NO,
    ]


def test_deep_trees_are_judged_or_maybe():
    expression = x > 100
    for _ in range(300):
        expression = ~expression
    verdicts = zone_predicate(native_expressions, expression, NUMBERS.schema).verdicts(zone_maps(NUMBERS, 4), 3)
    assert verdicts.tolist() == [MAYBE, MAYBE, MAYBE]


def test_fields_are_named_once():
    schema = pa.schema([("x", pa.int32()), ("st", pa.struct([("y", pa.int32())]))])
    predicate = zone_predicate(native_expressions, (x > 1) & (x < 5) & (pc.field("st", "y") == 1), schema)
    assert sorted(predicate.fields) == [("st", "y"), ("x",)]


def test_many_zones_are_judged_quickly():
    zones = 1000
    table = pa.table({"x": np.arange(4 * zones)})
    verdicts = zone_predicate(native_expressions, (x >= 400) & (x < 800), table.schema).verdicts(
        zone_maps(table, 4), zones
    )
    assert np.flatnonzero(verdicts == Verdict.ALL).tolist() == list(range(100, 200))
    assert (verdicts == Verdict.NO).sum() == zones - 100
