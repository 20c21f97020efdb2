"""Mini-block chunk words and headers: the meaning of ``engine/door/chunk_tables.pxi``. Source: spec section 3."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError, InternalError

MAX_CHUNK_VALUES = 1 << 15


def parse_chunk_words(
    words: NDArray[np.uint8],
    large: bool,
    num_values: int,
    data_bytes: int,
    out_starts: NDArray[np.int64],
    out_value_starts: NDArray[np.int64],
) -> None:
    """Turn chunk words into the byte start and the first value of each chunk, and both ends."""
    if num_values < 0 or data_bytes < 0:
        raise InternalError("negative number of values or bytes")
    width = 4 if large else 2
    if words.size % width:
        raise CorruptPageError("the chunk table is not a whole number of words")
    table = np.frombuffer(words.tobytes(), f"<u{width}").astype(np.int64)
    if table.size == 0:
        raise CorruptPageError("the chunk table is empty")
    if len(out_starts) != table.size + 1 or len(out_value_starts) != table.size + 1:
        raise InternalError("the outputs have another length than the chunk table plus one")
    logs = table & 15
    if (logs[:-1] == 0).any():
        raise CorruptPageError("a chunk that is not the last has no number of values")
    starts = np.concatenate(([0], np.cumsum(((table >> 4) + 1) * 8)))
    value_starts = np.concatenate(([0], np.cumsum(1 << logs[:-1]), [num_values]))
    last = num_values - int(value_starts[-2])
    if starts[-1] != data_bytes:
        raise CorruptPageError("the chunks do not fill their buffer")
    if last < 0 or last > MAX_CHUNK_VALUES or (logs[-1] != 0 and last != 1 << logs[-1]):
        raise CorruptPageError("the last chunk does not have the remaining values of the page")
    out_starts[:] = starts
    out_value_starts[:] = value_starts


def parse_chunk_headers(
    data: NDArray[np.uint8],
    chunk_starts: NDArray[np.int64],
    chunk_stops: NDArray[np.int64],
    has_rep: bool,
    has_def: bool,
    num_buffers: int,
    large: bool,
    out_num_levels: NDArray[np.int64],
    out_rep_starts: NDArray[np.int64] | None,
    out_rep_sizes: NDArray[np.int64] | None,
    out_def_starts: NDArray[np.int64] | None,
    out_def_sizes: NDArray[np.int64] | None,
    out_starts: NDArray[np.int64],
    out_sizes: NDArray[np.int64],
) -> None:
    """Find levels and value buffers of many chunks, as places in `data`."""
    num_chunks = len(chunk_starts)
    if len(chunk_stops) != num_chunks or len(out_num_levels) != num_chunks or num_buffers < 0:
        raise InternalError("arrays over chunks have different lengths")
    if out_starts.shape != (num_buffers, num_chunks) or out_sizes.shape != (num_buffers, num_chunks):
        raise InternalError("out_starts and out_sizes must be (num_buffers, num_chunks)")
    streams = [(out_rep_starts, out_rep_sizes)] * has_rep + [(out_def_starts, out_def_sizes)] * has_def
    if any(array is None or len(array) != num_chunks for pair in streams for array in pair):
        raise InternalError("arrays for levels are missing or have another length")
    parts = [*streams, *zip(out_starts, out_sizes, strict=True)]
    size_type = "<u4" if large else "<u2"
    fields = [("num_levels", "<u2"), ("streams", "<u2", (len(streams),)), ("buffers", size_type, (num_buffers,))]
    header_type = np.dtype(fields)
    for chunk, (start, stop) in enumerate(zip(chunk_starts.tolist(), chunk_stops.tolist(), strict=True)):
        if not 0 <= start <= stop <= data.size:
            raise InternalError("a chunk lies outside the data", detail=chunk)
        size = stop - start
        if _padded(header_type.itemsize) > size:
            raise CorruptPageError("a chunk is shorter than its header", detail=chunk)
        header = np.frombuffer(data[start:stop].tobytes(), header_type, 1)[0]
        if bool(header["num_levels"]) != bool(streams):
            raise CorruptPageError("a chunk has levels without a stream, or a stream without levels", detail=chunk)
        out_num_levels[chunk] = header["num_levels"]
        position = _padded(header_type.itemsize)
        wanted = [*header["streams"].tolist(), *header["buffers"].tolist()]
        for (starts, sizes), part_bytes in zip(parts, wanted, strict=True):
            starts[chunk], sizes[chunk] = start + position, part_bytes
            position += _padded(part_bytes)
        if position != size:
            raise CorruptPageError("a chunk's buffers do not fill it", detail=chunk)


def _padded(size: int) -> int:
    return (size + 7) & ~7
