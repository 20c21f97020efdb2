"""Protocols of the writing halves of factories: each estimates its cost, and encodes."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from lance_arrow.spi.arrays import ArrayContent, EncodedArray
from lance_arrow.spi.blocks import BlockSlice
from lance_arrow.spi.encoding import Encoded, EncodedChunks, EncodedPage, PageContent, PendingPage
from lance_arrow.spi.keys import DecodeContext, EncodingKey
from lance_arrow.spi.layouts import ZoneMapPlace
from lance_arrow.spi.scopes import EncodeScope

__all__ = [
    "ArrayEncoder",
    "BlocksEncoder",
    "CodecEncoder",
    "ColumnEncoder",
    "EncodedPage",
    "LayoutEncoder",
    "PageContent",
    "PendingPage",
]


@runtime_checkable
class CodecEncoder(Protocol):
    """Optional writing half of a codec factory.

    It may also have ``writes``, a mapping from context to a file version (``"2.2"``). Readers of that version and later
    ones accept the codec in that context. A context without an entry is not written. `score` is called only where
    `writes` allows. With ``kinds``, classes of shapes such as `FixedWidth`, it is not called for blocks of other
    shapes. Pages are small, so each call matters.
    """

    @property
    def key(self) -> EncodingKey:
        """Key of the case that it writes."""

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Estimate the encoded size in bytes, plus a penalty for slow decoding; None for unsuitable blocks.

        Must not encode. `scope.summary(block)` has the usual facts, computed once for all codecs.
        """

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> Encoded:
        """Encode all of `block`: EncodedChunks for MINI_BLOCK, EncodedBlock for BLOCK, EncodedValues for PER_VALUE.

        Chunks obey `scope.chunk_rules`. An encoder that wraps another may return its child's result if it saves
        nothing.

        Raises
        ------
        UnsupportedError
            The block cannot be written this way. Raise it only if the caller named this codec.
        """


@runtime_checkable
class BlocksEncoder(Protocol):
    """Optional part of a codec encoder: encodes many blocks of one description, such as levels of chunks.

    A codec with a BLOCK context but without these methods is called block by block, if a hook chose it.
    """

    @property
    def key(self) -> EncodingKey:
        """Key of the case that it writes."""

    def score_blocks(self, block: BlockSlice, value_starts: NDArray[np.int64], scope: EncodeScope) -> float | None:
        """Estimate the bytes of all blocks; None if the codec does not fit."""

    def encode_blocks(self, block: BlockSlice, value_starts: NDArray[np.int64], scope: EncodeScope) -> EncodedChunks:
        """Encode values ``value_starts[i] .. value_starts[i + 1]`` as block i, for each i.

        Returns
        -------
        EncodedChunks
            One buffer, or none if no block needs bytes. A size and a count per block, empty blocks included.
        """


@runtime_checkable
class LayoutEncoder(Protocol):
    """Optional writing half of a layout factory."""

    @property
    def key(self) -> EncodingKey:
        """Key of the layout that it writes."""

    def score(self, page: PageContent, scope: EncodeScope) -> float | None:
        """Estimate the cost of reading the page, in bytes; None if the layout does not fit."""

    def encode(self, page: PageContent, scope: EncodeScope) -> EncodedPage | PendingPage:
        """Lay out `page`; its blocks are encoded by `scope`.

        Raises
        ------
        UnsupportedError
            The page cannot be written this way. Raise it only if the caller named this layout.
        """


@runtime_checkable
class ColumnEncoder(Protocol):
    """Optional writing half of a column wrapper."""

    @property
    def key(self) -> EncodingKey:
        """Key of the wrapper that it writes."""

    def describe(self, inner: Message | None, zone_map: ZoneMapPlace | None) -> Message:
        """Return the column description: around `inner`, or the innermost one if `inner` is None."""


@runtime_checkable
class ArrayEncoder(Protocol):
    """Optional writing half of an array factory. ``scope.encode_array`` chooses children."""

    @property
    def key(self) -> EncodingKey:
        """Key of the case that it writes."""

    def score(self, content: ArrayContent, scope: EncodeScope) -> float | None:
        """Estimate the encoded size in bytes; None if the encoding does not fit."""

    def encode(self, content: ArrayContent, first_buffer: int, scope: EncodeScope) -> EncodedArray:
        """Encode all values; the first buffer gets the number `first_buffer`.

        Raises
        ------
        UnsupportedError
            The values cannot be written this way.
        """
