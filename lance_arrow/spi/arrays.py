"""Protocols of array encodings: trees whose nodes name buffers of the page, as pages of 2.0 are described.

A node decodes values from buffers of the page, itself or by its children; each has nulls of its own. Structs and lists
are no nodes around their children: they have columns of their own, and an array of a list says where its items lie in
the column below. Reading goes in the two rounds of layouts: what has to be known before rows are found is loaded whole
and kept (`load_index`), everything else is read where the rows are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from lance_arrow.spi.blocks import BlockShape, BlockSlice, Bytes
from lance_arrow.spi.keys import BufferRole
from lance_arrow.spi.layouts import BufferSlices, FetchedSlices, LoadedPage, PageFacts, PageIndex, PageReadPlan
from lance_arrow.spi.leaf_type import LeafType
from lance_arrow.spi.rows import RowRanges


class BoundArray(Protocol):
    """A validated node; immutable, shared by pages and threads.

    `PageFacts.num_rows` counts the values of this node: a list's child gets facts of its own.
    """

    @property
    def shape(self) -> BlockShape | None:
        """What it decodes to, item bitmaps of fixed-size lists included; None for what has no values."""

    @property
    def has_nulls(self) -> bool:
        """Whether values can be null; else the validity of what is loaded has no bits."""

    @property
    def buffers(self) -> tuple[tuple[int, BufferRole], ...]:
        """Buffers of the page that it and its children read, and what each is for."""

    @property
    def index_buffers(self) -> tuple[int, ...]:
        """Those of them that `load_index` wants whole."""

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> PageIndex | None:
        """Parse and check what must be known before rows are found.

        Raises
        ------
        CorruptPageError
            The bytes contradict themselves or the number of values.
        """

    def plan(self, page: PageFacts, index: PageIndex | None, rows: RowRanges) -> PageReadPlan:
        """Name the slices that hold `rows` (values of this node; there may be none).

        Raises
        ------
        CorruptPageError
            A buffer is too small for the values it should hold.
        """

    def load(
        self, page: PageFacts, index: PageIndex | None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedPage:
        """Open the slices. Levels are an `ItemValidity`, or a `SlotStructure` for the column of a list."""


@runtime_checkable
class HoldsItems(Protocol):
    """What the array of a list's column is besides: items of the page's lists are values of the next column."""

    @property
    def num_items(self) -> int:
        """Items of all lists of the page. Items of the first page's lists come first, and so on."""


@runtime_checkable
class FindsFewValues(Protocol):
    """Optional part of a bound array, as `FindsFewRows` of a layout."""

    def few_index_slices(self, page: PageFacts, rows: RowRanges) -> tuple[BufferSlices, ...] | None:
        """Name what `load_few_index` needs; None where it must be the whole index."""

    def load_few_index(self, page: PageFacts, rows: RowRanges, fetched: tuple[FetchedSlices, ...]) -> PageIndex:
        """Parse and check these bytes."""


@runtime_checkable
class PlainValues(Protocol):
    """Optional part of a bound array whose values, none of them null, may lie in a buffer as they are."""

    @property
    def plain_buffer(self) -> int | None:
        """Which buffer of the page that is, from its first byte on; None where something is to be done with them."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayContent:
    """Values of one column, or of a child of its page, ready to be encoded.

    Parameters
    ----------
    leaf
        What the binder would be told when it reads them.
    num_values
        Values, null ones included.
    values
        Zero or empty where null; None for what has no values.
    nulls
        ``(num_values,) bool``; None when none is null.
    knows_nulls
        Whether what lies around says already which are null.
    items
        Where the leaf keeps its dictionary: `values` are indices into these.
    ends
        Of the column of a list: ``(num_values,) int64``, where the items of each list end.
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
    """A node as it is written: its message, and the buffers of its tree, numbered from the one it was told."""

    description: Message
    buffers: tuple[Bytes, ...] = ()
