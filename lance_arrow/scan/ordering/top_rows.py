"""`TopRows`: the first rows in an order, of all that were seen so far; others are dropped as early as possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lance_arrow.scan.ordering.sort_keys import Bound, KeyColumn, SortKey, in_order, joined, picked

# Rows are sorted when so many wait: seldom, compared with how many are seen.
_MOST_WAITING = 1 << 17


class TopRows:
    """Keeps the first rows in an order.

    Parameters
    ----------
    keys
        The order.
    most
        How many rows; all when None.

    Attributes
    ----------
    bound
        First key of the last row that is kept, once there are `most` rows; a row after it is not wanted.
    last_position
        Position of that row; 0 before.
    """

    def __init__(self, keys: Sequence[SortKey], most: int | None) -> None:
        self._keys, self._most = keys, most
        self._columns: list[list[KeyColumn]] = [[] for _ in keys]
        self._positions: list[NDArray[np.int64]] = []
        self._num_waiting = 0
        self.bound: Bound | None = None
        self.last_position = 0

    def add(self, columns: Sequence[KeyColumn], positions: NDArray[np.int64]) -> None:
        """See rows, in any order.

        Parameters
        ----------
        columns
            Their keys.
        positions
            ``(n,) int64``; equal keys are ordered by them.
        """
        if self.bound is not None and len(positions):
            may_be = self._keys[0].compare(columns[0], self.bound) <= 0
            if not may_be.all():
                columns, positions = [picked(column, may_be) for column in columns], positions[may_be]
        if not len(positions):
            return
        for held, column in zip(self._columns, columns, strict=True):
            held.append(column)
        self._positions.append(positions)
        self._num_waiting += len(positions)
        if self._most is not None:
            is_first = self.bound is None and self._num_waiting >= self._most
            if is_first or self._num_waiting >= 2 * self._most + _MOST_WAITING:
                self.settle()

    def settle(self) -> NDArray[np.int64]:
        """Sort what was seen; return the positions of the first rows in order, ``(n,) int64``."""
        if not self._positions:
            return np.empty(0, np.int64)
        positions = np.concatenate(self._positions)
        columns = [joined(held) for held in self._columns]
        order = in_order(self._keys, columns, positions)[: self._most]
        self._columns = [[picked(column, order)] for column in columns]
        self._positions = [positions[order]]
        self._num_waiting = len(order)
        if self._most is not None and len(order) == self._most:
            self.bound = self._columns[0][0].at(len(order) - 1)
            self.last_position = int(self._positions[0][-1])
        return self._positions[0]
