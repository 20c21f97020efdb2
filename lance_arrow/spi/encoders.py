"""Protocols of the writing halves of factories: each tells what it would cost, and encodes."""

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


@runtime_checkable
class CodecEncoder(Protocol):
    """Optional writing half of a codec factory.

    It may also have ``writes``, a mapping from context to the first file version (``"2.2"``) whose readers accept it
    there; a context without one is not written. `score` is asked only where `writes` allows. With ``kinds``, classes of
    shapes such as `FixedWidth`, it is not asked for blocks of other shapes: pages are small, and asking takes time.
    """

    @property
    def key(self) -> EncodingKey:
        """Which case it writes."""

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Estimate the encoded size in bytes, slow decoding added; None withdraws: this block is not for me.

        Must not encode: `scope.summary(block)` has what is usually needed, computed once for all codecs.
        """

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> Encoded:
        """Encode all of `block`: EncodedChunks for MINI_BLOCK, EncodedBlock for BLOCK, EncodedValues for PER_VALUE.

        Chunks obey `scope.chunk_rules`. An encoder that wraps may return its child's answer when it gains nothing.

        Raises
        ------
        UnsupportedError
            The block cannot be written this way: only when the caller had asked for this codec by name.
        """


@runtime_checkable
class BlocksEncoder(Protocol):
    """Optional part of a codec encoder: many blocks of one description in one call, such as the levels of chunks.

    A codec that has a BLOCK context but not these methods is asked block by block, if a hook wants it.
    """

    @property
    def key(self) -> EncodingKey:
        """Which case it writes."""

    def score_blocks(self, block: BlockSlice, value_starts: NDArray[np.int64], scope: EncodeScope) -> float | None:
        """Estimate the bytes of all blocks; None withdraws."""

    def encode_blocks(self, block: BlockSlice, value_starts: NDArray[np.int64], scope: EncodeScope) -> EncodedChunks:
        """Encode values ``value_starts[i] .. value_starts[i + 1]`` as block i, for each i.

        Returns
        -------
        EncodedChunks
            One buffer, or none where no block needs bytes; a size and a count per block, empty blocks included.
        """


@runtime_checkable
class LayoutEncoder(Protocol):
    """Optional writing half of a layout factory."""

    @property
    def key(self) -> EncodingKey:
        """Which layout it writes."""

    def score(self, page: PageContent, scope: EncodeScope) -> float | None:
        """Tell how well the layout fits: the cost of reading the page, in bytes; None withdraws."""

    def encode(self, page: PageContent, scope: EncodeScope) -> EncodedPage | PendingPage:
        """Lay out `page`; its blocks are encoded by `scope`.

        Raises
        ------
        UnsupportedError
            The page cannot be written this way: only when the caller had asked for this layout by name.
        """


@runtime_checkable
class ColumnEncoder(Protocol):
    """Optional writing half of a column wrapper."""

    @property
    def key(self) -> EncodingKey:
        """Which wrapper it writes."""

    def describe(self, inner: Message | None, zone_map: ZoneMapPlace | None) -> Message:
        """Return the column description: around `inner`, or the innermost one when it is None."""


@runtime_checkable
class ArrayEncoder(Protocol):
    """Optional writing half of an array factory. Children are chosen by ``scope.encode_array``."""

    @property
    def key(self) -> EncodingKey:
        """Which case it writes."""

    def score(self, content: ArrayContent, scope: EncodeScope) -> float | None:
        """Tell about how many bytes it would take; None withdraws."""

    def encode(self, content: ArrayContent, first_buffer: int, scope: EncodeScope) -> EncodedArray:
        """Encode all values; the first buffer gets the number `first_buffer`.

        Raises
        ------
        UnsupportedError
            The values cannot be written this way.
        """
