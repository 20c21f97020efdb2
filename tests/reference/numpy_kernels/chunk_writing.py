"""Mini-block chunks one by one: the meaning of ``engine/door/encode/chunk_writing.pxi``. Source: spec 3."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import InternalError

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]
_PADDING = 0xFE


def cut_levels(
    rep: NDArray[np.uint16],
    def_: NDArray[np.uint16] | None,
    max_rep: int,
    max_visible: int,
    value_starts: _Positions,
    out_level_starts: _Positions,
    out_index: _Positions,
) -> None:
    """Cut entries behind the last value of each chunk; count finished rows and what is left over."""
    num_chunks = len(value_starts) - 1
    if len(out_level_starts) != num_chunks + 1 or len(out_index) != 2 * num_chunks:
        raise InternalError("the outputs have another length than the chunks")
    if def_ is not None and len(def_) != len(rep):
        raise InternalError("definition levels and entries differ in number")
    if num_chunks < 1:
        raise InternalError("there are no chunks")
    if not 0 <= max_visible <= 0xFFFF:
        raise InternalError("levels have 16 bits")
    visible = np.flatnonzero(np.ones(len(rep), bool) if def_ is None else def_ <= max_visible)
    ends = np.append(np.flatnonzero(rep[1:] == max_rep) + 1, len(rep)) if len(rep) else np.empty(0, np.int64)
    start, taken = 0, 0
    out_level_starts[0] = 0
    for chunk in range(num_chunks):
        wanted = int(value_starts[chunk + 1] - value_starts[chunk])
        if wanted < 0:
            raise InternalError("value_starts descend", detail=chunk)
        if taken + wanted > len(visible):
            raise InternalError("there are fewer visible entries than values", detail=chunk)
        taken += wanted
        stop = start if wanted == 0 else int(visible[taken - 1]) + 1
        if chunk + 1 == num_chunks:
            if taken < len(visible):
                raise InternalError("there are more visible entries than values", detail=chunk)
            stop = len(rep)
        inside = ends[(ends > start) & (ends <= stop)]
        out_level_starts[chunk + 1] = stop
        out_index[2 * chunk] = len(inside)
        out_index[2 * chunk + 1] = stop - (int(inside[-1]) if len(inside) else start)
        start = stop


def measure_chunks(
    level_sizes: tuple[_Positions, ...], value_sizes: _Positions, value_counts: _Positions, large: bool
) -> tuple[int, int, int, int]:
    """Add up bytes and values of chunks, and of the largest one."""
    if any(len(one) != len(value_counts) for one in (*level_sizes, *value_sizes)) or (
        value_sizes.shape[1] != len(value_counts)
    ):
        raise InternalError("arrays over chunks have different lengths")
    header = 2 + 2 * len(level_sizes) + (4 if large else 2) * len(value_sizes)
    sizes = np.full(len(value_counts), (header + 7) & ~7, np.int64)
    for part in (*value_sizes, *level_sizes):
        sizes += (part + 7) & ~7
    num_bytes, num_values = int(sizes.sum()), int(value_counts.sum())
    return num_bytes, int(sizes.max(initial=0)), num_values, int(value_counts.max(initial=0))


def write_chunks(
    num_levels: _Positions,
    level_buffers: tuple[_Bytes, ...],
    level_sizes: tuple[_Positions, ...],
    value_buffers: tuple[_Bytes, ...],
    value_sizes: _Positions,
    value_counts: _Positions,
    large: bool,
    out_words: _Bytes,
    out: _Bytes,
) -> None:
    """Write words, headers, paddings and buffers."""
    num_chunks = len(value_counts)
    if len(num_levels) != num_chunks or value_sizes.shape[1] != num_chunks:
        raise InternalError("arrays over chunks have different lengths")
    if len(value_sizes) != len(value_buffers) or len(level_sizes) != len(level_buffers):
        raise InternalError("buffers and their sizes differ in number")
    if any(len(sizes) != num_chunks for sizes in level_sizes):
        raise InternalError("a buffer and the chunks differ in number")
    if len(out_words) != num_chunks * (4 if large else 2):
        raise InternalError("the chunk table has another length than the chunks")
    parts = [(buffer, sizes, 0xFFFF, "<u2", "levels") for buffer, sizes in zip(level_buffers, level_sizes, strict=True)]
    width, most = ("<u4", 0x7FFFFFFF) if large else ("<u2", 0xFFFF)
    parts += [(buffer, sizes, most, width, "values") for buffer, sizes in zip(value_buffers, value_sizes, strict=True)]
    done = [0] * len(parts)
    header_bytes = 2 + sum(np.dtype(width).itemsize for _, _, _, width, _ in parts)
    start = 0
    for chunk in range(num_chunks):
        if start + header_bytes + -header_bytes % 8 > len(out):
            raise InternalError("the output is too small for the chunks", detail=chunk)
        sizes = [int(sizes[chunk]) for _, sizes, _, _, _ in parts]
        limits = [most for _, _, most, _, _ in parts]
        if not 0 <= num_levels[chunk] <= 0xFFFF or any(not 0 <= a <= b for a, b in zip(sizes, limits, strict=True)):
            raise InternalError("a part of a chunk is too large for its header", detail=chunk)
        header = np.array([num_levels[chunk]], "<u2").tobytes()
        header += b"".join(np.array([size], part[3]).tobytes() for size, part in zip(sizes, parts, strict=True))
        content = _padded(header)
        for number, (buffer, _, _, _, name) in enumerate(parts):
            taken = buffer[done[number] : done[number] + sizes[number]].tobytes()
            done[number] += sizes[number]
            content += _padded(taken)
            if len(taken) < sizes[number] or start + len(content) > len(out):
                raise InternalError(f"a chunk's {name} leave their buffer or the output", detail=chunk)
        count = int(value_counts[chunk])
        if chunk + 1 < num_chunks and (count < 2 or count > 1 << 15 or count & (count - 1)):
            raise InternalError("the number of values of a chunk before the last is not a power of two", detail=chunk)
        log_values = count.bit_length() - 1 if chunk + 1 < num_chunks else 0
        if len(content) // 8 > 1 << (28 if large else 12):
            raise InternalError("a chunk is too large for its word", detail=chunk)
        out_words.view(width)[chunk] = (len(content) // 8 - 1) << 4 | log_values
        out[start : start + len(content)] = np.frombuffer(content, np.uint8)
        start += len(content)
    if start != len(out):
        raise InternalError("the output is too large for the chunks")


def _padded(part: bytes) -> bytes:
    return part + bytes([_PADDING]) * (-len(part) % 8)
