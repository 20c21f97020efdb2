"""Read many pages in two rounds: index buffers of all pages, then data of all pages; one fetch per round.

    wanted rows ─► index_slices (all pages) ─► one coalesced fetch ─► load_index
                ─► plan (all pages)         ─► one coalesced fetch ─► load ─► LoadedPage

A page that is read completely is fetched in the first round, so a full scan is one fetch. A page with a cached index
has no first round, so a second take is one fetch. A page whose row index must be verified is also fetched completely.
It is opened row by row before the index is used or kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from lance_arrow.container.pages import PageMeta
from lance_arrow.engine import NativePage
from lance_arrow.errors import CorruptPageError, LanceError, UnsupportedError, located
from lance_arrow.io import Positions, RangeSource, fetch
from lance_arrow.pages import index_of, index_slices_of
from lance_arrow.pages.in_memory import prove_rows
from lance_arrow.settings import Limits
from lance_arrow.spi.keys import BufferRole
from lance_arrow.spi.layouts import (
    BoundLayout,
    BufferSlices,
    FetchedSlices,
    LoadedPage,
    PageFacts,
    PageIndex,
    PageReadPlan,
)
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.index_cache import IndexCache

R = TypeVar("R")


@dataclass(slots=True, eq=False)
class PageTask:
    """One page to read: its rows, its layout, and the key of its index in the cache (None: not cached)."""

    column: str
    meta: PageMeta
    layout: Any
    """A `BoundLayout`."""
    rows: RowRanges
    cache_key: Hashable | None = None
    index: PageIndex | None = None

    @property
    def facts(self) -> PageFacts:
        return self.meta.facts

    @property
    def is_whole(self) -> bool:
        return self.rows.covers(0, self.meta.num_rows)


def load_pages(source: RangeSource, tasks: Sequence[PageTask], cache: IndexCache) -> list[LoadedPage]:
    """Fetch and open the selected rows of many pages, in order.

    Raises
    ------
    CorruptPageError
        A page contradicts its description; column, page and byte range are named.
    TruncatedReadError
        The source ended early.
    """
    held = load_indices(source, tasks, cache)
    plans = [_at(task, "planning", lambda t=task: _planned(t)) for task in tasks]
    wanted = [(n, slices) for n, plan in enumerate(plans) if held[n] is None for slices in plan.slices]
    fetched = _fetch(source, tasks, wanted)
    loaded = []
    for n, (task, plan) in enumerate(zip(tasks, plans, strict=True)):
        whole = held[n]
        bytes_of_page = fetched.get(n, ()) if whole is None else _cut(whole, plan)
        loaded.append(
            _at(
                task,
                "opening",
                lambda t=task, p=plan, b=bytes_of_page: t.layout.load(t.facts, t.index, p, b),
            )
        )
    return loaded


def load_indices(
    source: RangeSource, tasks: Sequence[PageTask], cache: IndexCache, *, with_whole_pages: bool = True
) -> list[tuple[FetchedSlices, ...] | None]:
    """First round: load the index of every task; returns all buffers of pages to be read (or verified) completely.

    Parameters
    ----------
    source, tasks, cache
        As in `load_pages`.
    with_whole_pages
        Whether pages that are read completely are fetched now; otherwise no buffers are returned for them.
    """
    whole: list[bool] = []
    wanted: list[tuple[int, BufferSlices]] = []
    index_slices: dict[int, tuple[BufferSlices, ...]] = {}
    for n, task in enumerate(tasks):
        if task.cache_key is not None and task.index is None:
            task.index = _index_of_layout(task.layout, cache.get(task.cache_key))
        if task.index is None:
            index_slices[n] = _at(task, "reading", lambda t=task: index_slices_of(t.layout, t.facts))
        whole.append((with_whole_pages and task.is_whole) or (n in index_slices and _is_proven(task, cache)))
        if whole[n]:
            wanted += [(n, BufferSlices.whole(task.facts, b)) for b in range(len(task.facts.buffer_sizes))]
        else:
            wanted += [(n, slices) for slices in index_slices.get(n, ())]
    fetched = _fetch(source, tasks, wanted)
    for n, slices in index_slices.items():
        task = tasks[n]
        got = fetched.get(n, ())
        mine = tuple(_slice_of(got, wanted_slices) for wanted_slices in slices) if whole[n] else got
        task.index = _at(task, "opening the index of", lambda t=task, b=mine: index_of(t.layout, t.facts, b))
        within = cache.proven_within
        if within is not None and _is_proven(task, cache):
            _at(task, "proving the row index of", lambda t=task, b=got, w=within: _prove(t, b, w))
        if task.cache_key is not None and task.index is not None:
            cache.put(task.cache_key, task.index)
    return [fetched.get(n, ()) if whole[n] else None for n in range(len(tasks))]


def _planned(task: PageTask) -> PageReadPlan:
    if not hasattr(task.layout, "plan"):
        raise UnsupportedError("the engine does not support the values of this page, and its layout does not read it")
    plan: PageReadPlan = task.layout.plan(task.facts, task.index, task.rows)
    return plan


def _is_proven(task: PageTask, cache: IndexCache) -> bool:
    return cache.proves_rows and BufferRole.ROW_INDEX in task.layout.roles(task.facts)


def index_ranges(tasks: Sequence[PageTask], cache: IndexCache) -> tuple[Positions, Positions]:
    """Return what `load_indices` reads of a file for tasks without an index: ``(n,) int64`` starts and stops.

    Rows of the tasks are those of the file. If all rows of a page are wanted, or its row index must be verified, its
    other bytes are in the ranges too.

    Raises
    ------
    CorruptPageError
        As `load_indices`.
    """
    starts, stops = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for task in tasks:
        rows, first, stop = task.rows, task.meta.first_row, task.meta.first_row + task.meta.num_rows
        run = int(np.searchsorted(rows.stops, first, "right"))
        is_whole = run < len(rows) and rows.starts[run] <= first and stop <= rows.stops[run]
        if is_whole or _at(task, "reading", lambda t=task: _is_proven(t, cache)):
            wanted = tuple(BufferSlices.whole(task.facts, number) for number in range(len(task.facts.buffer_sizes)))
        else:
            wanted = _at(task, "reading", lambda t=task: index_slices_of(t.layout, t.facts))
        for slices in wanted:
            offset = _file_offset(task, slices)
            starts.append(slices.starts + offset)
            stops.append(slices.stops + offset)
    return np.concatenate(starts), np.concatenate(stops)


def _index_of_layout(layout: BoundLayout, held: PageIndex | None) -> PageIndex | None:
    """Return the index if the layout can use it: those that load one cannot use pages of the engine."""
    return None if isinstance(held, NativePage) and hasattr(layout, "load_index") else held


def _prove(task: PageTask, whole: tuple[FetchedSlices, ...], limits: Limits) -> None:
    """Open a page completely, then row by row: its index is compared with every chunk and row border."""
    native: NativePage | None = getattr(task.index, "native", None)
    if native is not None:
        prove_rows(native, task.facts, {number: one.one() for number, one in enumerate(whole)}, limits)
        return
    borders = np.arange(task.facts.num_rows + 1)
    for rows in (RowRanges.one(0, len(borders) - 1), RowRanges(borders[:-1], borders[1:])):
        if len(rows) and hasattr(task.layout, "load"):
            plan = task.layout.plan(task.facts, task.index, rows)
            task.layout.load(task.facts, task.index, plan, _cut(whole, plan))


def _fetch(
    source: RangeSource, tasks: Sequence[PageTask], wanted: Sequence[tuple[int, BufferSlices]]
) -> dict[int, tuple[FetchedSlices, ...]]:
    """Fetch slices of many pages as one plan; returns them by task number, in the order of the request."""
    if not wanted:
        return {}
    starts, stops = [], []
    for n, slices in wanted:
        offset = _file_offset(tasks[n], slices)
        starts.append(slices.starts + offset)
        stops.append(slices.stops + offset)
    data, positions = fetch(source, np.concatenate(starts), np.concatenate(stops))
    result: dict[int, list[FetchedSlices]] = {}
    position = 0
    for n, slices in wanted:
        count = len(slices.starts)
        places = positions[position : position + count]
        result.setdefault(n, []).append(FetchedSlices(data, places, slices.stops - slices.starts))
        position += count
    return {n: tuple(parts) for n, parts in result.items()}


def _file_offset(task: PageTask, slices: BufferSlices) -> int:
    """Return the start of the buffer in the file; raises for slices beyond its end, which belong to a neighbour."""
    size = task.facts.buffer_sizes[slices.buffer]
    if len(slices.starts) and (int(slices.starts[0]) < 0 or int(slices.stops[-1]) > size):
        offset = int(task.meta.buffer_offsets[slices.buffer])
        raise CorruptPageError(
            f"bytes {int(slices.starts[0])}..{int(slices.stops[-1])} of buffer {slices.buffer} are requested, "
            f"which has {size}",
            column=task.column,
            page=task.meta.number,
            byte_range=(offset, offset + size),
        )
    return int(task.meta.buffer_offsets[slices.buffer])


def _cut(whole: tuple[FetchedSlices, ...], plan: PageReadPlan) -> tuple[FetchedSlices, ...]:
    """Return a plan's slices from whole buffers in memory."""
    return tuple(_slice_of(whole, slices) for slices in plan.slices)


def _slice_of(whole: tuple[FetchedSlices, ...], slices: BufferSlices) -> FetchedSlices:
    buffer = whole[slices.buffer]
    return FetchedSlices(buffer.data, slices.starts + buffer.starts[0], slices.stops - slices.starts)


def _at(task: PageTask, stage: str, call: Callable[[], R]) -> R:
    try:
        return call()
    except LanceError as error:
        place = located(
            column=task.column, page=task.meta.number, byte_range=task.meta.byte_range, stage=f"{stage} a page"
        )
        place.fill(error)
        raise
