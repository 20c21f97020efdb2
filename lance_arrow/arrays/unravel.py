"""Convert levels or positions to offsets and validity: one native pass per page, into one destination per column.

Each page numbers its levels by its own layers: a page without nulls uses the all-valid form. So pages are unravelled
separately; the slots of a page follow those of the page before. Without lists, every node of the path has one slot per
row, and one comparison per level decides a bit. With lists, the kernel reads the entries from the outside in. Pages
with positions need no levels: a run of rows is a run of slots in every node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.arrays.column_destination import Allocator
from lance_arrow.errors import CorruptPageError, PluginContractError, UnsupportedError
from lance_arrow.spi.blocks import LayerKind, Levels
from lance_arrow.spi.slots import ItemValidity, PageStructure, SlotStructure


class NodeStructure(NamedTuple):
    """Slots of one schema node for the selected rows.

    Parameters
    ----------
    num_slots
        Arrow length of the node.
    validity
        Bitmap, or None if no slot is null.
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
    pages: Sequence[PageStructure], offset_bits: Sequence[int], dimensions: Sequence[int], allocator: Allocator
) -> tuple[NodeStructure, ...]:
    """Convert the structure of consecutive pages of one leaf to the structure of every node on its path.

    Parameters
    ----------
    pages
        Lists and nulls of the selected rows, page by page.
    offset_bits
        For the leaf and its ancestors, inner-most first: width of a list's offsets, 0 for other nodes.
    dimensions
        The same for fixed-size lists of structs: items per list, 0 for other nodes.
    allocator
        Allocates the memory.

    Raises
    ------
    CorruptPageError
        Levels or positions contradict the layers.
    UnsupportedError
        Levels of null or empty lists of fixed-size lists of structs, which no specification defines.
    """
    if len(offset_bits) == 1 and any(isinstance(levels, ItemValidity) for levels in pages):
        return (_item_node(pages, allocator),)
    flat = [levels for levels in pages if isinstance(levels, Levels)]
    if any(offset_bits) or any(dimensions) or len(flat) < len(pages):
        sizes = np.array(dimensions, np.int64)
        parts = [_part(levels, sizes) for levels in pages]
        return _nested_nodes(parts, offset_bits, allocator)
    num_slots = sum(levels.num_entries for levels in flat)
    return tuple(_flat_node(flat, position, num_slots, allocator) for position in range(len(offset_bits)))


def _part(levels: PageStructure, dimensions: NDArray[np.int64]) -> _LevelPart | _SlotPart:
    if isinstance(levels, ItemValidity):
        raise PluginContractError("a page below structs or lists does not store their structure")
    return _SlotPart(levels, dimensions) if isinstance(levels, SlotStructure) else _LevelPart(levels, dimensions)


def _item_node(pages: Sequence[PageStructure], allocator: Allocator) -> NodeStructure:
    """Join the bitmaps of pages without nodes above them."""
    items = [_item_validity(levels) for levels in pages]
    num_slots = sum(page.num_slots for page in items)
    if all(page.bits is None for page in items):
        return NodeStructure(num_slots)
    buffer, bits = allocator.bitmap(num_slots)
    start = null_count = 0
    for page in items:
        if page.bits is None:
            kernels.fill_bits(bits, start, page.num_slots, True)
        else:
            whole = np.zeros(1, np.int64), np.array([page.num_slots], np.int64)
            kernels.take_bit_runs(page.bits, 0, *whole, bits, start)
            null_count += page.num_slots - kernels.count_bits(page.bits, 0, page.num_slots)
        start += page.num_slots
    return NodeStructure(num_slots, buffer if null_count else None, null_count)


def _item_validity(levels: PageStructure) -> ItemValidity:
    if not isinstance(levels, ItemValidity):
        raise PluginContractError("pages of one column store nulls in different forms")
    return levels


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


class _LevelPart:
    """A page with levels."""

    def __init__(self, levels: Levels, dimensions: NDArray[np.int64]) -> None:
        rep = _shared_levels(levels, dimensions)
        layers = np.array(levels.layers, np.uint8)
        self._arguments = (rep, levels.def_, levels.num_entries, layers, dimensions)

    def measure(self, slots: NDArray[np.int64]) -> None:
        kernels.measure_layers(*self._arguments, slots)

    def unravel(self, *out: Any) -> None:
        kernels.unravel(*self._arguments, *out)


class _SlotPart:
    """A page with positions."""

    def __init__(self, structure: SlotStructure, dimensions: NDArray[np.int64]) -> None:
        found = [layer.dimension for layer in structure.layers]
        if found != dimensions.tolist():
            raise CorruptPageError(f"fixed-size lists of a page have the dimensions {found}, not {dimensions.tolist()}")
        self._structure = structure

    def measure(self, slots: NDArray[np.int64]) -> None:
        slots[:] = self._structure.counts

    def unravel(self, *out: Any) -> None:
        kernels.unravel_slots(self._structure.parts(), *out)


def _shared_levels(levels: Levels, dimensions: NDArray[np.int64]) -> NDArray[np.uint16] | None:
    """Return repetition levels in which only the first item of a fixed-size list begins the lists around it.

    Their writers repeat each level entry for all items of a fixed-size list of structs, also the level that begins a
    list. That level is wrong for all items but the first.
    """
    rep, kinds = levels.rep, levels.layers
    num_lists, items = 0, 1
    for position, kind in enumerate(kinds):
        dimension = int(dimensions[position])
        num_lists, items = (num_lists + 1, 1) if kind.is_list else (num_lists, items * max(1, dimension))
        if rep is None or not dimension or not any(outer.is_list for outer in kinds[position:]):
            continue
        reach = sum(one.num_def_levels for one in kinds[: _next_list(kinds, position)])
        if levels.def_ is not None and (levels.def_ > reach).any():
            raise UnsupportedError("levels of null or empty lists around fixed-size lists of structs are not defined")
        slots = np.flatnonzero(rep >= num_lists)
        followers = slots[np.arange(len(slots)) % items != 0]
        rep = rep.copy()
        rep[followers] = np.minimum(rep[followers], num_lists)
    return rep


def _next_list(kinds: tuple[LayerKind, ...], position: int) -> int:
    return next(n for n in range(position, len(kinds)) if kinds[n].is_list)


def _nested_nodes(
    pages: Sequence[_LevelPart | _SlotPart], offset_bits: Sequence[int], allocator: Allocator
) -> tuple[NodeStructure, ...]:
    num_nodes = len(offset_bits)
    counts = np.zeros((len(pages), num_nodes), np.int64)
    for page, slots in zip(pages, counts, strict=True):
        page.measure(slots)
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
    for page in pages:
        page.unravel(validity, views, slots, null_counts)
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
