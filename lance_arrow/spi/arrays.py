"""Protocols of array encodings: trees of nodes that name buffers of the page. Pages of 2.0 are described so.

A node decodes values from buffers of the page, itself or by its children. Each node has its own nulls. Structs and
lists are not nodes around their children, because they have columns of their own. The array of a list stores the
offsets of its items in the column below. Reading has the two rounds of layouts: `load_index` loads the whole index and
keeps it. All other bytes are read only for the selected rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from lance_arrow.spi.blocks import BlockShape, BlockSlice, Bytes
from lance_arrow.spi.keys import ARRAY, LEGACY, BufferRole
from lance_arrow.spi.layouts import FetchedSlices, LoadedPage, PageFacts, PageIndex, PageReadPlan
from lance_arrow.spi.leaf_type import LeafType
from lance_arrow.spi.rows import RowRanges

__all__ = ["ARRAY", "LEGACY", "ArrayContent", "BoundArray", "EncodedArray", "HoldsItems", "PlainValues"]


class BoundArray(Protocol):
    """A validated node; immutable, shared by pages and threads.

    `PageFacts.num_rows` counts the values of this node. The child of a list gets its own `PageFacts`.
    """

    @property
    def shape(self) -> BlockShape | None:
        """Shape of the decoded values, with item bitmaps of fixed-size lists; None for nodes without values."""

    @property
    def has_nulls(self) -> bool:
        """Whether values can be null; if not, the validity of a loaded page has no bits."""

    @property
    def buffers(self) -> tuple[tuple[int, BufferRole], ...]:
        """Numbers and roles of the page buffers that the node and its children read."""

    @property
    def index_buffers(self) -> tuple[int, ...]:
        """Those of `buffers` that `load_index` needs completely."""

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> PageIndex | None:
        """Parse and check the bytes that are needed to find rows.

        Raises
        ------
        CorruptPageError
            The bytes contradict themselves or the number of values.
        """

    def plan(self, page: PageFacts, index: PageIndex | None, rows: RowRanges) -> PageReadPlan:
        """Return the slices that hold `rows` (values of this node; may be empty).

        Raises
        ------
        CorruptPageError
            A buffer is too small for the values it should hold.
        """

    def load(
        self, page: PageFacts, index: PageIndex | None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedPage:
        """Open the slices. Its levels are an `ItemValidity`, or a `SlotStructure` for the column of a list."""


@runtime_checkable
class HoldsItems(Protocol):
    """Optional part of the array of a list's column: the items of its lists are values of the next column."""

    @property
    def num_items(self) -> int:
        """Number of items in all lists of the page. Items are stored in the order of the pages."""


@runtime_checkable
class PlainValues(Protocol):
    """Optional part of a bound array whose values may be stored plainly in one buffer, without nulls."""

    @property
    def plain_buffer(self) -> int | None:
        """Number of the page buffer with the values, from its first byte on; None if values must be decoded."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayContent:
    """Values of one column, or of a child of its page, ready to be encoded.

    Parameters
    ----------
    leaf
        Type of the leaf, as the binder gets it when the page is read.
    num_values
        Values, null ones included.
    values
        Zero or empty where null; None for columns without values.
    nulls
        ``(num_values,) bool``; None when none is null.
    knows_nulls
        Whether the nulls are already known from the surrounding column.
    items
        Dictionary items, if the leaf keeps its dictionary: `values` are then indices into them.
    ends
        For the column of a list: ``(num_values,) int64``, the end of the items of each list.
    """

    leaf: LeafType
    num_values: int
    values: BlockSlice | None
    nulls: NDArray[np.bool_] | None = None
    knows_nulls: bool = False
    items: BlockSlice | None = None
    ends: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EncodedArray:
    """A written node: its message, and the buffers of its tree, numbered from `first_buffer` of the call."""

    description: Message
    buffers: tuple[Bytes, ...] = ()
