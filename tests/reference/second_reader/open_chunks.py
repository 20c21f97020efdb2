"""Open chunks: headers, levels and value buffers of all chunks of a read, with one call each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError
from lance_arrow.pages.bound_pages import BoundChunks
from lance_arrow.spi.block_runs import copy_runs
from lance_arrow.spi.blocks import BlockSlice, FixedWidth, Levels, max_visible_def
from lance_arrow.spi.chunks import ChunkBatch
from lance_arrow.spi.codecs import BoundChunkCodec
from lance_arrow.spi.layouts import FetchedSlices
from lance_arrow.spi.scratch import Scratch, new_block
from second_reader import kernels
from second_reader.chunk_index import ChunkIndex, ChunkSelection, RowTable
from second_reader.fields import SCRATCH

_LEVEL = FixedWidth(16)


@dataclass(frozen=True, slots=True, eq=False)
class ValueRuns:
    """Selected runs of values in the opened chunks; both are None if all values are selected.

    Parameters
    ----------
    starts, stops
        ``(n,) int64``, counted in the values of the opened chunks.
    """

    starts: NDArray[np.int64] | None
    stops: NDArray[np.int64] | None
    num_values: int


@dataclass(frozen=True, slots=True, eq=False)
class OpenChunks:
    """Places of the parts of each opened chunk.

    Parameters
    ----------
    values
        Value buffers of the chunks, for the value codec.
    num_levels
        ``(num_chunks,) int64`` level entries.
    rep, def_
        Byte ranges of the level streams, each ``(1, num_chunks) int64`` twice (starts, sizes).
    """

    values: ChunkBatch
    num_levels: NDArray[np.int64]
    rep: tuple[NDArray[np.int64], NDArray[np.int64]]
    def_: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def of(
        cls, layout: BoundChunks, index: ChunkIndex, selection: ChunkSelection, fetched: FetchedSlices
    ) -> OpenChunks:
        """Parse the headers of the selected chunks.

        Raises
        ------
        CorruptPageError
            A part reaches beyond its chunk.
        """
        chunks = selection.chunks
        starts, stops = selection.places(index, fetched)
        count = len(chunks)
        num_buffers = layout.values.num_buffers
        num_levels = np.empty(count, np.int64)
        places = np.empty((4, 1, count), np.int64)
        value_starts = np.empty((num_buffers, count), np.int64)
        value_sizes = np.empty((num_buffers, count), np.int64)
        kernels.parse_chunk_headers(
            fetched.data,
            starts,
            stops,
            layout.rep is not None,
            layout.def_ is not None,
            num_buffers,
            layout.large,
            num_levels,
            places[0, 0],
            places[1, 0],
            places[2, 0],
            places[3, 0],
            value_starts,
            value_sizes,
        )
        counts = np.zeros(count + 1, np.int64)
        np.cumsum(index.value_starts[chunks + 1] - index.value_starts[chunks], out=counts[1:])
        values = ChunkBatch(fetched.data, value_starts, value_sizes, counts)
        return cls(values, num_levels, (places[0], places[1]), (places[2], places[3]))

    def levels(self, layout: BoundChunks, index: ChunkIndex, selection: ChunkSelection) -> tuple[Levels, ValueRuns]:
        """Decode the levels, trim them to the selected rows, and return the runs of their values."""
        if layout.rep is not None and index.rows is not None:
            return self._nested_levels(layout, layout.rep, index.rows, selection)
        runs = self._flat_runs(index, selection)
        if layout.def_ is None:
            return Levels(layout.layers, runs.num_values), runs
        if not np.array_equal(self.num_levels, np.diff(self.values.value_starts)):
            chunk = int(np.argmax(self.num_levels != np.diff(self.values.value_starts)))
            raise CorruptPageError(
                "the numbers of levels and values of a chunk differ", detail=int(selection.chunks[chunk])
            )
        def_ = self._decode(layout.def_, self.def_, self.values.value_starts, SCRATCH)
        kernels.check_levels(None, def_, 0, max_visible_def(layout.layers))
        return Levels(layout.layers, runs.num_values, None, _kept(def_, runs.starts, runs.stops)), runs

    def _flat_runs(self, index: ChunkIndex, selection: ChunkSelection) -> ValueRuns:
        rows = selection.rows
        num_values = rows.num_rows
        if num_values == self.values.num_values:
            return ValueRuns(None, None, num_values)
        # The distance of row r from the start of its chunk is the same in the opened values.
        first = np.searchsorted(index.value_starts, rows.starts, side="right") - 1
        place = np.searchsorted(selection.chunks, first)
        starts = rows.starts - index.value_starts[first] + self.values.value_starts[place]
        return ValueRuns(starts, starts + (rows.stops - rows.starts), num_values)

    def _nested_levels(
        self,
        layout: BoundChunks,
        rep_codec: BoundChunkCodec,
        row_table: RowTable,
        selection: ChunkSelection,
    ) -> tuple[Levels, ValueRuns]:
        level_starts = np.zeros(len(self.num_levels) + 1, np.int64)
        np.cumsum(self.num_levels, out=level_starts[1:])
        scratch = SCRATCH
        rep = self._decode(rep_codec, self.rep, level_starts, scratch)
        def_ = None if layout.def_ is None else self._decode(layout.def_, self.def_, level_starts, scratch)
        max_rep = sum(layer.is_list for layer in layout.layers)
        kernels.check_levels(rep, def_, max_rep, sum(layer.num_def_levels for layer in layout.layers))
        chunks, rows = selection.chunks, selection.rows
        left_over = row_table.left_over
        kernels.check_open_rows(rep, max_rep, level_starts, left_over[chunks], left_over[chunks + 1])
        places = [np.empty(len(rows), np.int64) for _ in range(4)]
        kernels.select_rows(
            rep,
            def_,
            max_rep,
            max_visible_def(layout.layers),
            level_starts,
            self.values.value_starts,
            row_table.started[chunks],
            row_table.started[chunks + 1] - row_table.started[chunks],
            rows.starts,
            rows.stops,
            *places,
        )
        entry_starts, entry_stops, value_starts, value_stops = places
        num_entries = int((entry_stops - entry_starts).sum())
        num_values = int((value_stops - value_starts).sum())
        if num_entries == len(rep):
            levels = Levels(layout.layers, num_entries, rep, def_)
        else:
            kept = [_kept(stream, entry_starts, entry_stops) for stream in (rep, def_)]
            levels = Levels(layout.layers, num_entries, *kept)
        if num_values == self.values.num_values:
            return levels, ValueRuns(None, None, num_values)
        return levels, ValueRuns(value_starts, value_stops, num_values)

    def _decode(
        self,
        codec: BoundChunkCodec,
        places: tuple[NDArray[np.int64], NDArray[np.int64]],
        level_starts: NDArray[np.int64],
        scratch: Scratch,
    ) -> NDArray[np.uint16]:
        # Packed to 0 bits, the 65,535 levels of a chunk take no bytes.
        block = scratch.new_block(_LEVEL, int(level_starts[-1]))
        codec.decode(ChunkBatch(self.values.data, *places, level_starts).buffers(0, codec.num_buffers), block)
        return block.values.view(np.uint16)

    def indices(
        self,
        codec: BoundChunkCodec,
        slot_levels: NDArray[np.uint16] | None,
        runs: ValueRuns,
        num_items: int,
        null_index: int,
        scratch: Scratch,
    ) -> BlockSlice:
        """Decode and check indices into a dictionary; those of null slots become `null_index`."""
        block = scratch.new_block(codec.shape, self.values.num_values)
        codec.decode(self.values, block)
        if runs.starts is not None and runs.stops is not None:
            kept = new_block(codec.shape, runs.num_values)
            copy_runs(block, runs.starts, runs.stops, kept)
            block = kept
        assert isinstance(codec.shape, FixedWidth)
        kernels.clear_null_indices(block.values, codec.shape.bits, num_items, null_index, slot_levels)
        return block


def visible_levels(levels: Levels) -> NDArray[np.uint16] | None:
    """Return the definition levels of entries with a value slot."""
    if levels.def_ is None or levels.rep is None:
        return levels.def_
    return levels.def_[levels.def_ <= levels.max_visible_def]


def _kept(
    levels: NDArray[np.uint16] | None, starts: NDArray[np.int64] | None, stops: NDArray[np.int64] | None
) -> NDArray[np.uint16] | None:
    if levels is None or starts is None or stops is None:
        return levels
    kept = np.empty(int((stops - starts).sum()), np.uint16)
    kernels.take_runs_fixed(levels.view(np.uint8), 2, starts, stops, kept.view(np.uint8))
    return kept
