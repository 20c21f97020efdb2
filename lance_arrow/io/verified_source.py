"""A metered source that compares bytes with checksums: each block once, when a part of it is first read.

A range that begins or ends within an unchecked block is extended to the borders of that block. If all blocks of a range
were checked before, it is read without extension. Checksums that are late are read in the same wave as their blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lance_arrow.engine import BlockChecks
from lance_arrow.errors import LanceError
from lance_arrow.io.metered import MeteredSource
from lance_arrow.io.ranges import coalesce
from lance_arrow.io.source import Bytes, Positional, Positions, RangeSource

_SUMS_GAP_BYTES = 16 << 10
"""Between checksums of one request. With the gaps of other ranges, a take of 100 rows read all of a table of 12 MB."""
_AHEAD_BYTES = 256 << 20
"""Scans read the checksums of so many bytes behind those that they read."""


class VerifiedSource(MeteredSource):
    """Passes reads on to another source, counts them, and checks them after `check_with`.

    Parameters
    ----------
    inner
        The source that reads.
    """

    def __init__(self, inner: RangeSource) -> None:
        super().__init__(inner)
        self._checks: BlockChecks | None = None
        self._offered: tuple[Positional, Positional] | None = None
        self._contradiction: Callable[[int, int], LanceError] | None = None

    def check_with(self, checks: BlockChecks, contradiction: Callable[[int, int], LanceError]) -> None:
        """Check reads from now on.

        Parameters
        ----------
        checks
            Checksums of blocks.
        contradiction
            Returns the error for a block, given its half-open byte range in the file.
        """
        self._contradiction = contradiction
        self._checks, self._offered = checks, None

    def positional(self) -> Positional | None:
        """Return the inner source's interface for native code, with the checks that native code must make."""
        offer = super().positional()
        checks = self._checks
        if offer is None or checks is None or not checks.num_pending:
            return offer
        known = self._offered
        if known is None or known[0] is not offer:
            known = self._offered = offer, replace(offer, checks=checks)
        return known[1]

    def close(self) -> None:
        """Close the inner source."""
        self._offered = None
        super().close()

    def read_arena_joined(
        self, starts: Positions, stops: Positions, *, ranges_wanted: int, bytes_wanted: int
    ) -> tuple[Bytes, Positions]:
        """Read into one array, and check blocks that were not checked before."""
        wide = self._widened(starts, stops)
        if wide is None:
            return super().read_arena_joined(starts, stops, ranges_wanted=ranges_wanted, bytes_wanted=bytes_wanted)
        wide_starts, wide_stops = wide
        plan = coalesce(wide_starts, wide_stops, max_gap_bytes=0, max_span_bytes=self.coalescing.max_span_bytes)
        largest = max(self.coalescing.max_span_bytes, int((wide_stops - wide_starts).max()))
        if int((plan.stops - plan.starts).max()) > largest:
            # Large requests that share a block: reading it twice costs less than joining all of them.
            data, places = self._read_arena(wide_starts, wide_stops, ranges_wanted, bytes_wanted)
            self._check(data, places, wide_starts, wide_stops)
            return data, places + (starts - wide_starts)
        data, places = self._read_arena(plan.starts, plan.stops, ranges_wanted, bytes_wanted)
        self._check(data, places, plan.starts, plan.stops)
        # An empty range belongs to no request (-1): any position is valid for it.
        positions = np.where(plan.request_of < 0, 0, plan.positions + places[plan.request_of])
        return data, positions + (starts - wide_starts)

    def read_end(self, num_bytes: int) -> Bytes | None:
        """Read the last bytes, if there are no checks yet."""
        return super().read_end(num_bytes) if self._checks is None else None

    def read_joined(self, starts: Positions, stops: Positions, *, ranges_wanted: int, bytes_wanted: int) -> list[Bytes]:
        """Read requests, and check blocks that were not checked before."""
        wide = self._widened(starts, stops)
        is_exact = wide is None or all(map(np.array_equal, wide, (starts, stops)))
        if is_exact and (wide is None or self._absent(starts, stops) is None):
            parts = super().read_joined(starts, stops, ranges_wanted=ranges_wanted, bytes_wanted=bytes_wanted)
            if wide is not None:
                first = np.zeros(1, np.int64)
                for number, part in enumerate(parts):
                    self._check(part, first, wide[0][number : number + 1], wide[1][number : number + 1])
            return parts
        data, positions = self.read_arena_joined(starts, stops, ranges_wanted=ranges_wanted, bytes_wanted=bytes_wanted)
        ends = positions + (stops - starts)
        return [data[start:stop] for start, stop in zip(positions.tolist(), ends.tolist(), strict=True)]

    def read_into(self, starts: Positions, stops: Positions, out: Bytes, out_starts: Positions) -> None:
        """Read into memory of the caller; partially wanted blocks are read and checked separately, before."""
        wide = self._widened(starts, stops)
        if wide is not None:
            wide_starts, wide_stops = wide
            first = starts[wide_starts < starts]
            last = stops[wide_stops > stops]
            if len(first) or len(last):
                edges = np.concatenate((first, last - 1))
                self.read_arena_joined(edges, edges + 1, ranges_wanted=0, bytes_wanted=0)
            self._read_sums(starts, stops + _AHEAD_BYTES)
        super().read_into(starts, stops, out, out_starts)
        if wide is not None:
            self._check(out, out_starts, starts, stops)

    def widened(self, starts: Positions, stops: Positions) -> tuple[Positions, Positions]:
        """Extend ranges to the borders of the unchecked blocks that they begin and end in."""
        return self._widened(starts, stops) or (starts, stops)

    def _widened(self, starts: Positions, stops: Positions) -> tuple[Positions, Positions] | None:
        """Extend ranges to the borders of unchecked blocks; None if all blocks are checked."""
        checks = self._checks
        if checks is None or not checks.num_pending or not len(starts):
            return None
        starts, stops = np.ascontiguousarray(starts), np.ascontiguousarray(stops)
        wide_starts, wide_stops = np.empty_like(starts), np.empty_like(stops)
        return (wide_starts, wide_stops) if checks.widen(starts, stops, wide_starts, wide_stops) else None

    def contradiction(self, block: int) -> LanceError:
        """Return the error for a block, by its number, that native code found to be wrong."""
        assert self._checks is not None
        assert self._contradiction is not None
        return self._contradiction(*self._checks.place(block))

    def _read_arena(
        self, starts: Positions, stops: Positions, ranges_wanted: int, bytes_wanted: int
    ) -> tuple[Bytes, Positions]:
        """Read requests into one array, together with the checksums that their blocks need."""
        absent = self._absent(starts, stops)
        if absent is None:
            return super().read_arena_joined(starts, stops, ranges_wanted=ranges_wanted, bytes_wanted=bytes_wanted)
        firsts, ends = absent
        data, places = super().read_arena_joined(
            np.concatenate((starts, firsts)),
            np.concatenate((stops, ends)),
            ranges_wanted=ranges_wanted,
            bytes_wanted=bytes_wanted,
        )
        self._take(firsts, ends, data, places[len(starts) :])
        return data, places[: len(starts)]

    def _read_sums(self, starts: Positions, stops: Positions) -> None:
        """Read the checksums that blocks of some ranges need."""
        absent = self._absent(starts, stops)
        if absent is not None:
            self._take(*absent, *super().read_arena_joined(*absent, ranges_wanted=0, bytes_wanted=0))

    def _absent(self, starts: Positions, stops: Positions) -> tuple[Positions, Positions] | None:
        """Return requests for checksums that blocks of some ranges need; None where all are here."""
        checks = self._checks
        assert checks is not None
        if not checks.is_late:
            return None
        absent = checks.absent(np.ascontiguousarray(starts), np.ascontiguousarray(stops))
        if absent is None:
            return None
        plan = coalesce(*absent, max_gap_bytes=_SUMS_GAP_BYTES, max_span_bytes=self.coalescing.max_span_bytes)
        return plan.starts, plan.stops

    def _take(self, firsts: Positions, ends: Positions, data: Bytes, places: Positions) -> None:
        assert self._checks is not None
        for first, end, place in zip(firsts.tolist(), ends.tolist(), places.tolist(), strict=True):
            self._checks.take(first, data[place : place + end - first])

    def _check(self, data: Bytes, positions: Positions, starts: Positions, stops: Positions) -> None:
        assert self._checks is not None
        wrong = self._checks.check(
            data, np.ascontiguousarray(positions), np.ascontiguousarray(starts), np.ascontiguousarray(stops)
        )
        if wrong >= 0:
            raise self.contradiction(wrong)
