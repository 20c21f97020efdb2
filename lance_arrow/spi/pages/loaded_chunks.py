"""Opened pages: plain values, dictionary-expanded values, and indices that keep their dictionary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
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
from lance_arrow.spi.chunks import ChunkBatch
from lance_arrow.spi.codecs import BoundChunkCodec
from lance_arrow.spi.pages.open_chunks import ValueRuns
from lance_arrow.spi.scratch import Scratch, block_bytes, new_block


@dataclass(frozen=True, slots=True, eq=False)
class ValuePage:
    """Values that the chunks hold themselves.

    `decoded` holds all values of the chunks when some of variable width were selected: their bytes can only be
    measured once they are there.
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
    ) -> ValuePage:
        num_bytes = codec.measure(chunks)
        if runs.starts is None or runs.stops is None or not isinstance(codec.shape, VariableWidth):
            return cls(levels, codec, chunks, runs, num_bytes, scratch)
        block = scratch.new_block(codec.shape, chunks.num_values, num_bytes)
        codec.decode(chunks, block)
        return cls(levels, codec, chunks, runs, measure_runs(block, runs.starts, runs.stops), scratch, block)

    @property
    def shape(self) -> BlockShape:
        return self.codec.shape

    @property
    def num_values(self) -> int:
        return self.runs.num_values

    def decode(self, out: BlockSlice) -> None:
        if self.runs.starts is None or self.runs.stops is None:
            self.codec.decode(self.chunks, out)
        elif self.decoded is not None:
            copy_runs(self.decoded, self.runs.starts, self.runs.stops, out)
        else:
            with self.scratch.block(self.shape, self.chunks.num_values) as block:
                self.codec.decode(self.chunks, block)
                copy_runs(block, self.runs.starts, self.runs.stops, out)


@dataclass(frozen=True, slots=True, eq=False)
class DictionaryPage:
    """Values that the chunks name by index."""

    levels: Levels
    indices: BlockSlice
    items: BlockSlice
    num_bytes: int
    dictionary = None

    @classmethod
    def of(cls, levels: Levels, indices: BlockSlice, items: BlockSlice) -> DictionaryPage:
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
    """Indices, which are known to have an item each, as positions."""
    return indices.values.view(f"u{_index_bits(indices) // 8}").astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class KeptItems:
    """A dictionary as the assembly wants it."""

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

    levels: Levels
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
    starts, sizes = np.zeros((1, 1), np.int64), np.array([[buffer.size]], np.int64)
    block = ChunkBatch(buffer, starts, sizes, np.array([0, num_items], np.int64))
    num_bytes = codec.measure(block)
    limits.check("max_dictionary_bytes", block_bytes(codec.shape, num_items, num_bytes))
    items = new_block(codec.shape, num_items, num_bytes)
    codec.decode(block, items)
    return items


def with_empty_item(items: BlockSlice) -> BlockSlice:
    """Append an item of no bytes to a dictionary of variable width: what null slots expand to."""
    assert isinstance(items.shape, VariableWidth)
    width = items.shape.offset_bits // 8
    offsets = np.concatenate([items.offsets, items.offsets[-width:]])
    return BlockSlice(items.shape, items.num_values + 1, items.values, offsets=offsets)
