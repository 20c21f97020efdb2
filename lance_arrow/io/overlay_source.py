"""`OverlaySource`: a source with some ranges in memory."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from lance_arrow.io import Bytes, Coalescing, Positions, RangeSource, read_coalesced
from lance_arrow.io.source import joined

# Joining ranges in memory saves nothing, and a joined range may not be contiguous there.
_SEPARATE = Coalescing(max_gap_bytes=0, max_span_bytes=0)


class OverlaySource:
    """Ranges of a source, from memory if it holds them.

    Parameters
    ----------
    inner
        Source of all other bytes; its owner closes it.
    start, data
        A range that is already in memory.
    """

    def __init__(self, inner: RangeSource, start: int, data: Bytes) -> None:
        self.name = inner.name
        self.coalescing = _SEPARATE
        self._inner = inner
        self._pieces: list[tuple[int, Bytes]] = [(start, data)]

    def hold(self, starts: Positions, stops: Positions) -> None:
        """Read ranges that are not held yet by one coalesced read, and hold them; see `RangeSource.read`."""
        places = zip(starts.tolist(), stops.tolist(), strict=True)
        absent = np.array([start < stop and self._held(start, stop) is None for start, stop in places], np.bool_)
        if absent.any():
            read = read_coalesced(self._inner, starts[absent], stops[absent])
            self._pieces += zip(starts[absent].tolist(), read, strict=True)

    def let_go(self) -> None:
        """Release the ranges that `hold` has read."""
        self._pieces = self._pieces[:1]

    def size(self) -> int:
        """Return the number of bytes."""
        return self._inner.size()

    def identity(self) -> Hashable | None:
        """Return that of the inner source."""
        return self._inner.identity()

    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        """Read each range; see `RangeSource.read`."""
        found = [self._held(start, stop) for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
        absent = np.array([one is None for one in found], np.bool_)
        if absent.any():
            read = iter(self._inner.read(starts[absent], stops[absent]))
            return [next(read) if one is None else one for one in found]
        return [one for one in found if one is not None]

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Read into one array; see `RangeSource.read_arena`."""
        return joined(self.read(starts, stops))

    def close(self) -> None:
        """Release all ranges."""
        self._pieces = []

    def _held(self, start: int, stop: int) -> Bytes | None:
        for first, data in self._pieces:
            if first <= start <= stop <= first + len(data):
                return data[start - first : stop - first]
        return None
