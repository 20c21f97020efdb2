"""Bounds of runs of values of one Arrow array: a kernel for every ordered type; long values are cut outward."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.kernels import bound_fixed, bound_variable
from lance_arrow.late_arrow import pc
from lance_arrow.statistics.zone_types import is_large, is_text, is_variable

MAX_BOUND_BYTES = 64
"""Longer strings and binary values are cut."""

_FEW_PLACES = 16
_SIGNED, _UNSIGNED, _FLOATING, _BIT, _BYTES = range(5)
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


class Bounds(NamedTuple):
    """Bounds of some zones.

    Parameters
    ----------
    mins, maxs
        ``(num_zones,)`` of the values' type. Null for zones without values. In `maxs` also null if no bound of the
        allowed length is greater than all values.
    min_exact, max_exact
        ``(num_zones,) bool``: whether the bound is a value of the zone.
    num_values, num_nulls, num_nans
        ``(num_zones,) int64``: values that are neither null nor NaN; nulls; NaNs.
    """

    mins: pa.Array
    maxs: pa.Array
    min_exact: NDArray[np.bool_]
    max_exact: NDArray[np.bool_]
    num_values: NDArray[np.int64]
    num_nulls: NDArray[np.int64]
    num_nans: NDArray[np.int64]


def bound_array(array: pa.Array, starts: NDArray[np.int64]) -> Bounds:
    """Compute the bounds of zones ``starts[i] .. starts[i + 1]`` of an array of an ordered type.

    Parameters
    ----------
    array
        Values; may be a slice.
    starts
        ``(num_zones + 1,) int64`` ascending positions in `array`.
    """
    if isinstance(array, pa.DictionaryArray):
        return _bound_dictionary(array, starts)
    counts = np.zeros(3 * (len(starts) - 1), np.int64)
    if is_variable(array.type):
        mins, maxs, min_exact, max_exact = _bound_variable(array, starts, counts)
    else:
        mins, maxs = _bound_fixed(array, starts, counts)
        min_exact = max_exact = counts[: len(starts) - 1] > 0
    values, nulls, nans = counts.reshape(3, -1)
    return Bounds(mins, maxs, min_exact, max_exact, values, nulls, nans)


def merge_bounds(parts: Bounds, starts: NDArray[np.int64]) -> Bounds:
    """Join the zones ``starts[i] .. starts[i + 1]``; none of these runs is empty."""
    below, above = bound_array(parts.mins, starts), bound_array(parts.maxs, starts)
    num_values, num_nulls, num_nans = (
        np.add.reduceat(counts, starts[:-1]) for counts in (parts.num_values, parts.num_nulls, parts.num_nans)
    )
    mins, maxs = below.mins, above.maxs
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    if is_variable(parts.mins.type):
        # If a part has no upper bound, the whole has none.
        has_unbounded = np.logical_or.reduceat((parts.num_values > 0) & _nulls(parts.maxs), starts[:-1])
        maxs = _with_nulls(maxs, has_unbounded)
    min_exact = _any_equal(parts.mins, mins, parts.min_exact, owners, starts)
    max_exact = _any_equal(parts.maxs, maxs, parts.max_exact, owners, starts)
    return Bounds(mins, maxs, min_exact, max_exact, num_values, num_nulls, num_nans)


def _any_equal(
    parts: pa.Array, merged: pa.Array, exact: NDArray[np.bool_], owners: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether the exact bound of some part is the merged one. Only strings have inexact bounds."""
    if not is_variable(parts.type):
        return ~_nulls(merged)
    equal = np.array([a == b for a, b in zip(_as_bytes(parts), _as_bytes(merged.take(owners)), strict=True)], np.bool_)
    return np.logical_or.reduceat(exact & equal & ~_nulls(parts), starts[:-1])


def _bound_dictionary(array: pa.DictionaryArray, starts: NDArray[np.int64]) -> Bounds:
    """Compute bounds of indices by the rank of their items, then replace them by the items."""
    items, indices = array.dictionary, array.indices
    order = _sorted_items(items)
    ranks = np.full(len(items), -1, np.int64)
    ranks[order] = np.arange(len(order))
    # Null items and NaN items have no rank; null values have no item.
    of_values = pa.array(ranks, mask=ranks < 0).take(indices)
    found = bound_array(of_values, starts)
    num_nans = np.zeros(len(starts) - 1, np.int64)
    if pa.types.is_floating(items.type):
        is_nan = pa.array(_nans(items)).take(indices).fill_null(False).cast(pa.int64()).to_numpy()
        before = np.concatenate([[0], np.cumsum(is_nan)])
        num_nans = before[starts[1:]] - before[starts[:-1]]
    sides = []
    for of_ranks in (found.mins, found.maxs):
        places = pa.array(order, pa.int64()).take(of_ranks)
        one_each = np.arange(len(of_ranks) + 1, dtype=np.int64)
        sides.append(bound_array(items.take(places), one_each))
    low, high = sides
    return Bounds(
        low.mins, high.maxs, low.min_exact, high.max_exact, found.num_values, found.num_nulls - num_nans, num_nans
    )


