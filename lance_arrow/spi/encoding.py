"""Protocols of the writing halves of codecs, layouts and column wrappers: what they are given and what they hand back.

A page is written in one direction: Arrow rows become a `PageContent` (structure and one block of visible values), a
layout encoder turns it into buffers with a description and asks the scope to encode its blocks, a codec encoder turns
a block into bytes. Nobody here knows files: places exist only for values that lie outside their page (`PendingPage`).
A factory that can also write simply has these methods too; one that cannot is a good plugin all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from lance_arrow.spi.blocks import BlockSlice, Bytes, Levels, PackedStruct, VariableWidth
from lance_arrow.spi.keys import EncodingKey
from lance_arrow.spi.leaf_type import LeafType


@dataclass(frozen=True, slots=True, eq=False)
class EncodedChunks:
    """A block as mini-block chunks.

    Parameters
    ----------
    description
        ``CompressiveEncoding`` of all chunks.
    buffers
        For each of a chunk's buffers, the bytes of all chunks one after another, without padding.
    sizes
        ``(num_buffers, num_chunks) int64`` bytes; rows sum to the sizes of `buffers`.
    value_counts
        ``(num_chunks,) int64`` values per chunk: all but the last a power of two, at least 2. A block without values
        is one chunk without values. (Of `BlocksEncoder`: whatever the caller wanted.)
    """

    description: Message
    buffers: tuple[Bytes, ...]
    sizes: NDArray[np.int64]
    value_counts: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers."""
        return sum(len(one) for one in self.buffers)


@dataclass(frozen=True, slots=True, eq=False)
class EncodedBlock:
    """A block as one opaque buffer; `buffer` is None for encodings that need no bytes (2.3 only)."""

    description: Message
    buffer: Bytes | None

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer."""
        return 0 if self.buffer is None else len(self.buffer)


@dataclass(frozen=True, slots=True, eq=False)
class EncodedValues:
    """A block value by value.

    Parameters
    ----------
    description
        ``CompressiveEncoding`` of the values.
    data
        All encoded values one after another, null slots included.
    value_bits
        Bits (a multiple of 8) of each value, or None where they differ.
    offsets
        ``(num_values + 1,) int64`` into `data`, where they differ; None otherwise.
    length_bits
        Width of the length before each value, 32 or 64, where they differ; 0 otherwise.
    """

    description: Message
    data: Bytes
    value_bits: int | None = None
    offsets: NDArray[np.int64] | None = None
    length_bits: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return len(self.data)


Encoded: TypeAlias = EncodedChunks | EncodedBlock | EncodedValues


@dataclass(frozen=True, slots=True)
class ChunkRules:
    """What a mini-block page allows its chunks.

    Parameters
    ----------
    max_bytes
        Largest sum of a chunk's value buffers, padded. A limit, not a wish: bit-packed chunks of 64-bit values take
        up to 8200 bytes.
    max_values
        Most values in a chunk, a power of two.
    target_bytes
        Wanted bytes of a chunk whose values have no fixed width, before compression. Plain values of fixed width take
        8 KiB, or this where it is more.
    """

    max_bytes: int
    max_values: int
    target_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class PageContent:
    """Rows of one leaf, ready to be laid out.

    Parameters
    ----------
    num_rows
        Top-level rows.
    levels
        Structure: kinds of layers as the data needs them (a layer without nulls is ALL_VALID), levels numbered by
        them, streams None where not needed. Spec 2.
    values
        The visible values, one per visible entry; slots of nulls are zero or empty. None for leaves without values.
        Memory may be shared with the caller's arrays: read-only.
    leaf
        What the binder would be told when it reads the page.
    num_nulls
        Visible values that are null.
    items
        Dictionary items, where the leaf keeps its dictionary: `values` are then indices into it. Item order is kept.
    dimensions
        Inner-most node first, like the layers: items of a fixed-size list of structs, 0 for other nodes. Needed only
        where a node is such a list; without it no sparse structure can be written.
    """

    num_rows: int
    levels: Levels
    values: BlockSlice | None
    leaf: LeafType
    num_nulls: int
    items: BlockSlice | None = None
    dimensions: tuple[int, ...] = ()

    @property
    def num_values(self) -> int:
        """Visible values, null ones included."""
        return 0 if self.values is None else self.values.num_values

    @property
    def is_blob(self) -> bool:
        """Whether the values are bytes that pages only point to: the leaf holds descriptors instead."""
        if self.values is None:
            return False
        return isinstance(self.values.shape, VariableWidth) and isinstance(self.leaf.shape, PackedStruct)


@dataclass(frozen=True, slots=True, eq=False)
class EncodedPage:
    """A page as it is written.

    Parameters
    ----------
    description
        The top message, such as ``PageLayout``.
    buffers
        Its buffers, in the layout's order.
    distribution
        What to install to read it; the writer fills it in for layouts outside the format.
    """

    description: Message
    buffers: tuple[Bytes, ...]
    distribution: str = ""

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers, padding not counted."""
        return sum(len(one) for one in self.buffers)


@dataclass(frozen=True, slots=True, eq=False)
class PendingPage:
    """A page that needs to know where some bytes lie: the writer places `outside`, then calls `complete`.

    Parameters
    ----------
    outside
        Bytes to be placed before the page, in this order, each at an alignment of its own.
    complete
        Takes ``(len(outside),) int64`` absolute positions and returns the page.
    """

    outside: tuple[Bytes, ...]
    complete: Callable[[NDArray[np.int64]], EncodedPage]


@runtime_checkable
class SchemeEncoder(Protocol):
    """Optional writing half of a buffer scheme."""

    @property
    def key(self) -> EncodingKey:
        """Which scheme it writes."""

    def compress(self, data: Bytes, starts: Any, sizes: Any, level: int | None) -> tuple[Bytes, NDArray[np.int64]]:
        """Compress each of ``data[starts[i] : starts[i] + sizes[i]]`` to a frame as the format frames it.

        Returns
        -------
        frames
            All frames one after another; an empty input has an empty frame.
        offsets
            ``(n + 1,) int64`` where they lie.
        """
