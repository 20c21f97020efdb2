"""Random tables and filters, by number: values that zone maps may get wrong, and expressions that look at them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

LONG = "b" * 70
MOMENT = datetime.datetime(2020, 2, 2, 12)
SECOND = datetime.timedelta(seconds=1)
MICRO = datetime.timedelta(microseconds=1)
TEXTS = ["", "a", "a%b", "ab", "b", "\\", LONG, LONG + "c", "é" * 40, "\U0010ffff" * 20, "\U0010ffff" * 20 + "x", "\0"]
INTEGERS = [-3, -1, 0, 1, 2, 5, 100]
FLOATS = [0.0, -0.0, 1.5, -1.5, 3.0, math.nan, math.inf, -math.inf, 1e-300]
MOMENTS = [MOMENT, MOMENT + MICRO, MOMENT - MICRO, MOMENT + SECOND, datetime.datetime(1960, 1, 1, 0, 0, 1)]
SECONDS = [MOMENT, MOMENT + SECOND, MOMENT - 999_999 * SECOND, datetime.datetime(1960, 1, 1)]
DAYS = [datetime.date(1969, 12, 31), datetime.date(1970, 1, 1), datetime.date(2020, 2, 2), datetime.date(2020, 2, 3)]
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i8": (pa.int8(), [*INTEGERS, -128, 127]),
    "i32": (pa.int32(), [*INTEGERS, -(2**31), 2**31 - 1]),
    "i64": (pa.int64(), [*INTEGERS, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]),
    "u16": (pa.uint16(), [0, 1, 5, 2**16 - 1]),
    "u64": (pa.uint64(), [0, 1, 5, 2**63, 2**64 - 1, 2**53 + 1]),
    "f16": (pa.float16(), [np.float16(one) for one in FLOATS]),
    "f32": (pa.float32(), FLOATS),
    "f64": (pa.float64(), [*FLOATS, 5e-324, -5e-324, float(2**53)]),
    "bool": (pa.bool_(), [True, False]),
    "text": (pa.string(), TEXTS),
    "large": (pa.large_string(), TEXTS),
    "raw": (pa.binary(), [b"", b"a", b"\xff" * 70, b"\xff" * 64, b"\xff", b"a" * 64, b"a" * 65]),
    "fixed": (pa.binary(2), [b"aa", b"ab", b"\x00\x00", b"\xff\xff"]),
    "dec": (pa.decimal128(9, 2), [Decimal(one) for one in ("-1.50", "0.00", "0.01", "5.00", "99.99")]),
    "wide": (pa.decimal256(50, 3), [Decimal(one) for one in ("-1.500", "0.000", "123456789012345678901234.125")]),
    "date": (pa.date32(), DAYS),
    "millis": (pa.date64(), DAYS),
    "sec": (pa.timestamp("s"), SECONDS),
    "micro": (pa.timestamp("us"), MOMENTS),
    "oslo": (pa.timestamp("us", "Europe/Oslo"), [one.replace(tzinfo=datetime.UTC) for one in MOMENTS]),
    "clock": (pa.time64("us"), [datetime.time(0), datetime.time(1, 2, 3, 4), datetime.time(23, 59, 59, 999_999)]),
    "span": (pa.duration("ms"), [datetime.timedelta(0), SECOND, -SECOND, datetime.timedelta(days=9)]),
    "dict": (pa.dictionary(pa.int8(), pa.string()), ["", "a", "ab", "b", LONG]),
}
NUMBERS = ("i8", "i32", "i64", "u16", "u64", "f32", "f64")
CASTS = {
    **dict.fromkeys(("i8", "i32", "u16"), (pa.float64(), pa.int64(), pa.decimal128(20, 2), pa.string(), pa.int16())),
    **dict.fromkeys(("i64", "u64"), (pa.float64(), pa.int64(), pa.uint64(), pa.string())),
    **dict.fromkeys(("f16", "f32", "f64"), (pa.float64(), pa.float32(), pa.string())),
    **dict.fromkeys(("text", "large", "raw"), (pa.large_binary(), pa.binary(), pa.large_string())),
    "dec": [pa.decimal128(20, 4), pa.decimal256(40, 2), pa.float64(), pa.string()],
    **dict.fromkeys(("date", "millis"), (pa.date64(), pa.date32(), pa.timestamp("s"), pa.timestamp("ns"))),
    **dict.fromkeys(("sec", "micro"), (pa.timestamp("ns"), pa.timestamp("ms"), pa.date32(), pa.timestamp("us", "UTC"))),
    "oslo": [pa.timestamp("ns", "UTC"), pa.timestamp("us", "America/New_York"), pa.timestamp("us")],
    "clock": [pa.time64("ns"), pa.time32("ms")],
    "span": [pa.duration("ns"), pa.duration("s"), pa.int64()],
}
COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


@dataclass(frozen=True, slots=True)
class FilterCase:
    """One table, how it is written, and a filter.

    Parameters
    ----------
    table, expression
        What is filtered, and by what.
    file_version, rows_per_zone, page_bytes
        How the table is written.
    """

    table: pa.Table
    expression: pc.Expression
    file_version: str
    rows_per_zone: int
    page_bytes: int

    def expected(self) -> pa.Table | None:
        """Rows that Arrow itself keeps; None where it cannot evaluate the filter."""
        try:
            return self.table.filter(self.expression)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            return None


def filter_case(number: int) -> FilterCase:
    """Make the case of a number: the same at every call."""
    rng = np.random.default_rng(number)
    num_rows = int(rng.choice([0, 1, 7, 40, 200, 600]))
    names = list(rng.choice(list(VALUES), size=rng.integers(1, 5), replace=False))
    columns = {name: _column(rng, name, num_rows) for name in names}
    is_null = _runs(rng, num_rows) < 0.2
    inner = {name: _column(rng, name, num_rows) for name in names[:2]}
    columns["st"] = pa.StructArray.from_arrays(list(inner.values()), list(inner), mask=pa.array(is_null))
    columns["row"] = pa.array(np.arange(num_rows))
    columns["list"] = pa.array([[one, None] if one % 3 else None for one in range(num_rows)], pa.list_(pa.int64()))
    return FilterCase(
        pa.table(columns),
        _Expressions(rng, names, num_rows).condition(int(rng.integers(0, 4))),
        str(rng.choice(["2.1", "2.2", "2.3"])),
        int(rng.choice([1, 2, 3, 7, 16, 64, 1000])),
        int(rng.choice([512, 8 << 20])),
    )


def _runs(rng: np.random.Generator, num_rows: int) -> np.ndarray:
    """Numbers in ``0 .. 1``: random, in runs, ascending or all the same, so that some zones are of one kind."""
    kind = rng.integers(0, 4)
    if kind == 0:
        return rng.random(num_rows)
    if kind == 1:
        return np.sort(rng.random(num_rows))
    if kind == 2:
        length = int(rng.integers(2, 40))
        return np.repeat(rng.random(num_rows // length + 1), length)[:num_rows]
    return np.full(num_rows, rng.random())


def _column(rng: np.random.Generator, name: str, num_rows: int) -> pa.Array:
    type_, values = VALUES[name]
    values = list(values)
    rng.shuffle(values)
    if rng.random() < 0.5:
        values.sort(key=lambda one: (one != one, one))  # noqa: PLR0124 - NaN
    picks = (_runs(rng, num_rows) * len(values)).astype(int)
    is_null = _runs(rng, num_rows) < rng.choice([0, 0.1, 0.6])
    found = [None if null else values[pick] for pick, null in zip(picks, is_null, strict=True)]
    if pa.types.is_dictionary(type_):
        return pa.array(found, type_.value_type).dictionary_encode().cast(type_)
    return pa.array(found, type_)


class _Expressions:
    """Random expressions over some columns."""

    def __init__(self, rng: np.random.Generator, names: list[str], num_rows: int) -> None:
        self._rng = rng
        self._names = names
        self._num_rows = num_rows
        self._leaves: list[Callable[[], pc.Expression]] = [
            self._comparison,
            self._comparison,
            self._comparison,
            self._between,
            self._member,
            self._member,
            self._null,
            self._text,
            self._fields,
            self._cast,
            self._computed,
            self._row,
        ]

    def condition(self, depth: int) -> pc.Expression:
        if depth == 0:
            return self._pick(self._leaves)()
        left = self.condition(depth - 1)
        kind = int(self._rng.integers(0, 8))
        if kind == 0:
            return ~left
        if kind == 1:
            return left.is_null()
        right = self.condition(int(self._rng.integers(0, depth)))
        if kind == 2:
            return pc.Expression._call(str(self._rng.choice(["and", "or"])), [left, right])
        if kind == 3:
            return pc.if_else(left, right, self.condition(0))
        return left & right if kind % 2 else left | right

    def _pick(self, items: Sequence[Any]) -> Any:
        return items[int(self._rng.integers(len(items)))]

    def _field(self, name: str) -> pc.Expression:
        is_nested = name in self._names[:2] and self._rng.random() < 0.3
        return pc.field("st", name) if is_nested else pc.field(name)

    def _literal(self, name: str) -> pa.Scalar:
        type_, values = VALUES[name]
        if self._rng.random() < 0.05:
            return pa.scalar(None, type_.value_type if pa.types.is_dictionary(type_) else type_)
        value = self._pick(values)
        if pa.types.is_integer(type_) and self._rng.random() < 0.3:
            return pa.scalar(self._pick([0.5, -1.0, math.nan, 2**40, 1]))
        if name == "f16":
            return pa.scalar(float(value), self._pick([pa.float32(), pa.float64()]))
        if name == "dec" and self._rng.random() < 0.5:
            return pa.scalar(self._pick([Decimal("0.005"), Decimal("5"), 0.01]))
        return pa.scalar(value, type_.value_type if pa.types.is_dictionary(type_) else type_)

    def _compared(self, left: pc.Expression, right: pc.Expression) -> pc.Expression:
        pair = [left, right] if self._rng.random() < 0.7 else [right, left]
        return pc.Expression._call(str(self._rng.choice(COMPARISONS)), pair)

    def _comparison(self) -> pc.Expression:
        name = self._pick(self._names)
        return self._compared(self._field(name), pc.scalar(self._literal(name)))

    def _between(self) -> pc.Expression:
        name = self._pick(self._names)
        field = self._field(name)
        return (field >= pc.scalar(self._literal(name))) & (field < pc.scalar(self._literal(name)))

    def _member(self) -> pc.Expression:
        name = self._pick(self._names)
        type_, values = VALUES[name]
        wanted = [self._pick([*values, None]) for _ in range(int(self._rng.integers(0, 6)))]
        if self._rng.random() < 0.3:
            wanted += self._many(type_, int(self._rng.integers(5, 120)))
        if name == "f16":
            return self._comparison()
        members = pa.array(wanted, type_.value_type if pa.types.is_dictionary(type_) else type_)
        field = self._field(name)
        options = pc.SetLookupOptions(members, skip_nulls=bool(self._rng.integers(2)))
        found = pc.Expression._call("is_in", [field], options)
        # As DuckDB and DataFusion say it.
        return pc.if_else(field.is_valid(), found, pc.scalar(pa.scalar(None, pa.bool_()))) if len(wanted) % 2 else found

    def _many(self, type_: pa.DataType, count: int) -> list[Any]:
        """Values that columns do not have, mostly: more than are compared one by one."""
        if pa.types.is_integer(type_):
            lowest = -20 if pa.types.is_signed_integer(type_) else 0
            return self._rng.integers(lowest, 100, count).tolist()
        if pa.types.is_floating(type_):
            return np.round(self._rng.normal(size=count), 1).tolist()
        texts = [f"a{number}" for number in self._rng.integers(0, 200, count)]
        if pa.types.is_string(type_) or pa.types.is_large_string(type_):
            return texts
        return [text.encode() for text in texts] if pa.types.is_binary(type_) else []

    def _null(self) -> pc.Expression:
        field = self._pick([self._field(self._pick(self._names)), pc.field("st"), pc.field("list")])
        kind = int(self._rng.integers(0, 4))
        numbers = [name for name in self._names if name in NUMBERS]
        if kind == 0:
            return field.is_valid()
        if kind == 1 and numbers:
            return pc.is_nan(self._field(self._pick(numbers)))
        return field.is_null(nan_is_null=kind == 2)

    def _text(self) -> pc.Expression:
        texts = [name for name in self._names if name in ("text", "large", "raw")]
        if not texts:
            return self._comparison()
        field = self._field(self._pick(texts))
        prefix = self._pick(["", "a", "b", LONG, LONG[:64], "é", "\U0010ffff"])
        kind = self._rng.random()
        if kind < 0.2:
            return pc.match_substring(field, prefix or "b", ignore_case=self._rng.random() < 0.2)
        if kind < 0.3:
            return pc.match_like(field, f"%{prefix}%")
        if kind < 0.6:
            return pc.starts_with(field, prefix, ignore_case=self._rng.random() < 0.2)
        return pc.match_like(field, prefix + self._pick(["%", "_", "", "%b", "\\%"]))

    def _fields(self) -> pc.Expression:
        name = self._pick(self._names)
        other = self._pick([one for one in self._names if (one in NUMBERS) == (name in NUMBERS)])
        return self._compared(self._field(name), self._field(self._pick([name, other])))

    def _cast(self) -> pc.Expression:
        name = self._pick(self._names)
        to = self._pick(CASTS.get(name, (pa.string(),)))
        value = self._literal(name)
        try:
            literal = value.cast(to)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            literal = pa.scalar(None, to)
        return self._compared(self._field(name).cast(to, safe=bool(self._rng.integers(2))), pc.scalar(literal))

    def _computed(self) -> pc.Expression:
        numbers = [name for name in self._names if name in NUMBERS and name not in ("f16", "dec", "wide")]
        if not numbers:
            return self._comparison()
        name = self._pick(numbers)
        compute = self._pick([pc.add, pc.subtract, pc.multiply])
        return self._compared(compute(self._field(name), pc.scalar(1)), pc.scalar(self._literal(name)))

    def _row(self) -> pc.Expression:
        return self._compared(pc.field("row"), pc.scalar(int(self._rng.integers(-1, self._num_rows + 2))))
