"""Leaves that the engine does not read: pages of them are wrong, or layouts in Python read them."""

from __future__ import annotations

from lance_arrow.arrays.column_tree import refuse_unreadable
from lance_arrow.errors import CorruptPageError, UnsupportedError, located
from lance_arrow.scan.file_pages import FilePages
from lance_arrow.scan.native_pages import PagesAtHand
from lance_arrow.scan.read_plan import ReadPlan
from lance_arrow.spi import RowRanges


def refuse_unread(file: FilePages, wanted: ReadPlan, found: PagesAtHand, rows: RowRanges) -> None:
    """Raise what is wrong with pages of leaves that the engine does not read; nothing is where layouts read them.

    Parameters
    ----------
    file
        The file.
    wanted, found
        Leaves, and the pages of each that hold wanted rows. Pages whose index is missing yet are passed over.
    rows
        Rows of the file.

    Raises
    ------
    CorruptFileError, CorruptPageError, UnsupportedError
        With column, page and byte range.
    """
    missing = {id(pages) for _, pages, _ in found.missing}
    for number, (plan, own) in enumerate(zip(wanted.plans, found.wanted, strict=True)):
        if id(own) in missing or all(wanted.forms.reads(number, page) for page, *_ in own):
            continue
        leaf = plan.leaf
        refuse_unreadable(leaf)
        (meta,) = file.metas([leaf])
        for (page, *_), (page_number, _) in zip(own, file.pages_of(leaf, meta, rows), strict=False):
            if wanted.forms.reads(number, page):
                continue
            facts = meta.pages[page_number]
            with located(column=leaf.path, page=page_number, byte_range=facts.byte_range):
                layout = file.bound(leaf.page_leaf, meta, page_number)
                layout.roles(facts.facts)
                if page is not None:
                    raise CorruptPageError(wanted.forms.difference(number, page))
                if not hasattr(layout, "load"):
                    raise UnsupportedError(f"pages of {leaf.leaf.shape} in this layout cannot be read")
