"""Pages of 2.0: a tree of array encodings, each node with buffers and nulls of its own.

Source: lance.encodings.ArrayEncoding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding
from lance_arrow.spi import ARRAY, BindScope, EncodingKey, HoldsItems, hookimpl
from lance_arrow.spi.pages import ArrayPages


@dataclass(frozen=True, slots=True)
class Array:
    """Reads `ArrayEncoding`, whatever its case."""

    key = EncodingKey(ARRAY)
    message_type = ArrayEncoding

    def bind(self, message: Any, scope: BindScope) -> ArrayPages:
        """Bind the root of the tree."""
        root = scope.array(message)
        return ArrayPages(root, root.num_items if isinstance(root, HoldsItems) else None)


@hookimpl
def lance_provide_layouts() -> list[Array]:
    return [Array()]
