"""Chunked and zipped pages for the native engine; None if a codec has no native side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lance_arrow import engine, kernels
from lance_arrow.kernels import native_codecs
from lance_arrow.pages.bound_pages import BoundChunks, BoundEntries
from lance_arrow.pages.chunk_index import RowTable
from lance_arrow.spi.blocks import (
    BlockShape,
    BlockSlice,
    Bytes,
    FixedSizeList,
    FixedWidth,
    LayerKind,
    PackedStruct,
    VariableWidth,
    max_visible_def,
)
from lance_arrow.spi.chunks import ValueBatch
from lance_arrow.spi.codecs import BoundChunkCodec, BoundPerValueCodec
from lance_arrow.spi.layouts import PageFacts, PageIndex
from lance_arrow.spi.native import native_side, stored_side
from lance_arrow.spi.scratch import new_block
from lance_arrow.spi.slots import SlotLayer

_MOST_VALUE_BITS = 1 << 40
_MOST_STRUCTS = 1 << 31
NO_VALUES = -1
"""Bits of a value of leaves without values, for the engine."""


def value_bits(shape: BlockShape | None) -> int | None:
    """Return the bits of a value: 0 for variable width, None if a value is not one run of bits.

    A packed struct whose fields are whole bytes is one run of bits. The engine does not read values of 0 bits, and
    values so large that sizes would exceed 64 bits.
    """
    if isinstance(shape, FixedWidth):
        return shape.bits
    if isinstance(shape, VariableWidth):
        return 0
    if isinstance(shape, FixedSizeList) and not shape.validity_dimensions:
        bits = shape.leaf.bits * shape.items_per_value
        return bits if bits % 8 == 0 and 0 < bits <= _MOST_VALUE_BITS else None
    if isinstance(shape, PackedStruct):
        widths = struct_field_bytes(shape)
        return 8 * sum(widths) if widths and 8 * sum(widths) <= _MOST_VALUE_BITS else None
    return None


def row_parts(shape: BlockShape | None) -> tuple[int, ...]:
    """Return the bits of each part of a list of one length: for each layer its bitmap, or 0, then the items.

    For the engine, such a value is a row of its parts, each in whole bytes. Empty for values that are one run of bytes:
    lists without bitmaps, and all other shapes.
    """
    if not isinstance(shape, FixedSizeList):
        return ()
    item_bits = shape.items_per_value * shape.leaf.bits
    if not shape.validity_dimensions and item_bits % 8 == 0:
        return ()
    bitmaps = []
    layer: FixedWidth | FixedSizeList = shape
    for dimension in list_parts(shape)[:-1]:
        assert isinstance(layer, FixedSizeList)
        bitmaps.append(dimension if layer.has_validity else 0)
        layer = layer.items
    return (*bitmaps, item_bits)


def list_parts(shape: BlockShape | None) -> tuple[int, ...]:
    """Return the bits of each part of a list of one length, were there a bitmap of each layer; empty for others."""
    if not isinstance(shape, FixedSizeList):
        return ()
    parts, dimension = [], 1
    layer: FixedWidth | FixedSizeList = shape
    while isinstance(layer, FixedSizeList):
        dimension *= layer.dimension
        parts.append(dimension)
        layer = layer.items
    return (*parts, shape.items_per_value * shape.leaf.bits)


def row_bits(shape: BlockShape | None) -> int | None:
    """Return the bits of a value as the engine has it, as `value_bits`; also for lists that are rows of parts."""
    if not isinstance(shape, FixedSizeList):
        return value_bits(shape)
    parts = row_parts(shape)
    if not parts:
        return value_bits(shape)
    bits = 8 * sum([(part + 7) // 8 for part in parts])
    return bits if 0 < bits <= _MOST_VALUE_BITS else None


def struct_field_bytes(shape: BlockShape | None) -> tuple[int, ...]:
    """Return the bytes of each field of a packed struct; empty for other shapes, or fields that are not bytes."""
    if not isinstance(shape, PackedStruct):
        return ()
    bits = [value_bits(field) or 0 for field in shape.fields]
    return tuple(one // 8 for one in bits) if all(one and one % 8 == 0 for one in bits) else ()


_Made = TypeVar("_Made", engine.NativePage, engine.ChunkTemplate)


def _with_parts(made: _Made | None, shape: BlockShape | None) -> _Made | None:
    """Note the parts of which a value of the page is a row; None where its codecs make other values."""
    parts = row_parts(shape)
    if made is None or not parts:
        return made
    made.parts = parts  # type: ignore[misc]  # the stub has no setters
    return made if made.value_bits == row_bits(shape) else None


def native_chunks(
    layout: BoundChunks,
    page: PageFacts,
    chunk_starts: NDArray[Any],
    value_starts: NDArray[Any],
    rows: RowTable | None,
    items: BlockSlice | None,
) -> engine.NativePage | None:
    """Build the page, or return None if the engine does not support its values, levels or items."""
    if row_bits(layout.shape) is None:
        return None
    rep = None if layout.rep is None else native_side(layout.rep)
    def_ = None if layout.def_ is None else native_side(layout.def_)
    values = native_side(layout.values)
    if values is None or (layout.rep is not None and rep is None) or (layout.def_ is not None and def_ is None):
        return None
    held = None
    if items is not None:
        bits = _item_bits(layout, items.shape)
        if bits is None:
            return None
        offset_bits = _offset_bits(items.shape)
        values_of_items = items.values if offset_bits else _rows_of(items)
        held = (bits, values_of_items, items.offsets if offset_bits else None, offset_bits, layout.num_items)
    made = engine.chunked_page(
        page.num_rows,
        layout.layers,
        _levels(layout.layers),
        _offset_bits(layout.shape),
        values,
        rep,
        def_,
        layout.large,
        chunk_starts,
        value_starts,
        None if rows is None else rows.started,
        None if rows is None else rows.finished,
        None if rows is None else rows.left_over,
        held,
        layout.keeps_items,
    )
    return _with_parts(made, layout.shape)


def chunk_template(layout: BoundChunks) -> engine.ChunkTemplate | None:
    """Return the common data of pages that read their own index; None if the engine does not support them."""
    if row_bits(layout.shape) is None:
        return None
    if layout.items is not None and _item_bits(layout, layout.items.shape) is None:
        return None
    bound = (layout.values, layout.rep, layout.def_, layout.items)
    codecs = [None if one is None else native_side(one) for one in bound]
    if any(made is None for made, one in zip(codecs, bound, strict=True) if one is not None):
        return None
    values, rep, def_, items = codecs
    made = engine.chunk_template(
        layout.layers,
        _levels(layout.layers),
        _offset_bits(layout.shape),
        values,
        rep,
        def_,
        layout.large,
        items,
        layout.num_items,
        layout.limits.max_dictionary_bytes,
        layout.keeps_items,
    )
    return _with_parts(made, layout.shape)


def _item_bits(layout: BoundChunks, shape: BlockShape) -> int | None:
    """Return the bits of a dictionary item, 0 for variable width; None if the engine does not support such items."""
    bits = row_bits(shape)
    return bits if bits is not None and bits != 1 and isinstance(layout.values.shape, FixedWidth) else None


def native_entries(layout: BoundEntries, page: PageFacts, row_starts: NDArray[Any] | None) -> engine.NativePage | None:
    """Build the page, or return None if the engine does not support its values."""
    bits = row_bits(layout.values.shape)
    values = native_side(layout.values)
    if bits is None or (bits == 1 and values is None):
        return None
    values = values or called_values(layout.values)
    max_rep, max_def, _ = _levels(layout.layers)
    entry = layout.entry
    made = engine.zipped_page(
        page.num_rows,
        layout.layers,
        (max_rep, max_def, layout.max_visible),
        _offset_bits(layout.values.shape),
        layout.counts(page),
        (entry.bits_rep, entry.bits_def, entry.value_bytes, entry.length_bits),
        values,
        layout.row_bytes or 0,
        row_starts,
        stored_side(layout.values),
    )
    return _with_parts(made, layout.values.shape)


def native_constant(
    page: PageFacts,
    layers: tuple[LayerKind, ...],
    shape: BlockShape | None,
    scalar: bytes | None,
    levels: tuple[BoundChunkCodec | None, BoundChunkCodec | None],
    counts: tuple[int, int],
    most_level_bytes: int,
) -> engine.NativePage | None:
    """Build a page whose valid values are all equal, or return None if the engine does not support its values.

    Parameters
    ----------
    page
        The page: without buffers, or with one of a scalar, two of levels, or all of these.
    layers
        Layers of the values, inner-most first.
    shape
        Shape of a value; None for leaves without values.
    scalar
        The value, if the description has it.
    levels, counts
        Codecs of repetition and definition levels, None for 16-bit words; how many levels there are, 0 if that is not
        described.
    most_level_bytes
        The most bytes of levels.
    """
    bits = NO_VALUES if shape is None else row_bits(shape)
    codecs = [None if codec is None else native_side(codec) for codec in levels]
    if bits is None or any(made is None for made, codec in zip(codecs, levels, strict=True) if codec is not None):
        return None
    rep, definition = codecs
    made = engine.constant_page(
        page.num_rows,
        len(page.buffer_sizes),
        layers,
        _levels(layers),
        bits,
        0 if shape is None else _offset_bits(shape),
        scalar,
        rep,
        definition,
        counts,
        most_level_bytes,
    )
    return _with_parts(made, shape)


def native_sparse(
    num_rows: int, layers: tuple[SlotLayer, ...], values: engine.NativePage | None, lengths_per_row: int = 1
) -> engine.NativePage | None:
    """Build a page of structure as positions from that of its values; None if the engine does not support it.

    Parameters
    ----------
    num_rows
        Slots of the outer-most layer.
    layers
        Layers, inner-most first.
    values
        A row for each slot of the leaf; None if these have no native page.
    lengths_per_row
        How many rows the page counts for each slot of the outer-most layer.
    """
    if values is None or lengths_per_row > _MOST_STRUCTS:
        return None
    parts = [
        (layer.positions, layer.lists_nulls, layer.list_slots, layer.item_starts, layer.dimension) for layer in layers
    ]
    return engine.sparse_page(values, num_rows, tuple(parts), lengths_per_row)


def native_spread(values: engine.NativePage | None, slots: SlotLayer) -> engine.NativePage | None:
    """Build a page of slots from that of the values of valid ones; None if these have no native page."""
    if values is None or not slots.has_nulls:
        return values
    return engine.spread_page(values, slots.num_slots, slots.positions, slots.lists_nulls)


def native_places(index: PageIndex | None, layers: tuple[LayerKind, ...]) -> engine.NativePage | None:
    """Build a page of the places of values from the index of the page that stores them; None if it has no native page.

    Parameters
    ----------
    index
        Index of a page of positions and sizes.
    layers
        Layers of the values, inner-most first: places mark the nulls.
    """
    inner = getattr(index, "native", None)
    if inner is None:
        return None
    return engine.places_page(inner, layers, sum(layer.num_def_levels for layer in layers))


def _offset_bits(shape: BlockShape) -> int:
    return shape.offset_bits if isinstance(shape, VariableWidth) else 0


def called_values(codec: BoundPerValueCodec) -> object:
    """Wrap a codec of zipped values without a native side: one call decodes a batch of them.

    Its values are of variable width, or whole bytes, or rows of parts in whole bytes.
    """
    return native_codecs.called(row_bits(codec.shape) or 0, _decoder(codec))


def _decoder(codec: BoundPerValueCodec) -> Callable[[Any, Any, Any, int], tuple[Bytes, NDArray[np.int64] | None]]:
    def decode(data: Any, starts: Any, sizes: Any, first: int) -> tuple[Bytes, NDArray[np.int64] | None]:
        values = ValueBatch(np.frombuffer(data, np.uint8), np.asarray(starts) - first, np.array(sizes))
        num_bytes = codec.measure(values)
        shape = VariableWidth(64) if isinstance(codec.shape, VariableWidth) else codec.shape
        block = new_block(shape, values.num_values, num_bytes)
        codec.decode(values, block)
        if isinstance(shape, VariableWidth):
            return block.values, block.offsets.view(np.int64)
        return _rows_of(block), None

    return decode


def _rows_of(block: BlockSlice) -> Bytes:
    """Return values of one width as the engine has them: those of packed structs, and of lists, are rows of parts."""
    if isinstance(block.shape, PackedStruct):
        return _joined([field.values for field in block.fields], struct_field_bytes(block.shape), block.num_values)
    parts = [bits for bits in row_parts(block.shape) if bits]
    if not parts:
        return block.values
    item_bits = parts.pop()
    items = block.values if item_bits % 8 == 0 else _spread(block.values, block.num_values, item_bits)
    bitmaps = [_spread(one.values, block.num_values, bits) for one, bits in zip(block.validity, parts, strict=True)]
    return _joined([*bitmaps, items], [(bits + 7) // 8 for bits in (*parts, item_bits)], block.num_values)


def _spread(bits: Bytes, num_values: int, bits_per_value: int) -> Bytes:
    """Return the bits of each value in whole bytes."""
    out = np.empty(num_values * ((bits_per_value + 7) // 8), np.uint8)
    kernels.spread_bits(bits, 0, num_values * bits_per_value, bits_per_value, out)
    return out


def _joined(parts: list[Bytes], part_bytes: Sequence[int], num_values: int) -> Bytes:
    out = np.empty(num_values * sum(part_bytes), np.uint8)
    kernels.join_rows(parts, np.array(part_bytes, np.int64), num_values, out)
    return out


def _levels(layers: tuple[Any, ...]) -> tuple[int, int, int]:
    max_rep = sum(layer.is_list for layer in layers)
    return max_rep, sum(layer.num_def_levels for layer in layers), max_visible_def(layers)
