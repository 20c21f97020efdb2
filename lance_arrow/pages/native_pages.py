"""Chunked and zipped pages for the native engine; None if a codec has no native side."""

from __future__ import annotations

from typing import Any, TypeVar

from lance_arrow import engine
from lance_arrow.pages.bound_pages import BoundChunks, BoundEntries
from lance_arrow.pages.called_codecs import chunk_side, value_side
from lance_arrow.pages.in_memory import Held
from lance_arrow.pages.value_rows import NO_VALUES, list_parts, offset_bits, row_bits, row_parts
from lance_arrow.spi.blocks import (
    BlockShape,
    BlockSlice,
    Bytes,
    FixedSizeList,
    FixedWidth,
    LayerKind,
    max_visible_def,
)
from lance_arrow.spi.codecs import BoundChunkCodec
from lance_arrow.spi.layouts import PageFacts
from lance_arrow.spi.native import stored_side
from lance_arrow.spi.slots import SlotLayer

__all__ = [
    "native_by_index",
    "native_constant",
    "native_flattened",
    "native_in_memory",
    "native_places",
    "native_sparse",
    "native_spread",
]

_MOST_STRUCTS = 1 << 31

_Made = TypeVar("_Made", engine.NativePage, engine.ChunkTemplate)


def _with_parts(made: _Made | None, shape: BlockShape | None) -> _Made | None:
    """Note the parts of which a value of the page is a row; None where its codecs make other values."""
    parts = row_parts(shape)
    if made is None or not parts:
        return made
    made.parts = parts  # type: ignore[misc]  # the stub has no setters
    return made if made.value_bits == row_bits(shape) else None


def chunk_template(layout: BoundChunks) -> engine.ChunkTemplate | None:
    """Return the common data of pages that read their own index; None if the engine does not support them."""
    if row_bits(layout.shape) is None:
        return None
    if layout.items is not None and _item_bits(layout, layout.items.shape) is None:
        return None
    most_bytes, most_item_bytes = layout.limits.max_batch_bytes, layout.limits.max_dictionary_bytes
    values = chunk_side(layout.values, most_bytes)
    rep, def_ = (None if one is None else chunk_side(one, most_bytes) for one in (layout.rep, layout.def_))
    items = None if layout.items is None else chunk_side(layout.items, most_item_bytes, "max_dictionary_bytes")
    made = engine.chunk_template(
        layout.layers,
        _levels(layout.layers),
        offset_bits(layout.shape),
        values,
        rep,
        def_,
        layout.large,
        items,
        layout.num_items,
        most_item_bytes,
        layout.keeps_items,
    )
    return _with_parts(made, layout.shape)


def like_template(
    template: engine.ChunkTemplate, before: BoundChunks, layout: BoundChunks
) -> engine.ChunkTemplate | None:
    """Return the template of pages that have other counts and tables than those of one; None as `chunk_template`."""
    if layout.values is before.values and layout.items is before.items:
        return template.like(layout.num_items)
    values = chunk_side(layout.values, layout.limits.max_batch_bytes)
    items = None
    if layout.items is not None:
        items = chunk_side(layout.items, layout.limits.max_dictionary_bytes, "max_dictionary_bytes")
    # Without a capsule, the template would keep the codec with the parameters of another page.
    if values is None or (items is None) != (layout.items is None):
        return None
    return template.like(layout.num_items, values, items)


def _item_bits(layout: BoundChunks, shape: BlockShape) -> int | None:
    """Return the bits of a dictionary item, 0 for variable width; None if the engine does not support such items."""
    bits = row_bits(shape)
    return bits if isinstance(layout.values.shape, FixedWidth) else None


def native_entries(layout: BoundEntries, page: PageFacts) -> engine.NativePage | None:
    """Build the page, which reads its index by itself; None if the engine does not support its values."""
    values = value_side(layout.values, layout.limits.max_batch_bytes)
    if values is None:
        return None
    max_rep, max_def, _ = _levels(layout.layers)
    entry = layout.entry
    made = engine.zipped_page(
        page.num_rows,
        layout.layers,
        (max_rep, max_def, layout.max_visible),
        offset_bits(layout.values.shape),
        layout.counts(page),
        (entry.bits_rep, entry.bits_def, entry.value_bytes, entry.length_bits),
        values,
        -1 if layout.row_bytes is None else layout.row_bytes,
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
    if bits is None:
        return None
    rep, definition = (None if codec is None else chunk_side(codec, most_level_bytes) for codec in levels)
    made = engine.constant_page(
        page.num_rows,
        len(page.buffer_sizes),
        layers,
        _levels(layers),
        bits,
        0 if shape is None else offset_bits(shape),
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


def native_by_index(
    indices: BlockSlice, items: Held, shape: BlockShape, *, keeps_items: bool
) -> engine.NativePage | None:
    """Build a page of values by index, both in memory; None if the engine does not support such items.

    Parameters
    ----------
    indices
        An index for each row, those of nulls too.
    items, shape
        What they count, as `held_values` returns them, and the shape of an item.
    keeps_items
        Whether values are the indices.
    """
    assert isinstance(indices.shape, FixedWidth)
    return _with_parts(engine.held_page(indices.values, indices.shape.bits, items, keeps_items), shape)


def native_in_memory(page: engine.NativePage, data: Bytes) -> engine.NativePage:
    """Build a page whose data buffer lies in memory; `page` has its index."""
    return engine.buffered_page(page, data)


def native_flattened(
    items: engine.NativePage | None, shape: FixedSizeList, layers: tuple[LayerKind, ...]
) -> engine.NativePage | None:
    """Build a page of fixed-size lists out of one of their items; None if the engine does not support it.

    Parameters
    ----------
    items
        A row for each item; its levels are those of the item, its lists, and what is around them.
    shape
        Shape of a list, without bitmaps.
    layers
        Of the items, inner-most first.
    """
    *bitmaps, item_bits = list_parts(shape)
    own, outer = layers[: len(bitmaps)], layers[len(bitmaps) :]
    if items is None or any(layer.is_list for layer in layers):
        return None
    level, parts = 0, []
    for layer, bits in zip(own, reversed(bitmaps), strict=True):
        level += layer.num_def_levels
        parts.append((bits if layer.num_def_levels else 0, level))
    return engine.flattened_page(items, outer, shape.items_per_value, level, tuple(reversed(parts)), item_bits)


def native_places(inner: engine.NativePage | None, layers: tuple[LayerKind, ...]) -> engine.NativePage | None:
    """Build a page of the places of values from the page that stores them; None if the engine does not read it.

    Parameters
    ----------
    inner
        A page of positions and sizes.
    layers
        Layers of the values, inner-most first: places mark the nulls.
    """
    if inner is None:
        return None
    return engine.places_page(inner, layers, sum(layer.num_def_levels for layer in layers))


def _levels(layers: tuple[Any, ...]) -> tuple[int, int, int]:
    max_rep = sum(layer.is_list for layer in layers)
    return max_rep, sum(layer.num_def_levels for layer in layers), max_visible_def(layers)
