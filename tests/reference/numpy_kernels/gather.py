"""Numpy twins of ``engine/door/gather.pxi``."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError, InternalError
from numpy_kernels.chunks import Bytes, Positions, each_chunk, words
from numpy_kernels.variable import VariableWriter, stored_offsets

_LARGEST = 2**63 - 1


def _require_width(bytes_per_value: int) -> None:
    if bytes_per_value < 1:
        raise InternalError("bytes_per_value is below 1")


def _read_indices(indices: Bytes, index_bits: int) -> list[int]:
    if index_bits not in (8, 16, 32, 64):
        raise InternalError("index_bits is none of 8, 16, 32, 64")
    if len(indices) % (index_bits // 8):
        raise InternalError("indices are not a whole number of indices")
    return [int(index) for index in words(indices, index_bits)]


def _each_run(run_starts: Positions, run_stops: Positions) -> list[tuple[int, int]]:
    if len(run_starts) != len(run_stops):
        raise InternalError("run_starts and run_stops have different lengths")
    return list(zip(run_starts.tolist(), run_stops.tolist(), strict=True))


def _require_run(run: int, start: int, stop: int, num_items: int) -> None:
    if not 0 <= start <= stop <= num_items:
        raise InternalError("a run leaves the source", detail=run)


def copy_fixed(
    data: Bytes, starts: Positions, sizes: Positions, value_starts: Positions, bytes_per_value: int, out: Bytes
) -> None:
    """Copy the values of plain chunks to their places."""
    _require_width(bytes_per_value)
    for chunk in each_chunk(data, starts, sizes, value_starts, len(out) // bytes_per_value):
        num_bytes = chunk.num_values * bytes_per_value
        if len(chunk.bytes) < num_bytes:
            raise CorruptPageError("a chunk is shorter than its values", detail=chunk.index)
        first = chunk.first_value * bytes_per_value
        out[first : first + num_bytes] = chunk.bytes[:num_bytes]


def take_runs_fixed(src: Bytes, bytes_per_value: int, run_starts: Positions, run_stops: Positions, out: Bytes) -> None:
    """Copy runs of values back to back."""
    _require_width(bytes_per_value)
    num_items = len(src) // bytes_per_value
    position, room = 0, len(out) // bytes_per_value
    for run, (start, stop) in enumerate(_each_run(run_starts, run_stops)):
        _require_run(run, start, stop, num_items)
        if stop - start > room - position:
            raise InternalError("the output is too small", detail=run)
        values = src[start * bytes_per_value : stop * bytes_per_value]
        out[position * bytes_per_value : position * bytes_per_value + len(values)] = values
        position += stop - start


def take_marked_fixed(src: Bytes, bytes_per_value: int, bits: Bytes, bit_offset: int, out: Bytes) -> None:
    """Copy the values that are marked."""
    if bytes_per_value < 1:
        raise InternalError("bytes_per_value is below 1")
    values = src[: len(src) // bytes_per_value * bytes_per_value].reshape(-1, bytes_per_value)
    if bit_offset < 0 or bit_offset + len(values) > 8 * len(bits):
        raise InternalError("the bits to count leave the source")
    marks = np.unpackbits(bits, bitorder="little")[bit_offset : bit_offset + len(values)] != 0
    kept = values[marks]
    if len(kept) > len(out) // bytes_per_value:
        raise InternalError("the output is too small")
    out[: kept.size] = kept.ravel()


def take_fixed(src: Bytes, bytes_per_value: int, indices: Bytes, index_bits: int, out: Bytes) -> None:
    """Copy the value of each index."""
    _require_width(bytes_per_value)
    chosen = _read_indices(indices, index_bits)
    if len(chosen) > len(out) // bytes_per_value:
        raise InternalError("the output is too small")
    num_items = len(src) // bytes_per_value
    items = src[: num_items * bytes_per_value].reshape(num_items, bytes_per_value)
    for value, index in enumerate(chosen):
        if index >= num_items:
            raise CorruptPageError("an index lies outside the dictionary", detail=value)
        out[value * bytes_per_value : (value + 1) * bytes_per_value] = items[index]


def copy_values(data: Bytes, starts: Positions, bytes_per_value: int, out: Bytes) -> None:
    """Copy values of one width from arbitrary byte positions."""
    _require_width(bytes_per_value)
    if len(starts) > len(out) // bytes_per_value:
        raise InternalError("the output is too small")
    for value, start in enumerate(starts.tolist()):
        if not 0 <= start <= len(data) - bytes_per_value:
            raise CorruptPageError("a value lies outside its page", detail=value)
        out[value * bytes_per_value : (value + 1) * bytes_per_value] = data[start : start + bytes_per_value]


def clear_null_indices(
    indices: Bytes, index_bits: int, num_items: int, null_index: int, def_levels: NDArray[np.uint16] | None
) -> None:
    """Set the index of null slots to ``null_index``, in place, and check all others."""
    if num_items < 0:
        raise InternalError("num_items is negative")
    if not 0 <= null_index < 2 ** min(index_bits, 63):
        raise InternalError("null_index does not fit the indices")
    chosen = _read_indices(indices, index_bits)
    cleared = np.frombuffer(null_index.to_bytes(index_bits // 8, "little"), np.uint8)
    if def_levels is not None and len(def_levels) != len(chosen):
        raise InternalError("def_levels and indices have different lengths")
    width = index_bits // 8
    for value, index in enumerate(chosen):
        if def_levels is not None and def_levels[value] > 0:
            indices[value * width : (value + 1) * width] = cleared
        elif index >= num_items:
            raise CorruptPageError("an index lies outside the dictionary", detail=value)


def _indexed_spans(
    offsets: Bytes, offset_bits: int, indices: Bytes, index_bits: int, data_bytes: int
) -> list[tuple[int, int] | CorruptPageError]:
    """Byte range of each index's item; an error stands in the place where it is to be raised."""
    stored = stored_offsets(offsets, offset_bits)
    spans: list[tuple[int, int] | CorruptPageError] = []
    for value, index in enumerate(_read_indices(indices, index_bits)):
        if index >= len(stored) - 1:
            spans.append(CorruptPageError("an index lies outside the dictionary", detail=value))
        elif not stored[index] <= stored[index + 1] <= data_bytes:
            spans.append(CorruptPageError("the offsets of a dictionary item are wrong", detail=value))
        else:
            spans.append((stored[index], stored[index + 1]))
    return spans


