"""`LeafType`: what the schema defines for a physical column: the shape of its values, and the nodes above them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from lance_arrow.spi.blocks import BlockShape


class NodeKind(enum.Enum):
    """Kind of a schema node on the path from a leaf to the root; each owns one layer of levels."""

    ITEM = "item"
    LIST = "list"
    FIXED_SIZE_LIST = "fixed-size list"


@dataclass(frozen=True, slots=True)
class LeafType:
    """Schema of a physical column; part of the key of the binder's cache.

    Parameters
    ----------
    shape
        Shape of the values in Arrow; None for columns without values (null, empty struct). If the leaf keeps its
        dictionary: shape of the indices.
    nodes
        Inner-most first: the leaf itself, then each struct, list or fixed-size list of structs above it.
    items
        If the leaf keeps its dictionary: the shape of the items; None otherwise.
    is_text
        Whether values (or items, or a field of a packed struct) are UTF-8 text instead of bytes.
    """

    shape: BlockShape | None
    nodes: tuple[NodeKind, ...] = (NodeKind.ITEM,)
    items: BlockShape | None = None
    is_text: bool = False
    _hash: int = field(init=False, default=0, compare=False, repr=False)

    def __hash__(self) -> int:
        # Computed whenever a page is bound; the fields have nested fields.
        found = self._hash
        if not found:
            found = hash((self.shape, self.nodes, self.items, self.is_text))
            object.__setattr__(self, "_hash", found)
        return found

    def __reduce__(self) -> tuple[type[LeafType], tuple[object, ...]]:
        # Texts have another hash in another process.
        return type(self), (self.shape, self.nodes, self.items, self.is_text)
