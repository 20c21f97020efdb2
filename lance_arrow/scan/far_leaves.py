"""Bytes of a far file for the native engine: it lists what it needs, wave by wave, and reads where the answers lie.

leaves, rows ─► what is missing ◄─────────────────────┐
                  │ nothing      └► one wave of requests ┘   indices of pages, then rows; 2.0 strings: ends before bytes
                  ▼
                the engine decodes
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from lance_arrow.engine import PagesWithRows, Refusal, Segments
from lance_arrow.io import Bytes, Coalescing, Positional, Positions, RangeSource, fetch_segments
from lance_arrow.runtime import Runtime
from lance_arrow.scan.native_pages import PagesAtHand
from lance_arrow.scan.read_plan import ReadPlan
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.page_scan import index_ranges

_IN_MEMORY = Coalescing(max_gap_bytes=0, max_span_bytes=1 << 62)


def fetched(
    wanted: ReadPlan,
    pages: PagesWithRows,
    at_hand: PagesAtHand | None,
    rows: RowRanges,
    source: RangeSource,
    runtime: Runtime,
    *,
    indices_only: bool = False,
) -> tuple[Positional | Refusal, PagesWithRows]:
    """Fetch what the engine needs of leaves.

    Parameters
    ----------
    wanted, pages
        Leaves, and their pages with wanted rows.
    at_hand
        Where pages are from. Indices that layouts must load come with the first wave, and pages are made of them.
    rows
        Rows of the file, not empty.
    source
        The file.
    runtime
        Limits, and the cache of indices.
    indices_only
        Whether only the indices of pages are fetched, and loaded.

    Returns
    -------
    place
        All bytes of the rows, compared with their checksums; or why rows are refused.
    pages
        The pages, those among them whose index was loaded.

    Raises
    ------
    CorruptFileError, TruncatedReadError, OSError
        As `RangeSource.read`, and as `load_indices`.
    """
    segments, limit = Segments(source.size()), runtime.settings.limits.max_batch_bytes
    while True:
        missing = segments.wanted(pages, rows.starts, rows.stops, limit, indices_only, source.coalescing.guesses_rows)
        if isinstance(missing, Refusal):
            return missing, pages
        tasks = [] if at_hand is None else [task for task, *_ in at_hand.missing]
        indices = index_ranges(tasks, runtime.indices)
        starts, stops = (np.concatenate(sides) for sides in zip(missing, indices, strict=True))
        if len(starts):
            segments.add(*fetch_segments(source, starts, stops))
        if at_hand is not None and at_hand.missing:
            at_hand.load_missing(_Fetched(source, segments), runtime.indices)
            pages = PagesWithRows(wanted.forms, at_hand.wanted)
        elif not len(starts):
            return Positional(-1, None, segments.size, None, None, segments), pages


class _Fetched:
    """A source of the bytes that were fetched of another one, and of no others."""

    def __init__(self, inner: RangeSource, segments: Segments) -> None:
        self.name, self.coalescing = inner.name, _IN_MEMORY
        self._inner, self._segments = inner, segments

    def size(self) -> int:
        return self._inner.size()

    def identity(self) -> Hashable | None:
        return self._inner.identity()

    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        data, places = self.read_arena(starts, stops)
        return [data[at : at + size] for at, size in zip(places.tolist(), (stops - starts).tolist(), strict=True)]

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        found: tuple[Any, Any] = self._segments.copied(starts, stops)
        return found

    def close(self) -> None:
        """The inner source stays open."""
