"""Parts that array encodings share: pages described by a tree, whole loads of children, joined plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lance_arrow import engine
from lance_arrow.engine import NativePage
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.pages.value_rows import list_parts, row_bits, value_bits, whole_bytes
from lance_arrow.settings import Limits
from lance_arrow.spi.arrays import BoundArray, PlainValues
from lance_arrow.spi.block_runs import clear_block
from lance_arrow.spi.blocks import BlockShape, BlockSlice, Bytes, FixedSizeList, FixedWidth, VariableWidth
from lance_arrow.spi.codecs import BoundBufferScheme
from lance_arrow.spi.keys import BufferRole
from lance_arrow.spi.layouts import (
    BufferSlices,
    DictionaryItems,
    FetchedSlices,
    LoadedPage,
    PageFacts,
    PageIndex,
    PageReadPlan,
)
from lance_arrow.spi.native import ReadNatively, native_side
from lance_arrow.spi.rows import RowRanges
from lance_arrow.spi.scratch import new_block
from lance_arrow.spi.slots import ItemValidity, PageStructure, SlotStructure

__all__ = [
    "ALL_NULL",
    "ALL_VALID",
    "NOTHING",
    "ArrayIndices",
    "ArrayPages",
    "LoadedLists",
    "LoadedNulls",
    "decode_integers",
    "fetched_parts",
    "joined_plan",
    "load_whole",
    "native_indexed",
    "native_lists",
    "native_strings",
    "native_values",
    "page_buffer",
    "plain_buffer",
    "require_width",
]

ALL_VALID, ALL_NULL = engine.ALL_VALID, engine.ALL_NULL
"""What stands for a buffer of items that are all valid, or all null."""

NOTHING = PageReadPlan(())
"""The plan of a node that reads no bytes."""


@dataclass(frozen=True, slots=True)
class ArrayPages:
    """A layout that is a tree of array encodings.

    Parameters
    ----------
    array
        The root.
    num_items
        For the column of a list: items of all lists of a page; None for every other column.
    """

    array: BoundArray
    num_items: int | None = None

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        roles = dict(self.array.buffers)
        for buffer in roles:
            if buffer >= len(page.buffer_sizes):
                raise CorruptFileError(
                    f"a page is described by its buffer {buffer}, but has {len(page.buffer_sizes)}", detail=buffer
                )
        return tuple(roles.get(buffer, BufferRole.DATA) for buffer in range(len(page.buffer_sizes)))

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        self.roles(page)
        return tuple(BufferSlices.whole(page, buffer) for buffer in self.array.index_buffers)

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> PageIndex | None:
        whole = {buffer: part.one() for buffer, part in zip(self.array.index_buffers, fetched, strict=True)}
        return self.array.load_index(page, whole)

    def native_page(self, page: PageFacts) -> NativePage | None:
        return native_array(page, self.array)

    def plan(self, page: PageFacts, index: PageIndex | None, rows: RowRanges) -> PageReadPlan:
        return self.array.plan(page, index, rows)

    def load(
        self, page: PageFacts, index: PageIndex | None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedPage:
        return self.array.load(page, index, plan, fetched)


@dataclass(frozen=True, slots=True, eq=False)
class ArrayIndices:
    """Indices of several nodes, and arrays of their parent's."""

    parts: tuple[Any, ...]

    @property
    def nbytes(self) -> int:
        return sum(0 if part is None else part.nbytes for part in self.parts)


def plain_buffer(array: BoundArray, page: PageFacts) -> int | None:
    """Return the buffer that stores all values of an array plainly; None if there is none."""
    bits = value_bits(array.shape)
    buffer = array.plain_buffer if isinstance(array, PlainValues) and bits else None
    if bits is None or buffer is None or buffer >= len(page.buffer_sizes):
        return None
    return buffer if whole_bytes(page.num_rows * bits) <= page.buffer_sizes[buffer] else None


