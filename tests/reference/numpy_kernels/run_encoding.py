"""Numpy twins of ``engine/door/encode/run_encoding.pxi``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import InternalError
from numpy_kernels.chunks import Bytes, Positions, each_part, words

_LONGEST_RUN = 255


def _require(bytes_per_value: int, value_starts: Positions, outputs: Positions) -> None:
    if len(outputs) != len(value_starts) - 1:
        raise InternalError("value_starts and outputs have contradicting lengths")
    if bytes_per_value not in (1, 2, 4, 8):
        raise InternalError("bytes_per_value is none of 1, 2, 4, 8")


def _runs(values: Bytes, start: int, stop: int, width: int) -> tuple[Bytes, NDArray[np.uint8]]:
    """Run values, as bytes, and run lengths of one part."""
    part = words(values[start * width : stop * width], 8 * width)
    if not len(part):
        return np.empty(0, np.uint8), np.empty(0, np.uint8)
    borders = np.append(np.append(0, np.flatnonzero(part[1:] != part[:-1]) + 1), len(part))
    pieces = -(-np.diff(borders) // _LONGEST_RUN)
    lengths = np.full(pieces.sum(), _LONGEST_RUN)
    lengths[np.cumsum(pieces) - 1] = np.diff(borders) - (pieces - 1) * _LONGEST_RUN
    return np.repeat(part[borders[:-1]], pieces).view(np.uint8), lengths.astype(np.uint8)


def count_run_entries(values: Bytes, value_starts: Positions, bytes_per_value: int, out_counts: Positions) -> None:
    """Count the runs of each part, a longer one than 255 as several."""
    _require(bytes_per_value, value_starts, out_counts)
    for index, start, stop in each_part(values, value_starts, bytes_per_value):
        out_counts[index] = len(_runs(values, start, stop, bytes_per_value)[1])


def encode_runs(
    values: Bytes,
    value_starts: Positions,
    bytes_per_value: int,
    out_values: Bytes,
    out_lengths: Bytes,
    out_counts: Positions,
) -> int:
    """Write run values and run lengths of all parts, each one after another."""
    _require(bytes_per_value, value_starts, out_counts)
    room = min(len(out_lengths), len(out_values) // bytes_per_value)
    total = 0
    for index, start, stop in each_part(values, value_starts, bytes_per_value):
        run_values, lengths = _runs(values, start, stop, bytes_per_value)
        if len(lengths) > room - total:
            raise InternalError("the output is too small", detail=index)
        out_values[total * bytes_per_value : (total + len(lengths)) * bytes_per_value] = run_values
        out_lengths[total : total + len(lengths)] = lengths
        out_counts[index] = len(lengths)
        total += len(lengths)
    return total


def encode_run_blocks(
    values: Bytes, value_starts: Positions, bytes_per_value: int, out_sizes: Positions, out: Bytes
) -> int:
    """Write each part as a block: u64 bytes of the run values, run values, run lengths."""
    _require(bytes_per_value, value_starts, out_sizes)
    total = 0
    for index, start, stop in each_part(values, value_starts, bytes_per_value):
        run_values, lengths = _runs(values, start, stop, bytes_per_value)
        header = np.array([len(run_values)], "<u8").view(np.uint8)
        block = np.concatenate([header, run_values, lengths])
        if len(block) > len(out) - total:
            raise InternalError("the output is too small", detail=index)
        out[total : total + len(block)] = block
        out_sizes[index] = len(block)
        total += len(block)
    return total
