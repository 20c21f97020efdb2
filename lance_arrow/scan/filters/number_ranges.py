"""`number_ranges`: the ranges of numbers that satisfy a condition on one column, so that native code judges them.

quantity < 24 OR quantity = 50 ─► literals 24 and 50, and a number of each gap ─► Arrow ─► up to 23, and 50

What a literal, a gap, null and NaN give is not worked out here: Arrow evaluates the condition for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.scan.filters.bound_filters import flags_of
from lance_arrow.scan.filters.compared import NotRanges, Pattern, compared_with, ends_of_runs
from lance_arrow.scan.predicates import MISFITS

_MOST_LITERALS = 1 << 16
"""Of more literals, looking up each number in Arrow's hash table takes less time."""
_SIGNED, _UNSIGNED, _FLOAT = range(3)
_OTHER_FLOATS = (math.nan, 0.0, -0.0)

NumberRanges: TypeAlias = tuple[int, NDArray[np.uint64], NDArray[np.uint64], bool]
"""As `engine.ReadForms` takes them: kind, bits of the first and last number of each range, whether NaN satisfies it."""


def number_ranges(native: ModuleType, schema: pa.Schema, name: str, part: pc.Expression) -> NumberRanges | None:
    """Return the ranges of numbers that satisfy a condition.

    Parameters
    ----------
    native
        What `installed_expressions` returns.
    schema
        Schema that the condition is bound to.
    name, part
        The one column that it asks for, and the condition.

    Returns
    -------
    tuple or None
        None for types that native code does not compare, and for too many literals. Also for conditions that do more
        than compare the column with literals.
    """
    type_ = schema.field(name).type
    dtype = _dtype_of(type_)
    if dtype is None:
        return None
    try:
        literals = _literals(compared_with(native.expression_tree(part, schema), type_), dtype)
        probes = _probes(literals, dtype)
        values = np.append(probes, np.array(_OTHER_FLOATS if dtype.kind == "f" else (), dtype))
        items = pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(values)], 0)
        flags = flags_of(native, schema, name, part, items, None)
    except (NotRanges, *MISFITS):
        return None
    nan = False
    if dtype.kind == "f":
        nan, zero, negative_zero = (flags[len(probes) : len(values)] != 0).tolist()
        # Lookups in a set tell them apart; comparisons do not.
        if zero != negative_zero:
            return None
    lows, highs = _joined(probes, flags[: len(probes)] != 0, literals)
    kind = {"i": _SIGNED, "u": _UNSIGNED, "f": _FLOAT}[dtype.kind]
    return kind, _bits(lows), _bits(highs), nan


def _dtype_of(type_: pa.DataType) -> np.dtype[Any] | None:
    """Return how values are stored, as they are compared; None for other types than numbers, dates and times."""
    if pa.types.is_integer(type_) or pa.types.is_float32(type_) or pa.types.is_float64(type_):
        return np.dtype(type_.to_pandas_dtype())
    if pa.types.is_temporal(type_) and not pa.types.is_interval(type_):
        return np.dtype(np.int32 if type_.bit_width == 32 else np.int64)
    return None


def _literals(compared: Iterable[pa.Array | Pattern], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return different literals as they are stored, ascending, without NaN: it satisfies no comparison."""
    found = [np.empty(0, dtype)]
    num_literals = 0
    for array in compared:
        if isinstance(array, Pattern):
            raise NotRanges
        num_literals += len(array)
        if num_literals > _MOST_LITERALS:
            raise NotRanges
        if len(array):
            found.append(np.frombuffer(array.buffers()[1], dtype)[array.offset : array.offset + len(array)])
    literals = np.concatenate(found)
    return _distinct(literals[literals == literals])  # noqa: PLR0124 - as said above


def _probes(literals: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return each literal, and the first number of each gap before, between and after them."""
    first, last = _ends(dtype)
    return _distinct(np.concatenate([np.array([first], dtype), literals, _neighbours(literals[literals < last], 1)]))


def _distinct(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return different numbers, ascending. `numpy.unique` takes several times as long for thousands of integers."""
    ordered = np.sort(numbers, kind="stable")
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _joined(
    probes: NDArray[Any], flags: NDArray[np.bool_], literals: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the first and last number of each range: gaps go up to the number before the next literal."""
    _, last = _ends(probes.dtype)
    stops = np.append(_neighbours(probes[1:], -1), probes.dtype.type(last))
    is_literal = np.append(literals, probes.dtype.type(last))[np.searchsorted(literals, probes)] == probes
    stops[is_literal] = probes[is_literal]
    starts_here, ends_here = ends_of_runs(flags)
    return probes[starts_here], stops[ends_here]


def _ends(dtype: np.dtype[Any]) -> tuple[int | float, int | float]:
    if dtype.kind == "f":
        return -math.inf, math.inf
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _neighbours(numbers: NDArray[Any], step: int) -> NDArray[Any]:
    """Return the numbers right behind some (`step` 1), or before them (-1); none of these is the last one there."""
    if numbers.dtype.kind == "f":
        # Infinity lies next to the largest number.
        with np.errstate(over="ignore"):
            return np.nextafter(numbers, numbers.dtype.type(step * math.inf))
    return numbers + numbers.dtype.type(1) if step > 0 else numbers - numbers.dtype.type(1)


def _bits(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    return numbers.view(f"u{numbers.itemsize}").astype(np.uint64)
