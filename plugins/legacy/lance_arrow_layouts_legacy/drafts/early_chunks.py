"""Chunks of releases 0.19 to 0.25: three sizes, then levels without padding, then values at a word border.

    u16 bytes of repetition levels, u16 of definition levels, u16 of values | rep | def | to 8 | values | to 8

The number of levels follows from their bytes. All else is as in 2.1: chunk table, repetition index, rows. So pages are
brought into the form of 2.1 in memory, with large chunks, and read as such. Booleans are a special case: all bits of a
page are in its last chunk, and the releases that wrote them could not read them. Source:
lance.encodings.MiniBlockLayout; docs/format/draft_2_1.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import CorruptPageError
from lance_arrow.pages import ChunkedPages, NativePage, index_in_memory
from lance_arrow.pages.native_pages import native_in_memory
from lance_arrow.spi import Bytes, FixedWidth
from lance_arrow.spi.layouts import BufferRole, BufferSlices, FetchedSlices, PageFacts
from lance_arrow_layouts_legacy.drafts.dictionaries import restated_dictionary

Positions = NDArray[np.int64]
_BIT = FixedWidth(1)
_TABLE, _DATA, _DICTIONARY = range(3)
_HEAD_BYTES = 6
_LEVEL_BYTES = 2
_ALIGNMENT_BYTES = 8
_WORD_BYTES = 2


@dataclass(frozen=True, slots=True, eq=False)
class RestatedIndex:
    """A page of such chunks in memory, as one for the engine; None if the engine does not support its values."""

    native: NativePage | None
    nbytes: int


@dataclass(frozen=True, slots=True)
class EarlyChunks:
    """Pages of such chunks; `pages` is their form in 2.1, but for the number of items in a dictionary."""

    pages: ChunkedPages

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        return self.pages.roles(page)

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        return tuple(BufferSlices.whole(page, number) for number in range(len(self.roles(page))))

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> RestatedIndex:
        """Restate all buffers.

        Raises
        ------
        CorruptPageError
            A part exceeds its chunk, levels are not whole words, or the numbers of both kinds of levels differ.
        """
        pages, buffers = self.pages, [one.one() for one in fetched]
        buffers[_TABLE], buffers[_DATA] = self._restated(page, buffers[_TABLE], buffers[_DATA])
        if pages.items is not None:
            pages, buffers[_DICTIONARY] = restated_dictionary(pages, buffers[_DICTIONARY], None)
        facts = PageFacts(page.num_rows, tuple(len(buffer) for buffer in buffers))
        native = pages.native_page(facts)
        if native is None:
            return RestatedIndex(None, 0)
        data = buffers[_DATA]
        rest = {number: buffer for number, buffer in enumerate(buffers) if number != _DATA}
        index_in_memory(native, facts, rest, pages.limits)
        return RestatedIndex(native_in_memory(native, data), native.nbytes + data.nbytes)

    def _restated(self, page: PageFacts, words: Bytes, data: Bytes) -> tuple[Bytes, Bytes]:
        """Return the chunk table and the chunks as in 2.1."""
        num_values = page.num_rows if self.pages.num_values is None else self.pages.num_values
        if words.size % _WORD_BYTES:
            raise CorruptPageError(f"a chunk table of {words.size} bytes has no whole words of {_WORD_BYTES}")
        chunk_starts, value_starts = np.empty((2, words.size // _WORD_BYTES + 1), np.int64)
        kernels.parse_chunk_words(words, False, num_values, data.size, chunk_starts, value_starts)
        starts, stops = chunk_starts[:-1], chunk_starts[1:]
        _require(stops - starts >= _HEAD_BYTES, "a chunk is shorter than its header")
        heads = data[starts[:, None] + np.arange(_HEAD_BYTES)].astype(np.int64)
        rep_bytes, def_bytes, value_bytes = (heads[:, n] + (heads[:, n + 1] << 8) for n in (0, 2, 4))
        for codec, sizes in ((self.pages.rep, rep_bytes), (self.pages.def_, def_bytes)):
            _require(sizes % _LEVEL_BYTES == 0, "levels of a chunk are not whole words")
            if codec is None:
                _require(sizes == 0, "a chunk has levels that its page does not have")
        if self.pages.rep is not None and self.pages.def_ is not None:
            _require(rep_bytes == def_bytes, "a chunk has different numbers of repetition and definition levels")
        rep_starts = starts + _HEAD_BYTES
        def_starts = rep_starts + rep_bytes
        places = starts + _padded(_HEAD_BYTES + rep_bytes + def_bytes)
        _require(places + value_bytes <= stops, "the parts of a chunk exceed it")
        if self.pages.values.shape == _BIT:
            places, value_bytes = _spread(value_starts, places, value_bytes)
        chunks = []
        for chunk in range(len(starts)):
            streams = [
                data[start : start + size]
                for codec, start, size in (
                    (self.pages.rep, int(rep_starts[chunk]), int(rep_bytes[chunk])),
                    (self.pages.def_, int(def_starts[chunk]), int(def_bytes[chunk])),
                )
                if codec is not None
            ]
            start, size = int(places[chunk]), int(value_bytes[chunk])
            chunks.append(_chunk(streams, data[start : start + size]))
        sizes = np.array([len(chunk) for chunk in chunks], np.uint32)
        # The number of values is in the lowest bits, as before.
        counts = words[::_WORD_BYTES] & 0xF
        table = (sizes // _ALIGNMENT_BYTES - 1) << 4 | counts
        return np.ascontiguousarray(table, "<u4").view(np.uint8), np.frombuffer(b"".join(chunks), np.uint8)


def _chunk(streams: list[Bytes], values: Bytes) -> bytes:
    """Write one large chunk of 2.1."""
    num_levels = len(streams[0]) // _LEVEL_BYTES if streams else 0
    head = np.array([num_levels, *(len(stream) for stream in streams)], "<u2").tobytes()
    parts = (head + np.array([len(values)], "<u4").tobytes(), *(part.tobytes() for part in (*streams, values)))
    return b"".join(part.ljust(_padded(len(part)), b"\0") for part in parts)


def _padded(num_bytes: Any) -> Any:
    return num_bytes + -num_bytes % _ALIGNMENT_BYTES


def _spread(borders: Positions, starts: Positions, sizes: Positions) -> tuple[Positions, Positions]:
    """Return the places of each chunk's bits in the last chunk, from the values' places in all chunks of a page."""
    if sizes[:-1].any() or int(sizes[-1]) != (int(borders[-1]) + 7) // 8:
        raise CorruptPageError(
            f"{int(borders[-1])} booleans in {int(sizes.sum())} bytes, expected all in the last chunk"
        )
    if (borders[:-1] % 8).any():
        raise CorruptPageError("chunks of booleans do not start at a byte border")
    return starts[-1] + borders[:-1] // 8, (np.diff(borders) + 7) // 8


def _require(holds: Any, otherwise: str) -> None:
    if not holds.all():
        raise CorruptPageError(otherwise, detail=int(np.argmin(holds)))
