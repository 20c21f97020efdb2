"""Checks of what a codec says of values without decoding them, which `CodecSuite` runs for every codec.

A codec without `native_marks` passes. With it, marks must be those of the values that `decode` gives, and no number may
lie outside the bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import engine
from lance_arrow.errors import LanceError
from lance_arrow.spi import VariableWidth
from lance_arrow.spi.native import marks_side
from lance_arrow.testing.native_suite import chunk_selections, decoded_values

_KINDS = {0: "i", 1: "u", 2: "f"}
_Numbers = NDArray[Any]


def mark_differences(bound: Any, units: Any, counts: Any, may_refuse: bool = False) -> Iterator[str]:
    """Yield what is wrong with the marks of each chunk, for several conditions and selections.

    Parameters
    ----------
    bound
        A bound codec of chunks; nothing is yielded if it says nothing of its values.
    units, counts, may_refuse
        As of `native_differences`.
    """
    capsule = marks_side(bound)
    if capsule is None:
        return
    if isinstance(bound.shape, VariableWidth):
        yield from _text_differences(bound, capsule, units, counts, may_refuse)
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


def _text_differences(bound: Any, capsule: Any, units: Any, counts: Any, may_refuse: bool) -> Iterator[str]:
    for number, (buffers, count) in enumerate(zip(units, counts, strict=True)):
        arrays = [np.frombuffer(buffer, np.uint8) for buffer in buffers]
        decoded = decoded_values(bound, arrays, count)
        for ranges in _text_conditions([] if decoded is None else decoded):
            for starts, stops in chunk_selections(count):
                try:
                    marks = engine.mark_texts(capsule, arrays, count, starts, stops, ranges)
                except LanceError as error:
                    if decoded is not None and not may_refuse:
                        yield f"unit {number}: refused {error}"
                    continue
                if marks is None:
                    continue
                if decoded is None:
                    # Of some values, only these are looked at.
                    if sum(stops) - sum(starts) == count:
                        yield f"unit {number}: accepted bytes that decode rejects"
                    continue
                wanted = [
                    decoded[place] for start, stop in zip(starts, stops, strict=True) for place in range(start, stop)
                ]
                expected = bytes(
                    any(low <= value and (high is None or value < high) for low, high in ranges) for value in wanted
                )
                if marks != expected:
                    yield f"unit {number}: other marks for the ranges {ranges}"


def _text_conditions(values: list[bytes]) -> Iterator[list[tuple[bytes, bytes | None]]]:
    """Yield ranges around byte strings: none, all, one string, beginnings, two ranges with a gap, those outside."""
    known = sorted({*values, b"a long beginning"})
    middle, first, last = known[len(known) // 2], known[0], known[-1]
    yield []
    yield [(b"", None)]
    yield [(middle, middle + b"\0")]
    yield [(middle[:3], middle[:3] + b"\xff\xff")]
    yield [(middle, None)]
    yield [(b"", middle + b"\0")]
    if first + b"\0" <= last:
        yield [(first, first + b"\0"), (last, None)]
        yield [(first, first + b"\0"), (last, last + b"\0")]
    yield [(last + b"\0", None)]


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
