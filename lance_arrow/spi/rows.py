"""`RowRanges`: selected rows as sorted, disjoint, half-open ranges in arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RowRanges:
    """Sorted, disjoint, non-empty row ranges ``starts[i] .. stops[i]``, each ``(n,) int64``."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    @classmethod
    def one(cls, start: int, stop: int) -> RowRanges:
        """The single range ``start .. stop``, or none when it is empty."""
        if stop <= start:
            return cls(np.empty(0, np.int64), np.empty(0, np.int64))
        return cls(np.array([start], np.int64), np.array([stop], np.int64))

    @cached_property
    def num_rows(self) -> int:
        """Number of rows; for many ranges, this takes as long as reading some of them."""
        if len(self.starts) == 1:
            return int(self.stops[0]) - int(self.starts[0])
        # The sums may wrap; their difference does not.
        return int(self.stops.sum() - self.starts.sum())

    @cached_property
    def before(self) -> NDArray[np.int64]:
        """``(n + 1,) int64``: number of rows before each range, then in all ranges."""
        found = np.zeros(len(self.starts) + 1, np.int64)
        np.cumsum(self.stops - self.starts, out=found[1:])
        return found

    def __len__(self) -> int:
        return len(self.starts)

    def covers(self, start: int, stop: int) -> bool:
        """Whether this is exactly the one range ``start .. stop``."""
        return len(self.starts) == 1 and int(self.starts[0]) == start and int(self.stops[0]) == stop
