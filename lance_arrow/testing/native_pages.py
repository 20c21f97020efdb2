"""Rows of a page as the native engine reads them, and what differs from the rows that it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lance_arrow import engine
from lance_arrow.arrays.column_destination import Allocator
from lance_arrow.arrays.unravel import NodeStructure, unravel
from lance_arrow.engine import NativePage
from lance_arrow.errors import LanceError
from lance_arrow.pages import index_of, index_slices_of
from lance_arrow.pages.value_rows import NO_VALUES, has_rows_of_any_length, list_parts, row_bits, struct_field_bytes
from lance_arrow.settings import Limits
from lance_arrow.spi import BlockSlice, PackedStruct, VariableWidth
from lance_arrow.spi.layouts import BoundLayout, LayerKind, Levels, NodeKind, RowRanges
from lance_arrow.spi.slots import Structure
from lance_arrow.testing.samples import values_of
from lance_arrow.testing.scattered import fetch_scattered

if TYPE_CHECKING:
    from lance_arrow.testing.layout_suite import Entry, LayoutCase

_LIMIT_BYTES = 1 << 26
_LARGEST_OFFSET = (1 << 31) - 1
_OFFSET_BITS = 32

NativeRows = tuple[list[bytes], list[NodeStructure]]


def native_page(layout: Any, case: LayoutCase) -> NativePage | None:
    """Return the page of a bound layout for the engine; None if there is none. Its index is loaded where it has one."""
    slices = index_slices_of(layout, case.facts)
    fetched = tuple(fetch_scattered(case.buffers[one.buffer], one) for one in slices)
    page: NativePage | None = getattr(index_of(layout, case.facts, fetched), "native", None)
    return page


def native_rows(layout: BoundLayout, case: LayoutCase, rows: RowRanges) -> NativeRows | str | None:
    """Read rows by the engine.

    Parameters
    ----------
    layout, case
        A bound layout, and its page.
    rows
        Which rows.

    Returns
    -------
    tuple, str or None
        Bytes of every value, and the structure of every node. A text if the engine refuses the page; None if the layout
        has no page for the engine.
    """
    try:
        layout.roles(case.facts)
        page = native_page(layout, case)
    except LanceError as error:
        return str(error)
    shape, kinds = case.leaf.shape, case.leaf.nodes
    bits = NO_VALUES if shape is None else row_bits(shape)
    if has_rows_of_any_length(shape):
        return None
    if page is None or bits is None or case.lengths_per_row != 1 or NodeKind.FIXED_SIZE_LIST in kinds:
        return None
    offset_bits = tuple(_OFFSET_BITS if kind is NodeKind.LIST else 0 for kind in kinds)
    own_offset_bits = shape.offset_bits if isinstance(shape, VariableWidth) else 0
    memory, starts = b"page", []
    for buffer in case.buffers:
        starts.append(len(memory))
        memory += buffer + b"\xee" * 5
    sizes = [len(buffer) for buffer in case.buffers]
    forms = engine.ReadForms(
        [
            (
                offset_bits,
                bits,
                own_offset_bits,
                struct_field_bytes(shape),
                None,
                "plain",
                list_parts(shape),
                False,
                (),
                1,
            )
        ]
    )
    pages = engine.PagesWithRows(forms, [[(page, 0, starts, sizes)]])
    done, *_ = forms.take(
        pages,
        rows.starts,
        rows.stops,
        rows.num_rows,
        -1,
        np.frombuffer(memory, np.uint8),
        len(memory),
        None,
        None,
        _LIMIT_BYTES,
        _LARGEST_OFFSET,
        None,
        pa.allocate_buffer,
    )
    if isinstance(done, engine.Refusal):
        return done.message
    if done[0] is None:
        return None
    num_values, values, offsets, nodes = done[0]
    return _values(shape, num_values, values, offsets), [NodeStructure(*node) for node in nodes]


def difference(native: NativeRows, levels: Structure, values: Sequence[bytes | None], case: LayoutCase) -> str | None:
    """Say what the engine read otherwise than expected; None if nothing.

    Parameters
    ----------
    native
        What `native_rows` read.
    levels
        Structure of the rows.
    values
        Bytes of the value in each slot; None where they may be any.
    case
        The page.
    """
    found, nodes = native
    offset_bits = [_OFFSET_BITS if kind is NodeKind.LIST else 0 for kind in case.leaf.nodes]
    expected = unravel([levels], offset_bits, [0] * len(offset_bits), Allocator(Limits()))
    for number, (node, other) in enumerate(zip(nodes, expected, strict=True)):
        if _node(node) != _node(other):
            return f"node {number}: {_node(node)}, expected {_node(other)}"
    present = _bits(nodes[0])
    if len(found) != len(values):
        return f"{len(found)} values, expected {len(values)}"
    for number, (value, told) in enumerate(zip(found, values, strict=True)):
        # Bytes under nulls are undefined.
        is_slot = len(present) == len(found)
        if told is not None and value != told and (not is_slot or present[number]):
            return f"value {number}: {value!r}, expected {told!r}"
    return None


def levels_of_rows(layers: Sequence[int], entries: Sequence[Entry]) -> Levels:
    """Return the levels of a page's entries.

    Parameters
    ----------
    layers
        Kinds of its layers, inner-most first.
    entries
        Those of the rows.
    """
    kinds = tuple(map(LayerKind, layers))
    rep, def_ = (np.array([getattr(entry, name) for entry in entries], np.uint16) for name in ("rep", "def_"))
    has_def = any(kind.num_def_levels for kind in kinds)
    has_rep = any(kind.is_list for kind in kinds)
    return Levels(kinds, len(entries), rep if has_rep else None, def_ if has_def else None)


def _values(shape: Any, num_values: int, values: Any, offsets: Any) -> list[bytes]:
    if shape is None:
        return [b""] * num_values
    if isinstance(shape, PackedStruct):
        fields = [_values(field, num_values, part, None) for field, part in zip(shape.fields, values, strict=True)]
        return [b"".join(one) for one in zip(*fields, strict=True)]
    if isinstance(values, tuple):
        *_, values = values
    own = np.empty(0, np.uint8) if offsets is None else np.frombuffer(offsets, np.uint8)
    return values_of(BlockSlice(shape, num_values, np.frombuffer(values, np.uint8), offsets=own))


def _bits(node: NodeStructure) -> list[bool]:
    if node.validity is None or not node.null_count:
        return [True] * node.num_slots
    return (
        np.unpackbits(np.frombuffer(node.validity, np.uint8), count=node.num_slots, bitorder="little")
        .astype(bool)
        .tolist()
    )


def _node(node: NodeStructure) -> tuple[int, list[bool], int, list[int] | None, int]:
    offsets = None if node.offsets is None else np.frombuffer(node.offsets, np.int32).tolist()
    return node.num_slots, _bits(node), node.null_count, offsets, node.num_items
