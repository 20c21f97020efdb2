"""Encode levels: how many values fit a chunk, where its entries end, and the encoded streams."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import InternalError
from lance_arrow.spi.blocks import BlockSlice, FixedWidth, LayerKind, Levels
from lance_arrow.spi.encoding import EncodedChunks
from lance_arrow.spi.scopes import EncodeScope

MAX_STREAM_BYTES = 0xFFFF
"""Chunks store the bytes of a level stream in 16 bits, and so the number of their entries. Source: spec 3."""
_GROUP_VALUES = 1024
_RUN_BYTES = 3
_LEVEL = FixedWidth(16)


def level_block(levels: NDArray[np.uint16]) -> BlockSlice:
    """Return a level stream as a block."""
    return BlockSlice(_LEVEL, len(levels), np.ascontiguousarray(levels).view(np.uint8))


def num_valid(levels: Levels) -> int:
    """Return the number of entries with a valid value: those with definition level 0."""
    return levels.num_entries - (0 if levels.def_ is None else int(np.count_nonzero(levels.def_)))


def null_inwards(levels: Levels) -> Levels:
    """Return the levels of a page without valid values, with everything inside its nulls marked as null too.

    The reference reads such a page as nulls, even if the leaf's layer has none. It rejects nulls of a field without
    nulls in a struct without nulls, if only an outer struct is null.
    """
    if levels.def_ is None or num_valid(levels):
        return levels
    inner = 0
    while inner < len(levels.layers) and levels.layers[inner] is LayerKind.ALL_VALID_ITEM:
        inner += 1
    if inner == 0 or inner == len(levels.layers) or levels.layers[inner] is not LayerKind.NULLABLE_ITEM:
        return levels
    layers = (LayerKind.NULLABLE_ITEM,) * inner + levels.layers[inner:]
    return Levels(layers, levels.num_entries, levels.rep, levels.def_ + np.uint16(inner))


def max_def(layers: tuple[LayerKind, ...]) -> int:
    """Return the largest definition level of the layers."""
    return sum(layer.num_def_levels for layer in layers)


def num_rows(levels: Levels) -> int:
    """Return the number of entries that begin a row."""
    return levels.num_entries if levels.rep is None else int(np.count_nonzero(levels.rep == levels.max_rep))


def max_chunk_entries(levels: Levels, stream_bytes: int) -> int:
    """Return how many entries always fit a chunk with `stream_bytes` for each level stream.

    They fit raw, or bit-packed in whole groups with the bits of the largest level. A codec that is smaller in total may
    be larger for one chunk, but at most by one run for each entry.
    """
    bits = max(levels.max_rep, max_def(levels.layers)).bit_length()
    packed = stream_bytes // (_GROUP_VALUES // 8 * max(bits, 1)) * _GROUP_VALUES
    return min(max(stream_bytes // 2, packed), MAX_STREAM_BYTES // _RUN_BYTES)


def chunk_values(levels: Levels, num_values: int, most: int, max_entries: int) -> int | None:
    """Return the largest power of two of values, at most `most`, whose entries always fit a chunk.

    Parameters
    ----------
    levels, num_values
        Levels and number of values of the page.
    most
        A power of two.
    max_entries
        Most entries of a chunk.

    Returns
    -------
    int or None
        None if not even two values fit: too many entries without a value lie between them.
    """
    if levels.rep is None or most + levels.num_entries - num_values <= max_entries:
        return most
    visible = _visible(levels)
    while most >= 2:
        before = np.concatenate(([-1], visible[: max(len(visible) - most, 0)]))
        ends = visible[min(most, len(visible)) - 1 :].copy()
        ends[-1] = levels.num_entries - 1
        if int((ends - before[: len(ends)]).max()) <= max_entries:
            return most
        most //= 2
    return None


def _visible(levels: Levels) -> NDArray[np.int64]:
    """Return the entries that have a value."""
    if levels.def_ is None:
        return np.arange(levels.num_entries)
    return np.flatnonzero(levels.def_ <= levels.max_visible_def)


@dataclass(frozen=True, slots=True, eq=False)
class LevelStream:
    """A level stream of a page, encoded chunk by chunk.

    Parameters
    ----------
    description
        Description of the stream in all chunks.
    buffer
        The bytes of all chunks one after another.
    sizes
        ``(num_chunks,) int64`` bytes of each.
    """

    description: Message
    buffer: NDArray[np.uint8]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, levels: NDArray[np.uint16], starts: NDArray[np.int64], scope: EncodeScope) -> LevelStream:
        """Encode entries ``starts[i] .. starts[i + 1]`` as those of chunk i, with one description for all."""
        encoded: EncodedChunks = scope.for_parts().encode_blocks(level_block(levels), starts)
        if not encoded.buffers:
            return cls(encoded.description, np.empty(0, np.uint8), np.zeros(len(starts) - 1, np.int64))
        return cls(encoded.description, encoded.buffers[0], np.ascontiguousarray(encoded.sizes[0]))


@dataclass(frozen=True, slots=True, eq=False)
class CutLevels:
    """Level streams of a page, cut into chunks.

    Parameters
    ----------
    num_levels
        ``(num_chunks,) int64`` entries; 0 if the page has no stream.
    rep, def_
        The encoded streams that exist.
    index
        The repetition index, ``(2 * num_chunks,) uint64``; None without lists.
    """

    num_levels: NDArray[np.int64]
    rep: LevelStream | None
    def_: LevelStream | None
    index: NDArray[np.uint64] | None

    @property
    def streams(self) -> tuple[LevelStream, ...]:
        return tuple(one for one in (self.rep, self.def_) if one is not None)

    @property
    def fits(self) -> bool:
        """Whether the sizes and counts of all chunks fit the 16 bits of chunk headers."""
        streams = self.streams
        if not streams:
            return True
        parts = (self.num_levels, *(one.sizes for one in streams))
        return all(int(part.max(initial=0)) <= MAX_STREAM_BYTES for part in parts)


def cut_levels(levels: Levels, value_counts: NDArray[np.int64], scope: EncodeScope) -> CutLevels:
    """Cut the levels of a page where its chunks of ``(num_chunks,)`` values end, and encode them."""
    if levels.rep is None and levels.def_ is None:
        if levels.num_entries != (num_values := int(value_counts.sum())):
            raise InternalError(f"{levels.num_entries} entries without lists, but {num_values} values")
        return CutLevels(np.zeros(len(value_counts), np.int64), None, None, None)
    value_starts = np.zeros(len(value_counts) + 1, np.int64)
    np.cumsum(value_counts, out=value_starts[1:])
    starts, index = value_starts, None
    if levels.rep is not None:
        starts = np.empty_like(value_starts)
        index = np.empty(2 * len(value_counts), np.int64)
        kernels.cut_levels(levels.rep, levels.def_, levels.max_rep, levels.max_visible_def, value_starts, starts, index)
    elif levels.num_entries != value_starts[-1]:
        raise InternalError(f"{levels.num_entries} entries without lists, but {value_starts[-1]} values")
    rep = None if levels.rep is None else LevelStream.of(levels.rep, starts, scope)
    def_ = None if levels.def_ is None else LevelStream.of(levels.def_, starts, scope)
    return CutLevels(np.diff(starts), rep, def_, None if index is None else index.view(np.uint64))


def encode_stream(levels: NDArray[np.uint16] | None, scope: EncodeScope) -> tuple[Message | None, NDArray[np.uint8]]:
    """Encode the levels of a whole page as one block; None and no bytes if there are none."""
    if levels is None:
        return None, np.empty(0, np.uint8)
    stream = LevelStream.of(levels, np.array([0, len(levels)], np.int64), scope)
    return stream.description, stream.buffer


def visible_levels(levels: Levels) -> NDArray[np.uint16] | None:
    """Return the definition levels of entries with a value slot."""
    if levels.def_ is None or levels.rep is None:
        return levels.def_
    return levels.def_[levels.def_ <= levels.max_visible_def]
