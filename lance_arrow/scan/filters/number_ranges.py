"""`number_ranges`: the ranges of numbers that satisfy a condition on one column, so that native code judges them.

quantity < 24 OR quantity = 50 ─► literals 24 and 50, and a number of each gap ─► Arrow ─► up to 23, and 50

What a literal, a gap, null and NaN give is not worked out here: Arrow evaluates the condition for them.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.scan.filters.bound_filters import flags_of
from lance_arrow.scan.filters.compared import MOST_RANGES, NotRanges, Pattern, compared_with
from lance_arrow.scan.predicates import MISFITS

_MOST_LITERALS = 64
_SIGNED, _UNSIGNED, _FLOAT = range(3)
_OTHER_FLOATS = (math.nan, 0.0, -0.0)

NumberRanges: TypeAlias = tuple[int, list[int], list[int], bool]
"""As `engine.ReadForms` takes them: kind, bits of the first and last number of each range, whether NaN satisfies it."""


def number_ranges(native: ModuleType, schema: pa.Schema, name: str, part: pc.Expression) -> NumberRanges | None:
    """Return the ranges of numbers that satisfy a condition.

    Parameters
    ----------
    native
        The bridge.
    schema
        Schema that the condition is bound to.
    name, part
        The one column that it asks for, and the condition.

    Returns
    -------
    tuple or None
        None for types that native code does not compare, and for more than a few ranges. Also for conditions that do
        more than compare the column with literals.
    """
    type_ = schema.field(name).type
    dtype = _dtype_of(type_)
    if dtype is None:
        return None
    try:
        tree = native.expression_tree(part, schema)
        numbers = [_number(one, dtype) for one in compared_with(tree, type_)]
        literals = sorted({one for one in numbers if one == one})  # noqa: PLR0124 - NaN satisfies no comparison
        probes = _probes(literals, dtype)
        values = np.array([*probes, *_OTHER_FLOATS] if dtype.kind == "f" else probes, dtype)
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
    lows, highs = _joined(values[: len(probes)], flags[: len(probes)] != 0, literals, dtype)
    if len(lows) > MOST_RANGES:
        return None
    kind = {"i": _SIGNED, "u": _UNSIGNED, "f": _FLOAT}[dtype.kind]
    return kind, _bits(lows), _bits(highs), nan


def _dtype_of(type_: pa.DataType) -> np.dtype[Any] | None:
    """Return how values are stored, as they are compared; None for other types than numbers, dates and times."""
    if pa.types.is_integer(type_) or pa.types.is_float32(type_) or pa.types.is_float64(type_):
        return np.dtype(type_.to_pandas_dtype())
    if pa.types.is_temporal(type_) and not pa.types.is_interval(type_):
        return np.dtype(np.int32 if type_.bit_width == 32 else np.int64)
    return None


def _number(value: pa.Scalar | Pattern, dtype: np.dtype[Any]) -> int | float:
    """Return a literal as it is stored."""
    if isinstance(value, Pattern):
        raise NotRanges
    stored = pa.array([value], value.type) if pa.types.is_temporal(value.type) else None
    found: int | float = value.as_py() if stored is None else np.frombuffer(stored.buffers()[1], dtype, 1)[0].item()
    return found


def _probes(literals: list[int | float], dtype: np.dtype[Any]) -> list[int | float]:
    """Return each literal, and the first number of each gap before, between and after them."""
    if len(literals) > _MOST_LITERALS:
        raise NotRanges
    first, last = _ends(dtype)
    probes: list[int | float] = []
    after: int | float | None = first
    for literal in literals:
        if after is not None and after < literal:
            probes.append(after)
        probes.append(literal)
        after = None if literal >= last else _next(literal, dtype)
    if after is not None:
        probes.append(after)
    return probes


def _joined(
    probes: NDArray[Any], flags: NDArray[np.bool_], literals: list[int | float], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the first and last number of each range: gaps go up to the number before the next literal."""
    known = set(literals)
    _, last = _ends(dtype)
    lows: list[int | float] = []
    highs: list[int | float] = []
    was_set = False
    for place, (start, flag) in enumerate(zip(probes.tolist(), flags.tolist(), strict=True)):
        is_last = place + 1 == len(probes)
        stop = start if start in known else last if is_last else _before(probes[place + 1].item(), dtype)
        if flag and was_set:
            highs[-1] = stop
        elif flag:
            lows.append(start)
            highs.append(stop)
        was_set = flag
    return np.array(lows, dtype), np.array(highs, dtype)


def _ends(dtype: np.dtype[Any]) -> tuple[int | float, int | float]:
    if dtype.kind == "f":
        return -math.inf, math.inf
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _next(number: int | float, dtype: np.dtype[Any]) -> int | float:
    return number + 1 if dtype.kind != "f" else np.nextafter(dtype.type(number), dtype.type(math.inf)).item()


def _before(number: int | float, dtype: np.dtype[Any]) -> int | float:
    return number - 1 if dtype.kind != "f" else np.nextafter(dtype.type(number), dtype.type(-math.inf)).item()


def _bits(numbers: NDArray[Any]) -> list[int]:
    found: list[int] = numbers.view(f"u{numbers.itemsize}").astype(np.uint64).tolist()
    return found
