"""Row arithmetic: sorted disjoint ranges, their parts per page, and the inverse mapping to the caller's order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.spi.rows import RowRanges


@dataclass(frozen=True, slots=True, eq=False)
class TakeOrder:
    """Requested row offsets as ranges to read, and the positions of the requested rows in them.

    Parameters
    ----------
    rows
        Distinct rows, ascending.
    positions
        ``(num_wanted,) int64``: for each requested row, its position among the read rows; None if the order is the
        same.
    """

    rows: RowRanges
    positions: NDArray[np.int64] | None


def take_order(indices: NDArray[np.int64], num_rows: int) -> TakeOrder:
    """Sort, deduplicate and join neighbours of the requested row offsets.

    Parameters
    ----------
    indices
        ``(n,) int64`` row offsets in any order, duplicates allowed.
    num_rows
        Number of rows.

    Raises
    ------
    InvalidArgumentError
        An offset is negative or not below `num_rows`; the message has it.
    """
    if len(indices) == 0:
        return TakeOrder(RowRanges.one(0, 0), None)
    if len(indices) == 1 and 0 <= int(indices[0]) < num_rows:
        return TakeOrder(RowRanges(np.ascontiguousarray(indices), indices + 1), None)
    smallest = kernels.smallest_step(indices, num_rows)
    if smallest < 0:
        check_numbers(indices, num_rows)
    if smallest > 1:
        # The caller's array may have strides; native code needs a contiguous copy.
        return TakeOrder(RowRanges(np.ascontiguousarray(indices), indices + 1), None)
    if smallest == 1:
        return TakeOrder(_joined(indices), None)
    distinct, positions = np.unique(indices, return_inverse=True)
    return TakeOrder(_joined(distinct), positions.astype(np.int64, copy=False))


def _joined(ascending: NDArray[np.int64]) -> RowRanges:
    breaks = np.flatnonzero(np.diff(ascending) != 1) + 1
    starts = ascending[np.concatenate(([0], breaks))]
    stops = ascending[np.concatenate((breaks - 1, [len(ascending) - 1]))] + 1
    return RowRanges(starts, stops)


def cut(rows: RowRanges, start: int, stop: int) -> RowRanges:
    """Keep the selected rows from the `start`-th to before the `stop`-th."""
    if len(rows) == 1:
        first = int(rows.starts[0])
        return RowRanges.one(first + start, min(first + stop, int(rows.stops[0])))
    before = rows.before
    low = int(np.searchsorted(before, start, side="right")) - 1
    high = int(np.searchsorted(before, stop, side="left"))
    starts, stops = rows.starts[low:high].copy(), rows.stops[low:high].copy()
    if not len(starts):
        return RowRanges.one(0, 0)
    starts[0] += start - int(before[low])
    stops[-1] -= max(0, int(before[high]) - stop)
    return RowRanges(starts, stops)


def joined_ranges(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> RowRanges:
    """Remove empty ranges, and join neighbours of ascending, disjoint ones."""
    kept = stops > starts
    starts, stops = starts[kept], stops[kept]
    if len(starts) < 2:
        return RowRanges(starts, stops)
    is_border = np.ones(len(starts) + 1, np.bool_)
    np.not_equal(starts[1:], stops[:-1], out=is_border[1:-1])
    return RowRanges(starts[is_border[:-1]], stops[is_border[1:]])


def intersection(left: RowRanges, right: RowRanges) -> RowRanges:
    """Return the rows in both."""
    if not len(left) or not len(right):
        return RowRanges.one(0, 0)
    if len(left) == len(right) == 1:
        start = max(left.starts.item(), right.starts.item())
        return RowRanges.one(start, min(left.stops.item(), right.stops.item()))
    if len(left) == 1:
        return _within(right, left.starts.item(), left.stops.item())
    if len(right) == 1:
        return _within(left, right.starts.item(), right.stops.item())
    first = np.searchsorted(right.stops, left.starts, "right")
    counts = np.maximum(np.searchsorted(right.starts, left.stops, "left") - first, 0)
    of_left = np.repeat(np.arange(len(left)), counts)
    before = np.repeat(np.cumsum(counts) - counts, counts)
    of_right = np.arange(len(of_left)) - before + np.repeat(first, counts)
    starts = np.maximum(left.starts[of_left], right.starts[of_right])
    stops = np.minimum(left.stops[of_left], right.stops[of_right])
    return joined_ranges(starts, stops)


def _within(rows: RowRanges, start: int, stop: int) -> RowRanges:
    """Return the rows from `start` to before `stop`."""
    first, last = int(np.searchsorted(rows.stops, start, "right")), int(np.searchsorted(rows.starts, stop, "left"))
    if first >= last:
        return RowRanges.one(0, 0)
    starts, stops = rows.starts[first:last], rows.stops[first:last]
    if starts[0] >= start and stops[-1] <= stop:
        return rows if last - first == len(rows) else RowRanges(starts, stops)
    starts, stops = starts.copy(), stops.copy()
    starts[0], stops[-1] = max(starts[0], start), min(stops[-1], stop)
    return RowRanges(starts, stops)


def rows_before(rows: RowRanges, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of rows in `rows` before each of `places`, ``(n,) int64``."""
    if not len(rows):
        return np.zeros(len(places), np.int64)
    at = np.searchsorted(rows.starts, places, "right") - 1
    lengths = rows.stops[at] - rows.starts[at]
    found: NDArray[np.int64] = np.where(at < 0, 0, rows.before[at] + np.minimum(places - rows.starts[at], lengths))
    return found


