"""Checks of what a codec says of numbers without decoding them, which `CodecSuite` runs for every codec.

A codec without `native_marks` passes. With it, marks must be those of the numbers that `decode` gives, and no number
may lie outside the bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import engine
from lance_arrow.errors import LanceError
from lance_arrow.spi.native import marks_side
from lance_arrow.testing.native_suite import chunk_selections, decoded_values

_KINDS = {0: "i", 1: "u", 2: "f"}
_Numbers = NDArray[Any]


def mark_differences(bound: Any, units: Any, counts: Any, may_refuse: bool = False) -> Iterator[str]:
    """Yield what is wrong with the marks of each chunk, for several conditions and selections.

    Parameters
    ----------
    bound
        A bound codec of chunks; nothing is yielded if it says nothing of numbers.
    units, counts, may_refuse
        As of `native_differences`.
    """
    capsule = marks_side(bound)
    if capsule is None:
        return
    bits = bound.shape.bits
    for number, (buffers, count) in enumerate(zip(units, counts, strict=True)):
        arrays = [np.frombuffer(buffer, np.uint8) for buffer in buffers]
        decoded = decoded_values(bound, arrays, count)
        for kind, letter in _KINDS.items():
            if letter == "f" and bits < 32:
                continue
            dtype = np.dtype(f"{letter}{bits // 8}")
            values = None if decoded is None else np.frombuffer(b"".join(decoded), dtype)
            for wrong in _of_chunk(capsule, arrays, count, kind, dtype, values, may_refuse):
                yield f"unit {number}, {dtype}: {wrong}"


def _of_chunk(
    capsule: Any, arrays: Any, count: int, kind: int, dtype: np.dtype[Any], values: _Numbers | None, may_refuse: bool
) -> Iterator[str]:
    for lows, highs, nan in _conditions(np.zeros(1, dtype) if values is None else values):
        for starts, stops in chunk_selections(count):
            try:
                marks, bounds = engine.mark_numbers(
                    capsule, arrays, count, starts, stops, kind, 8 * dtype.itemsize, _bits(lows), _bits(highs), nan
                )
            except LanceError as error:
                if values is not None and not may_refuse:
                    yield f"refused {error}"
                continue
            if values is None:
                if marks is not None or bounds is not None:
                    yield "accepted bytes that decode rejects"
                continue
            if bounds is not None:
                least, greatest = np.array(bounds, np.uint64).astype(f"u{dtype.itemsize}").view(dtype)
                if len(values) and not (least <= values.min() and values.max() <= greatest):
                    yield f"numbers lie outside the bounds {least} and {greatest}"
            if marks is None:
                continue
            wanted = np.concatenate([values[start:stop] for start, stop in zip(starts, stops, strict=True)])
            if marks != _marks(wanted, lows, highs, nan).tobytes():
                yield f"other marks for ranges from {lows.tolist()} to {highs.tolist()}"


def _conditions(values: _Numbers) -> Iterator[tuple[_Numbers, _Numbers, bool]]:
    """Yield ranges around the numbers: none, all, one number, two of them with a gap, and those outside."""
    dtype, is_float = values.dtype, values.dtype.kind == "f"
    known = np.sort(values[~np.isnan(values)] if is_float else values)
    known = known if len(known) else np.zeros(1, dtype)
    limits = np.finfo(dtype) if is_float else np.iinfo(dtype)
    lowest, highest, middle = limits.min, limits.max, known[len(known) // 2]
    for nan in (False, True) if is_float else (False,):
        yield np.array([], dtype), np.array([], dtype), nan
        yield np.array([lowest], dtype), np.array([highest], dtype), nan
        yield np.array([middle], dtype), np.array([middle], dtype), nan
        yield known[:1], np.array([middle], dtype), nan
        if known[0] < known[-1]:
            yield known[[0, -1]], known[[0, -1]], nan
        if middle < known[-1]:
            yield known[-1:], np.array([highest], dtype), nan


def _marks(values: _Numbers, lows: _Numbers, highs: _Numbers, nan: bool) -> NDArray[np.uint8]:
    found = np.zeros(len(values), bool)
    for low, high in zip(lows, highs, strict=True):
        found |= (values >= low) & (values <= high)
    if nan and values.dtype.kind == "f":
        found |= np.isnan(values)
    return found.view(np.uint8)


def _bits(numbers: _Numbers) -> NDArray[np.uint64]:
    return np.ascontiguousarray(numbers).view(f"u{numbers.dtype.itemsize}").astype(np.uint64)
