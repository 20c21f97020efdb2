"""Fixed-size lists of primitives: item bitmaps, then the items of all lists without offsets.

Nested lists are nested descriptions, outermost first, with one leaf. In a mini-block chunk each item bitmap and the
leaf's buffers are separate. A zipped row holds each layer's bitmap in whole bytes, then the leaf items. It is decoded
as a chunk of one value whose buffers are the parts of the row. Flat items of a row have the form of a block. Items of
another encoding are zipped values of one width, back to back. A block is zipped rows back to back. Source:
CompressiveEncoding.FixedSizeList; spec 5.8, 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from lance_arrow import kernels, spi
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding
from lance_arrow.proto.encodings_v21_pb2 import FixedSizeList as FixedSizeListMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    Bitmap,
    BlockShape,
    BlockSlice,
    BoundChunkCodec,
    BoundPerValueCodec,
    Bytes,
    ChunkBatch,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    FixedSizeList,
    FixedWidth,
    ValueBatch,
    hookimpl,
)
from lance_arrow.spi.native import native_side
from lance_arrow_codecs import native


@dataclass(frozen=True, slots=True)
class FixedSizeLists:
    """Binds ``fixed_size_list`` with all nested lists; writes flat items."""

    key = EncodingKey(COMPRESSIVE, "fixed_size_list")
    contexts = frozenset(DecodeContext)
    since = MappingProxyType(
        {DecodeContext.MINI_BLOCK: "2.1", DecodeContext.BLOCK: "2.3", DecodeContext.PER_VALUE: "2.1"}
    )
    writes = since
    kinds = (FixedSizeList,)

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

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the bytes of bitmaps and items; None if two values do not fit a chunk, or for rows with bits."""
        if not isinstance(block.shape, FixedSizeList):
            return None
        if context is DecodeContext.MINI_BLOCK:
            is_possible = _chunk_values(block, scope) is not None
            return float(scope.summary(block).raw_bytes) if is_possible else None
        if context is DecodeContext.PER_VALUE and _is_only_for_chunks(block.shape):
            return None
        rows = _rows(block)
        return None if rows is None else float(block.num_values * sum(rows.part_bytes))

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.Encoded:
        """Return bitmaps and items unchanged, or interleave them row by row."""
        if not isinstance(block.shape, FixedSizeList):
            raise UnsupportedError(f"expected fixed-size lists, not {block.shape}")
        if context is DecodeContext.MINI_BLOCK:
            return _encode_chunks(block, block.shape, scope)
        rows = _rows(block)
        if rows is None:
            raise UnsupportedError(f"rows of {block.shape} are not whole bytes")
        description = _describe(block.shape, rows.num_layers)
        data = rows.join(block)
        if context is DecodeContext.BLOCK:
            return spi.EncodedBlock(description, data)
        return spi.EncodedValues(description, data, value_bits=8 * sum(rows.part_bytes))


def _is_only_for_chunks(shape: FixedSizeList) -> bool:
    """Return whether the reference cannot read rows of this shape: bits with bitmaps need whole bytes."""
    return shape.leaf.bits == 1 and bool(shape.validity_dimensions)


def _describe(shape: FixedSizeList, num_layers: int | None = None) -> CompressiveEncoding:
    """Describe lists of flat items, or only their first `num_layers` layers, the last one of nulls."""
    layer = FixedSizeListMessage(items_per_value=shape.dimension, has_validity=shape.has_validity)
    if num_layers == 1:
        layer.values.constant.SetInParent()
    elif isinstance(shape.items, FixedSizeList):
        layer.values.CopyFrom(_describe(shape.items, None if num_layers is None else num_layers - 1))
    else:
        layer.values.flat.bits_per_value = shape.items.bits
    return CompressiveEncoding(fixed_size_list=layer)


