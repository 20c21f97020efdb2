"""Requests for the pages of a far file, planned ahead of the windows of a scan.

pages of the wanted columns ─► pieces, and the rows that need them ─► neighbours joined ─► requests in the order of rows

A page larger than a request is requested in parts. The rows of a part are estimated, as if all rows of a page had the
same size. If an estimate misses bytes, the window that needs them requests them itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.container.pages import PageTable
from lance_arrow.io import Coalescing
from lance_arrow.io.ahead_source import PlannedRequests
from lance_arrow.io.ranges import fitting_gap, is_nearly_whole
from lance_arrow.scan.file_pages import FilePages
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import rows_before

_ALIGNMENT_BYTES = 64 << 10
"""Parts of buffers are multiples of it: no two share a block that has a checksum."""
_LEAST_REQUEST_BYTES = 256 << 10
"""Where the budget allows no larger parts, windows ask for what they need with fewer requests."""
_PIECES_OF_A_COLUMN = 3
"""How many parts of each column are asked for at a time at least: one is decoded, one is here, one arrives."""
_RUN_REQUESTS = 8
"""Neighbours are joined among pages that are needed together: so many requests' worth."""
_START, _STOP, _BEGIN, _END, _PAGE, _NUM_SIDES = range(6)


def planned_requests(
    reader: FilePages, nodes: Sequence[ColumnNode], rows: RowRanges, max_bytes: int
) -> PlannedRequests | None:
    """Plan the requests for the pages of columns that hold rows.

    Parameters
    ----------
    reader, nodes, rows
        A file, its (pruned) columns, and the wanted rows. Parts of pages are left out if less than half is wanted.
    max_bytes
        What may be asked ahead at a time.

    Returns
    -------
    PlannedRequests or None
        None where that is too little to have a part of each column, or nothing is left.

    Raises
    ------
    UnsupportedError, CorruptFileError, TruncatedReadError
        As `RowReader.read`.
    """
    limits = reader.file.source.coalescing
    # Columns that cannot be read are refused here, as a read does.
    reader.weights(nodes)
    leaves = [leaf for node in nodes for leaf in node.leaves()]
    piece_bytes = min(limits.max_span_bytes, max_bytes // (_PIECES_OF_A_COLUMN * max(1, len(leaves))))
    if piece_bytes < _LEAST_REQUEST_BYTES:
        return None
    parts = []
    # Metadata is at hand: it was weighed.
    for leaf, meta in zip(leaves, reader.metas(leaves), strict=True):
        borders = reader.page_rows(leaf, meta)
        parts.append(_wanted_pieces(_pieces(meta.pages, borders, piece_bytes), rows))
    pieces = np.concatenate(parts, axis=1) if parts else np.empty((_NUM_SIDES, 0), np.int64)
    if not pieces.shape[1]:
        return None
    size_bytes = reader.file.source.size()
    if size_bytes <= max_bytes and is_nearly_whole(limits, size_bytes, pieces[_START], pieces[_STOP]):
        lows, highs = pieces.min(axis=1), pieces.max(axis=1)
        return PlannedRequests(lows[[_START]], highs[[_STOP]], lows[[_BEGIN]], highs[[_END]])
    order = np.lexsort((pieces[_START], pieces[_BEGIN]))
    run_bytes = min(_RUN_REQUESTS * limits.max_span_bytes, max_bytes // 2)
    run_of = np.empty(len(order), np.int64)
    run_of[order] = np.cumsum((pieces[_STOP] - pieces[_START])[order]) // max(1, run_bytes)
    order = np.argsort(pieces[_START], kind="stable")
    return _joined(pieces[:, order], run_of[order], limits)


def _pieces(pages: PageTable, borders: NDArray[np.int64], piece_bytes: int) -> NDArray[np.int64]:
    """Cut the buffers of pages; ``(5, n) int64``: bytes, rows, and the page of each piece.

    The largest buffer of a page holds its values, row by row; the others are needed by all of its rows.
    """
    made = []
    of_page = zip(pages.borders[:-1].tolist(), pages.borders[1:].tolist(), strict=True)
    for number, (first, last) in enumerate(of_page):
        begin, end = int(borders[number]), int(borders[number + 1])
        if first == last or begin == end:
            continue
        values = first + int(np.argmax(pages.sizes[first:last]))
        for buffer in range(first, last):
            start, size = int(pages.starts[buffer]), int(pages.sizes[buffer])
            count = -(-size // piece_bytes)
            cuts = np.arange(1, count, dtype=np.int64) * size // max(1, count)
            cuts = start + np.unique(cuts // _ALIGNMENT_BYTES * _ALIGNMENT_BYTES)
            cuts = np.concatenate(([start], cuts[(cuts > start) & (cuts < start + size)], [start + size]))
            part = np.empty((_NUM_SIDES, len(cuts) - 1), np.int64)
            part[_START], part[_STOP] = cuts[:-1], cuts[1:]
            part[_BEGIN], part[_END], part[_PAGE] = begin, end, number if buffer == values else -1 - number
            if buffer == values and len(cuts) > 2:
                rows = begin + ((cuts - start) / size * (end - begin)).astype(np.int64)
                # Values need not take the same bytes in all rows: a piece is kept for as many rows again.
                part[_BEGIN], part[_END] = rows[:-1], np.minimum(2 * rows[1:] - rows[:-1], end)
            made.append(part)
    return np.concatenate(made, axis=1) if made else np.empty((_NUM_SIDES, 0), np.int64)


def _wanted_pieces(pieces: NDArray[np.int64], rows: RowRanges) -> NDArray[np.int64]:
    """Keep values of which at least half the rows are wanted, and what goes with the values that are kept."""
    begins, ends, pages = pieces[_BEGIN], pieces[_END], pieces[_PAGE]
    wanted = rows_before(rows, ends) - rows_before(rows, begins)
    kept = (pages >= 0) & (wanted > 0) & (2 * wanted >= ends - begins)
    kept |= (pages < 0) & np.isin(-1 - pages, pages[kept])
    return pieces[:, kept & (pieces[_STOP] > pieces[_START])]


def _joined(pieces: NDArray[np.int64], run_of: NDArray[np.int64], limits: Coalescing) -> PlannedRequests:
    """Join neighbours of one run, as far as the limits allow; pieces ascend, and may overlap in damaged files."""
    made: list[list[int]] = []
    last_run = -1
    max_gap_bytes = _gap_bytes(pieces[_START], pieces[_STOP], limits)
    columns = (pieces[side].tolist() for side in (_START, _STOP, _BEGIN, _END))
    for start, stop, begin, end, run in zip(*columns, run_of.tolist(), strict=True):
        last = made[-1] if made else [0, 0, 0, 0]
        is_near = start - last[1] <= max_gap_bytes and stop - last[0] <= limits.max_span_bytes
        if made and (stop <= last[1] or (run == last_run and is_near)):
            last[1], last[2], last[3] = max(stop, last[1]), min(begin, last[2]), max(end, last[3])
            continue
        made.append([max(start, last[1]), stop, begin, end])
        last_run = run
    return PlannedRequests(*np.array(made, np.int64).T.copy())


def _gap_bytes(starts: NDArray[np.int64], stops: NDArray[np.int64], limits: Coalescing) -> int:
    """Return the largest gap to read: a small one as long as all requests can be in flight at a time."""
    if limits.least_gap_bytes is None:
        return limits.max_gap_bytes
    needed = int((stops - starts).sum()) // max(1, limits.max_span_bytes)
    gaps = np.maximum(starts[1:] - np.maximum.accumulate(stops)[:-1], 0)
    few = max(1, limits.requests_in_flight - needed)
    return fitting_gap(gaps[gaps > 0], limits.least_gap_bytes, limits.max_gap_bytes, few)
