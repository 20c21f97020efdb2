"""Chunks as releases 0.19 to 0.25 wrote them: three sizes, then levels without a gap, then values at a word's start.

    u16 bytes of repetition levels, u16 of definition levels, u16 of values | rep | def | to 8 | values | to 8

How many levels there are follows from their bytes. Everything else is as in 2.1: chunk table, repetition index, rows.
Booleans are an accident: all bits of a page lie in its last chunk, and no release that wrote them could read them.
Source: lance.encodings.MiniBlockLayout; docs/format/draft_2_1.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError
from lance_arrow.pages import ChunkedPages, ChunkIndex, ChunkSelection, OpenChunks
from lance_arrow.spi import (
    BufferSlices,
    ChunkBatch,
    FetchedSlices,
    FixedWidth,
    ManyPages,
    PageFacts,
    PageReadPlan,
    RowRanges,
)

Positions = NDArray[np.int64]
_BIT = FixedWidth(1)
_DATA = 1
_HEAD_BYTES = 6
_LEVEL_BYTES = 2
_ALIGNMENT_BYTES = 8


@dataclass(frozen=True, slots=True)
class EarlyChunkedPages(ChunkedPages):
    """Pages of such chunks."""

    @classmethod
    def of(cls, pages: ChunkedPages) -> EarlyChunkedPages:
        """Take what a description says from pages as 2.1 has them."""
        return cls(**{field.name: getattr(pages, field.name) for field in fields(pages) if field.init})

    @property
    def _are_booleans(self) -> bool:
        return self.values.shape == _BIT

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> ChunkIndex:
        # Explicit base: slots make a new class, which `super()` without arguments does not know.
        index = ChunkedPages.load_index(self, page, fetched)
        # The native engine knows chunks of 2.1 only.
        return ChunkIndex(index.chunk_starts, index.value_starts, index.rows, index.items)

    def native_page(self, page: PageFacts) -> None:
        """Leave it to `load_index`, for the same reason."""

    def native_pages(self, pages: ManyPages) -> None:
        """Leave them to `load_index`, for the same reason."""

    def plan(self, page: PageFacts, index: ChunkIndex, rows: RowRanges) -> PageReadPlan:
        if not self._are_booleans:
            return ChunkedPages.plan(self, page, index, rows)
        chunks = np.arange(len(index.chunk_starts) - 1, dtype=np.int64)
        return PageReadPlan((BufferSlices.whole(page, _DATA),), ChunkSelection(rows, chunks))

    def open(self, index: ChunkIndex, selection: ChunkSelection, fetched: FetchedSlices) -> OpenChunks:
        """Find the parts of the selected chunks.

        Raises
        ------
        CorruptPageError
            A part leaves its chunk, or levels are no whole words, or as many of one kind as of the other.
        """
        starts, stops = selection.places(index, fetched)
        _require(stops - starts >= _HEAD_BYTES, "a chunk is shorter than its head", selection)
        heads = fetched.data[starts[:, None] + np.arange(_HEAD_BYTES)].astype(np.int64)
        rep_bytes, def_bytes, value_bytes = (heads[:, n] + (heads[:, n + 1] << 8) for n in (0, 2, 4))
        for has, sizes in ((self.rep is not None, rep_bytes), (self.def_ is not None, def_bytes)):
            _require(sizes % _LEVEL_BYTES == 0, "levels of a chunk are no whole words", selection)
            if not has:
                _require(sizes == 0, "a chunk has levels that its page does not have", selection)
        if self.rep is not None and self.def_ is not None:
            _require(rep_bytes == def_bytes, "a chunk has not one definition level per repetition level", selection)
        rep_starts = starts + _HEAD_BYTES
        def_starts = rep_starts + rep_bytes
        level_bytes = _HEAD_BYTES + rep_bytes + def_bytes
        value_starts = starts + level_bytes + -level_bytes % _ALIGNMENT_BYTES
        _require(value_starts + value_bytes <= stops, "the parts of a chunk are longer than it is", selection)
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
    """Find each chunk's bits in the last chunk, given the values' places in all chunks of a page."""
    borders = index.value_starts
    if sizes[:-1].any() or int(sizes[-1]) != (int(borders[-1]) + 7) // 8:
        raise CorruptPageError(
            f"{int(borders[-1])} booleans in {int(sizes.sum())} bytes, expected all in the last chunk"
        )
    if (borders[:-1] % 8).any():
        raise CorruptPageError("chunks of booleans do not begin with a byte")
    return starts[-1] + borders[:-1] // 8, (np.diff(borders) + 7) // 8


def _require(holds: Any, otherwise: str, selection: ChunkSelection) -> None:
    if not holds.all():
        raise CorruptPageError(otherwise, detail=int(selection.chunks[int(np.argmin(holds))]))
