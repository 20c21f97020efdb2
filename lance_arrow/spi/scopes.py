"""What the binder gives to plugins: children, schemes, limits, scratch, and the leaf's type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from lance_arrow.settings import Limits
from lance_arrow.spi.blocks import BlockShape, LayerKind
from lance_arrow.spi.keys import DecodeContext
from lance_arrow.spi.leaf_type import LeafType
from lance_arrow.spi.scratch import Scratch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lance_arrow.spi.arrays import ArrayContent, BoundArray, EncodedArray
    from lance_arrow.spi.block_summary import BlockSummary
    from lance_arrow.spi.blocks import BlockSlice
    from lance_arrow.spi.codecs import BoundBufferScheme, BoundChunkCodec, BoundPerValueCodec
    from lance_arrow.spi.encode_options import EncodeOptions
    from lance_arrow.spi.encoding import (
        ChunkRules,
        Encoded,
        EncodedChunks,
        EncodedPage,
        PageContent,
        PendingPage,
        SchemeEncoder,
    )
    from lance_arrow.spi.keys import EncodingKey
    from lance_arrow.spi.layouts import BoundColumnEncoding, BoundLayout


class BindScope(Protocol):
    """The binder's side of `bind`. A child scope is one level deeper; depth is limited."""

    @property
    def limits(self) -> Limits: ...

    @property
    def scratch(self) -> Scratch: ...

    @property
    def leaf(self) -> LeafType: ...

    def chunk_codec(self, message: Any, context: DecodeContext) -> BoundChunkCodec:
        """Bind a child ``CompressiveEncoding`` in the MINI_BLOCK or BLOCK context.

        Raises
        ------
        UnknownEncodingError
            No plugin provides it; the column is unreadable, the file is not.
        CorruptFileError
            The message is empty, too deep, or refused in this context.
        """

    def value_codec(self, message: Any) -> BoundPerValueCodec:
        """Bind a child ``CompressiveEncoding`` in the PER_VALUE context."""

    def array(self, message: Any) -> BoundArray:
        """Bind a child ``ArrayEncoding``; errors as of `chunk_codec`."""

    def for_shape(self, shape: BlockShape | None) -> BindScope:
        """Return the scope for a child that holds something else than the leaf's values: items, indices, bits."""

    def for_field(self, field: int) -> BindScope:
        """Return the scope for the codec of one field of a packed struct: its `leaf` is the field alone."""

    def for_entries(self) -> BindScope:
        """Return the scope for an inner layout that stores one value per level entry, and no structure.

        A wrapper that tells the structure itself binds with it: the leaf has the same shape and no node above.
        """

    def layout(self, message: Any) -> BoundLayout:
        """Bind an inner page layout (a wrapper's)."""

    def column_encoding(self, message: Any, num_column_buffers: int) -> BoundColumnEncoding:
        """Bind an inner column encoding (a wrapper's)."""

    def buffer_scheme(self, message: Any) -> BoundBufferScheme:
        """Bind a ``BufferCompression``."""

    def layers(self, values: Any) -> tuple[LayerKind, ...]:
        """Check wire layers (repeated RepDefLayer) against `leaf.nodes` and return them.

        Raises
        ------
        CorruptFileError
            Unknown layer numbers, or a list layer where the schema has none.
        """


class EncodeScope(Protocol):
    """The page writer's side of encoding: children are chosen, not named, so any codec may be one.

    Choosing asks the hook `lance_choose_codec` first, then takes the smallest score of all encoders whose ``writes``
    allows the context in this file version.
    """

    @property
    def limits(self) -> Limits: ...

    @property
    def scratch(self) -> Scratch: ...

    @property
    def leaf(self) -> LeafType: ...

    @property
    def options(self) -> EncodeOptions:
        """How this column is to be written."""

    @property
    def file_version(self) -> str:
        """Which grammar the file obeys: ``2.0``, ``2.1``, ``2.2`` or ``2.3``."""

    @property
    def chunk_rules(self) -> ChunkRules:
        """What chunks may be in the MINI_BLOCK context."""

    @property
    def excluded(self) -> frozenset[EncodingKey]:
        """Codecs that are not to be chosen, among them those that this scope's codec lies within."""

    def with_rules(self, rules: ChunkRules) -> EncodeScope:
        """Return a scope whose chunks obey other rules."""

    def for_values(self) -> EncodeScope:
        """Return the scope for the values of the page: a codec that the caller named is used for them."""

    def for_parts(self, *, compression: str | None = None, compression_level: int | None = None) -> EncodeScope:
        """Return the scope for levels, dictionary items and other parts: options of the values do not apply.

        `compression` is what the caller wants of the parts, in the words of `EncodeOptions`.
        """

    def summary(self, block: BlockSlice) -> BlockSummary:
        """Facts about a block, each computed once for all who ask."""

    def encode_child(
        self, block: BlockSlice, context: DecodeContext, *, without: frozenset[EncodingKey] = frozenset()
    ) -> Encoded:
        """Choose a codec for `block`, not one of `without` (nor in its children), and encode it.

        Raises
        ------
        UnsupportedError
            No installed codec can hold it.
        """

    def estimate_child(
        self, block: BlockSlice, context: DecodeContext, *, without: frozenset[EncodingKey] = frozenset()
    ) -> float | None:
        """Return the smallest score of what `encode_child` could choose; None when nothing can hold the block."""

    def encode_with(self, key: EncodingKey, block: BlockSlice, context: DecodeContext) -> Encoded:
        """Encode `block` with the codec of `key`."""

    def encode_blocks(self, block: BlockSlice, value_starts: NDArray[np.int64]) -> EncodedChunks:
        """Choose a codec and encode each ``value_starts[i] .. value_starts[i + 1]`` of `block` in the BLOCK context.

        All blocks share one description: levels of mini-block chunks. The answer has one buffer, or none where the
        blocks need no bytes (2.3 only), and a size and a count for each block.

        Raises
        ------
        UnsupportedError
            No installed codec can hold them, or the one that a hook chose describes them differently.
        """

    def scheme(self, name: str) -> SchemeEncoder:
        """Return what compresses buffers by the scheme ``LZ4`` or ``ZSTD``. Source: BufferCompression.scheme."""

    def encode_array(self, content: ArrayContent, first_buffer: int) -> EncodedArray:
        """Choose an array encoding, by the smallest score, and encode; its buffers are numbered from `first_buffer`.

        Raises
        ------
        UnsupportedError
            No installed plugin can hold the values.
        """

    def layout(self, page: PageContent) -> EncodedPage | PendingPage:
        """Lay out an inner page (a wrapper's), of whose values the leaf is the only node."""