def _sorted_items(items: pa.Array) -> NDArray[np.int64]:
    """Return the positions of the items, smallest first, without nulls and NaN."""
    if pa.types.is_float16(items.type):
        items = items.cast(pa.float32())
    if pa.types.is_boolean(items.type):
        items = items.cast(pa.uint8())
    places = pc.array_sort_indices(items).to_numpy().astype(np.int64)
    passed = _nulls(items) | _nans(items)
    return places[~passed[places]]


def _nans(items: pa.Array) -> NDArray[np.bool_]:
    if not pa.types.is_floating(items.type):
        return np.zeros(len(items), np.bool_)
    return np.isnan(items.to_numpy(zero_copy_only=False)) & ~_nulls(items)


def _nulls(array: pa.Array) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return flags


def _with_nulls(array: pa.Array, more: NDArray[np.bool_]) -> pa.Array:
    if not more.any():
        return array
    return pa.array([None if null else value for value, null in zip(array.to_pylist(), more, strict=True)], array.type)


def _bytes_of(buffer: pa.Buffer | None) -> NDArray[np.uint8]:
    return np.zeros(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)


def _validity(array: pa.Array) -> NDArray[np.uint8] | None:
    bitmap = array.buffers()[0]
    return None if bitmap is None or not array.null_count else _bytes_of(bitmap)


def kind_of_bounds(type_: pa.DataType) -> tuple[int, int]:
    """Return the kind of the kernel and the bytes of a value."""
    types = pa.types
    if types.is_boolean(type_):
        return _BIT, 1
    if types.is_fixed_size_binary(type_):
        return _BYTES, type_.byte_width
    width = type_.bit_width // 8
    if types.is_floating(type_):
        return _FLOATING, width
    return (_UNSIGNED if types.is_unsigned_integer(type_) else _SIGNED), width


