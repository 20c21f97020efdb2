"""Opened pages: plain values, values expanded from a dictionary, and indices that keep their dictionary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.settings import Limits
from lance_arrow.spi.block_runs import copy_runs, measure_runs
from lance_arrow.spi.blocks import (
    BlockShape,
    BlockSlice,
    Bytes,
    FixedWidth,
    Levels,
    NumBytes,
    VariableWidth,
)
from lance_arrow.spi.chunks import ChunkBatch, ValueBatch
from lance_arrow.spi.codecs import BoundChunkCodec, ValueLocator
from lance_arrow.spi.scratch import Scratch, block_bytes, new_block
from lance_arrow.spi.slots import Structure
from second_reader import kernels
from second_reader.loaded_values import LocatedPage
from second_reader.open_chunks import ValueRuns


@dataclass(frozen=True, slots=True, eq=False)
class ValuePage:
    """Values that are stored in the chunks.

    `decoded` holds all values of the chunks if the selected ones have variable width and no codec locates them. Their
    bytes can only be measured after decoding.
    """

    levels: Levels
    codec: BoundChunkCodec
    chunks: ChunkBatch
    runs: ValueRuns
    num_bytes: NumBytes
    scratch: Scratch
    decoded: BlockSlice | None = None
    dictionary = None

    @classmethod
    def of(
        cls, codec: BoundChunkCodec, chunks: ChunkBatch, levels: Levels, runs: ValueRuns, scratch: Scratch
    ) -> ValuePage | LocatedPage:
        if runs.starts is None or runs.stops is None:
            return cls(levels, codec, chunks, runs, codec.measure(chunks), scratch)
        if not isinstance(codec.shape, VariableWidth):
            return cls(levels, codec, chunks, runs, 0, scratch)
        if isinstance(codec, ValueLocator):
            return LocatedPage.of(levels, codec.value_codec, _selected(codec.locate(chunks), runs.starts, runs.stops))
        block = scratch.new_block(codec.shape, chunks.num_values, codec.measure(chunks))
        codec.decode(chunks, block)
        return cls(levels, codec, chunks, runs, measure_runs(block, runs.starts, runs.stops), scratch, block)

    @property
    def shape(self) -> BlockShape:
        return self.codec.shape

    @property
    def num_values(self) -> int:
        return self.runs.num_values

    def decode(self, out: BlockSlice) -> None:
        starts, stops = self.runs.starts, self.runs.stops
        if starts is None or stops is None:
            self.codec.decode(self.chunks, out)
        elif self.decoded is not None:
            copy_runs(self.decoded, starts, stops, out)
        elif len(starts) == 1 and self.chunks.num_chunks > 2:
            self._decode_run(int(starts[0]), int(stops[0]), out)
        else:
            self._decode_selected(self.chunks, starts, stops, out)

    def _decode_run(self, start: int, stop: int, out: BlockSlice) -> None:
        """Decode one run: whole chunks directly to their destination, partial ones through scratch memory."""
        borders = self.chunks.value_starts
        inner_start = int(np.searchsorted(borders, start, side="left"))
        inner_stop = int(np.searchsorted(borders, stop, side="right")) - 1
        if inner_stop <= inner_start:
            return self._decode_selected(self.chunks, *_run(start, stop), out)
        first, last = int(borders[inner_start]), int(borders[inner_stop])
        if start < first:
            head = self.chunks.part(0, inner_start)
            self._decode_selected(head, *_run(start, first), out.part(0, first - start))
        self.codec.decode(self.chunks.part(inner_start, inner_stop), out.part(first - start, last - start))
        if last < stop:
            tail = self.chunks.part(inner_stop, self.chunks.num_chunks)
            self._decode_selected(tail, *_run(0, stop - last), out.part(last - start, stop - start))
        return None

    def _decode_selected(
        self, chunks: ChunkBatch, starts: NDArray[np.int64], stops: NDArray[np.int64], out: BlockSlice
    ) -> None:
        with self.scratch.block(self.shape, chunks.num_values) as block:
            self.codec.decode(chunks, block)
            copy_runs(block, starts, stops, out)


def _run(start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.array([start], np.int64), np.array([stop], np.int64)


def _selected(values: ValueBatch, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> ValueBatch:
    if len(starts) == 1:
        start, stop = int(starts[0]), int(stops[0])
        return ValueBatch(values.data, values.starts[start:stop], values.sizes[start:stop])
    kept = np.empty((2, int((stops - starts).sum())), np.int64)
    for places, out in zip((values.starts, values.sizes), kept, strict=True):
        kernels.take_runs_fixed(places.view(np.uint8), 8, starts, stops, out.view(np.uint8))
    return ValueBatch(values.data, *kept)


@dataclass(frozen=True, slots=True, eq=False)
class DictionaryPage:
    """Values that the chunks store as indices into a dictionary."""

    levels: Structure
    indices: BlockSlice
    items: BlockSlice
    num_bytes: int
    dictionary = None

    @classmethod
    def of(cls, levels: Structure, indices: BlockSlice, items: BlockSlice) -> DictionaryPage:
        num_bytes = 0
        if isinstance(items.shape, VariableWidth) and items.num_values:
            num_bytes = kernels.measure_take_variable(
                items.offsets, items.shape.offset_bits, indices.values, _index_bits(indices)
            )
        return cls(levels, indices, items, num_bytes)

    @property
    def shape(self) -> BlockShape:
        return self.items.shape

    @property
    def num_values(self) -> int:
        return self.indices.num_values

    def decode(self, out: BlockSlice) -> None:
        bits = _index_bits(self.indices)
        if isinstance(self.shape, VariableWidth):
            kernels.take_variable(
                self.items.offsets,
                self.shape.offset_bits,
                self.items.values,
                self.indices.values,
                bits,
                out.offsets,
                self.shape.offset_bits,
                out.values,
            )
        elif isinstance(self.shape, FixedWidth) and self.shape.bits > 1:
            kernels.take_fixed(self.items.values, self.shape.bytes_per_value, self.indices.values, bits, out.values)
        else:
            places = _numbers(self.indices)
            copy_runs(self.items, places, places + 1, out)


def _index_bits(indices: BlockSlice) -> int:
    assert isinstance(indices.shape, FixedWidth)
    return indices.shape.bits


def _numbers(indices: BlockSlice) -> NDArray[np.int64]:
    """Return checked indices as positions."""
    return indices.values.view(f"u{_index_bits(indices) // 8}").astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class KeptItems:
    """A dictionary for `lance_arrow.arrays`."""

    items: BlockSlice

    @property
    def shape(self) -> BlockShape:
        return self.items.shape

    @property
    def num_items(self) -> int:
        return self.items.num_values

    @property
    def num_bytes(self) -> int:
        return self.items.values.size if isinstance(self.shape, VariableWidth) else 0

    def decode(self, out: BlockSlice) -> None:
        everything = np.zeros(1, np.int64), np.array([self.num_items], np.int64)
        copy_runs(self.items, *everything, out)


@dataclass(frozen=True, slots=True, eq=False)
class IndexPage:
    """Indices for a leaf that keeps its dictionary."""

    levels: Structure
    indices: BlockSlice
    items: BlockSlice
    num_bytes = 0

    @property
    def shape(self) -> BlockShape:
        return self.indices.shape

    @property
    def num_values(self) -> int:
        return self.indices.num_values

    @property
    def dictionary(self) -> KeptItems:
        return KeptItems(self.items)

    def decode(self, out: BlockSlice) -> None:
        out.values[:] = self.indices.values


def decode_items(codec: BoundChunkCodec, buffer: Bytes, num_items: int, limits: Limits) -> BlockSlice:
    """Decode the dictionary buffer of a page; its size is checked before it is allocated."""
    starts, sizes = np.zeros((1, 1), np.int64), np.array([[buffer.size]])
    block = ChunkBatch(buffer, starts, sizes, np.array([0, num_items]))
    num_bytes = codec.measure(block)
    limits.check("max_dictionary_bytes", block_bytes(codec.shape, num_items, num_bytes))
    items = new_block(codec.shape, num_items, num_bytes)
    codec.decode(block, items)
    return items


def with_empty_item(items: BlockSlice) -> BlockSlice:
    """Append an empty item to a dictionary of variable width, for null slots."""
    assert isinstance(items.shape, VariableWidth)
    width = items.shape.offset_bits // 8
    offsets = np.concatenate([items.offsets, items.offsets[-width:]])
    return BlockSlice(items.shape, items.num_values + 1, items.values, offsets=offsets)
