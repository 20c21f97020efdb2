"""Numpy twins of ``engine/door/runs.pxi``."""

from __future__ import annotations

import numpy as np

from lance_arrow.errors import CorruptPageError, InternalError
from numpy_kernels.chunks import Bytes, Chunk, Positions, each_chunk, words


def _require_width(bytes_per_value: int) -> None:
    if bytes_per_value not in (1, 2, 4, 8):
        raise InternalError("bytes_per_value is none of 1, 2, 4, 8")


def _expand_chunk(
    values: Bytes, lengths: Bytes, chunk: Chunk, bytes_per_value: int, out: Bytes, *, may_exceed: bool
) -> None:
    if len(values) != len(lengths) * bytes_per_value:
        raise CorruptPageError("run values and run lengths differ in number", detail=chunk.index)
    if (lengths == 0).any():
        raise CorruptPageError("a run has length 0", detail=chunk.index)
    excess = int(lengths.sum(dtype=np.int64)) - chunk.num_values
    if excess != 0 and not (may_exceed and 0 < excess < int(lengths[-1])):
        raise CorruptPageError("run lengths do not sum to the number of values", detail=chunk.index)
    expanded = np.repeat(words(values, 8 * bytes_per_value), lengths)[: chunk.num_values]
    out[chunk.first_value * bytes_per_value : chunk.stop_value * bytes_per_value] = expanded.view(np.uint8)


def expand_runs(
    data: Bytes,
    values_starts: Positions,
    values_sizes: Positions,
    lengths_starts: Positions,
    lengths_sizes: Positions,
    value_starts: Positions,
    bytes_per_value: int,
    out: Bytes,
) -> None:
    """Expand chunks whose run values and 8-bit run lengths are two buffers; the last run may reach past its chunk."""
    if not len(lengths_starts) == len(lengths_sizes) == len(values_starts):
        raise InternalError("starts, sizes and value_starts have contradicting lengths")
    _require_width(bytes_per_value)
    for chunk in each_chunk(data, values_starts, values_sizes, value_starts, len(out) // bytes_per_value):
        start, size = int(lengths_starts[chunk.index]), int(lengths_sizes[chunk.index])
        if start < 0 or size < 0 or start + size > len(data):
            raise CorruptPageError("run lengths lie outside their page", detail=chunk.index)
        _expand_chunk(chunk.bytes, data[start : start + size], chunk, bytes_per_value, out, may_exceed=True)


def expand_run_blocks(
    data: Bytes, starts: Positions, sizes: Positions, value_starts: Positions, bytes_per_value: int, out: Bytes
) -> None:
    """Expand blocks: a u64 byte count of the run values, the values, then 8-bit run lengths."""
    _require_width(bytes_per_value)
    for chunk in each_chunk(data, starts, sizes, value_starts, len(out) // bytes_per_value):
        if len(chunk.bytes) < 8:
            raise CorruptPageError("a run block is shorter than its header", detail=chunk.index)
        values_bytes = int(words(chunk.bytes[:8], 64)[0])
        if values_bytes > len(chunk.bytes) - 8:
            raise CorruptPageError("a run block's values leave it", detail=chunk.index)
        values, lengths = chunk.bytes[8 : 8 + values_bytes], chunk.bytes[8 + values_bytes :]
        _expand_chunk(values, lengths, chunk, bytes_per_value, out, may_exceed=False)