def _bound_fixed(array: pa.Array, starts: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[pa.Array, pa.Array]:
    kind, width = kind_of_bounds(array.type)
    num_zones = len(starts) - 1
    mins, maxs = np.zeros(num_zones * width, np.uint8), np.zeros(num_zones * width, np.uint8)
    values = _bytes_of(array.buffers()[1])
    bound_fixed(values, array.offset, kind, width, _validity(array), array.offset, starts, mins, maxs, counts)
    return _sides(array.type, mins, maxs, counts)


def fixed_bounds(
    type_: pa.DataType, mins: NDArray[np.uint8], maxs: NDArray[np.uint8], counts: NDArray[np.int64]
) -> Bounds:
    """Return bounds that `kernels.bound_fixed` made of values of a type."""
    lows, highs = _sides(type_, mins, maxs, counts)
    values, nulls, nans = counts.reshape(3, -1)
    return Bounds(lows, highs, values > 0, values > 0, values, nulls, nans)


def string_bounds(
    type_: pa.DataType,
    lows: list[tuple[bytes | None, bool]],
    highs: list[tuple[bytes | None, bool]],
    counts: NDArray[np.int64],
) -> Bounds:
    """Return bounds of byte strings: of each zone the bytes, or None, and whether they are a value."""
    sides = [_strings([bound for bound, _ in side], type_) for side in (lows, highs)]
    exact = [np.array([is_exact for _, is_exact in side], np.bool_) for side in (lows, highs)]
    return Bounds(*sides, *exact, *counts.reshape(3, -1))


def _sides(
    type_: pa.DataType, mins: NDArray[np.uint8], maxs: NDArray[np.uint8], counts: NDArray[np.int64]
) -> tuple[pa.Array, pa.Array]:
    num_zones = len(counts) // 3
    validity = None
    if 0 in counts[:num_zones].tolist():
        validity = pa.py_buffer(np.packbits(counts[:num_zones] > 0, bitorder="little"))
    sides = []
    for side in (mins, maxs):
        data = np.packbits(side.astype(np.bool_), bitorder="little") if type_ == pa.bool_() else side
        sides.append(pa.Array.from_buffers(type_, num_zones, [validity, pa.py_buffer(data)]))
    return sides[0], sides[1]


def _bound_variable(
    array: pa.Array, starts: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[pa.Array, pa.Array, NDArray[np.bool_], NDArray[np.bool_]]:
    num_zones = len(starts) - 1
    bits = 64 if is_large(array.type) else 32
    low, high = np.zeros(num_zones, np.int64), np.zeros(num_zones, np.int64)
    _, offsets, data = array.buffers()
    # Empty arrays may have no offsets.
    of_slice = _bytes_of(offsets)[array.offset * bits // 8 :] if len(array) else np.zeros(bits // 8, np.uint8)
    bound_variable(of_slice, bits, _bytes_of(data), _validity(array), array.offset, starts, low, high, counts)
    mins, min_exact = _cut_bounds(array, low, _cut_down)
    maxs, max_exact = _cut_bounds(array, high, _cut_up)
    return mins, maxs, min_exact, max_exact


def _as_bytes(array: pa.Array) -> list[bytes | None]:
    """Return values, cut to one byte more than the limit, so that no long value is copied."""
    raw = array.view(pa.large_binary() if is_large(array.type) else pa.binary())
    cut: list[bytes | None] = pc.binary_slice(raw, 0, MAX_BOUND_BYTES + 4).to_pylist()
    return cut


def _values_at(array: pa.Array, places: NDArray[np.int64]) -> list[bytes | None]:
    """Return few values (-1: none), cut as in `_as_bytes`: slices of bytes are faster than Arrow calls."""
    _, offsets, data = array.buffers()
    width = 8 if is_large(array.type) else 4
    if offsets is None:
        return [None] * len(places)
    ends, bytes_ = memoryview(offsets), memoryview(b"" if data is None else data)
    found: list[bytes | None] = []
    for place in places.tolist():
        if place < 0:
            found.append(None)
            continue
        at = (array.offset + place) * width
        start, stop = (int.from_bytes(ends[one : one + width], "little") for one in (at, at + width))
        found.append(bytes(bytes_[start : min(stop, start + MAX_BOUND_BYTES + 4)]))
    return found


def _cut_bounds(array: pa.Array, places: NDArray[np.int64], cut: object) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return the values at `places` (-1: none) as bounds."""
    text = is_text(array.type)
    if len(places) <= _FEW_PLACES:
        chosen = _values_at(array, places)
    else:
        chosen = _as_bytes(array.take(pa.array(places, mask=places < 0)))
    found = [(None, False) if value is None else cut(value, text) for value in chosen]  # type: ignore[operator]
    exact = np.array([is_exact for _, is_exact in found], np.bool_)
    return _strings([bound for bound, _ in found], array.type), exact


def _strings(values: list[bytes | None], type_: pa.DataType) -> pa.Array:
    """Build an array of strings or binary; a check of few values takes less time than Arrow's conversion."""
    parts = [b"" if value is None else value for value in values]
    offsets = np.zeros(len(parts) + 1, np.int64 if is_large(type_) else np.int32)
    offsets[1:] = list(accumulate(map(len, parts)))
    validity = None
    if None in values:
        present = np.array([value is not None for value in values], np.bool_)
        validity = pa.py_buffer(np.packbits(present, bitorder="little"))
    data = pa.py_buffer(b"".join(parts))
    return pa.Array.from_buffers(type_, len(parts), [validity, pa.py_buffer(offsets), data])


def _fitting(value: bytes, text: bool) -> bytes:
    """Return the longest prefix of whole characters within the length limit of a bound."""
    prefix = value[:MAX_BOUND_BYTES]
    if not text:
        return prefix
    try:
        prefix.decode()
    except UnicodeDecodeError as error:
        return prefix[: error.start]
    return prefix


def _cut_down(value: bytes, text: bool) -> tuple[bytes | None, bool]:
    """Return the lower bound of a value, and whether it equals the value."""
    prefix = _fitting(value, text)
    return prefix, len(prefix) == len(value)


def _cut_up(value: bytes, text: bool) -> tuple[bytes | None, bool]:
    """Return the upper bound of a value, None if none of this length exists, and whether it equals the value."""
    prefix = _fitting(value, text)
    if len(prefix) == len(value):
        return prefix, True
    return successor(prefix, text), False


def successor(prefix: bytes, text: bool) -> bytes | None:
    """Return the smallest value above all that begin with `prefix`; None if there is none (all ``0xff``)."""
    if not text:
        kept = prefix.rstrip(b"\xff")
        return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
    characters = prefix.decode()
    while characters:
        following = ord(characters[-1]) + 1
        following = _SURROGATES.stop if following in _SURROGATES else following
        characters = characters[:-1]
        if following <= _LAST_CODE_POINT:
            return (characters + chr(following)).encode()
    return None
