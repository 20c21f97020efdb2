"""Chunks of releases 0.19 to 0.25: three sizes, then levels without padding, then values at a word border.

    u16 bytes of repetition levels, u16 of definition levels, u16 of values | rep | def | to 8 | values | to 8

The number of levels follows from their bytes. All else is as in 2.1: chunk table, repetition index, rows. Booleans are
a special case: all bits of a page are in its last chunk, and the releases that wrote them could not read them. Source:
lance.encodings.MiniBlockLayout; docs/format/draft_2_1.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError
from lance_arrow.spi import ChunkBatch, FixedWidth
from lance_arrow.spi.layouts import BufferSlices, FetchedSlices, PageFacts, PageReadPlan, RowRanges
from second_reader.chunk_index import ChunkIndex, ChunkSelection
from second_reader.chunked import ReadChunks
from second_reader.open_chunks import OpenChunks

Positions = NDArray[np.int64]
_BIT = FixedWidth(1)
_DATA = 1
_HEAD_BYTES = 6
_LEVEL_BYTES = 2
_ALIGNMENT_BYTES = 8


@dataclass(frozen=True, slots=True)
class ReadEarlyChunks(ReadChunks):
    """Pages of such chunks."""

    @property
    def _are_booleans(self) -> bool:
        return self.values.shape == _BIT

    def plan(self, page: PageFacts, index: ChunkIndex, rows: RowRanges) -> PageReadPlan:
        if not self._are_booleans:
            return ReadChunks.plan(self, page, index, rows)
        chunks = np.arange(len(index.chunk_starts) - 1, dtype=np.int64)
        return PageReadPlan((BufferSlices.whole(page, _DATA),), ChunkSelection(rows, chunks))

    def open(self, index: ChunkIndex, selection: ChunkSelection, fetched: FetchedSlices) -> OpenChunks:
        """Locate the parts of the selected chunks.

        Raises
        ------
        CorruptPageError
            A part exceeds its chunk, levels are not whole words, or the numbers of both kinds of levels differ.
        """
        starts, stops = selection.places(index, fetched)
        _require(stops - starts >= _HEAD_BYTES, "a chunk is shorter than its header", selection)
        heads = fetched.data[starts[:, None] + np.arange(_HEAD_BYTES)].astype(np.int64)
        rep_bytes, def_bytes, value_bytes = (heads[:, n] + (heads[:, n + 1] << 8) for n in (0, 2, 4))
        for has, sizes in ((self.rep is not None, rep_bytes), (self.def_ is not None, def_bytes)):
            _require(sizes % _LEVEL_BYTES == 0, "levels of a chunk are not whole words", selection)
            if not has:
                _require(sizes == 0, "a chunk has levels that its page does not have", selection)
        if self.rep is not None and self.def_ is not None:
            _require(
                rep_bytes == def_bytes, "a chunk has different numbers of repetition and definition levels", selection
            )
        rep_starts = starts + _HEAD_BYTES
        def_starts = rep_starts + rep_bytes
        level_bytes = _HEAD_BYTES + rep_bytes + def_bytes
        value_starts = starts + level_bytes + -level_bytes % _ALIGNMENT_BYTES
        _require(value_starts + value_bytes <= stops, "the parts of a chunk exceed it", selection)
        if self._are_booleans:
            value_starts, value_bytes = _spread(index, value_starts, value_bytes)
        counts = np.zeros(len(starts) + 1, np.int64)
        np.cumsum(index.value_starts[selection.chunks + 1] - index.value_starts[selection.chunks], out=counts[1:])
        return OpenChunks(
            ChunkBatch(fetched.data, value_starts[None], value_bytes[None], counts),
            (rep_bytes if self.rep is not None else def_bytes) // _LEVEL_BYTES,
            (rep_starts[None], rep_bytes[None]),
            (def_starts[None], def_bytes[None]),
        )


def _spread(index: ChunkIndex, starts: Positions, sizes: Positions) -> tuple[Positions, Positions]:
    """Return the places of each chunk's bits in the last chunk, from the values' places in all chunks of a page."""
    borders = index.value_starts
    if sizes[:-1].any() or int(sizes[-1]) != (int(borders[-1]) + 7) // 8:
        raise CorruptPageError(
            f"{int(borders[-1])} booleans in {int(sizes.sum())} bytes, expected all in the last chunk"
        )
    if (borders[:-1] % 8).any():
        raise CorruptPageError("chunks of booleans do not start at a byte border")
    return starts[-1] + borders[:-1] // 8, (np.diff(borders) + 7) // 8


def _require(holds: Any, otherwise: str, selection: ChunkSelection) -> None:
    if not holds.all():
        raise CorruptPageError(otherwise, detail=int(selection.chunks[int(np.argmin(holds))]))