class NullableItems(Protocol):
    """Optional part of a bound array of fixed-size lists, some of whose items may be null.

    Items that store a validity bit for each slot offer both parts as `values_and_validity`, and those that are all null
    say `is_all_null`.
    """

    def row_buffers(self, page: PageFacts) -> tuple[int, ...] | None:
        """Return buffers for `engine.list_rows_page`; None where a part is not stored plainly."""


def native_array(page: PageFacts, array: BoundArray) -> NativePage | None:
    """Build the native page of an array; None if it has none."""
    return array.native_page(page) if isinstance(array, ReadNatively) else native_values(page, array)


def native_values(page: PageFacts, values: BoundArray, validity: BoundArray | None = None) -> NativePage | None:
    """Build a native page of values of one width, with a validity bitmap if some are null."""
    bits = -1
    if validity is not None:
        found = plain_buffer(validity, page)
        if found is None:
            return None
        bits = found
    data = plain_buffer(values, page)
    if data is not None:
        return engine.flat_page(page.num_rows, value_bits(values.shape) or 0, data, bits)
    # The method of `NullableItems`: a check of the protocol itself would take longer than the rest of this function.
    row_buffers = getattr(values, "row_buffers", None)
    buffers: tuple[int, ...] | None = None if row_buffers is None else row_buffers(page)
    return None if buffers is None else _native_lists(page, values.shape, buffers, bits)


def _native_lists(
    page: PageFacts, shape: BlockShape | None, buffers: tuple[int, ...], validity_buffer: int
) -> NativePage | None:
    """Build a native page of fixed-size lists whose items may be null, from the buffers of their parts."""
    if not isinstance(shape, FixedSizeList) or row_bits(shape) is None:
        return None
    if len(buffers) == 2 and min(buffers) >= 0 and isinstance(shape.items, FixedWidth):
        bitmap, data = buffers
        return engine.nullable_items_page(
            page.num_rows, shape.dimension, shape.items.bits, data, bitmap, validity_buffer
        )
    return engine.list_rows_page(page.num_rows, list_parts(shape), buffers, validity_buffer)


class FramedValues(Protocol):
    """Optional part of a bound array whose values lie plainly in one frame, which is a whole buffer."""

    @property
    def framed_buffer(self) -> tuple[int, BoundBufferScheme] | None:
        """The buffer, and the scheme of the frame; None where there is no frame."""


def native_strings(
    page: PageFacts,
    shape: VariableWidth,
    ends: BoundArray,
    values: BoundArray,
    null_adjustment: int,
    limits: Limits,
    codes: object | None = None,
) -> NativePage | None:
    """Build a native page of byte strings whose end offsets are in another buffer.

    Parameters
    ----------
    page, shape, ends, values, null_adjustment
        The page and its parts: the ends are plain, the bytes too, or in one frame (`FramedValues`).
    limits
        Of a frame's content: `max_batch_bytes`.
    codes
        Capsule of the value codec that decodes each string; None where they are stored plainly.
    """
    ends_buffer = plain_buffer(ends, page)
    if ends_buffer is None:
        return None
    data, frames = plain_buffer(values, PageFacts(0, page.buffer_sizes)), None
    if data is None:
        framed: tuple[int, BoundBufferScheme] | None = getattr(values, "framed_buffer", None)
        if framed is None or framed[0] >= len(page.buffer_sizes):
            return None
        data, frames = framed[0], native_side(framed[1])
        if frames is None:
            return None
    end_bytes = (value_bits(ends.shape) or 0) // 8
    form = page.num_rows, shape.offset_bits, data, ends_buffer, end_bytes, null_adjustment
    return engine.binary_page(*form, codes, frames, limits.max_batch_bytes)


def native_indexed(
    page: PageFacts, indices: BoundArray, items: BoundArray, num_items: int, limits: Limits, *, keeps_items: bool
) -> NativePage | None:
    """Build a native page of indices into items of the page.

    Parameters
    ----------
    page, indices, items, num_items
        The page, and its parts.
    limits
        Of the items: `max_dictionary_bytes`.
    keeps_items
        Whether values are the indices, which count items from 0. Otherwise index 0 is null, and k is item k - 1.
    """
    of_indices = native_array(page, indices)
    of_items = native_array(PageFacts(num_items, page.buffer_sizes), items)
    if of_indices is None or of_items is None:
        return None
    return engine.indexed_page(of_indices, of_items, num_items, keeps_items, limits.max_dictionary_bytes)


