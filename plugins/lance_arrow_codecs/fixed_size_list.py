"""Fixed-size lists of primitives: item bitmaps, then the items of all lists without any offsets.

Nested lists are one description inside the other, outermost first, with one leaf. In a mini-block chunk each item
bitmap and the leaf's buffers are separate; a zipped row holds each layer's bitmap in whole bytes, then the leaf items:
it is decoded as a chunk of one value whose buffers are the parts of the row. Flat items of a row lie as they do in a
block; items of another encoding are zipped values of one width, back to back. A block is zipped rows back to back.
Source: CompressiveEncoding.FixedSizeList; spec 5.8, 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockShape,
    BlockSlice,
    BoundChunkCodec,
    BoundPerValueCodec,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    FixedSizeList,
    FixedWidth,
    ValueBatch,
    hookimpl,
    native_side,
)


@dataclass(frozen=True, slots=True)
class FixedSizeLists:
    """Binds ``fixed_size_list`` with all lists nested in it."""

    key = EncodingKey(COMPRESSIVE, "fixed_size_list")
    contexts = frozenset(DecodeContext)
    since = MappingProxyType(
        {DecodeContext.MINI_BLOCK: "2.1", DecodeContext.BLOCK: "2.3", DecodeContext.PER_VALUE: "2.1"}
    )

    def bind(
        self, message: Any, context: DecodeContext, scope: BindScope
    ) -> BoundFixedSizeList | BoundZippedFixedSizeList | BoundFixedSizeListBlocks:
        """Check dimensions and leaf, which is absent from zipped rows whose items are all null."""
        layers = _layers(message, scope.limits.max_description_depth)
        leaf_message = layers[-1].values
        zipped = context is not DecodeContext.MINI_BLOCK
        leaf: BoundChunkCodec | None = None
        if zipped and _is_nothing(leaf_message):
            shape = _all_null_shape(layers, scope.leaf.shape)
        else:
            leaf = _row_items(leaf_message, scope) if zipped else scope.chunk_codec(leaf_message, context)
            shape = _nest(layers, leaf.shape)
        scope.limits.check("max_value_bytes", shape.items_per_value * shape.leaf.bits // 8)
        items = prod(layer.items_per_value for layer in layers)
        bound = BoundFixedSizeList(shape, leaf, items, sum(layer.has_validity for layer in layers))
        if not zipped:
            return bound
        values = BoundZippedFixedSizeList.over(bound)
        return BoundFixedSizeListBlocks(values) if context is DecodeContext.BLOCK else values


def _is_nothing(leaf: Any) -> bool:
    return leaf.WhichOneof("compression") == "constant" and not leaf.constant.HasField("value")


def _row_items(leaf: Any, scope: BindScope) -> BoundChunkCodec:
    """Bind the items of zipped rows: as a block where they are flat or constant, else as values of one width."""
    case = leaf.WhichOneof("compression")
    if case == "constant" or (case == "flat" and not leaf.flat.HasField("data")):
        return scope.chunk_codec(leaf, DecodeContext.BLOCK)
    values = scope.value_codec(leaf)
    if values.value_bits is None:
        raise UnsupportedError("zipped fixed-size lists whose items differ in width are not readable")
    return _ItemValues(values, values.value_bits)


@dataclass(frozen=True, slots=True)
class _ItemValues:
    """Zipped values back to back, seen as the one buffer of a chunk."""

    values: BoundPerValueCodec
    value_bits: int
    num_buffers: int = 1

    @property
    def shape(self) -> BlockShape:
        return self.values.shape

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        width = self.value_bits // 8
        counts = np.diff(chunks.value_starts)
        places = np.arange(out.num_values) - np.repeat(chunks.value_starts[:-1], counts)
        starts = np.repeat(chunks.starts[0], counts) + places * width
        self.values.decode(ValueBatch(chunks.data, starts, np.full(out.num_values, width, np.int64)), out)


@dataclass(frozen=True, slots=True)
class BoundFixedSizeList:
    """Copies item bitmaps and lets the leaf decode the items of all lists; without a leaf all items are null.

    `leaf_values` are the leaf's values in one list, `num_bitmaps` the described layers that have bitmaps: the leaf
    of a plugin may bring lists of its own.
    """

    shape: FixedSizeList
    leaf: BoundChunkCodec | None
    leaf_values: int
    num_bitmaps: int

    @property
    def num_buffers(self) -> int:
        return self.num_bitmaps + (0 if self.leaf is None else self.leaf.num_buffers)

    def native(self) -> object | None:
        if self.shape.validity_dimensions or self.leaf is None:
            return None
        return native_codecs.fixed_size_lists(native_side(self.leaf), self.leaf_values)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        dimensions = self.shape.validity_dimensions[: self.num_bitmaps]
        for buffer, (dimension, bitmap) in enumerate(zip(dimensions, out.validity, strict=False)):
            places = (chunks.data, chunks.starts[buffer], chunks.sizes[buffer], chunks.value_starts * dimension)
            kernels.copy_bits(*places, bitmap.values, bitmap.bit_offset)
        if self.leaf is None:
            num_bits = out.num_values * self.shape.items_per_value * self.shape.leaf.bits
            kernels.fill_bits(out.values, out.bit_offset, num_bits, False)
            for bitmap in out.validity[self.num_bitmaps :]:
                kernels.fill_bits(bitmap.values, bitmap.bit_offset, bitmap.num_bits, False)
            return
        validity = out.validity[self.num_bitmaps :]
        num_values = out.num_values * self.leaf_values
        items = BlockSlice(self.leaf.shape, num_values, out.values, out.bit_offset, validity=validity)
        self.leaf.decode(chunks.buffers(self.num_bitmaps, self.num_buffers).scaled(self.leaf_values), items)


@dataclass(frozen=True, slots=True)
class BoundZippedFixedSizeList:
    """Decodes zipped rows as chunks of one value; `part_bytes` are the bytes of each bitmap and of the items."""

    rows: BoundFixedSizeList
    part_bytes: tuple[int, ...]

    @classmethod
    def over(cls, rows: BoundFixedSizeList) -> BoundZippedFixedSizeList:
        """Lay out the row of `rows`."""
        parts = [(dimension + 7) // 8 for dimension in rows.shape.validity_dimensions[: rows.num_bitmaps]]
        if rows.leaf is not None and rows.leaf.num_buffers:
            value_bits = rows.leaf.value_bits if isinstance(rows.leaf, _ItemValues) else rows.shape.leaf.bits
            item_bits = rows.leaf_values * value_bits
            if item_bits % 8:
                raise UnsupportedError(f"zipped fixed-size lists of {item_bits} bits, expected whole bytes")
            parts.append(item_bits // 8)
        return cls(rows, tuple(parts))

    @property
    def shape(self) -> FixedSizeList:
        return self.rows.shape

    @property
    def value_bits(self) -> int:
        return 8 * sum(self.part_bytes)

    def native(self) -> object | None:
        if self.shape.validity_dimensions or self.rows.leaf is None:
            return None
        return native_codecs.zipped_fixed_size_lists(native_side(self.rows.leaf), self.rows.leaf_values)

    def measure(self, values: ValueBatch) -> int:
        return 0

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        if (values.sizes != sum(self.part_bytes)).any():
            raise CorruptPageError(f"a zipped list has another size than the {sum(self.part_bytes)} bytes expected")
        sizes = np.array(self.part_bytes, np.int64).reshape(len(self.part_bytes), 1)
        starts = values.starts + (np.cumsum(sizes, axis=0) - sizes)
        rows = np.arange(values.num_values + 1)
        self.rows.decode(ChunkBatch(values.data, starts, np.repeat(sizes, values.num_values, axis=1), rows), out)


@dataclass(frozen=True, slots=True)
class BoundFixedSizeListBlocks:
    """Decodes blocks of rows in their zipped form, back to back: dictionary items of 2.3."""

    rows: BoundZippedFixedSizeList
    num_buffers: int = 1

    @property
    def shape(self) -> FixedSizeList:
        return self.rows.shape

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        row_bytes = self.rows.value_bits // 8
        counts = np.diff(chunks.value_starts)
        # Where all items are null the reference stores more bytes than the bitmaps have; they mean nothing.
        longer = chunks.sizes[0] - counts * row_bytes
        if (longer < 0).any() or (self.rows.rows.leaf is not None and longer.any()):
            raise CorruptPageError(f"a block of fixed-size lists has another size than rows of {row_bytes} bytes")
        places = np.arange(out.num_values) - np.repeat(chunks.value_starts[:-1], counts)
        starts = np.repeat(chunks.starts[0], counts) + places * row_bytes
        self.rows.decode(ValueBatch(chunks.data, starts, np.full(out.num_values, row_bytes, np.int64)), out)


def _layers(message: Any, max_depth: int) -> list[Any]:
    """The list descriptions from the outermost to the one that holds the leaf."""
    layers = [message]
    while layers[-1].values.WhichOneof("compression") == "fixed_size_list":
        layers.append(layers[-1].values.fixed_size_list)
    if len(layers) > max_depth:
        raise CorruptFileError(f"fixed-size lists are nested deeper than {max_depth}")
    for layer in layers:
        if not 0 < layer.items_per_value < 1 << 32:
            raise CorruptFileError(f"a fixed-size list has {layer.items_per_value} items, expected at least 1")
    return layers


def _nest(layers: list[Any], items: Any) -> FixedSizeList:
    if not isinstance(items, FixedWidth | FixedSizeList):
        raise CorruptFileError(f"a fixed-size list holds items of shape {items}, expected a fixed width")
    for layer in reversed(layers):
        items = FixedSizeList(items, layer.items_per_value, layer.has_validity)
    assert isinstance(items, FixedSizeList)
    return items


def _all_null_shape(layers: list[Any], expected: Any) -> FixedSizeList:
    """Where the items of a layer are all null the description stops; the schema knows what they would be.

    Release 4.0.0 stops one layer early: lists that its last bitmap calls valid hold nulls alone. So every layer that is
    not described has a bitmap here, all of it null.
    """
    items = expected
    for layer in layers:
        if not isinstance(items, FixedSizeList) or items.dimension != layer.items_per_value:
            raise CorruptFileError("a fixed-size list of nulls contradicts the schema", detail=expected)
        items = items.items
    if not layers[-1].has_validity:
        raise CorruptFileError("a fixed-size list has neither items nor a bitmap that says they are null")
    return _nest(layers, _of_nulls(items))


def _of_nulls(items: FixedWidth | FixedSizeList) -> FixedWidth | FixedSizeList:
    """Return `items` with a bitmap for each layer."""
    return FixedSizeList(_of_nulls(items.items), items.dimension, True) if isinstance(items, FixedSizeList) else items


@hookimpl
def lance_provide_codecs() -> list[FixedSizeLists]:
    return [FixedSizeLists()]
