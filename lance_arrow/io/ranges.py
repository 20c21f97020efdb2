"""Pure planning of reads: wanted byte ranges become few requests, and each wanted range a place in one of them.

Overlapping ranges are never separated, so the requests are disjoint. A cluster of them, or a single wanted range, may
exceed the largest span. All other requests obey both limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io.source import Bytes, Positions

_INT64_MAX = np.iinfo(np.int64).max


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


def coalesce(starts: Positions, stops: Positions, *, max_gap_bytes: int, max_span_bytes: int) -> FetchPlan:
    """Group nearby byte ranges into as few requests as the two limits allow.

    Parameters
    ----------
    starts, stops
        ``(n,) int64`` each, bytes from the start of the object; any order, overlaps, duplicates and empty ranges
        allowed. An empty range costs no request.
    max_gap_bytes
        Largest gap, in bytes, that a request reads too.
    max_span_bytes
        A request is never joined beyond this size. Only one larger range, or overlapping ranges, may exceed it.

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
