"""What the binder gives to plugins: children, schemes, limits, scratch, and the leaf's type."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lance_arrow.settings import Limits
from lance_arrow.spi.blocks import BlockShape, LayerKind
from lance_arrow.spi.keys import DecodeContext
from lance_arrow.spi.scratch import Scratch

if TYPE_CHECKING:
    from lance_arrow.spi.codecs import BoundBufferScheme, BoundChunkCodec, BoundPerValueCodec, Encoded
    from lance_arrow.spi.layouts import BoundColumnEncoding, BoundLayout


class NodeKind(enum.Enum):
    """Kind of a schema node on the path from a leaf to the root; each owns one layer of levels."""

    ITEM = "item"
    LIST = "list"
    FIXED_SIZE_LIST = "fixed-size list"


@dataclass(frozen=True, slots=True)
class LeafType:
    """What the schema says of a physical column; part of the binder's cache key.

    Parameters
    ----------
    shape
        Values as Arrow wants them; None for columns without values (null, empty struct). For a leaf that keeps its
        dictionary: the indices.
    nodes
        Inner-most first: the leaf itself, then each struct, list or fixed-size list of structs above it.
    items
        For a leaf that keeps its dictionary: the shape of the items; None otherwise.
    """

    shape: BlockShape | None
    nodes: tuple[NodeKind, ...] = (NodeKind.ITEM,)
    items: BlockShape | None = None


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
    """The page writer's side of `CodecEncoder`: children are chosen, not named, so any codec may be one."""

    @property
    def limits(self) -> Limits: ...

    @property
    def scratch(self) -> Scratch: ...

    @property
    def options(self) -> Mapping[str, str]:
        """Column options and the field's ``lance-encoding:*`` metadata, verbatim."""

    @property
    def file_version(self) -> str:
        """Which grammar the file obeys: ``2.1``, ``2.2`` or ``2.3``."""

    def encode_child(self, block: Any, context: DecodeContext) -> Encoded:
        """Choose a codec for `block` (smallest score) and encode it."""

    def encode_with(self, key: Any, block: Any, context: DecodeContext) -> Encoded:
        """Encode `block` with the codec of `key`."""
