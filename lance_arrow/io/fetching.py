"""Read many small ranges with few requests: plan, read, cut."""

from __future__ import annotations

import numpy as np

from lance_arrow.io.metered import MeteredSource
from lance_arrow.io.ranges import requests_for
from lance_arrow.io.source import Bytes, DirectSource, Positions, RangeSource

_DIRECT_BYTES = 4 << 10
"""Mean size from which separate positional reads cost less than copies out of joined reads."""


def fetch(source: RangeSource, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
    """Read ranges into one array; neighbours share a request.

    Parameters
    ----------
    source
        Source to read; its `coalescing` decides which ranges are joined.
    starts, stops
        ``(n,) int64`` each, any order, overlaps and empty ranges allowed.

    Returns
    -------
    data, positions
        Range i lies at ``data[positions[i] : positions[i] + stops[i] - starts[i]]``.

    Raises
    ------
    TruncatedReadError, InvalidArgumentError, OSError
        As `RangeSource.read`.
    """
    plan = requests_for(source, starts, stops)
    if not len(plan.starts):
        return np.empty(0, np.uint8), plan.positions
    if isinstance(source, MeteredSource):
        data, places = source.read_arena_joined(
            plan.starts, plan.stops, ranges_wanted=len(plan.sizes), bytes_wanted=int(plan.sizes.sum())
        )
    else:
        data, places = source.read_arena(plan.starts, plan.stops)
    # An empty range belongs to no request (-1): any position is valid for it.
    return data, np.where(plan.request_of < 0, 0, plan.positions + places[plan.request_of])


def fetch_into(source: RangeSource, starts: Positions, stops: Positions, out: Bytes, out_starts: Positions) -> None:
    """Read ranges into memory of the caller.

    Large ranges are read there without a copy if the source supports it; others are joined and copied.

    Parameters
    ----------
    source
        Source to read.
    starts, stops
        ``(n,) int64`` each, any order, overlaps and empty ranges allowed.
    out
        ``(m,) uint8``, writable.
    out_starts
        ``(n,) int64``: offset of each range in `out`.

    Raises
    ------
    TruncatedReadError, InvalidArgumentError, OSError
        As `RangeSource.read`.
    """
    sizes = stops - starts
    is_direct = source.reads_into if isinstance(source, MeteredSource) else isinstance(source, DirectSource)
    if is_direct and int(sizes.sum()) >= _DIRECT_BYTES * len(sizes):
        source.read_into(starts, stops, out, np.ascontiguousarray(out_starts))  # type: ignore[attr-defined]
        return
    data, positions = fetch(source, starts, stops)
    places = zip(positions.tolist(), out_starts.tolist(), sizes.tolist(), strict=True)
    for position, out_start, size in places:
        out[out_start : out_start + size] = data[position : position + size]


def read_coalesced(source: RangeSource, starts: Positions, stops: Positions) -> list[Bytes]:
    """Read ranges; neighbours share a request within the limits of the source.

    Parameters
    ----------
    source
        Source to read; its `coalescing` has the limits.
    starts, stops
        ``(n,) int64`` each, any order, overlaps and empty ranges allowed.

    Returns
    -------
    list of Bytes
        ``n`` arrays; neighbours share memory.

    Raises
    ------
    TruncatedReadError, InvalidArgumentError, OSError
        As `RangeSource.read`.
    """
    if len(starts) == 1 and starts[0] < stops[0]:
        return source.read(starts, stops)
    plan = requests_for(source, starts, stops)
    if not len(plan.starts):
        return plan.slices([])
    if isinstance(source, MeteredSource):
        wanted_bytes = int(plan.sizes.sum())
        responses = source.read_joined(
            plan.starts, plan.stops, ranges_wanted=len(plan.sizes), bytes_wanted=wanted_bytes
        )
    else:
        responses = source.read(plan.starts, plan.stops)
    return plan.slices(responses)


def fetch_segments(source: RangeSource, starts: Positions, stops: Positions) -> tuple[Positions, list[Bytes]]:
    """Read what holds some ranges; neighbours share a request, and nothing is cut or copied.

    Parameters
    ----------
    source
        Source to read; its `coalescing` has the limits.
    starts, stops
        ``(n,) int64`` each, any order, overlaps and empty ranges allowed.

    Returns
    -------
    starts, parts
        ``(m,) int64`` places and ``m`` arrays, in any order: every range lies in one of them, or in some that follow
        each other.

    Raises
    ------
    TruncatedReadError, InvalidArgumentError, OSError
        As `RangeSource.read`.
    """
    held = getattr(source, "read_segments", None)
    if held is not None:
        found: tuple[Positions, list[Bytes]] = held(starts, stops)
        return found
    num_wanted, wanted_bytes = len(starts), int((stops - starts).sum())
    if isinstance(source, MeteredSource):
        # Blocks that must be compared with checksums are read whole: they are joined, not what is wanted of them.
        starts, stops = source.widened(starts, stops)
    plan = requests_for(source, starts, stops)
    if not len(plan.starts):
        return plan.starts, []
    if isinstance(source, MeteredSource):
        parts = source.read_joined(plan.starts, plan.stops, ranges_wanted=num_wanted, bytes_wanted=wanted_bytes)
        return plan.starts, parts
    return plan.starts, source.read(plan.starts, plan.stops)


def read_end(source: RangeSource, num_bytes: int) -> Bytes:
    """Read the last bytes of a source, all bytes of a smaller one; errors are those of `RangeSource.read`."""
    own = getattr(source, "read_end", None)
    data: Bytes | None = None if own is None else own(num_bytes)
    if data is not None:
        return data
    size = source.size()
    return read_coalesced(source, np.array([max(size - num_bytes, 0)], np.int64), np.array([size], np.int64))[0]
