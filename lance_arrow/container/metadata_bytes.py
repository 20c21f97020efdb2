"""The metadata bytes of a file: its end, kept since the first read, and earlier parts, read when they are needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lance_arrow.io import Bytes, Positions, RangeSource, read_coalesced, read_end
from lance_arrow.settings import Limits

TAIL_BYTES = 64 << 10
_GAP_BYTES = 8
"""Between the metadata of neighbours, as padding."""


class MetadataBytes:
    """Ranges of one file's metadata.

    Parameters
    ----------
    source
        The file.
    limits
        Its `max_metadata_bytes` limits the bytes of one call.
    tail_bytes
        Bytes of the file's end that are read at once, and kept; for None, the number that the source prefers.
    """

    def __init__(self, source: RangeSource, limits: Limits, *, tail_bytes: int | None = None) -> None:
        self._source = source
        self.limits = limits
        self.file_size = source.size()
        self._keep_tail(source.coalescing.tail_bytes if tail_bytes is None else tail_bytes)
        self._kept: dict[tuple[int, int], Bytes] = {}

    def widen(self) -> bool:
        """Keep as many bytes of the end as for remote files; False if they are kept already."""
        if not self._tail_start or len(self.tail) >= TAIL_BYTES:
            return False
        self._keep_tail(TAIL_BYTES)
        return True

    def _keep_tail(self, num_bytes: int) -> None:
        self._tail_start = max(self.file_size - num_bytes, 0)
        self.tail: Bytes = read_end(self._source, num_bytes)

    def keep(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Read ranges that will be needed again soon, in one wave, and keep them."""
        absent = [place for place in ranges if place[0] < self._tail_start]
        self._kept.update(zip(absent, self.read(absent), strict=True))

    def read_together(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Return bytes that hold half-open ranges inside the file, and where each begins in them; raises as `read`."""
        num_bytes = int((stops - starts).sum())
        first, last = int(starts.min(initial=self.file_size)), int(stops.max(initial=0))
        if len(starts) > 1 and last - first <= num_bytes + _GAP_BYTES * len(starts):
            # Metadata of neighbours lie side by side.
            return self.read([(first, last)])[0], starts - first
        blocks = self.read(list(zip(starts.tolist(), stops.tolist(), strict=True)))
        if len(blocks) == 1:
            return blocks[0], np.zeros(1, np.int64)
        begins = np.cumsum(stops - starts) - (stops - starts)
        return np.concatenate(blocks) if blocks else np.empty(0, np.uint8), begins

    def read(self, ranges: Sequence[tuple[int, int]]) -> list[Bytes]:
        """Return the bytes of half-open ranges inside the file; makes at most one wave of requests.

        Raises
        ------
        ResourceLimitError
            The total size of the ranges outside the tail exceeds `Limits.max_metadata_bytes`.
        TruncatedReadError
            The file has become shorter.
        """
        fetched = dict(self._kept)
        absent = [
            place for place in ranges if place[0] < self._tail_start and place[0] < place[1] and place not in fetched
        ]
        if absent:
            places = np.array(absent, np.int64)
            self.limits.check("max_metadata_bytes", int((places[:, 1] - places[:, 0]).sum()))
            fetched.update(zip(absent, read_coalesced(self._source, places[:, 0], places[:, 1]), strict=True))
        tail, first = self.tail, self._tail_start
        return [
            fetched[place]
            if place in fetched
            # An empty range may lie before the tail.
            else tail[max(place[0] - first, 0) : max(place[1] - first, 0)]
            for place in ranges
        ]
