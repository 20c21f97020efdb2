"""Services of the binder and the page writer for plugins: children, schemes, limits, scratch, and the leaf's type."""

from __future__ import annotations

from collections.abc import Callable, Hashable
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
            No plugin provides it. The column is unreadable, the file is not.
        CorruptFileError
            The message is empty, nested too deeply, or not allowed in this context.
        """

    def value_codec(self, message: Any) -> BoundPerValueCodec:
        """Bind a child ``CompressiveEncoding`` in the PER_VALUE context."""

    def array(self, message: Any) -> BoundArray:
        """Bind a child ``ArrayEncoding``; errors as for `chunk_codec`."""

    def for_shape(self, shape: BlockShape | None) -> BindScope:
        """Return the scope for a child whose values are not those of the leaf: items, indices, bits."""

    def for_field(self, field: int) -> BindScope:
        """Return the scope for the codec of one field of a packed struct: its `leaf` is the field alone."""

    def for_entries(self) -> BindScope:
        """Return the scope for an inner layout with one value per level entry and without structure.

        A wrapper that stores the structure itself binds with it: the leaf has the same shape, without nodes above it.
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
            Unknown layer numbers, or a list layer that the schema does not have.
        """


class EncodeScope(Protocol):
    """The page writer's side of encoding: children are chosen, not named, so any codec can be a child.

    The choice of the hook `lance_choose_codec` comes first. Otherwise the smallest score wins, among encoders whose
    ``writes`` allows the context in this file version.
    """

    @property
    def limits(self) -> Limits: ...

    @property
    def scratch(self) -> Scratch: ...

    @property
    def leaf(self) -> LeafType: ...

    @property
    def options(self) -> EncodeOptions:
        """Options of this column."""

    @property
    def file_version(self) -> str:
        """Version of the written file: ``2.0``, ``2.1``, ``2.2`` or ``2.3``."""

    @property
    def chunk_rules(self) -> ChunkRules:
        """Limits of chunks in the MINI_BLOCK context."""

    @property
    def excluded(self) -> frozenset[EncodingKey]:
        """Codecs that must not be chosen, including those around the codec of this scope."""

    def with_rules(self, rules: ChunkRules) -> EncodeScope:
        """Return a scope whose chunks obey other rules."""

    def for_values(self) -> EncodeScope:
        """Return the scope for the values of the page, which uses the codec that the caller named."""

    def for_parts(self, *, compression: str | None = None, compression_level: int | None = None) -> EncodeScope:
        """Return the scope for levels, dictionary items and other parts: options of the values do not apply.

        `compression` is the compression that the caller requested for the parts, with the names of `EncodeOptions`.
        """

    def summary(self, block: BlockSlice) -> BlockSummary:
        """Return facts about a block, each computed once and shared."""

    def carried(self, name: Hashable, find: Callable[[Any], Any]) -> Any:
        """Return ``find(fact)`` with a fact that an earlier page of this column carried under `name`, or None.

        The result is carried to the next pages: the first of a page under each name. Names of a plugin begin with the
        plugin's own. The same rows give the same bytes as long as `find` depends on nothing but the fact and the page.
        """

    def encode_child(
        self, block: BlockSlice, context: DecodeContext, *, without: frozenset[EncodingKey] = frozenset()
    ) -> Encoded:
        """Choose a codec for `block`, not one of `without` (also not in its children), and encode.

        Raises
        ------
        UnsupportedError
            No installed codec can hold the block.
        """

    def estimate_child(
        self, block: BlockSlice, context: DecodeContext, *, without: frozenset[EncodingKey] = frozenset()
    ) -> float | None:
        """Return the smallest score among the choices of `encode_child`; None if no codec can hold the block."""

    def encode_with(self, key: EncodingKey, block: BlockSlice, context: DecodeContext) -> Encoded:
        """Encode `block` with the codec of `key`."""

    def encode_blocks(self, block: BlockSlice, value_starts: NDArray[np.int64]) -> EncodedChunks:
        """Choose a codec and encode each ``value_starts[i] .. value_starts[i + 1]`` of `block` in the BLOCK context.

        All blocks share one description, such as levels of mini-block chunks. The result has one buffer, or none if the
        blocks need no bytes (2.3 only), and a size and a count for each block.

        Raises
        ------
        UnsupportedError
            No installed codec can hold them, or the codec that a hook chose describes them differently.
        """

    def native_encoders(
        self, shape: BlockShape, context: DecodeContext, *, without: frozenset[EncodingKey] = frozenset()
    ) -> tuple[Any, ...] | None:
        """Return the capsules among which `encode_child` would choose, in the order of names.

        For `native_pages` of a layout, and for `native_encoder` of a codec with children. Names of the capsules are
        ``lance_arrow.chunk_encoder/1`` for MINI_BLOCK, and ``lance_arrow.blocks_encoder/1`` for BLOCK. None if a codec
        that could be chosen has no native side.
        """

    def scheme(self, name: str) -> SchemeEncoder:
        """Return the compressor of the scheme ``LZ4`` or ``ZSTD``. Source: BufferCompression.scheme."""

    def encode_array(self, content: ArrayContent, first_buffer: int) -> EncodedArray:
        """Choose an array encoding, by the smallest score, and encode; buffers are numbered from `first_buffer`.

        Raises
        ------
        UnsupportedError
            No installed plugin can hold the values.
        """

    def layout(self, page: PageContent) -> EncodedPage | PendingPage:
        """Lay out an inner page of a wrapper; the leaf is the only node above its values."""