def nth_rows(rows: RowRanges, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of the file that are the n-th of `rows`; any order, duplicates allowed.

    Raises
    ------
    InvalidArgumentError
        A number is negative, or not below the number of rows; the message has it.
    """
    check_numbers(numbers, rows.num_rows)
    if not len(numbers):
        return numbers
    before = rows.before
    at = np.searchsorted(before, numbers, "right") - 1
    found: NDArray[np.int64] = rows.starts[at] + numbers - before[at]
    return found


def check_numbers(numbers: NDArray[np.int64], num_rows: int) -> None:
    """Raise `InvalidArgumentError` with the number, if a row number is negative or not below `num_rows`."""
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= num_rows):
        wrong = int(numbers[np.argmax((numbers < 0) | (numbers >= num_rows))])
        raise InvalidArgumentError(f"row {wrong} does not exist, expected 0 <= row < {num_rows}", detail=wrong)


def difference(left: RowRanges, right: RowRanges) -> RowRanges:
    """Return the rows of the left that are not in the right."""
    if not len(left) or not len(right):
        return left
    end = max(int(left.stops[-1]), int(right.stops[-1]))
    starts, stops = np.append(0, right.stops), np.append(right.starts, end)
    return intersection(left, joined_ranges(starts, stops))


def disjoint_union(left: RowRanges, right: RowRanges) -> RowRanges:
    """Return the rows of both, which must be disjoint."""
    if not len(left) or not len(right):
        return right if not len(left) else left
    starts, stops = np.concatenate([left.starts, right.starts]), np.concatenate([left.stops, right.stops])
    order = np.argsort(starts)
    return joined_ranges(starts[order], stops[order])


def marked(rows: RowRanges, mask: pa.BooleanArray) -> RowRanges:
    """Keep the rows with a true flag.

    Parameters
    ----------
    rows
        Some rows.
    mask
        ``(rows.num_rows,)``: flags of the rows, in order; null counts as false.
    """
    if not len(mask):
        return rows
    known = mask.fill_null(False) if mask.null_count else mask
    bits = np.frombuffer(known.buffers()[1], np.uint8)
    starts = np.empty(kernels.count_marked_runs(bits, known.offset, rows.starts, rows.stops), np.int64)
    stops = np.empty_like(starts)
    kernels.mark_runs(bits, known.offset, rows.starts, rows.stops, starts, stops)
    return RowRanges(starts, stops)


def scaled(rows: RowRanges, factor: int) -> RowRanges:
    """Multiply rows by `factor`, the number of units per row (items of fixed-size lists of structs)."""
    return rows if factor == 1 else RowRanges(rows.starts * factor, rows.stops * factor)


def pages_with(rows: RowRanges, page_starts: NDArray[np.int64]) -> list[int]:
    """Return the numbers of the pages that hold at least one of `rows` (not empty); see `by_page` for `page_starts`."""
    if len(page_starts) == 2:
        return [0]
    if len(rows) == 1:
        # A search over few borders is faster in Python than numpy's search of one number.
        first = bisect_right(page_starts, rows.starts.item()) - 1
        last = bisect_left(page_starts, rows.stops.item())
        if last == first + 1:
            return [first]
        return [page for page in range(first, last) if page_starts[page] < page_starts[page + 1]]
    low = rows.stops.searchsorted(page_starts[:-1], "right")
    high = rows.starts.searchsorted(page_starts[1:], "left")
    pages: list[int] = (low < high).nonzero()[0].tolist()
    return pages


def by_page(rows: RowRanges, page_starts: NDArray[np.int64]) -> Iterator[tuple[int, RowRanges]]:
    """Cut `rows` at page borders.

    Parameters
    ----------
    rows
        Rows of the column.
    page_starts
        ``(num_pages + 1,) int64``, first row of each page and the number of rows at the end; empty pages allowed.

    Yields
    ------
    tuple
        Page number and its selected rows, counted from the page's first row; pages without selected rows are omitted.
    """
    if len(rows) == 0:
        return
    first = int(np.searchsorted(page_starts, rows.starts[0], side="right")) - 1
    last = int(np.searchsorted(page_starts, rows.stops[-1], side="left"))
    for page in range(first, last):
        page_start, page_stop = int(page_starts[page]), int(page_starts[page + 1])
        low = int(np.searchsorted(rows.stops, page_start, side="right"))
        high = int(np.searchsorted(rows.starts, page_stop, side="left"))
        if low < high and page_start < page_stop:
            starts = np.maximum(rows.starts[low:high], page_start) - page_start
            stops = np.minimum(rows.stops[low:high], page_stop) - page_start
            yield page, RowRanges(starts, stops)


def halves(rows: RowRanges) -> tuple[RowRanges, RowRanges]:
    """Divide a selection of more than one row in two."""
    lengths = np.cumsum(rows.stops - rows.starts)
    middle = int(lengths[-1]) // 2
    at = int(np.searchsorted(lengths, middle, side="left"))
    cut = int(rows.stops[at]) - (int(lengths[at]) - middle)
    first = RowRanges(rows.starts[: at + 1], np.append(rows.stops[:at], cut))
    keep = at if cut < rows.stops[at] else at + 1
    starts = rows.starts[keep:].copy()
    if keep == at:
        starts[0] = cut
    return first, RowRanges(starts, rows.stops[keep:])
