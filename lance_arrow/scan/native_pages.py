"""Pages as the native engine reads them: found in the cache of indices, or made of their descriptions.

Most pages read what they must know of their rows when these are first wanted, in the native call that reads the rows.
Of all others the index is loaded here, in one round for all columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.container.columns import ColumnMeta
from lance_arrow.container.descriptions import Description
from lance_arrow.engine import NativePage, OpenPages, PagesWithRows
from lance_arrow.errors import CorruptFileError, LanceError, located
from lance_arrow.io import MeteredSource, Positional, RangeSource
from lance_arrow.scan.file_pages import FilePages, Indices
from lance_arrow.scan.native_take import Pages, TakePlan
from lance_arrow.spi import LeafType
from lance_arrow.spi.keys import BufferRole
from lance_arrow.spi.layouts import BoundLayout, OpensManyPages, PageFacts, PageIndex
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.index_cache import IndexCache
from lance_arrow.structure.page_scan import PageTask, load_indices
from lance_arrow.structure.row_selection import intersection, pages_with, scaled

_LEAST_TOGETHER = 4


ListPages: TypeAlias = list[
    tuple[NativePage | None, int, NDArray[np.int64] | list[int], NDArray[np.int64] | list[int], int]
]
"""Of a column of lists its pages, as `Pages`, and the first item of each in the next column."""

Missing: TypeAlias = tuple[PageTask, Pages, int]
"""A page without an index, the pages of its leaf, and its position in them."""


@dataclass(slots=True, eq=False)
class PagesAtHand:
    """Pages that hold wanted rows.

    Parameters
    ----------
    wanted
        Those of each leaf.
    loaded
        Indices that had to be loaded, whether or not the cache could keep them.
    uncounted
        Pages that read their index themselves; the cache has not counted their memory yet.
    are_kept
        Whether the reader keeps the pages itself; else the cache does, which counts them.
    missing
        Pages whose index must be loaded before the engine can read them.
    lists
        In files of 2.0: of each leaf the columns of lists above it, outer-most first.
    """

    wanted: list[Pages]
    loaded: Indices = field(default_factory=dict)
    uncounted: list[tuple[Hashable, NativePage]] = field(default_factory=list)
    are_kept: bool = False
    missing: list[Missing] = field(default_factory=list)
    lists: list[list[ListPages]] | None = None

    def load_missing(self, source: RangeSource, cache: IndexCache) -> None:
        """Load indices that are missing, in one round; raises as reading the pages."""
        tasks = [task for task, _, _ in self.missing]
        load_indices(source, tasks, cache, with_whole_pages=False)
        for task, pages, place in self.missing:
            pages[place] = (_native(task.index), *pages[place][1:])
        self.loaded = {task.cache_key: task.index for task in tasks if task.index is not None}
        self.missing = []

    def by_reader(self, plans: Sequence[TakePlan], rows: RowRanges) -> list[RowRanges]:
        """Cut rows where a leaf has pages that the engine reads on one side, and others on the other side."""
        if self.lists is not None:
            return [rows]  # pages do not tell their rows
        cuts: set[int] = set()
        for plan, pages in zip(plans, self.wanted, strict=True):
            changes = [page for before, page in pairwise(pages) if (before[0] is None) != (page[0] is None)]
            cuts.update([first_row // plan.leaf.lengths_per_row for _, first_row, *_ in changes])
        borders = [0, *sorted(cuts), int(rows.stops[-1])]
        return [intersection(rows, RowRanges.one(start, stop)) for start, stop in pairwise(borders)]

    def keep(self, cache: IndexCache) -> None:
        """Keep pages for the next read, in another thread perhaps, before they have read their index."""
        cache.put_many(self.uncounted)

    def count(self, cache: IndexCache) -> None:
        """Keep pages with what they take, now that they have read their index."""
        done = [(key, page) for key, page in self.uncounted if page.is_indexed]
        for _, page in done:
            page.is_counted = True
        if done:
            cache.put_many(done)


@dataclass(frozen=True, slots=True, eq=False)
class PagesFound:
    """The pages of one read that were not found natively.

    Parameters
    ----------
    pages
        Those with wanted rows.
    at_hand
        Where they are from.
    opened
        Where they are noted once they know their rows; None for columns that are read for the first time.
    """

    pages: PagesWithRows
    at_hand: PagesAtHand
    opened: OpenPages | None

    @property
    def loaded(self) -> Indices:
        """Indices that had to be loaded, whether or not the cache could keep them."""
        return self.at_hand.loaded

    def keep_counted(self, cache: IndexCache) -> None:
        """Keep pages that have read their index, and note them."""
        self.at_hand.count(cache)
        if self.opened is not None:
            self.opened.open_all(self.at_hand.wanted, self.at_hand.are_kept)


def pages_at_hand(
    file: FilePages, leaves: Sequence[LeafNode], metas: Sequence[ColumnMeta], rows: RowRanges
) -> PagesAtHand:
    """Find the pages that hold rows.

    Parameters
    ----------
    file
        The file.
    leaves, metas
        Columns, and their metadata.
    rows
        Which rows of the file.
    Notes
    -----
    Indices of far files stay missing: they are fetched along with what else is wanted.

    Raises
    ------
    UnknownEncodingError, UnsupportedError, CorruptFileError, TruncatedReadError, ResourceLimitError
        As reading them.
    """
    cache = file.runtime.indices
    only = [0]
    numbers = [
        only
        if len(meta.pages.row_starts) == 2
        else pages_with(scaled(rows, leaf.lengths_per_row), meta.pages.row_starts)
        for leaf, meta in zip(leaves, metas, strict=True)
    ]
    keys = file.index_keys(leaves, numbers)
    held = cache.get_many(keys)
    found = PagesAtHand([])
    unopened = _Unopened(file, cache)
    add, keep = unopened.add, found.wanted.append
    at = 0
    for leaf, meta, own in zip(leaves, metas, numbers, strict=True):
        table = meta.pages
        pages: Pages = []
        for number in own:
            index = held[at]
            if index is None:
                native = None
                add((leaf, meta, number, pages, len(pages), keys[at]))
            elif isinstance(index, NativePage):
                native = index
                if not index.is_counted:
                    found.uncounted.append((keys[at], index))
            else:
                native = _native(index)
            if len(table.description_of) == 1:
                pages.append((native, 0, table.starts, table.sizes))
            else:
                page = table[number]
                pages.append((native, page.first_row, page.buffer_offsets, page.buffer_sizes))
            at += 1
        keep(pages)
    for natives, members in unopened.opened():
        for opened, (leaf, meta, number, pages, place, key) in zip(natives, members, strict=True):
            if not isinstance(opened, NativePage):
                own_rows = scaled(rows, leaf.lengths_per_row)
                found.missing.append((PageTask(leaf.path, meta.pages[number], opened, own_rows, key), pages, place))
                continue
            pages[place] = (opened, *pages[place][1:])
            if not opened.is_counted:
                found.uncounted.append((key, opened))
    if found.missing and positional_of(file.source) is not None:
        found.load_missing(file.source, cache)
    return found


def left_to_layouts(plans: Sequence[TakePlan], found: PagesAtHand) -> list[LeafNode]:
    """Return the leaves that have no page for the engine, also when their indices are loaded."""
    missing = {id(pages) for _, pages, _ in found.missing}
    return [
        plan.leaf
        for plan, pages in zip(plans, found.wanted, strict=True)
        if pages and id(pages) not in missing and all(page is None for page, *_ in pages)
    ]


def positional_of(source: RangeSource) -> Positional | None:
    """Return how native code reads a source by itself; None for far files, whose bytes must be fetched before."""
    return source.positional() if isinstance(source, MeteredSource) else None


_Member: TypeAlias = tuple[LeafNode, ColumnMeta, int, Pages, int, Hashable]
"""A page: its column, its number in it, the pages of its leaf, its position in them, and its key in the cache."""


@dataclass(slots=True, eq=False)
class _Group:
    """Pages of one layout and one number of buffers."""

    layout: BoundLayout
    members: list[_Member] = field(default_factory=list)


class _Like(NamedTuple):
    """What columns with one page of one group have in common, and the group."""

    described: Description
    leaf: LeafType
    num_buffers: int
    members: list[_Member]


class _Unopened:
    """Pages that are not in the cache; those that their layouts can open together are opened together.

    Parameters
    ----------
    file
        The file.
    cache
        The cache of indices.
    """

    def __init__(self, file: FilePages, cache: IndexCache) -> None:
        self._file, self._cache = file, cache
        self._layouts: dict[tuple[int, int, bool], BoundLayout] = {}
        self._groups: dict[tuple[int, int], _Group] = {}
        self._like: _Like | None = None

    def add(self, member: _Member) -> None:
        """Bind a page; raises as `FilePages.bound`."""
        leaf, meta, number, *_ = member
        table, like = meta.pages, self._like
        if (
            like is not None
            and leaf.leaf is like.leaf
            and len(table.description_of) == 1
            and table.descriptions[0] is like.described
            and len(table.sizes) == like.num_buffers
            and not leaf.list_columns
        ):
            # Most columns are like the one before.
            like.members.append(member)
            return
        if len(table.descriptions) == 1:
            described, num_buffers = table.descriptions[0], len(table.sizes)
        else:
            described = table.descriptions[table.description_of[number]]
        if len(table.description_of) > 1:
            num_buffers = int(table.borders[number + 1] - table.borders[number])
        # Equal descriptions and types of leaves are mostly the same objects.
        known = id(described), id(leaf.leaf), bool(leaf.list_columns)
        layout = self._layouts.get(known)
        if layout is None:
            try:
                layout = self._layouts[known] = self._file.bound(leaf.page_leaf, meta, number)
            except LanceError as error:
                located(column=leaf.path).fill(error)
                raise
        group = self._groups.get((id(layout), num_buffers))
        if group is None:
            group = self._groups[id(layout), num_buffers] = _Group(layout)
        group.members.append(member)
        self._like = None if leaf.list_columns else _Like(described, leaf.leaf, num_buffers, group.members)

    def opened(self) -> list[tuple[Sequence[NativePage | BoundLayout], list[_Member]]]:
        """Return pages, and which they are; instead of a page whose index must be read first its layout."""
        opened: list[tuple[Sequence[NativePage | BoundLayout], list[_Member]]] = []
        for group in self._groups.values():
            together = self._together(group) if len(group.members) >= _LEAST_TOGETHER else None
            if together is None:
                layout, cache = group.layout, self._cache
                facts = [meta.pages.facts(number) for _, meta, number, *_ in group.members]
                opened.append(([page_without_index(layout, one, cache) or layout for one in facts], group.members))
            else:
                opened.append((together, group.members))
        return opened

    def _together(self, group: _Group) -> Sequence[NativePage] | None:
        """Open pages that read their index by themselves; None where the layout opens them one by one."""
        layout = group.layout
        if self._cache.proves_rows or not isinstance(layout, OpensManyPages):
            return None
        members = [(meta.pages, number) for _, meta, number, *_ in group.members]
        sizes = [
            table.sizes if len(table.borders) == 2 else table.sizes[table.borders[number] : table.borders[number + 1]]
            for table, number in members
        ]
        starts = [
            table.row_starts if len(table.row_starts) == 2 else table.row_starts[number : number + 2]
            for table, number in members
        ]
        num_rows = np.diff(np.concatenate(starts).reshape(-1, 2)).ravel()
        # All have as many buffers. Stacking them would take as long as the rest of this function.
        all_sizes = np.concatenate(sizes).reshape(len(sizes), len(sizes[0]))
        try:
            return layout.native_pages(num_rows, all_sizes)
        except CorruptFileError:
            # Opening them one by one tells which page is wrong.
            return None


def page_without_index(layout: BoundLayout, page: PageFacts, cache: IndexCache) -> NativePage | None:
    """Make a page that needs no index from here; None where there is none, or its row index must be proven."""
    # The method of `ReadNatively`: a check of the protocol itself would take longer than the rest of this function.
    make = getattr(layout, "native_page", None)
    if make is None:
        return None
    if cache.proves_rows and BufferRole.ROW_INDEX in layout.roles(page):
        return None
    made: NativePage | None = make(page)
    return made


def _native(index: PageIndex | None) -> NativePage | None:
    """The page as the engine takes it; None where the layouts read it."""
    found: NativePage | None = getattr(index, "native", None)
    return found
