"""Bind description bytes to objects, by a walk over the tree with the encoding table; results are cached.

description bytes ── known? ──► BoundLayout (shared, immutable)
      │ no
      ▼
parse ► EncodingKey ► table ► factory.bind(message, scope) ──► scope.chunk_codec(child) ► the same steps

Invalid descriptions are rejected here; code below this level uses neither protobuf nor pluggy.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import Message

from lance_arrow.errors import CorruptFileError, PluginContractError, UnsupportedError
from lance_arrow.proto.reading import parse, set_case
from lance_arrow.spi import PRIVATE_CODEC, DecodeContext, EncodingKey, LeafType, PackedStruct
from lance_arrow.spi.blocks import LayerKind
from lance_arrow.spi.leaf_type import NodeKind

if TYPE_CHECKING:
    from lance_arrow.settings import Limits
    from lance_arrow.spi import BindScope, BlockShape, BoundChunkCodec, BoundPerValueCodec
    from lance_arrow.spi.arrays import BoundArray
    from lance_arrow.spi.codecs import BoundBufferScheme
    from lance_arrow.spi.layouts import BoundColumnEncoding, BoundLayout
    from lance_arrow.spi.scratch import Scratch
    from lance_arrow.spi.table import EncodingTable
    from lance_arrow.structure.templates import Templates

B = TypeVar("B")

_MEMO_ENTRIES = 4096
_MEMO_BYTES = 1 << 20
"""Of descriptions: those with tables mostly belong to one page, and what is bound to them holds as much again."""
_PRIVATE_CASE = "private_codec"


class Binder:
    """Binds page and column descriptions; one per runtime, shared by threads."""

    def __init__(self, table: EncodingTable, limits: Limits, scratch: Scratch) -> None:
        self.table = table
        self.limits = limits
        self.scratch = scratch
        self._memo: OrderedDict[tuple[str, bytes, Any], Any] = OrderedDict()
        self._memo_bytes = 0
        self._lock = Lock()

    @cached_property
    def _templates(self) -> Templates:
        from lance_arrow.structure.templates import Templates  # noqa: PLC0415 - writers bind no page

        return Templates()

    def page(self, message: str, description: bytes, leaf: LeafType, distribution: str = "") -> BoundLayout:
        """Bind a page description.

        Parameters
        ----------
        message
            Full protobuf name from the page's ``Any``.
        description
            Bytes of the value.
        leaf
            Schema of the column.
        distribution
            Name of the distribution in the file that reads the page.

        Raises
        ------
        UnknownEncodingError
            No plugin provides the layout or a codec inside it.
        CorruptFileError
            The description contradicts the format, itself or the schema.
        """
        key = (message, description, leaf)
        found: BoundLayout | None = self._known(key)
        if found is not None:
            return found
        kind = (message, leaf)
        like = self._templates.find(kind, description)
        if like is not None:
            return self._keep(key, like)
        parsed = self._parse(message, description, "page description", distribution)
        layout = self._keep(key, self.scope(leaf).layout(parsed))
        factory = self.table.layout(key_of(parsed))
        case = () if factory.key.case is None else (factory.key.case,)
        counts = [(name, (*case, *path)) for name, path in getattr(factory, "counts", ())]
        self._templates.keep(kind, description, layout, parsed.DESCRIPTOR, counts)
        return layout

    def column(self, message: str, description: bytes, num_column_buffers: int) -> BoundColumnEncoding:
        """Bind a column description; see `page` for the errors."""
        key = (message, description, num_column_buffers)
        found: BoundColumnEncoding | None = self._known(key)
        if found is not None:
            return found
        parsed = self._parse(message, description, "column description")
        return self._keep(key, self.scope(LeafType(None)).column_encoding(parsed, num_column_buffers))

    def _known(self, key: tuple[str, bytes, Any]) -> Any:
        with self._lock:
            found = self._memo.get(key)
            if found is not None:
                self._memo.move_to_end(key)
            return found

    def _keep(self, key: tuple[str, bytes, Any], bound: B) -> B:
        with self._lock:
            if key not in self._memo:
                self._memo_bytes += len(key[1])
            self._memo[key] = bound
            while len(self._memo) > _MEMO_ENTRIES or self._memo_bytes > _MEMO_BYTES:
                (_, description, _), _ = self._memo.popitem(last=False)
                self._memo_bytes -= len(description)
        return bound

    def _parse(self, message: str, description: bytes, what: str, distribution: str = "") -> Message:
        self.limits.check("max_description_bytes", len(description))
        # Binding limits the depth, so parsing does not.
        return parse(self.table.message_type(message, distribution), description, what=what, max_depth=None)

    def scope(self, leaf: LeafType) -> BindScope:
        """Return the scope for binding descriptions of `leaf`; tests of single plugins start here."""
        return _Scope(self, leaf, 0)


@dataclass(frozen=True, slots=True)
class _Scope:
    """The binder's side of `BindScope`; a child's scope is one deeper."""

    binder: Binder
    leaf: LeafType
    depth: int

    @property
    def limits(self) -> Limits:
        return self.binder.limits

    @property
    def scratch(self) -> Scratch:
        return self.binder.scratch

    def chunk_codec(self, message: Any, context: DecodeContext) -> BoundChunkCodec:
        return self._codec(message, context)

    def value_codec(self, message: Any) -> BoundPerValueCodec:
        return self._codec(message, DecodeContext.PER_VALUE)

    def array(self, message: Any) -> BoundArray:
        key = key_of(message)
        factory = self.binder.table.array(key)
        return _returned(key, factory.bind(getattr(message, str(factory.key.case)), self._deeper()))

    def for_shape(self, shape: BlockShape | None) -> BindScope:
        return replace(self, leaf=LeafType(shape, is_text=self.leaf.is_text))

    def for_field(self, field: int) -> BindScope:
        shape = self.leaf.shape
        assert isinstance(shape, PackedStruct)
        return replace(self, leaf=LeafType(shape.fields[field]))

    def for_entries(self) -> BindScope:
        return replace(self, leaf=replace(self.leaf, nodes=(NodeKind.ITEM,)))

    def layout(self, message: Any) -> BoundLayout:
        key = key_of(message)
        factory = self.binder.table.layout(key)
        inner = message if factory.key.case is None else getattr(message, factory.key.case)
        return _returned(key, factory.bind(inner, self._deeper()))

    def column_encoding(self, message: Any, num_column_buffers: int) -> BoundColumnEncoding:
        key = key_of(message)
        factory = self.binder.table.column_encoding(key)
        inner = message if factory.key.case is None else getattr(message, factory.key.case)
        return factory.bind(inner, num_column_buffers, self._deeper())

    def buffer_scheme(self, message: Any) -> BoundBufferScheme:
        descriptor = message.DESCRIPTOR.fields_by_name["scheme"].enum_type
        value = descriptor.values_by_number.get(message.scheme)
        name = f"#{message.scheme}" if value is None else value.name
        return self.binder.table.scheme(EncodingKey(descriptor.full_name, name)).bind(message, self._deeper())

    def layers(self, values: Any) -> tuple[LayerKind, ...]:
        nodes = self.leaf.nodes
        if isinstance(self.leaf.shape, PackedStruct) and len(values) == len(nodes) + 1:
            # Writers 4 to 8 also stored a layer for the fields of blob descriptors, which has no level.
            if values[0] != LayerKind.ALL_VALID_ITEM:
                raise CorruptFileError(f"a page has a layer {values[0]} for the fields of a packed struct")
            values = values[1:]
        if len(values) != len(nodes):
            raise CorruptFileError(f"a page has {len(values)} layers, expected {len(nodes)} from the schema")
        return tuple(_layer(value, node) for value, node in zip(values, nodes, strict=True))

    def _codec(self, message: Any, context: DecodeContext) -> Any:
        key = key_of(message)
        distribution = message.private_codec.distribution if key.message == PRIVATE_CODEC else ""
        factory = self.binder.table.codec(key, distribution)
        if context not in factory.contexts:
            raise UnsupportedError(f"the codec {key} is not allowed in the {context.value} context", detail=key)
        case = message.WhichOneof(message.DESCRIPTOR.oneofs[0].name)
        return _returned(key, factory.bind(getattr(message, case), context, self._deeper()))

    def _deeper(self) -> _Scope:
        if self.depth >= self.limits.max_description_depth:
            raise CorruptFileError(f"encodings are nested deeper than {self.limits.max_description_depth}")
        return replace(self, depth=self.depth + 1)


def key_of(message: Message) -> EncodingKey:
    """Return the key of a description message: its own name and the set case.

    Raises
    ------
    CorruptFileError
        The message has cases, and none is set.
    """
    name = message.DESCRIPTOR.full_name
    if not message.DESCRIPTOR.oneofs:
        return EncodingKey(name)
    case = set_case(message)
    if case is None:
        raise CorruptFileError(f"an encoding description ({name}) is empty, expected one case to be set")
    if case == _PRIVATE_CASE:
        return EncodingKey(PRIVATE_CODEC, message.private_codec.id)  # type: ignore[attr-defined]
    return EncodingKey(name, case)


def _layer(value: int, node: NodeKind) -> LayerKind:
    try:
        layer = LayerKind(value)
    except ValueError:
        raise CorruptFileError(f"a page has a layer of unknown kind {value}") from None
    if layer.is_list != (node is NodeKind.LIST):
        raise CorruptFileError(f"a page has a layer {layer.name} where the schema has a {node.value}")
    return layer


def _returned(key: EncodingKey, bound: Any) -> Any:
    if bound is None:
        raise PluginContractError(f"the plugin of {key} returned None from bind")
    return bound
