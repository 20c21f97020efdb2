"""Pages as the native engine reads them: found in the cache of indices, or made of their descriptions.

Most pages read what they must know of their rows when these are first wanted, in the native call that reads the rows.
Of all others the index is loaded here, in one round for all columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.container.columns import ColumnMeta
from lance_arrow.container.pages import PageMeta
from lance_arrow.engine import NativePage
from lance_arrow.errors import LanceError, located
from lance_arrow.scan.file_pages import FilePages, Indices
from lance_arrow.scan.native_take import Pages
from lance_arrow.spi import BoundLayout, BufferRole, PageIndex, RowRanges
from lance_arrow.structure.index_cache import IndexCache
from lance_arrow.structure.page_scan import PageTask, load_indices
from lance_arrow.structure.row_selection import pages_with


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
    """

    wanted: list[Pages]
    loaded: Indices = field(default_factory=dict)
    uncounted: list[tuple[Hashable, NativePage]] = field(default_factory=list)

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


def pages_at_hand(
    file: FilePages, leaves: Sequence[LeafNode], metas: Sequence[ColumnMeta], rows: RowRanges, *, is_scan: bool
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
    is_scan
        Whether pages that the layouts read faster, where many rows are wanted, are left to them.

    Raises
    ------
    UnknownEncodingError, UnsupportedError, CorruptFileError, TruncatedReadError, ResourceLimitError
        As reading them.
    """
    cache = file.runtime.indices
    numbers = [pages_with(rows, meta.page_starts) for meta in metas]
    keys = [file.index_key(leaf, number) for leaf, own in zip(leaves, numbers, strict=True) for number in own]
    held = iter(zip(keys, cache.get_many(keys), strict=True))
    found = PagesAtHand([])
    missing: list[tuple[PageTask, Pages, int]] = []
    for leaf, meta, own in zip(leaves, metas, numbers, strict=True):
        pages: Pages = []
        for number in own:
            page = meta.pages[number]
            key, index = next(held)
            if index is None:
                try:
                    layout = file.bound(leaf.page_leaf, meta, number)
                except LanceError as error:
                    located(column=leaf.path).fill(error)
                    raise
                index = _page_without_index(layout, page, cache)
                if index is None:
                    missing.append((PageTask(leaf.path, page, layout, rows, key), pages, len(pages)))
            if type(index) is NativePage:
                native = index if index.is_for_scans or not is_scan else None
                if not index.is_counted:
                    found.uncounted.append((key, index))
            else:
                native = _native(index, is_scan)
            pages.append((native, page.first_row, page.buffer_offsets, page.buffer_sizes))
        found.wanted.append(pages)
    if missing:
        tasks = [task for task, _, _ in missing]
        load_indices(file.source, tasks, cache, with_whole_pages=False)
        for task, pages, place in missing:
            pages[place] = (_native(task.index, is_scan), *pages[place][1:])
        found.loaded = {task.cache_key: task.index for task in tasks if task.index is not None}
    return found


def _page_without_index(layout: BoundLayout, page: PageMeta, cache: IndexCache) -> NativePage | None:
    """Make a page that needs no index from here; None where there is none, or its row index must be proven."""
    # The method of `ReadNatively`: a check of the protocol itself would take longer than the rest of this function.
    make = getattr(layout, "native_page", None)
    if make is None:
        return None
    if cache.proves_rows and BufferRole.ROW_INDEX in layout.roles(page.facts):
        return None
    made: NativePage | None = make(page.facts)
    return made


def _native(index: PageIndex | None, is_scan: bool) -> NativePage | None:
    """The page as the engine takes it; None where the layouts read it, or, for scans, read it faster."""
    native: Any = getattr(index, "native", None)
    return None if native is not None and is_scan and not native.is_for_scans else native
