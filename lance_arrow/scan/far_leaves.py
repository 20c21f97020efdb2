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

from lance_arrow.engine import Segments
from lance_arrow.io import Bytes, Coalescing, Positions, RangeSource, fetch_segments
from lance_arrow.kernels import native_codecs
from lance_arrow.scan.native_pages import PagesAtHand
from lance_arrow.scan.native_take import TakePlan, wanted_leaves
from lance_arrow.spi import RowRanges
from lance_arrow.structure.index_cache import IndexCache
from lance_arrow.structure.page_scan import index_ranges

_IN_MEMORY = Coalescing(max_gap_bytes=0, max_span_bytes=1 << 62)


def fetched(
    plans: list[TakePlan] | tuple[TakePlan, ...],
    found: PagesAtHand,
    rows: RowRanges,
    source: RangeSource,
    limit_bytes: int,
    cache: IndexCache,
    *,
    indices_only: bool = False,
) -> Segments | None:
    """Fetch what the engine needs of leaves.

    Parameters
    ----------
    plans, found
        Leaves, and their pages. Indices that layouts must load come with the first wave, and pages are made of them.
    rows
        Rows of the file, not empty.
    source
        The file.
    limit_bytes
        Most bytes that are decoded on the way.
    cache
        Keeps loaded indices.
    indices_only
        Whether only the indices of pages are fetched, and loaded.

    Returns
    -------
    Segments or None
        All bytes of the rows, compared with their checksums; None when rows are refused.

    Raises
    ------
    CorruptFileError, TruncatedReadError, OSError
        As `RangeSource.read`, and as `load_indices`.
    """
    segments = Segments(source.size())
    while True:
        missing = segments.wanted(
            wanted_leaves(plans, found.wanted), rows.starts, rows.stops, limit_bytes, indices_only
        )
        if missing is None:
            native_codecs.raise_pending()
            return None
        indices = index_ranges([task for task, *_ in found.missing])
        starts, stops = (np.concatenate(sides) for sides in zip(missing, indices, strict=True))
        if len(starts):
            segments.add(*fetch_segments(source, starts, stops))
        if found.missing:
            found.load_missing(_Fetched(source, segments), cache, is_scan=False)
        elif not len(starts):
            return segments


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
