"""Rows of a far file by the native engine: it lists the bytes it needs, they are fetched together, and it decodes them.

leaves, rows ─► what is missing ◄──────────────────────┐
                  │ nothing      └► one wave of requests ┘   indices of pages, then rows; 2.0 strings: ends before bytes
                  ▼
                decode from where the answers lie
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from lance_arrow import engine
from lance_arrow.io import RangeSource, fetch_segments
from lance_arrow.kernels import native_codecs
from lance_arrow.spi import RowRanges


def read_far_leaves(
    wanted: list[Any],
    rows: RowRanges,
    source: RangeSource,
    limits: tuple[int, int],
    allocate: Callable[[int], pa.Buffer],
) -> list[Any] | None:
    """Fetch and read rows of leaves.

    Parameters
    ----------
    wanted
        Leaves, as `engine.read_leaves` wants them.
    rows
        Rows of the file, not empty.
    source
        The file.
    limits
        Most bytes of values, and what 32 bits of an offset hold.
    allocate
        Returns Arrow memory.

    Returns
    -------
    list or None
        As `engine.read_leaves`; None when bytes are refused.

    Raises
    ------
    TruncatedReadError, OSError
        As `RangeSource.read`.
    CorruptFileError
        Bytes contradict their checksum.
    """
    segments = fetched(wanted, rows, source, limits[0])
    if segments is None:
        return None
    done, *_ = engine.read_leaves(
        wanted, rows.starts, rows.stops, rows.num_rows, -1, None, segments.size, *limits, allocate, None, segments
    )
    if isinstance(done, str):
        native_codecs.raise_pending()
        return None
    return done


def fetched(
    wanted: list[Any], rows: RowRanges, source: RangeSource, limit_bytes: int, *, indices_only: bool = False
) -> engine.Segments | None:
    """Fetch what the engine needs of leaves, wave by wave; None when rows are refused.

    Parameters
    ----------
    wanted, rows, source
        As for `read_far_leaves`.
    limit_bytes
        Most bytes that are decoded on the way.
    indices_only
        Whether only the indices of pages are fetched, and loaded.
    """
    segments = engine.Segments(source.size())
    while True:
        missing = segments.wanted(wanted, rows.starts, rows.stops, limit_bytes, indices_only)
        if missing is None:
            native_codecs.raise_pending()
            return None
        if not len(missing[0]):
            return segments
        segments.add(*fetch_segments(source, *missing))