def measure_take_variable(offsets: Bytes, offset_bits: int, indices: Bytes, index_bits: int) -> int:
    """Return the bytes that `take_variable` will write."""
    total = 0
    for value, span in enumerate(_indexed_spans(offsets, offset_bits, indices, index_bits, _LARGEST)):
        if isinstance(span, CorruptPageError):
            raise span
        total += span[1] - span[0]
        if total > _LARGEST:
            raise CorruptPageError("too many bytes", detail=value)
    return total


def take_variable(
    offsets: Bytes,
    offset_bits: int,
    data: Bytes,
    indices: Bytes,
    index_bits: int,
    out_offsets: Bytes,
    out_offset_bits: int,
    out_data: Bytes,
) -> None:
    """Copy the variable-width value of each index."""
    spans = _indexed_spans(offsets, offset_bits, indices, index_bits, len(data))
    writer = VariableWriter(out_offsets, out_offset_bits, out_data)
    for value, span in enumerate(spans):
        if isinstance(span, CorruptPageError):
            raise span
        writer.require(1, span[1] - span[0], value)
        writer.append(data[span[0] : span[1]])


def _run_offsets(run: int, stored: list[int], start: int, stop: int, data_bytes: int) -> list[int]:
    _require_run(run, start, stop, max(len(stored) - 1, 0))
    offsets = stored[start : stop + 1] if stop > start else []
    if offsets and (offsets != sorted(offsets) or offsets[-1] > data_bytes):
        raise CorruptPageError("the offsets of a run are wrong", detail=run)
    return offsets


def measure_take_runs_variable(offsets: Bytes, offset_bits: int, run_starts: Positions, run_stops: Positions) -> int:
    """Return the bytes that `take_runs_variable` will write."""
    stored = stored_offsets(offsets, offset_bits)
    total = 0
    for run, (start, stop) in enumerate(_each_run(run_starts, run_stops)):
        of_run = _run_offsets(run, stored, start, stop, _LARGEST)
        total += of_run[-1] - of_run[0] if of_run else 0
        if total > _LARGEST:
            raise CorruptPageError("too many bytes", detail=run)
    return total


def take_runs_variable(
    offsets: Bytes,
    offset_bits: int,
    data: Bytes,
    run_starts: Positions,
    run_stops: Positions,
    out_offsets: Bytes,
    out_offset_bits: int,
    out_data: Bytes,
) -> None:
    """Copy runs of variable-width values back to back."""
    stored = stored_offsets(offsets, offset_bits)
    runs = _each_run(run_starts, run_stops)
    writer = VariableWriter(out_offsets, out_offset_bits, out_data)
    for run, (start, stop) in enumerate(runs):
        of_run = _run_offsets(run, stored, start, stop, len(data))
        if of_run:
            writer.require(stop - start, of_run[-1] - of_run[0], run)
        for begin, end in pairwise(of_run):
            writer.append(data[begin:end])
