"""Pages of 2.0 and 0.1: a tree of array encodings, whose nodes have their own buffers and nulls.

Source: lance.encodings.ArrayEncoding; for 0.1 the types of the schema, from which the container creates descriptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from lance_arrow.pages.arrays import ArrayPages
from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding
from lance_arrow.proto.legacy_pb2 import LegacyPage
from lance_arrow.spi import BindScope, EncodingKey, hookimpl
from lance_arrow.spi.arrays import ARRAY, LEGACY, HoldsItems
from lance_arrow.spi.layouts import NodeKind


@dataclass(frozen=True, slots=True)
class Array:
    """Reads `ArrayEncoding` or `LegacyPage`, with any case."""

    key: EncodingKey
    message_type: type[Message]

    def bind(self, message: Any, scope: BindScope) -> ArrayPages:
        """Bind the root of the tree."""
        root = scope.array(message)
        # Dictionaries also have items, but not those of lists.
        is_list = scope.leaf.nodes == (NodeKind.LIST,)
        return ArrayPages(root, root.num_items if is_list and isinstance(root, HoldsItems) else None)


@hookimpl
def lance_provide_layouts() -> list[Array]:
    return [Array(EncodingKey(ARRAY), ArrayEncoding), Array(EncodingKey(LEGACY), LegacyPage)]
