"""The error of rows that the engine refused, and of pages that it does not read.

The engine says where it happened, so nothing is read again to find it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import refuse_unreadable
from lance_arrow.engine import Blame, Refusal
from lance_arrow.errors import (
    CorruptPageError,
    LanceError,
    TruncatedReadError,
    UnsupportedError,
    located,
)
from lance_arrow.io import VerifiedSource
from lance_arrow.pages.in_memory import error_of_bytes
from lance_arrow.scan.file_pages import FilePages
from lance_arrow.scan.native_pages import PagesAtHand
from lance_arrow.scan.native_take import TakePlan
from lance_arrow.scan.read_plan import ReadPlan


def error_of(refusal: Refusal, plans: Sequence[TakePlan], file: FilePages) -> BaseException:
    """Return the error of a refusal.

    Parameters
    ----------
    refusal
        What the engine said.
    plans
        The leaves that it read.
    file
        Their file.

    Returns
    -------
    BaseException
        With column, page and byte range as far as they are known; or what a codec in Python raised.
    """
    error = refusal.cause if refusal.cause is not None else _made(refusal, file)
    if isinstance(error, LanceError) and 0 <= refusal.leaf < len(plans):
        _locate(error, refusal, plans[refusal.leaf], file)
    return error


def _made(refusal: Refusal, file: FilePages) -> BaseException:
    if refusal.blame == Blame.OFFSETS:
        # Others are read in parts.
        return UnsupportedError("one row has more bytes or items than offsets of 32 bits count")
    if refusal.blame == Blame.SHORT:
        end = refusal.index
        return TruncatedReadError(f"{refusal.message}: the file became shorter, or ends at {end}", path=file.file.name)
    if refusal.blame == Blame.SYSTEM:
        return OSError(refusal.index, os.strerror(refusal.index), file.file.name)
    if refusal.blame == Blame.CHECKSUM and isinstance(file.source, VerifiedSource):
        return file.source.contradiction(refusal.index)
    return error_of_bytes(refusal, file.runtime.settings.limits)


def _locate(error: LanceError, refusal: Refusal, plan: TakePlan, file: FilePages) -> None:
    leaf = plan.leaf
    number, path = leaf.column, leaf.path
    if refusal.list_column >= 0:
        lists = [column for column in reversed(leaf.list_columns) if column is not None]
        number, path = lists[refusal.list_column].column, lists[refusal.list_column].path
    if refusal.page_row < 0:
        located(column=path).fill(error)
        return
    (meta,) = file.file.columns([number])
    page = _page_at(meta.pages.row_starts, refusal.page_row)
    located(column=path, page=page, byte_range=meta.pages[page].byte_range).fill(error)


def refuse_unread(file: FilePages, wanted: ReadPlan, found: PagesAtHand) -> None:
    """Raise what is wrong with pages of leaves that the engine does not read; nothing is where layouts read them.

    Parameters
    ----------
    file
        The file.
    wanted, found
        Leaves, and the pages of each that hold wanted rows. Pages whose index is missing yet are passed over.

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
        for page, first_row, *_ in own:
            if wanted.forms.reads(number, page):
                continue
            page_number = _page_at(meta.page_starts, first_row)
            facts = meta.pages[page_number]
            with located(column=leaf.path, page=page_number, byte_range=facts.byte_range):
                layout = file.bound(leaf.page_leaf, meta, page_number)
                layout.roles(facts.facts)
                if page is not None:
                    raise CorruptPageError(wanted.forms.difference(number, page))
                if not hasattr(layout, "load"):
                    raise UnsupportedError(f"pages of {leaf.leaf.shape} in this layout cannot be read")


def _page_at(starts: NDArray[np.int64], row: int) -> int:
    """Return the page that begins at a row, or holds it; the last one may have no rows, and begin where all end."""
    return int(np.searchsorted(starts[:-1], row, side="right")) - 1
