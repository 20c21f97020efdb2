"""Map rows to chunks: the parsed chunk table and repetition index of a page, cached between reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError
from lance_arrow.spi.blocks import BlockSlice, Bytes
from lance_arrow.spi.layouts import FetchedSlices
from lance_arrow.spi.rows import RowRanges
from second_reader import kernels

_MAX_CHUNK_ENTRIES = np.uint64(0xFFFF)
"""Most level entries of a chunk, which counts them in 16 bits; each row has at least one."""


@dataclass(frozen=True, slots=True, eq=False)
class RowTable:
    """Rows per chunk, from the repetition index.

    Parameters
    ----------
    started, finished
        ``(num_chunks + 1,) int64``: rows that have started, or finished, before each chunk.
    left_over
        ``(num_chunks + 1,) int64``: level entries before each chunk that belong to an unfinished row. They are counted
        from the start of the chunk before; 0 at the end of a row.
    """

    started: NDArray[np.int64]
    finished: NDArray[np.int64]
    left_over: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        return self.started.nbytes + self.finished.nbytes + self.left_over.nbytes


@dataclass(frozen=True, slots=True, eq=False)
class ChunkSelection:
    """Chunks to read, and the selected rows in them.

    Parameters
    ----------
    rows
        Selected rows of the page.
    chunks
        ``(n,) int64``, ascending.
    """

    rows: RowRanges
    chunks: NDArray[np.int64]

    @property
    def run_borders(self) -> NDArray[np.int64]:
        """``(num_runs + 1,) int64``: positions in `chunks` at which runs of neighbours begin, and its length."""
        if len(self.rows) == 1:
            return np.array([0, len(self.chunks)], np.int64)
        breaks = np.flatnonzero(np.diff(self.chunks) != 1) + 1
        return np.concatenate(([0], breaks, [len(self.chunks)]))

    def byte_runs(self, index: ChunkIndex) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return byte ranges of the runs of neighbouring chunks in the data buffer."""
        borders = self.run_borders
        first, last = self.chunks[borders[:-1]], self.chunks[borders[1:] - 1]
        return index.chunk_starts[first], index.chunk_starts[last + 1]

    def places(self, index: ChunkIndex, fetched: FetchedSlices) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the start and end of each chunk in the fetched bytes of `byte_runs`, ``(n,) int64`` each."""
        borders = self.run_borders
        # A fetched slice is a run of neighbours: its chunks have the same order and distances as in the file.
        shift = fetched.starts - index.chunk_starts[self.chunks[borders[:-1]]]
        starts = index.chunk_starts[self.chunks] + np.repeat(shift, np.diff(borders))
        return starts, starts + index.chunk_starts[self.chunks + 1] - index.chunk_starts[self.chunks]


@dataclass(frozen=True, slots=True, eq=False)
class ChunkIndex:
    """Data of a page that is kept between reads.

    Parameters
    ----------
    chunk_starts, value_starts
        ``(num_chunks + 1,) int64``: first byte in the data buffer and first value of each chunk, then the ends.
    rows
        None without lists; rows are then values.
    items
        The decoded dictionary, or None.
    """

    chunk_starts: NDArray[np.int64]
    value_starts: NDArray[np.int64]
    rows: RowTable | None
    items: BlockSlice | None

    @property
    def nbytes(self) -> int:
        size = self.chunk_starts.nbytes + self.value_starts.nbytes
        if self.rows is not None:
            size += self.rows.nbytes
        if self.items is not None:
            size += self.items.values.nbytes + self.items.offsets.nbytes
        return size

    def select(self, rows: RowRanges) -> ChunkSelection:
        """Return the chunks that hold `rows` (never empty)."""
        if self.rows is None:
            first = np.searchsorted(self.value_starts, rows.starts, side="right") - 1
            stop = np.searchsorted(self.value_starts, rows.stops, side="left")
        else:
            # A row lies between the chunk in which it starts and the one in which it finishes.
            first = np.searchsorted(self.rows.started, rows.starts, side="right") - 1
            stop = np.searchsorted(self.rows.finished, rows.stops, side="left")
        if len(rows) == 1:
            return ChunkSelection(rows, np.arange(first[0], stop[0], dtype=np.int64))
        num_chunks = len(self.chunk_starts) - 1
        cover = np.bincount(first, minlength=num_chunks + 1) - np.bincount(stop, minlength=num_chunks + 1)
        return ChunkSelection(rows, np.flatnonzero(np.cumsum(cover)[:-1]))


def chunk_table(
    words: Bytes, large: bool, num_values: int, data_bytes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Parse the chunk table: first byte and first value of each chunk, then the ends."""
    word_bytes = 4 if large else 2
    if words.size == 0 or words.size % word_bytes:
        raise CorruptPageError(f"a chunk table of {words.size} bytes has no whole words of {word_bytes}")
    num_chunks = words.size // word_bytes
    chunk_starts = np.empty(num_chunks + 1, np.int64)
    value_starts = np.empty(num_chunks + 1, np.int64)
    kernels.parse_chunk_words(words, large, num_values, data_bytes, chunk_starts, value_starts)
    return chunk_starts, value_starts


def row_table(index: Bytes, num_chunks: int, num_rows: int) -> RowTable:
    """Parse the repetition index: per chunk, rows that finish in it, and level entries of an unfinished row."""
    if index.size != num_chunks * 16:
        raise CorruptPageError(f"a repetition index of {index.size} bytes, expected {num_chunks * 16}")
    # Slices of a fetched array may have any alignment.
    pairs = np.frombuffer(index.tobytes(), "<u8").reshape(num_chunks, 2)
    if (pairs > _MAX_CHUNK_ENTRIES).any():
        chunk = int(np.argmax((pairs > _MAX_CHUNK_ENTRIES).any(axis=1)))
        raise CorruptPageError("the repetition index counts more than the entries a chunk can have", detail=chunk)
    if not pairs.any(axis=1).all():
        chunk = int(np.argmin(pairs.any(axis=1)))
        raise CorruptPageError("by the repetition index, a chunk has no level entry", detail=chunk)
    if int(pairs[:, 0].sum()) != num_rows:
        raise CorruptPageError(f"the repetition index counts {int(pairs[:, 0].sum())} rows, the page has {num_rows}")
    if pairs[-1, 1] != 0:
        raise CorruptPageError("the repetition index leaves the last row of the page open")
    finished = np.zeros(num_chunks + 1, np.int64)
    np.cumsum(pairs[:, 0].astype(np.int64), out=finished[1:])
    left_over = np.zeros(num_chunks + 1, np.int64)
    left_over[1:] = pairs[:, 1]
    return RowTable(finished + (left_over > 0), finished, left_over)
