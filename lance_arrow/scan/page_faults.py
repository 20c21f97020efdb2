"""Which page an error of a whole column comes from: found by decoding its pages one by one, after the failure only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lance_arrow.arrays.arrow_arrays import DecodedLeaf, build_array
from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.errors import LanceError, located
from lance_arrow.spi.layouts import LoadedPage
from lance_arrow.structure.page_scan import PageTask


def find_page(
    error: LanceError,
    leaves: Sequence[LeafNode],
    tasks: Sequence[Sequence[PageTask]],
    pages: Sequence[Sequence[LoadedPage]],
    decode: Callable[[LeafNode, LoadedPage], DecodedLeaf],
) -> None:
    """Fill the page and its bytes into an error that names only a column.

    Pages of a column are decoded into one destination and checked as one array, without overhead per page. Only an
    error needs this search. An error that no single page explains stays as it is.

    Parameters
    ----------
    error
        What was raised while the columns were decoded.
    leaves
        The columns.
    tasks, pages
        Per column: what was read, and the opened pages.
    decode
        Decodes one page of a column by itself.
    """
    if error.page is not None:
        return
    for leaf, leaf_tasks, leaf_pages in zip(leaves, tasks, pages, strict=True):
        if leaf.path != error.column:
            continue
        for task, page in zip(leaf_tasks, leaf_pages, strict=True):
            try:
                build_array(leaf, {leaf.column: decode(leaf, page)})
            except LanceError:
                located(page=task.meta.number, byte_range=task.meta.byte_range).fill(error)
                return