def _chunk_values(block: BlockSlice, scope: EncodeScope) -> int | None:
    """Return the lists of a full chunk, a power of two; None if two do not fit."""
    shape, rules = block.shape, scope.chunk_rules
    assert isinstance(shape, FixedSizeList)
    bits = (*shape.validity_dimensions, shape.items_per_value * shape.leaf.bits)
    chunk_values = spi.chunk_cuts.largest_power_of_two(min(8 * rules.max_bytes // sum(bits), rules.max_values))
    while chunk_values and sum((chunk_values * one + 63) // 64 * 8 for one in bits) > rules.max_bytes:
        chunk_values //= 2
    return chunk_values if chunk_values >= min(2, max(block.num_values, 1)) else None


def _encode_chunks(block: BlockSlice, shape: FixedSizeList, scope: EncodeScope) -> spi.EncodedChunks:
    chunk_values = _chunk_values(block, scope)
    if chunk_values is None:
        raise UnsupportedError(f"{shape} does not fit chunks of {scope.chunk_rules}")
    counts = spi.chunk_cuts.cut_evenly(block.num_values, chunk_values)
    parts = list(zip(block.validity, shape.validity_dimensions, strict=True))
    buffers = [_spread(bitmap, chunk_values * bits) for bitmap, bits in parts]
    item_bits = shape.items_per_value * shape.leaf.bits
    buffers.append(block.values if shape.leaf.bits > 1 else _spread(_items(block, shape), chunk_values * item_bits))
    sizes = [(counts * bits + 7) // 8 for bits in (*shape.validity_dimensions, item_bits)]
    return spi.EncodedChunks(_describe(shape), tuple(buffers), np.array(sizes), counts)


def _items(block: BlockSlice, shape: FixedSizeList) -> Bitmap:
    return Bitmap(block.values, block.bit_offset, block.num_values * shape.items_per_value)


def _spread(bitmap: Bitmap, bits_per_run: int) -> Bytes:
    """Return runs of bits, each starting at a byte border."""
    runs, rest = divmod(bitmap.num_bits, bits_per_run)
    out = np.empty(runs * ((bits_per_run + 7) // 8) + (rest + 7) // 8, np.uint8)
    kernels.spread_bits(bitmap.values, bitmap.bit_offset, bitmap.num_bits, bits_per_run, out)
    return out


@dataclass(frozen=True, slots=True)
class _Rows:
    """Zipped rows: the bytes of each bitmap, then those of the items, if any item is valid.

    `num_layers` counts the layers up to one whose items are all null; None without such a layer.
    """

    part_bytes: tuple[int, ...]
    num_layers: int | None

    def join(self, block: BlockSlice) -> Bytes:
        shape = block.shape
        assert isinstance(shape, FixedSizeList)
        validity = zip(block.validity, shape.validity_dimensions, strict=True)
        parts = [_spread(bitmap, bits) for bitmap, bits in validity][: len(self.part_bytes)]
        if len(parts) < len(self.part_bytes):
            items = shape.items_per_value
            parts.append(block.values if shape.leaf.bits > 1 else _spread(_items(block, shape), items))
        if len(parts) == 1:
            return parts[0]
        out = np.empty(block.num_values * sum(self.part_bytes), np.uint8)
        kernels.join_rows(parts, np.array(self.part_bytes, np.int64), block.num_values, out)
        return out


def _rows(block: BlockSlice) -> _Rows | None:
    """Return the rows of a block; None if they are not whole bytes."""
    layer, num_layers, bitmaps = block.shape, 0, 0
    assert isinstance(layer, FixedSizeList)
    dimensions, item_bits = layer.validity_dimensions, layer.items_per_value * layer.leaf.bits
    part_bytes = tuple((bits + 7) // 8 for bits in dimensions)
    while isinstance(layer, FixedSizeList):
        num_layers += 1
        if layer.has_validity:
            bitmap = block.validity[bitmaps]
            bitmaps += 1
            if bitmap.num_bits and not kernels.count_bits(bitmap.values, bitmap.bit_offset, bitmap.num_bits):
                return _Rows(part_bytes[:bitmaps], num_layers)
        layer = layer.items
    return None if item_bits % 8 else _Rows((*part_bytes, item_bits // 8), None)


def _is_nothing(leaf: Any) -> bool:
    return leaf.WhichOneof("compression") == "constant" and not leaf.constant.HasField("value")


def _row_items(leaf: Any, scope: BindScope) -> BoundChunkCodec:
    """Bind the items of zipped rows: flat or constant ones as a block, others as values of one width."""
    case = leaf.WhichOneof("compression")
    if case == "constant" or (case == "flat" and not leaf.flat.HasField("data")):
        return scope.chunk_codec(leaf, DecodeContext.BLOCK)
    values = scope.value_codec(leaf)
    if values.value_bits is None:
        raise UnsupportedError("zipped fixed-size lists with items of different widths are not supported")
    return _ItemValues(values, values.value_bits)


@dataclass(frozen=True, slots=True)
class _ItemValues:
    """Zipped values back to back, in the form of one buffer of a chunk."""

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
    """Copies item bitmaps, and the leaf decodes the items of all lists; without a leaf all items are null.

    `leaf_values` is the number of the leaf's values in one list. `num_bitmaps` counts the described layers with
    bitmaps: the leaf of a plugin may contain lists, too.
    """

    shape: FixedSizeList
    leaf: BoundChunkCodec | None
    leaf_values: int
    num_bitmaps: int

    @property
    def num_buffers(self) -> int:
        return self.num_bitmaps + (0 if self.leaf is None else self.leaf.num_buffers)

    def native(self) -> object | None:
        bitmaps, shape = self.shape.validity_dimensions, self.shape
        if self.leaf is None:
            item_bits = shape.items_per_value * shape.leaf.bits
            return native.fixed_size_lists_codec(None, 0, bitmaps, self.num_bitmaps, item_bits)
        child = native_side(self.leaf)
        if child is None or not isinstance(self.leaf.shape, FixedWidth):
            return None
        return native.fixed_size_lists_codec(child, self.leaf_values, bitmaps, self.num_bitmaps)

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
    """Decodes zipped rows as chunks of one value; `part_bytes` has the bytes of each bitmap and of the items."""

    rows: BoundFixedSizeList
    part_bytes: tuple[int, ...]

    @classmethod
    def over(cls, rows: BoundFixedSizeList) -> BoundZippedFixedSizeList:
        """Compute the parts of a row of `rows`."""
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
        rows, bitmaps = self.rows, self.shape.validity_dimensions
        bitmap_bytes = sum(self.part_bytes[: rows.num_bitmaps])
        if rows.leaf is None:
            item_bits = self.shape.items_per_value * self.shape.leaf.bits
            return native.zipped_nulls_codec(bitmap_bytes, sum((bits + 7) // 8 for bits in (*bitmaps, item_bits)))
        if rows.num_bitmaps < len(bitmaps):
            return None
        return native.zipped_fixed_size_lists_codec(native_side(rows.leaf), rows.leaf_values, bitmap_bytes)

    def measure(self, values: ValueBatch) -> int:
        return 0

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        if (values.sizes != sum(self.part_bytes)).any():
            raise CorruptPageError(f"the size of a zipped list differs from the expected {sum(self.part_bytes)} bytes")
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

    def native(self) -> object | None:
        rows = None if self.rows.rows.leaf is None else self.rows.native()
        return native.flat_codec(self.rows.value_bits) if native_codecs.is_plain(rows) else None

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        row_bytes = self.rows.value_bits // 8
        counts = np.diff(chunks.value_starts)
        # If all items are null, the reference stores more bytes than the bitmaps have; they are not used.
        longer = chunks.sizes[0] - counts * row_bytes
        if (longer < 0).any() or (self.rows.rows.leaf is not None and longer.any()):
            raise CorruptPageError(f"the size of a block of fixed-size lists differs from rows of {row_bytes} bytes")
        places = np.arange(out.num_values) - np.repeat(chunks.value_starts[:-1], counts)
        starts = np.repeat(chunks.starts[0], counts) + places * row_bytes
        self.rows.decode(ValueBatch(chunks.data, starts, np.full(out.num_values, row_bytes, np.int64)), out)


def _layers(message: Any, max_depth: int) -> list[Any]:
    """Return the list descriptions from the outermost to the one with the leaf."""
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
    """Return the shape of lists of nulls: the description ends at a layer of nulls, the schema has the other layers.

    Release 4.0.0 ends one layer early: lists that are valid in its last bitmap hold only nulls. So every layer that is
    not described has a bitmap of nulls here.
    """
    items = expected
    for layer in layers:
        if not isinstance(items, FixedSizeList) or items.dimension != layer.items_per_value:
            raise CorruptFileError("a fixed-size list of nulls contradicts the schema", detail=expected)
        items = items.items
    if not layers[-1].has_validity:
        raise CorruptFileError("a fixed-size list has neither items nor a bitmap of null items")
    return _nest(layers, _of_nulls(items))


def _of_nulls(items: FixedWidth | FixedSizeList) -> FixedWidth | FixedSizeList:
    """Return `items` with a bitmap for each layer."""
    return FixedSizeList(_of_nulls(items.items), items.dimension, True) if isinstance(items, FixedSizeList) else items


@hookimpl
def lance_provide_codecs() -> list[FixedSizeLists]:
    return [FixedSizeLists()]
