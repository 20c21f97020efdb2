"""`V20RowReader`: rows of 2.0 files, in which structs and lists have columns of their own above their items'.

A leaf below lists is reached from above, one round of reading per list:

    rows ─► column of the outer list ─► items ─► column of the inner list ─► items ─► leaf
            validity, offsets                    validity, offsets                    validity, values

All columns of one round are fetched together. Siblings share the columns above them. Leaves without a list above them
are read in the first round. Columns of structs hold no data and are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.arrow_arrays import DecodedLeaf
from lance_arrow.arrays.column_destination import Allocator, LeafBuffers, values_overflow
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, ListColumn, refuse_unreadable
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.arrays.unravel import NodeStructure, unravel
from lance_arrow.container.columns import ColumnMeta
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.engine import NativePage
from lance_arrow.errors import CorruptFileError, CorruptPageError, LanceError, located
from lance_arrow.runtime import Runtime
from lance_arrow.scan.file_pages import Indices
from lance_arrow.scan.native_pages import ListPages, PagesAtHand
from lance_arrow.scan.native_take import Pages
from lance_arrow.scan.page_faults import find_page
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.spi import LeafType
from lance_arrow.spi.arrays import HoldsItems
from lance_arrow.spi.layouts import LoadedPage
from lance_arrow.spi.leaf_type import NodeKind
from lance_arrow.spi.native import ReadNatively
from lance_arrow.spi.rows import RowRanges
from lance_arrow.spi.slots import SlotStructure
from lance_arrow.structure.page_scan import PageTask, load_indices, load_pages
from lance_arrow.structure.row_selection import by_page, joined_ranges, pages_with

T = TypeVar("T")

_LIST = LeafType(None, (NodeKind.LIST,))
_INT32_MAX = np.iinfo(np.int32).max
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Lists:
    """Selected lists of one column: their structure, and which items of the column below are theirs."""

    node: NodeStructure
    items: RowRanges
    overflows: bool = False


@dataclass(slots=True, eq=False)
class _Way:
    """How far down a leaf was reached.

    Parameters
    ----------
    leaf
        Where it leads.
    rows
        What is wanted of the column that is next.
    depth
        Number of the node that is next, the leaf being 0.
    structure
        The nodes above it, outer-most first.
    num_values
        Values that the column which is next must have; None for rows of the file, which the container checked.
    tasks, pages
        Pages of the leaf, once it is reached.
    has_long_lists
        Whether lists on the way have more items than their offsets can count.
    """

    leaf: LeafNode
    rows: RowRanges
    depth: int
    structure: list[NodeStructure] = field(default_factory=list)
    num_values: int | None = None
    tasks: list[PageTask] = field(default_factory=list)
    pages: list[LoadedPage] = field(default_factory=list)
    has_long_lists: bool = False

    @property
    def overflows(self) -> bool:
        """Whether 32-bit offsets cannot tell what was found so far."""
        return self.has_long_lists or values_overflow(self.leaf.leaf.shape, self.pages)

    def enter(self, lists: _Lists, num_items: int) -> None:
        """Go on to the items of lists; there are `num_items` in the file."""
        self.structure.append(lists.node)
        self.rows = lists.items
        self.num_values = num_items
        self.depth -= 1
        self.has_long_lists |= lists.overflows

    def next_list(self) -> ListColumn | None:
        """Pass the structs; return the next list above the leaf, None where the leaf itself is next."""
        while self.depth > 0:
            column = self.leaf.list_columns[self.depth]
            if column is not None:
                return column
            self.structure.append(NodeStructure(self.rows.num_rows))
            self.depth -= 1
        return None


class V20RowReader(RowReader):
    """Rows of one file of version 2.0; parameters and results are those of `RowReader`."""

    def __init__(self, file: LanceFileReader, runtime: Runtime, options: ReadOptions | None = None) -> None:
        super().__init__(file, runtime, options)
        self._item_starts: dict[int, NDArray[np.int64]] = {}
        self._native_pages: dict[tuple[int, int], NativePage | None] = {}
        self._pages_of_lists: dict[int, ListPages] = {}

    def _decode_leaves(
        self,
        leaves: Sequence[LeafNode],
        rows: RowRanges,
        pool: pa.MemoryPool | None,
        finish: Callable[[dict[int, DecodedLeaf]], T],
        indices: Indices,
    ) -> tuple[T | None, int]:
        for leaf in leaves:
            refuse_unreadable(leaf)
        descent = _Descent(self, pool)
        return descent.batch(leaves, rows, finish), descent.num_pages

    def _pages_of(self, leaves: Sequence[LeafNode], rows: RowRanges) -> PagesAtHand:
        wanted: list[Pages] = []
        lists: list[list[ListPages]] = []
        for leaf, meta in zip(leaves, self.metas(leaves), strict=True):
            columns = [column for column in reversed(leaf.list_columns) if column is not None]
            pages: Pages = []
            for number in range(len(meta.pages)) if columns else pages_with(rows, meta.page_starts):
                page = meta.pages[number]
                found = self._native_page(leaf, meta, number)
                pages.append((found, page.first_row, page.buffer_offsets, page.buffer_sizes))
            levels = [self._list_pages(column) for column in columns]
            # The layouts tell what is wrong.
            if not self._fit(columns, meta):
                pages.append((None, 0, [], []))
            wanted.append(pages)
            lists.append(levels)
        return PagesAtHand(wanted, are_kept=True, lists=lists if any(lists) else None)

    def _fit(self, columns: Sequence[ListColumn], meta: ColumnMeta) -> bool:
        """Whether each column below lists has as many values as these hold."""
        metas = [self.list_meta(column) for column in columns]
        below = [below for below, _ in metas[1:]] + [meta]
        return all(found.num_rows == starts[-1] for (_, starts), found in zip(metas, below, strict=False))

    def _list_pages(self, column: ListColumn) -> ListPages:
        """Return the pages of a column of lists as the engine reads them."""
        pages = self._pages_of_lists.get(column.column)
        if pages is None:
            meta, item_starts = self.list_meta(column)
            pages = []
            for number in range(len(meta.pages)):
                page = meta.pages[number]
                layout = self.bound(_LIST, meta, number)
                made = layout.native_page(page.facts) if isinstance(layout, ReadNatively) else None
                pages.append((made, page.first_row, page.buffer_offsets, page.buffer_sizes, int(item_starts[number])))
            self._pages_of_lists[column.column] = pages
        return pages

    def _native_page(self, leaf: LeafNode, meta: ColumnMeta, number: int) -> NativePage | None:
        """Return a page as the engine reads it, or None; they are kept as long as the file is open."""
        key = leaf.column, number
        if key not in self._native_pages:
            with located(column=leaf.path):
                layout = self._bound(leaf, meta, number)
                facts = meta.pages[number].facts
                # The nulls of blobs are told by their places, which the engine does not look at.
                made = None
                if isinstance(layout, ReadNatively) and not leaf.is_blob:
                    made = layout.native_page(facts)
                if made is not None and not any(leaf.list_columns):
                    made.add_structs(len(leaf.offset_bits) - 1)
                self._native_pages[key] = made
        return self._native_pages[key]

    def keep_indices(self, nodes: Sequence[ColumnNode], rows: RowRanges | None = None) -> None:
        """Load the indices of the columns whose rows are those of the file; the others' follow when they are read.

        The engine's pages have none.
        """
        rows = RowRanges.one(0, self.num_rows) if rows is None else rows
        with located(path=self.file.name):
            plans = self.plan_of(nodes).plans
            found = self._pages_of([plan.leaf for plan in plans], rows).wanted
            native = {
                plan.leaf.column
                for plan, pages in zip(plans, found, strict=True)
                if all(page is not None for page, *_ in pages)
            }
            others = [leaf for leaf in self._readable(nodes) if leaf.column not in native]
            tasks = _Descent(self, None).first_tasks(others, rows)
            load_indices(self.source, tasks, self.runtime.indices, with_whole_pages=False)

    def pages_of(self, leaf: LeafNode, meta: ColumnMeta, rows: RowRanges) -> Iterator[tuple[int, RowRanges]]:
        """Guess the items of rows below lists: as if all lists were of one length."""
        if not any(leaf.list_columns) or not self.num_rows:
            return super().pages_of(leaf, meta, rows)
        starts = rows.starts * meta.num_rows // self.num_rows
        stops = -(-rows.stops * meta.num_rows // self.num_rows)
        return by_page(joined_ranges(starts, np.maximum(stops, starts)), meta.page_starts)

    def page_rows(self, leaf: LeafNode, meta: ColumnMeta) -> NDArray[np.int64]:
        """Guess the rows of pages below lists in the same way."""
        if not any(leaf.list_columns):
            return super().page_rows(leaf, meta)
        if not meta.num_rows:
            return np.zeros(len(meta.page_starts), np.int64)
        return (meta.page_starts * (self.num_rows / meta.num_rows)).astype(np.int64)

    def list_meta(self, column: ListColumn) -> tuple[ColumnMeta, NDArray[np.int64]]:
        """Return the metadata of a list's column, and for each of its pages the first item, then how many there are."""
        (meta,) = self.file.columns([column.column])
        held = self._item_starts.get(column.column)
        if held is None:
            held = np.zeros(len(meta.pages) + 1, np.int64)
            for number in range(len(meta.pages)):
                with located(column=column.path):
                    layout = self.bound(_LIST, meta, number)
                    num_items = layout.num_items if isinstance(layout, HoldsItems) else None
                    if num_items is None:
                        raise CorruptFileError(
                            "a page holds no lists, the schema has some there",
                            page=number,
                            byte_range=meta.byte_range,
                        )
                held[number + 1] = held[number] + num_items
                if held[number + 1] < held[number]:
                    raise CorruptFileError("lists hold more items than 63 bits count", column=column.path, page=number)
            self._item_starts[column.column] = held
        return meta, held

    def decode_pages(
        self, leaf: LeafNode, pages: list[LoadedPage], pool: pa.MemoryPool | None
    ) -> tuple[NodeStructure, LeafBuffers | pa.Array]:
        own, values = super().decode_pages(leaf, pages, pool)
        if leaf.is_blob and isinstance(values, LeafBuffers):
            own = _present_blobs(values, Allocator(self.runtime.settings.limits, pool))
        return own, values

    def tasks_of(self, column: int, path: str, leaf: LeafType, meta: ColumnMeta, rows: RowRanges) -> list[PageTask]:
        """Plan the pages of one column that hold some of its values."""
        tasks = []
        with located(column=path):
            for number, part in by_page(rows, meta.page_starts):
                layout = self.bound(leaf, meta, number)
                tasks.append(PageTask(path, meta.pages[number], layout, part, (self._token, column, number)))
        return tasks


