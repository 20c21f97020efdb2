"""Pure planning of reads: wanted byte ranges become few requests, and each wanted range a place in one of them.

Overlapping ranges are never separated, so the requests are disjoint. A cluster of them, or a single wanted range, may
exceed the largest span. All other requests obey both limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io.source import Bytes, Coalescing, Positions, RangeSource

_INT64_MAX = np.iinfo(np.int64).max
_NEARLY_WHOLE = 0.75
"""Part of a small file that is wanted when all of it is read."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes ``start`` to ``stop`` (exclusive) of an object."""

    start: int
    stop: int

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPlan:
    """Requests to make, and the place of each wanted range in them.

    Parameters
    ----------
    starts, stops
        ``(num_requests,) int64``: sorted, disjoint, none empty.
    request_of
        ``(num_wanted,) int64``: index of the request that holds each wanted range; -1 for an empty range.
    positions
        ``(num_wanted,) int64``: bytes from the start of that request.
    sizes
        ``(num_wanted,) int64``: bytes.
    """

    starts: Positions
    stops: Positions
    request_of: Positions
    positions: Positions
    sizes: Positions

    def slices(self, responses: Sequence[Bytes]) -> list[Bytes]:
        """Cut the wanted ranges, in the caller's order, from the responses to the requests; copies nothing."""
        empty = np.empty(0, np.uint8)
        empty.setflags(write=False)
        places = zip(
            self.request_of.tolist(), self.positions.tolist(), (self.positions + self.sizes).tolist(), strict=True
        )
        return [responses[request][start:stop] if request >= 0 else empty for request, start, stop in places]


def requests_for(source: RangeSource, starts: Positions, stops: Positions) -> FetchPlan:
    """Group byte ranges into requests as a source wants it.

    If nearly all of a small far file is wanted, one request reads it. Otherwise small gaps of a far file are read too.
    Wider ones are read only if more requests than can be in flight would be made without them.

    Parameters
    ----------
    source
        Its `coalescing` has the limits.
    starts, stops
        As for `coalesce`.

    Returns
    -------
    FetchPlan
        As `coalesce` makes it; errors are its errors.
    """
    limits = source.coalescing
    max_gap_bytes, max_span_bytes = limits.wave_gap_bytes or limits.max_gap_bytes, limits.max_span_bytes
    if limits.whole_bytes and is_nearly_whole(limits, source.size(), starts, stops):
        max_gap_bytes = max_span_bytes = limits.whole_bytes
    elif limits.least_gap_bytes is not None:
        few = limits.many_requests or limits.requests_in_flight
        plan = coalesce(
            starts,
            stops,
            max_gap_bytes=max_gap_bytes,
            max_span_bytes=max_span_bytes,
            least_gap_bytes=limits.least_gap_bytes,
            few_requests=few,
        )
        if len(plan.starts) <= few:
            return plan
    return coalesce(starts, stops, max_gap_bytes=max_gap_bytes, max_span_bytes=max_span_bytes)


def is_nearly_whole(limits: Coalescing, size_bytes: int, starts: Positions, stops: Positions) -> bool:
    """Return whether a file is small, and ranges of it are so much of it that one request reads all of them best."""
    if size_bytes > limits.whole_bytes:
        return False
    return bool(_NEARLY_WHOLE * size_bytes <= _covered_bytes(starts, stops))


def _covered_bytes(starts: Positions, stops: Positions) -> int:
    """Count the bytes of ranges in any order, each byte once."""
    order = np.argsort(starts, kind="stable")
    reach = np.maximum.accumulate(stops[order])
    fresh = reach.copy()
    fresh[1:] -= np.maximum(starts[order][1:], reach[:-1])
    fresh[:1] -= starts[order][:1]
    return int(np.maximum(fresh, 0).sum())


