"""Reading many small ranges with few requests: plan, read, cut."""

from __future__ import annotations

from lance_arrow.io.metered import MeteredSource
from lance_arrow.io.ranges import coalesce
from lance_arrow.io.source import Bytes, Positions, RangeSource


def read_coalesced(source: RangeSource, starts: Positions, stops: Positions) -> list[Bytes]:
    """Read ranges, joining those that the source says are worth joining.

    Parameters
    ----------
    source
        Where to read; its `coalescing` decides.
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
    limits = source.coalescing
    plan = coalesce(starts, stops, max_gap_bytes=limits.max_gap_bytes, max_span_bytes=limits.max_span_bytes)
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