def _present_blobs(places: LeafBuffers, allocator: Allocator) -> NodeStructure:
    """Tell nulls by their places: no bytes, at position 1. Source: spec 2.0, 5."""
    positions, sizes = (
        np.empty(0, np.uint64)
        if field.values is None or not places.num_values
        else np.frombuffer(field.values, np.uint64)
        for field in places.fields
    )
    valid = (sizes != 0) | (positions != 1)
    null_count = int(len(valid) - valid.sum())
    if not null_count:
        return NodeStructure(places.num_values)
    buffer, bits = allocator.bitmap(places.num_values)
    bits[:] = np.packbits(valid, bitorder="little")
    return NodeStructure(places.num_values, buffer, null_count)


class _Descent:
    """One reading: from the rows down to the leaves."""

    def __init__(self, reader: V20RowReader, pool: pa.MemoryPool | None) -> None:
        self.num_pages = 0
        self._reader = reader
        self._pool = pool
        self._allocator = Allocator(reader.runtime.settings.limits, pool)
        self._lists: dict[int, _Lists] = {}

    def batch(
        self,
        leaves: Sequence[LeafNode],
        rows: RowRanges,
        finish: Callable[[dict[int, DecodedLeaf]], T],
    ) -> T | None:
        """Decode leaves, and let `finish` assemble them; None where 32-bit offsets overflow, if rows can be divided."""
        ways = [_Way(leaf, rows, len(leaf.list_columns) - 1) for leaf in leaves]
        pending = ways
        while pending:
            pending = self._round(pending)
            if len(rows) and rows.num_rows > 1 and any(way.overflows for way in ways):
                return None
        decoded = {}
        try:
            for way in ways:
                with located(column=way.leaf.path):
                    own, values = self._reader.decode_pages(way.leaf, way.pages, self._pool)
                    decoded[way.leaf.column] = DecodedLeaf(values, (own, *reversed(way.structure)))
            return finish(decoded)
        except LanceError as error:
            find_page(error, leaves, [way.tasks for way in ways], [way.pages for way in ways], self._one_page)
            raise

    def first_tasks(self, leaves: Sequence[LeafNode], rows: RowRanges) -> list[PageTask]:
        """Plan the first round."""
        plans = self._plans([_Way(leaf, rows, len(leaf.list_columns) - 1) for leaf in leaves])
        return [task for tasks in plans.values() for task in tasks]

    def _one_page(self, leaf: LeafNode, page: LoadedPage) -> DecodedLeaf:
        own, values = self._reader.decode_pages(leaf, [page], self._pool)
        return DecodedLeaf(values, (own,))

    def _plans(self, ways: Sequence[_Way]) -> dict[int, list[PageTask]]:
        """Plan the next column of each way; columns that several want are planned once."""
        plans: dict[int, list[PageTask]] = {}
        for way in ways:
            column = way.next_list()
            if column is None:
                (meta,) = self._reader.metas([way.leaf])
                self._check_values(way, way.leaf.path, meta)
                place = way.leaf.column, way.leaf.path, way.leaf.page_leaf
            else:
                meta, _ = self._reader.list_meta(column)
                self._check_values(way, column.path, meta)
                place = column.column, column.path, _LIST
            if place[0] not in plans:
                plans[place[0]] = self._reader.tasks_of(*place, meta, way.rows)
        return plans

    def _check_values(self, way: _Way, path: str, meta: ColumnMeta) -> None:
        if way.num_values is not None and meta.num_rows != way.num_values:
            raise CorruptFileError(
                f"the pages have {meta.num_rows} values, the lists above them hold {way.num_values}",
                column=path,
                byte_range=meta.byte_range,
            )

    def _round(self, ways: list[_Way]) -> list[_Way]:
        """Read the next column of each way; returns the ways that have not come to their leaf."""
        plans = self._plans(ways)
        tasks = [task for one in plans.values() for task in one]
        opened = iter(load_pages(self._reader.source, tasks, self._reader.runtime.indices))
        pages = {column: [next(opened) for _ in one] for column, one in plans.items()}
        self.num_pages += len(tasks)
        pending = []
        for way in ways:
            column = way.next_list()
            if column is None:
                way.tasks, way.pages = plans[way.leaf.column], pages[way.leaf.column]
                continue
            if column.column not in self._lists:
                with located(column=column.path):
                    bits = way.leaf.offset_bits[way.depth]
                    self._lists[column.column] = self._opened(column, plans, pages[column.column], bits)
            lists = self._lists[column.column]
            _, item_starts = self._reader.list_meta(column)
            way.enter(lists, int(item_starts[-1]))
            pending.append(way)
        return pending

    def _opened(
        self, column: ListColumn, plans: dict[int, list[PageTask]], pages: list[LoadedPage], bits: int
    ) -> _Lists:
        """Put the lists of several pages together."""
        structures = [page.levels for page in pages]
        starts, stops = [_NONE], [_NONE]
        _, item_starts = self._reader.list_meta(column)
        for task, structure in zip(plans[column.column], structures, strict=True):
            if not isinstance(structure, SlotStructure):
                raise CorruptPageError("a page holds no lists", page=task.meta.number, byte_range=task.meta.byte_range)
            items, first = structure.runs[0], item_starts[task.meta.number]
            starts.append(items.starts + first)
            stops.append(items.stops + first)
        items = joined_ranges(np.concatenate(starts), np.concatenate(stops))
        if bits == 32 and items.num_rows > _INT32_MAX:
            # Their offsets cannot be told: the rows are to be divided before anything is allocated.
            return _Lists(NodeStructure(0), items, overflows=True)
        _, node = unravel(structures, (0, bits), (0, 0), self._allocator)
        return _Lists(node, items)