def native_lists(page: PageFacts, ends: BoundArray, null_adjustment: int, num_items: int) -> NativePage | None:
    """Build a native page of lists whose end offsets are in a buffer, and whose items are in another column."""
    buffer = plain_buffer(ends, page)
    if buffer is None or value_bits(ends.shape) != 64:
        return None
    return engine.list_page(page.num_rows, buffer, null_adjustment, num_items)


def joined_plan(plans: Sequence[PageReadPlan]) -> PageReadPlan:
    """Join the plans of children; `fetched_parts` splits the fetched slices again."""
    return PageReadPlan(tuple(part for plan in plans for part in plan.slices), tuple(plans))


def fetched_parts(
    plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
) -> list[tuple[PageReadPlan, tuple[FetchedSlices, ...]]]:
    """Return each child's plan with its part of the fetched slices."""
    parts = []
    position = 0
    for child in plan.notes:
        stop = position + len(child.slices)
        parts.append((child, fetched[position:stop]))
        position = stop
    return parts


def load_whole(array: BoundArray, page: PageFacts, buffers: Mapping[int, Bytes]) -> LoadedPage:
    """Load all values of a node from whole buffers, for an index."""
    index = array.load_index(page, buffers)
    plan = array.plan(page, index, RowRanges.one(0, page.num_rows))
    fetched = []
    for part in plan.slices:
        data = buffers[part.buffer]
        if len(part.stops) and int(part.stops[-1]) > len(data):
            raise CorruptPageError(f"buffer {part.buffer} has {len(data)} bytes, expected {int(part.stops[-1])}")
        fetched.append(FetchedSlices(data, part.starts, part.stops - part.starts))
    return array.load(page, index, plan, tuple(fetched))


def decode_integers(loaded: LoadedPage, width_bytes: int = 8) -> NDArray[np.unsignedinteger]:
    """Decode a node of unsigned integers."""
    block = new_block(FixedWidth(8 * width_bytes), loaded.num_values)
    loaded.decode(block)
    return block.values.view(f"<u{width_bytes}")


def require_width(array: BoundArray, bits: int, what: str) -> BoundArray:
    """Return a child whose values have one width and no nulls.

    Raises
    ------
    CorruptFileError
        The child has another shape, or nulls.
    """
    if array.shape != FixedWidth(bits) or array.has_nulls:
        nulls = " with nulls" if array.has_nulls else ""
        raise CorruptFileError(f"{what} are of shape {array.shape}{nulls}, expected {bits} bits each")
    return array


def page_buffer(message: Any) -> int:
    """Return the page buffer that a ``Buffer`` names.

    Raises
    ------
    UnsupportedError
        It is a buffer of the column or of the file, which no known writer uses.
    """
    if message.buffer_type != 0:
        raise UnsupportedError(f"values in buffer {message.buffer_index} of the column or the file, not of the page")
    return int(message.buffer_index)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedLists:
    """Selected lists: structure, no values."""

    levels: SlotStructure
    shape = None
    num_bytes = 0
    dictionary = None

    @property
    def num_values(self) -> int:
        return self.levels.counts[1]

    def decode(self, out: BlockSlice) -> None:
        """Do nothing: there are no values."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedNulls:
    """Slots without values: `decode` writes zeros."""

    levels: PageStructure
    shape: BlockShape | None
    num_values: int
    num_bytes: int = 0
    dictionary: DictionaryItems | None = None

    @classmethod
    def valid(cls, num_values: int) -> LoadedNulls:
        """Return valid slots of a column without values."""
        return cls(ItemValidity(num_values), None, num_values)

    def decode(self, out: BlockSlice) -> None:
        clear_block(out)
