"""Levels and layers to offsets and validity: one native pass per page, appended into one destination per column.

Each page numbers its levels by its own layers (a page without nulls uses the all-valid form), so a page is unravelled
by itself; its slots follow those of the page before. Without lists every node of the path has one slot per row and
one comparison per level decides a bit. With lists the kernel walks the entries from the outside in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from lance_arrow import kernels
from lance_arrow.assembly.column_destination import Allocator
from lance_arrow.spi import LayerKind, Levels, NodeKind


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
        Lists only: ``num_slots + 1`` offsets (32-bit), and the items they span.
    """

    num_slots: int
    validity: pa.Buffer | None = None
    null_count: int = 0
    offsets: pa.Buffer | None = None
    num_items: int = 0


def unravel(pages: Sequence[Levels], nodes: Sequence[NodeKind], allocator: Allocator) -> tuple[NodeStructure, ...]:
    """Turn the levels of consecutive pages of one leaf into the structure of every node on its path.

    Parameters
    ----------
    pages
        Levels of the selected rows, page by page.
    nodes
        Kinds of the leaf and its ancestors, inner-most first.
    allocator
        Where the memory comes from.

    Raises
    ------
    CorruptPageError
        Levels contradict the layers.
    """
    if NodeKind.LIST in nodes or NodeKind.FIXED_SIZE_LIST in nodes:
        return unravel_lists(pages, nodes, allocator)
    num_slots = sum(levels.num_entries for levels in pages)
    return tuple(_flat_node(pages, position, num_slots, allocator) for position in range(len(nodes)))


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
