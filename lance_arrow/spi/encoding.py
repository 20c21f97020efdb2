"""Data of the writing halves of codecs, layouts and column wrappers: their inputs and results.

A page is written in one direction. Arrow rows become a `PageContent`: structure and one block of visible values. A
layout encoder turns it into buffers with a description, and the scope encodes its blocks. A codec encoder turns a block
into bytes. None of them knows files. Only values outside their page have places (`PendingPage`). A factory that can
write has these methods too; they are optional.
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
        For each buffer of a chunk, the bytes of all chunks one after another, without padding.
    sizes
        ``(num_buffers, num_chunks) int64`` bytes; rows sum to the sizes of `buffers`.
    value_counts
        ``(num_chunks,) int64`` values per chunk. All but the last are a power of two, at least 2. A block without
        values is one chunk without values. (For `BlocksEncoder`: the counts that the caller requested.)
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
    """A block as one opaque buffer; `buffer` is None for encodings without bytes (2.3 only)."""

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
        Bits (a multiple of 8) of each value, or None if they differ.
    offsets
        ``(num_values + 1,) int64`` into `data`, if widths differ; None otherwise.
    length_bits
        Width of the length before each value, 32 or 64, if widths differ; 0 otherwise.
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
    """Limits of the chunks of a mini-block page.

    Parameters
    ----------
    max_bytes
        Largest sum of a chunk's value buffers, padded. It is a hard limit: bit-packed chunks of 64-bit values take up
        to 8200 bytes.
    max_values
        Most values in a chunk, a power of two.
    target_bytes
        Target size of a chunk of variable-width values, before compression. Plain values of fixed width take 8 KiB, or
        this size if it is larger.
    """

    max_bytes: int
    max_values: int
    target_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class PageContent:
    """Rows of one leaf, input of a layout encoder.

    Parameters
    ----------
    num_rows
        Top-level rows.
    levels
        Structure: kinds of layers for this data (a layer without nulls is ALL_VALID). Levels are numbered by these
        kinds; streams that are not needed are None. Source: spec 2.
    values
        The visible values, one per visible entry; slots of nulls are zero or empty. None for leaves without values.
        Read-only, because memory may be shared with the caller's arrays.
    leaf
        Type of the leaf, as the binder gets it when the page is read.
    num_nulls
        Visible values that are null.
    items
        Dictionary items, if the leaf keeps its dictionary: `values` are then indices into it. Item order is kept.
    dimensions
        Inner-most node first, like the layers: items of a fixed-size list of structs, 0 for other nodes. Needed only
        with such a list; a sparse structure cannot be written without it.
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
        """Whether the values are stored outside of the page, which then holds descriptors."""
        if self.values is None:
            return False
        return isinstance(self.values.shape, VariableWidth) and isinstance(self.leaf.shape, PackedStruct)


@dataclass(frozen=True, slots=True, eq=False)
class EncodedPage:
    """A written page.

    Parameters
    ----------
    description
        The outermost message, such as ``PageLayout``.
    buffers
        Its buffers, in the layout's order.
    distribution
        Name of the distribution that reads the page; the writer sets it for layouts outside the format.
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
    """A page that depends on the places of some bytes: the writer places `outside`, then calls `complete`.

    Parameters
    ----------
    outside
        Bytes to be placed before the page, in this order, each at its own alignment.
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
        """Key of the scheme that it writes."""

    def compress(self, data: Bytes, starts: Any, sizes: Any, level: int | None) -> tuple[Bytes, NDArray[np.int64]]:
        """Compress each of ``data[starts[i] : starts[i] + sizes[i]]`` to one frame of the format.

        Returns
        -------
        frames
            All frames one after another; an empty input has an empty frame.
        offsets
            ``(n + 1,) int64``: offsets of the frames.
        """
