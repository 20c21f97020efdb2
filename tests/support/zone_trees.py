"""Random filters as bound trees, and random zone maps, by number: also such as no writer makes."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from filter_cases import COMPARISONS, FLOATS, LONG, VALUES

from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.statistics.zone_types import zones_schema

Tree = tuple[Any, ...]

# What files hold beside what filters see: the same type mostly, else one that datasets cast from.
STORED = {
    "i64": [pa.int32(), pa.uint32(), pa.uint8()],
    "i32": [pa.int8(), pa.int64()],
    "u64": [pa.uint16(), pa.int64()],
    "f64": [pa.float32(), pa.float16(), pa.int32()],
    "text": [pa.large_string(), pa.binary()],
    "raw": [pa.string(), pa.large_binary()],
    "micro": [pa.timestamp("s"), pa.timestamp("ns"), pa.date32()],
    "oslo": [pa.timestamp("us", "UTC"), pa.timestamp("s", "UTC"), pa.timestamp("us")],
    "dec": [pa.decimal128(7, 2), pa.decimal128(5, 0), pa.decimal128(20, 4), pa.int8()],
    "span": [pa.duration("s"), pa.duration("ns")],
    "millis": [pa.date32()],
    "clock": [pa.time32("s"), pa.time64("ns")],
}
CASTS = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.decimal128(20, 2), pa.decimal128(38, 4), pa.decimal256(50, 2)),
    *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(2), pa.bool_()),
    *(pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("ns", "UTC")),
    *(pa.time64("ns"), pa.time32("ms"), pa.duration("ns"), pa.duration("s"), pa.duration("ms")),
)
MORE: dict[str, list[Any]] = {
    "i64": [2**40, -(2**31), 7, 8, 9],
    "f64": [2.5, 2**53 + 2.0, *FLOATS],
    "dec": [Decimal("1.00"), Decimal("-7.25")],
    "micro": [datetime.datetime(2020, 2, 2), datetime.datetime(2200, 1, 1)],
}
PATTERNS = [b"", b"a", b"a%", b"%a", b"ab_", b"\xff", b"\xff\xff", b"b" * 64, "é".encode(), b"a\\%"]


@dataclass(frozen=True, slots=True)
class ZoneCase:
    """A filter, and zone maps of some of its fields.

    Parameters
    ----------
    tree
        The filter.
    maps
        By path, all of `num_zones` zones.
    num_zones
        Zones.
    """

    tree: Tree
    maps: Mapping[tuple[str, ...], ZoneMap]
    num_zones: int


def zone_case(number: int) -> ZoneCase:
    """Make the case of a number: the same at every call."""
    rng = np.random.default_rng([7, number])
    names = list(rng.choice(list(VALUES), size=rng.integers(1, 4), replace=False))
    num_zones = int(rng.choice([0, 1, 2, 5, 9, 300], p=[0.02, 0.2, 0.2, 0.28, 0.28, 0.02]))
    shown = {name: VALUES[name][0] for name in names}
    maps = {(name,): _zone_map(rng, name, num_zones) for name in names if rng.random() < 0.93}
    return ZoneCase(_Trees(rng, shown).condition(int(rng.integers(0, 5))), maps, num_zones)


def _members(name: str, type_: pa.DataType) -> list[pa.Scalar]:
    """Values of a name that a type holds."""
    found = []
    for value in [*VALUES[name][1], *MORE.get(name, [])]:
        own = VALUES[name][0]
        scalar = pa.scalar(value, own.value_type if pa.types.is_dictionary(own) else own)
        try:
            found.append(scalar.cast(type_))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return found


def _zone_map(rng: np.random.Generator, name: str, num_zones: int) -> ZoneMap:
    type_ = VALUES[name][0]
    type_ = type_.value_type if pa.types.is_dictionary(type_) else type_
    if rng.random() < 0.3 and name in STORED:
        type_ = STORED[name][rng.integers(len(STORED[name]))]
    members = sorted((one for one in _members(name, type_) if not _is_nan(one)), key=_order)
    if pa.types.is_boolean(type_):
        members = [pa.scalar(False), pa.scalar(True)]
    can_be_nan = pa.types.is_floating(type_)
    has_one_value, is_told_in_part = rng.random() < 0.4, rng.random() < 0.2
    low, high, nulls, nans = [], [], [], []
    for _ in range(num_zones):
        first = int(rng.integers(len(members)))
        last = first if has_one_value or rng.random() < 0.3 else int(rng.integers(first, len(members)))
        nulls.append(int(rng.choice([0, 0, 2, 4])))
        nans.append(int(rng.choice([0, 0, 1, 4])) if can_be_nan and nulls[-1] < 4 else 0)
        nans[-1] = min(nans[-1], 4 - nulls[-1])
        has_value = nulls[-1] + nans[-1] < 4
        is_open = rng.random(2) < (0.3 if is_told_in_part else 0.05)
        low.append(None if not has_value or (is_open[0] and is_told_in_part) else members[first])
        high.append(None if not has_value or is_open[1] else members[last])
    unknown = rng.random((2, num_zones)) < (0.3 if is_told_in_part else 0)
    unknown[1] &= can_be_nan
    same = np.full(num_zones, 4, np.int64)
    no = np.zeros(num_zones, np.bool_)
    columns = [
        *(pa.array([None if one is None else one for one in side], type_) for side in (low, high)),
        *(pa.array(no), pa.array(no)),
        *(pa.array(np.array(one, np.int64), mask=hides) for one, hides in zip((nulls, nans), unknown, strict=True)),
        *(pa.array(same), pa.array(same)),
    ]
    schema = pa.schema([field.with_nullable(True) for field in zones_schema(type_)])
    zones = pa.RecordBatch.from_arrays(columns, schema=schema)
    before = int(rng.integers(0, 3))
    if before and num_zones:
        # Zones of fragments are slices.
        zones = pa.concat_batches([zones.slice(0, min(before, num_zones)), zones]).slice(min(before, num_zones))
    return ZoneMap(zones, 4, is_repeated=rng.random() < 0.02, is_partial=is_told_in_part)


def _is_nan(scalar: pa.Scalar) -> bool:
    return pa.types.is_floating(scalar.type) and scalar.as_py() != scalar.as_py()


def _order(scalar: pa.Scalar) -> Any:
    value = scalar.value if pa.types.is_temporal(scalar.type) else scalar.as_py()
    return value.encode() if isinstance(value, str) else value


class _Trees:
    """Random trees over some fields."""

    def __init__(self, rng: np.random.Generator, shown: Mapping[str, pa.DataType]) -> None:
        self._rng = rng
        self._shown = shown
        self._leaves: list[Callable[[], Tree]] = [
            *(self._comparison, self._comparison, self._comparison, self._member, self._member),
            *(self._null, self._text, self._truth, self._fields, self._unknown),
        ]

    def condition(self, depth: int) -> Tree:
        if depth == 0:
            return self._pick(self._leaves)()
        kind = self._pick(
            ["and_kleene", "or_kleene", "and", "or", "invert", "if_else", "is_null", "is_valid", "true_unless_null"]
        )
        counts = {"if_else": 3, "and": 2, "or": 2, "and_kleene": self._rng.integers(2, 4), "or_kleene": 2}
        inner = tuple(self.condition(int(self._rng.integers(0, depth))) for _ in range(counts.get(kind, 1)))
        return "call", kind, inner, bool(self._rng.integers(2)) if kind == "is_null" else None, pa.bool_()

    def _pick(self, items: Sequence[Any]) -> Any:
        return items[int(self._rng.integers(len(items)))]

    def _name(self) -> str:
        return str(self._pick(list(self._shown)))

    def _field(self, name: str) -> Tree:
        return "field", (name,), self._shown[name]

    def _cast(self, node: Tree, to: pa.DataType) -> Tree:
        return "call", "cast", (node,), None, to

    def _values(self, name: str) -> Tree:
        """A field, perhaps cast; of dictionaries mostly the values."""
        node = self._field(name)
        if pa.types.is_dictionary(node[2]) and self._rng.random() < 0.9:
            node = self._cast(node, node[2].value_type)
        while self._rng.random() < 0.3:
            node = self._cast(node, self._pick(CASTS))
        return node

    def _literal(self, name: str, type_: pa.DataType) -> Tree:
        members = [] if pa.types.is_dictionary(type_) else _members(name, type_)
        if not members or self._rng.random() < 0.06:
            return "literal", pa.scalar(None, type_), type_
        return "literal", self._pick(members), type_

    def _compared(self, left: Tree, right: Tree) -> Tree:
        pair = (left, right) if self._rng.random() < 0.7 else (right, left)
        return "call", self._pick(COMPARISONS), pair, None, pa.bool_()

    def _comparison(self) -> Tree:
        name = self._name()
        values = self._values(name)
        type_ = values[-1]
        if pa.types.is_decimal128(type_) and self._rng.random() < 0.5:
            type_ = pa.decimal128(max(type_.scale + 1, type_.precision - 3), type_.scale)
        literal = self._literal(name, type_)
        if self._rng.random() < 0.1:
            to = self._pick(CASTS)
            values, literal = self._cast(values, to), self._cast(literal, to)
        return self._compared(values, literal)

    def _member(self) -> Tree:
        name = self._name()
        values = self._values(name)
        type_ = values[-1].value_type if pa.types.is_dictionary(values[-1]) else values[-1]
        members = [self._literal(name, type_)[1] for _ in range(int(self._rng.integers(0, 7)))]
        given: Any = pa.array([one.as_py() if pa.types.is_decimal(type_) else one for one in members], type_)
        if self._rng.random() < 0.1:
            given = pa.chunked_array([given])
        return "call", "is_in", (values,), (given, int(self._rng.choice([0, 0, 1, 1, 2]))), pa.bool_()

    def _null(self) -> Tree:
        kind = self._pick(["is_null", "is_valid", "is_nan", "true_unless_null"])
        options = bool(self._rng.integers(2)) if kind == "is_null" else None
        return "call", kind, (self._values(self._name()),), options, pa.bool_()

    def _text(self) -> Tree:
        texts = [name for name in self._shown if name in ("text", "large", "raw", "dict")]
        if not texts:
            return self._comparison()
        name = self._pick(texts)
        prefix = self._pick([*PATTERNS, LONG.encode()])
        kind = self._pick(["starts_with", "match_like"])
        return "call", kind, (self._values(name),), (prefix, self._rng.random() < 0.1), pa.bool_()

    def _truth(self) -> Tree:
        if "bool" in self._shown and self._rng.random() < 0.7:
            return self._values("bool")
        return "literal", pa.scalar(self._pick([True, False, None]), pa.bool_()), pa.bool_()

    def _fields(self) -> Tree:
        left = self._values(self._name())
        right = self._values(self._name())
        return self._compared(left, self._cast(right, left[-1]) if left[-1] != right[-1] else right)

    def _unknown(self) -> Tree:
        node = self._values(self._name())
        other = "call", self._pick(["add", "", "utf8_lower"]), (node,), None, node[-1]
        return self._pick([("call", "", (), None, pa.bool_()), self._compared(other, node), self._truth()])
