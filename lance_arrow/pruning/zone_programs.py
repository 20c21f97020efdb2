"""`compiled`: compile the tree of a filter to a program over zones (`engine/prune/zone_program.hpp`).

call over fields and literals ─► operands of one type ─► postfix instructions

The bounds of a result are known for few functions. For all others, the verdict is MAYBE.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from lance_arrow.arrays.column_paths import Path
from lance_arrow.arrays.column_tree import storage_type
from lance_arrow.arrays.plain_numbers import as_binary
from lance_arrow.engine import NativeProgram
from lance_arrow.pruning.zone_values import are_alike, cast_bounds, keeps_order
from lance_arrow.statistics.zone_bounds import successor
from lance_arrow.statistics.zone_types import form_of, is_variable

Tree: TypeAlias = tuple[Any, ...]

_MATCH_NULLS, _SKIP_NULLS = 0, 1
_WILDCARDS = b"%_\\"


# Numbers as in ``engine/prune/zone_program.hpp``.
_Step = enum.IntEnum(
    "_Step",
    "UNKNOWN FACTS IS_NAN LESS LESS_EQUAL EQUAL IS_IN AND AND_STRICT NOT IS_NULL TRUE_UNLESS_NULL IF_ELSE",
    start=0,
)


@dataclass(slots=True)
class ZoneField:
    """Zone map that a program needs.

    Parameters
    ----------
    path
        The field.
    types
        Types through which its values are cast, in order; the first is the type in the filter's schema.
    nulls_are_values
        Whether Arrow may treat nulls as valid values: it does so for indices of null items, until they are cast.
    """

    path: Path
    types: tuple[pa.DataType, ...]
    nulls_are_values: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ZoneProgram:
    """A compiled filter.

    Parameters
    ----------
    native
        The native program.
    fields
        Fields of the program.
    """

    native: NativeProgram
    fields: tuple[ZoneField, ...]


def compiled(tree: Tree) -> ZoneProgram:
    """Compile the tree of a filter, from `expression_tree`."""
    compiler = _Compiler()
    compiler.condition(tree)
    return compiler.program()


@dataclass(slots=True, eq=False)
class _Operand:
    """A field or a literal (an array of length 1), with the type of its comparison."""

    of: ZoneField | pa.Array
    type: pa.DataType

    def cast(self, to: pa.DataType) -> _Operand | None:
        """Cast it; None if the cast fails or does not keep the order of values."""
        if self.type == to:
            return self
        if not keeps_order(self.type, to):
            return None
        if isinstance(self.of, ZoneField):
            return _Operand(replace(self.of, types=(*self.of.types, to)), to)
        literal = cast_bounds(self.of, (to,))
        return None if literal is None else _Operand(literal, to)


# `pa.array` of a list would import pandas.
_TRUE = _Operand(pa.Array.from_buffers(pa.bool_(), 1, [None, pa.py_buffer(b"\x01")], 0), pa.bool_())


class _Compiler:
    """Writes a program."""

    def __init__(self) -> None:
        self._instructions: list[tuple[int, int, int, int]] = []
        self._fields: list[ZoneField] = []
        self._columns: list[tuple[str, bool]] = []
        self._literals: list[tuple[pa.Array, str, int]] = []

    def program(self) -> ZoneProgram:
        """Return the written program."""
        native = NativeProgram(self._instructions, self._columns, self._literals)
        return ZoneProgram(native, tuple(self._fields))

    def condition(self, node: Tree) -> None:
        """Write instructions that leave the outcomes of a boolean expression."""
        if node[0] == "call" and node[1] in _WRITERS:
            is_known = _WRITERS[node[1]](self, node)
        else:
            values = self.operand(node)
            if is_known := values is not None and bool(pa.types.is_boolean(values.type)):
                self.emit(_Step.LESS_EQUAL, _TRUE, values)
        if not is_known:
            self.emit(_Step.UNKNOWN)

    def emit(self, step: _Step, left: _Operand | None = None, right: _Operand | int = 0, flag: bool = False) -> bool:
        """Write one instruction."""
        numbers = (0 if left is None else self._number(left), right if isinstance(right, int) else self._number(right))
        self._instructions.append((step, *numbers, flag))
        return True

    def _number(self, operand: _Operand) -> int:
        field = operand.of
        if not isinstance(field, ZoneField):
            return -1 - self.add_literals(field)
        if field not in self._fields:
            form = form_of(operand.type)
            assert form is not None
            self._fields.append(field)
            self._columns.append((form[0], field.nulls_are_values))
        return self._fields.index(field)

    def add_literals(self, array: pa.Array) -> int:
        """Add one literal, or the literals of a lookup."""
        form = form_of(array.type)
        assert form is not None
        self._literals.append((array, *form))
        return len(self._literals) - 1

    def operand(self, node: Tree) -> _Operand | None:
        """Return the operand of an expression; None if its bounds are unknown."""
        if node[0] == "literal":
            if not isinstance(node[1], pa.Scalar) or form_of(node[1].type) is None:
                return None
            return _Operand(pa.repeat(node[1], 1), _compared(node[1].type))
        if node[0] == "field":
            is_dictionary = pa.types.is_dictionary(node[2])
            shown = storage_type(node[2].value_type if is_dictionary else node[2])
            if form_of(shown) is None:
                return None
            return _Operand(ZoneField(node[1], (shown,), is_dictionary), _compared(shown))
        if node[1] != "cast" or len(node[2]) != 1:
            return None
        inner = self.operand(node[2][0])
        return None if inner is None else inner.cast(node[4])

    def compare(self, node: Tree, step: _Step, *, swapped: bool = False) -> bool:
        """Compare two operands of one type."""
        left, right = (self.operand(one) for one in node[2])
        if left is None or right is None or not _are_comparable(left.type, right.type):
            return False
        return self.emit(step, right, left) if swapped else self.emit(step, left, right)

    def differ(self, node: Tree) -> bool:
        return self.compare(node, _Step.EQUAL) and self.emit(_Step.NOT)

    def join(self, node: Tree, step: _Step, *, inverted: bool = False) -> bool:
        """Join conditions; OR is written as NOT of AND of NOT."""
        for number, one in enumerate(node[2]):
            self.condition(one)
            if inverted:
                self.emit(_Step.NOT)
            if number:
                self.emit(step)
        return not inverted or self.emit(_Step.NOT)

    def follow(self, node: Tree, step: _Step) -> bool:
        """Apply a step to outcomes of conditions."""
        for one in node[2]:
            self.condition(one)
        return self.emit(step)

    def look(self, node: Tree, step: _Step, *, inverted: bool = False) -> bool:
        """Test whether values are null; unknown values may be null."""
        (of,) = node[2]
        values = self.operand(of)
        if values is None or pa.types.is_boolean(of[-1]):
            self.condition(of)
        else:
            self.emit(_Step.FACTS, values, flag=step == _Step.IS_NULL and not inverted and bool(node[3]))
        self.emit(step)
        return not inverted or self.emit(_Step.NOT)

    def is_nan(self, node: Tree) -> bool:
        values = self.operand(node[2][0])
        return values is not None and self.emit(_Step.IS_NAN, values)

    def is_in(self, node: Tree) -> bool:
        """Look values up in a set."""
        values = self.operand(node[2][0])
        if values is None or not isinstance(node[3], tuple):
            return False
        given, null_matching = node[3]
        wanted = given.combine_chunks() if isinstance(given, pa.ChunkedArray) else given
        if not isinstance(wanted, pa.Array) or null_matching not in (_MATCH_NULLS, _SKIP_NULLS):
            return False
        if wanted.type != values.type:
            if pa.types.is_floating(wanted.type):
                return False
            cast = cast_bounds(wanted, (values.type,))
            if cast is None:
                return False
            wanted = cast
        return self.emit(_Step.IS_IN, values, self.add_literals(wanted), flag=null_matching == _MATCH_NULLS)

    def begin(self, node: Tree) -> bool:
        """Compare the prefixes of texts: a text with a prefix lies between the prefix and its successor."""
        return not node[3][1] and self._between(node[2][0], node[3][0], is_whole=True)

    def match(self, node: Tree) -> bool:
        """Match a pattern: a match must begin with the text before the first wildcard."""
        pattern, ignores_case = node[3]
        end = next((place for place, one in enumerate(pattern) if one in _WILDCARDS), len(pattern))
        return not ignores_case and self._between(node[2][0], pattern[:end], is_whole=False)

    def _between(self, node: Tree, prefix: bytes, *, is_whole: bool) -> bool:
        values = self.operand(node)
        if values is None or not is_variable(values.type):
            return False
        stop = successor(prefix, False)
        self.emit(_Step.LESS_EQUAL, _text(prefix), values)
        if stop is not None:
            self.emit(_Step.LESS, values, _text(stop))
            self.emit(_Step.AND)
        if not is_whole:
            # The condition may be false for any value.
            self.emit(_Step.FACTS, values)
            self.emit(_Step.AND)
        return True


def _text(value: bytes) -> _Operand:
    return _Operand(as_binary(value), pa.large_binary())


def _compared(type_: pa.DataType) -> pa.DataType:
    """Return float32 for half floats, which Arrow does not compare."""
    return pa.float32() if pa.types.is_float16(type_) else type_


def _are_comparable(left: pa.DataType, right: pa.DataType) -> bool:
    """Return whether Arrow compares two types; it gives decimal literals the smallest precision."""
    are_decimals = pa.types.is_decimal(left) and pa.types.is_decimal(right)
    return bool(left == right or (are_decimals and are_alike(left, right)))


_WRITERS: Mapping[str, Callable[[_Compiler, Tree], bool]] = {
    "less": partial(_Compiler.compare, step=_Step.LESS),
    "less_equal": partial(_Compiler.compare, step=_Step.LESS_EQUAL),
    "greater": partial(_Compiler.compare, step=_Step.LESS, swapped=True),
    "greater_equal": partial(_Compiler.compare, step=_Step.LESS_EQUAL, swapped=True),
    "equal": partial(_Compiler.compare, step=_Step.EQUAL),
    "not_equal": _Compiler.differ,
    "and_kleene": partial(_Compiler.join, step=_Step.AND),
    "or_kleene": partial(_Compiler.join, step=_Step.AND, inverted=True),
    "and": partial(_Compiler.join, step=_Step.AND_STRICT),
    "or": partial(_Compiler.join, step=_Step.AND_STRICT, inverted=True),
    "invert": partial(_Compiler.follow, step=_Step.NOT),
    "if_else": partial(_Compiler.follow, step=_Step.IF_ELSE),
    "true_unless_null": partial(_Compiler.look, step=_Step.TRUE_UNLESS_NULL),
    "is_null": partial(_Compiler.look, step=_Step.IS_NULL),
    "is_valid": partial(_Compiler.look, step=_Step.IS_NULL, inverted=True),
    "is_nan": _Compiler.is_nan,
    "is_in": _Compiler.is_in,
    "starts_with": _Compiler.begin,
    "match_like": _Compiler.match,
}


def is_understood(node: Tree) -> bool:
    """Return whether the result of a call follows from the bounds of its arguments."""
    if node[0] != "call":
        return True
    if node[1] == "cast":
        return len(node[2]) == 1 and (node[2][0][-1] == node[-1] or keeps_order(node[2][0][-1], node[-1]))
    return node[1] in _WRITERS