def coalesce(
    starts: Positions,
    stops: Positions,
    *,
    max_gap_bytes: int,
    max_span_bytes: int,
    least_gap_bytes: int | None = None,
    few_requests: int = 0,
) -> FetchPlan:
    """Group nearby byte ranges into as few requests as the limits allow, or into few that read small gaps only.

    Parameters
    ----------
    starts, stops
        ``(n,) int64`` each, bytes from the start of the object; any order, overlaps, duplicates and empty ranges
        allowed. An empty range costs no request.
    max_gap_bytes
        Largest gap, in bytes, that a request reads too.
    max_span_bytes
        A request is never joined beyond this size. Only one larger range, or overlapping ranges, may exceed it.
    least_gap_bytes
        Gap up to which ranges are joined in any case; None: as `max_gap_bytes`.
    few_requests
        Wider gaps are read, the narrowest first, only until there are so many requests.

    Returns
    -------
    FetchPlan
        Sorted, disjoint requests, never more of them than wanted ranges.

    Raises
    ------
    InvalidArgumentError
        A stop precedes its start, a start is negative, or a limit is negative.

    Notes
    -----
    O(n log n), vectorised; no I/O.
    """
    starts = np.asarray(starts, dtype=np.int64)
    stops = np.asarray(stops, dtype=np.int64)
    if starts.shape != stops.shape or starts.ndim != 1:
        raise InvalidArgumentError(f"starts {starts.shape} and stops {stops.shape} must be one-dimensional and equal")
    if max_gap_bytes < 0 or max_span_bytes < 0:
        raise InvalidArgumentError(f"limits must not be negative: gap {max_gap_bytes}, span {max_span_bytes}")
    sizes = stops - starts
    if len(starts) and (starts.min() < 0 or sizes.min() < 0):
        bad = int(np.argmax((starts < 0) | (sizes < 0)))
        raise InvalidArgumentError(f"not a byte range: {starts[bad]}..{stops[bad]}")

    order = np.argsort(starts, kind="stable")
    order = order[sizes[order] > 0]
    if not len(order):
        none = np.empty(0, np.int64)
        return FetchPlan(
            starts=none,
            stops=none,
            request_of=np.full(len(starts), -1),
            positions=np.zeros(len(starts), np.int64),
            sizes=sizes,
        )
    first = starts[order]
    reach = np.maximum.accumulate(stops[order])

    begins_cluster = np.ones(len(order), bool)
    np.greater_equal(first[1:], reach[:-1], out=begins_cluster[1:])
    cluster_at = np.flatnonzero(begins_cluster)
    cluster_starts = first[cluster_at]
    cluster_stops = reach[np.append(cluster_at[1:], len(order)) - 1]

    gaps = cluster_starts[1:] - cluster_stops[:-1]
    if least_gap_bytes is not None:
        max_gap_bytes = fitting_gap(gaps, least_gap_bytes, max_gap_bytes, few_requests)
    begins_request = _join_clusters(cluster_starts, cluster_stops, max_gap_bytes, max_span_bytes)
    request_at = np.flatnonzero(begins_request)
    request_starts = cluster_starts[request_at]
    request_stops = cluster_stops[np.append(request_at[1:], len(cluster_starts)) - 1]

    request_of_cluster = np.cumsum(begins_request) - 1
    request_of = np.full(len(starts), -1, np.int64)
    request_of[order] = request_of_cluster[np.cumsum(begins_cluster) - 1]
    positions = np.zeros(len(starts), np.int64)
    positions[order] = first - request_starts[request_of[order]]
    return FetchPlan(
        starts=request_starts, stops=request_stops, request_of=request_of, positions=positions, sizes=sizes
    )


def fitting_gap(gaps: Positions, least: int, most: int, few: int) -> int:
    """Return the smallest gap to read, between two limits, with which no more than `few` requests are left."""
    too_many = len(gaps) + 1 - max(few, 1)
    if too_many <= 0:
        return min(least, most)
    needed = int(np.partition(gaps, too_many - 1)[too_many - 1])
    return min(max(least, needed), most)


def _join_clusters(starts: Positions, stops: Positions, max_gap: int, max_span: int) -> np.ndarray:
    """Return flags of the clusters with which a request begins, ``(num_clusters,) bool``."""
    begins = np.ones(len(starts), bool)
    np.greater(starts[1:] - stops[:-1], max_gap, out=begins[1:])
    group_at = np.flatnonzero(begins)
    group_ends = np.append(group_at[1:], len(starts))
    too_wide = np.flatnonzero((stops[group_ends - 1] - starts[group_at] > max_span) & (group_ends - group_at > 1))
    if len(too_wide):
        # The last cluster within the span is found for all clusters at once; only the hops are a loop.
        span = min(max_span, _INT64_MAX - int(starts[-1]))
        fitting = np.searchsorted(stops, starts + span, side="right").tolist()
        for group in too_wide.tolist():
            at, end = int(group_at[group]), int(group_ends[group])
            while at < end:
                begins[at] = True
                at = max(fitting[at], at + 1)
    return begins
