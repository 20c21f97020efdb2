"""Levels and layers to offsets and validity: one native pass per page, appended into one destination per column.

Each page numbers its levels by its own layers (a page without nulls uses the all-valid form), so a page is unravelled
by itself; its slots follow those of the page before. Without lists every node of the path has one slot per row and
one comparison per level decides a bit. With lists the kernel walks the entries from the outside in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.assembly.column_destination import Allocator
from lance_arrow.spi import LayerKind, Levels


@dataclass(frozen=True, slots=True, eq=False)
class NodeStructure:
    """Slots of one schema node for the selected rows.

    Parameters
    ----------
    num_slots
        Arrow length of the node.
    validity
        Bitmap, or None when no slot is null.
    null_count
        Nulls among the slots.
    offsets, num_items
        Lists only: ``num_slots + 1`` offsets, and the items they span.
    """

    num_slots: int
    validity: pa.Buffer | None = None
    null_count: int = 0
    offsets: pa.Buffer | None = None
    num_items: int = 0


def unravel(
    pages: Sequence[Levels], offset_bits: Sequence[int], dimensions: Sequence[int], allocator: Allocator
) -> tuple[NodeStructure, ...]:
    """Turn the levels of consecutive pages of one leaf into the structure of every node on its path.

    Parameters
    ----------
    pages
        Levels of the selected rows, page by page.
    offset_bits
        For the leaf and its ancestors, inner-most first: width of a list's offsets, 0 for what is no list.
    dimensions
        The same for fixed-size lists of structs: items per list, 0 for what is none.
    allocator
        Where the memory comes from.

    Raises
    ------
    CorruptPageError
        Levels contradict the layers.
    """
    if any(offset_bits) or any(dimensions):
        return _nested_nodes(pages, offset_bits, np.array(dimensions, np.int64), allocator)
    num_slots = sum(levels.num_entries for levels in pages)
    return tuple(_flat_node(pages, position, num_slots, allocator) for position in range(len(offset_bits)))


def _flat_node(pages: Sequence[Levels], position: int, num_slots: int, allocator: Allocator) -> NodeStructure:
    nullable = [levels.layers[position] is LayerKind.NULLABLE_ITEM and levels.def_ is not None for levels in pages]
    if not any(nullable):
        return NodeStructure(num_slots)
    buffer, bits = allocator.bitmap(num_slots)
    start = null_count = 0
    for levels, has_nulls in zip(pages, nullable, strict=True):
        if has_nulls:
            null_level = sum(layer.num_def_levels for layer in levels.layers[: position + 1])
            null_count += kernels.validity_from_levels(levels.def_, null_level, bits, start)
        else:
            kernels.fill_bits(bits, start, levels.num_entries, True)
        start += levels.num_entries
    return NodeStructure(num_slots, buffer if null_count else None, null_count)


def _nested_nodes(
    pages: Sequence[Levels], offset_bits: Sequence[int], dimensions: NDArray[np.int64], allocator: Allocator
) -> tuple[NodeStructure, ...]:
    layers = [np.array(levels.layers, np.uint8) for levels in pages]
    num_nodes = len(offset_bits)
    counts = np.zeros((len(pages), num_nodes), np.int64)
    for levels, kinds, slots in zip(pages, layers, counts, strict=True):
        kernels.measure_layers(levels.rep, levels.def_, levels.num_entries, kinds, dimensions, slots)
    totals = counts.sum(axis=0).tolist()
    bitmaps = [allocator.bitmap(total) for total in totals]
    offsets = [
        allocator.allocate((total + 1) * bits // 8) if bits else None
        for total, bits in zip(totals, offset_bits, strict=True)
    ]
    views = [
        None if pair is None else pair[1].view(f"i{bits // 8}") for pair, bits in zip(offsets, offset_bits, strict=True)
    ]
    for view in views:
        if view is not None:
            view[0] = 0
    slots, null_counts = np.zeros(num_nodes, np.int64), np.zeros(num_nodes, np.int64)
    validity = [bits for _, bits in bitmaps]
    for levels, kinds in zip(pages, layers, strict=True):
        streams = (levels.rep, levels.def_, levels.num_entries)
        kernels.unravel(*streams, kinds, dimensions, validity, views, slots, null_counts)
    return tuple(
        NodeStructure(
            num_slots=totals[node],
            validity=bitmaps[node][0] if null_counts[node] else None,
            null_count=int(null_counts[node]),
            offsets=None if offsets[node] is None else offsets[node][0],
            num_items=totals[node - 1] if offset_bits[node] else 0,
        )
        for node in range(num_nodes)
    )
