"""Runs of rows: sorted, disjoint, half-open ranges, as lists of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Run = tuple[int, int]
"""Half-open range of row numbers, ``(start, stop)``."""


def union(runs: Iterable[Run]) -> list[Run]:
    """Sort runs, and join those that overlap or touch."""
    joined: list[Run] = []
    for start, stop in sorted(runs):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        elif start < stop:
            joined.append((start, stop))
    return joined


def gaps(runs: Sequence[Run], within: Run) -> list[Run]:
    """Return the rows of `within` that are in none of some sorted, disjoint runs."""
    left: list[Run] = []
    start, stop = within
    for first, last in runs:
        if last <= start:
            continue
        if first >= stop:
            break
        if first > start:
            left.append((start, first))
        start = last
    if start < stop:
        left.append((start, stop))
    return left


def shared(left: Sequence[Run], right: Sequence[Run]) -> list[Run]:
    """Return the rows that are in both of two lists of sorted, disjoint runs."""
    found: list[Run] = []
    i = j = 0
    while i < len(left) and j < len(right):
        start, stop = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if start < stop:
            found.append((start, stop))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return found


def num_rows(runs: Iterable[Run]) -> int:
    """Count the rows of disjoint runs."""
    return sum(stop - start for start, stop in runs)


def as_mask(runs: Sequence[Run], within: Run) -> NDArray[np.bool_]:
    """Return which rows of `within` are in sorted, disjoint runs, ``(n,) bool``."""
    mask = np.zeros(within[1] - within[0], np.bool_)
    for start, stop in shared(runs, [within]):
        mask[start - within[0] : stop - within[0]] = True
    return mask
