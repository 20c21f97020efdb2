"""Fragments into partitions of nearly equal weight: pure planning over arrays, O(fragments + partitions).

fragments ─► weight of the rows that are left ─► heavy ones cut into pieces ─► neighbours packed together
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_SPLIT_BYTES = 16 << 20
MAX_SPLIT_BYTES = 128 << 20
USUAL_SPLITS = 32
# Cuts lie where zones and most chunks end, so that neighbours do not decode the same ones.
ALIGNED_ROWS = 8192


@dataclass(frozen=True, slots=True, eq=False)
class SplitPlan:
    """The rows of each partition, as pieces of fragments in row order; arrays of one length, an item for each piece.

    Parameters
    ----------
    fragments
        ``(n,) int64`` numbers of fragments, ascending.
    starts, stops
        ``(n,) int64`` which of the rows that are left of the fragment, half-open.
    borders
        ``(num_partitions + 1,) int64`` pieces of each partition.
    """

    fragments: NDArray[np.int64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    borders: NDArray[np.int64]

    @property
    def num_partitions(self) -> int:
        """How many partitions there are; none where no row is left."""
        return len(self.borders) - 1


def plan_splits(
    rows_left: NDArray[np.int64],
    bytes_left: NDArray[np.float64],
    *,
    split_rows: int | None = None,
    split_bytes: int | None = None,
) -> SplitPlan:
    """Cut and pack fragments.

    Parameters
    ----------
    rows_left
        ``(n,) int64`` rows of each fragment that may be wanted; fragments without any are left out.
    bytes_left
        ``(n,) float64`` bytes of files that they take.
    split_rows
        The most rows of a partition, up to where rows can be cut; any when None.
    split_bytes
        The most bytes of a partition, likewise; a thirty-second of all, within 16 and 128 MiB, when both are None.

    Returns
    -------
    SplitPlan
        Partitions differ in weight by at most one piece.
    """
    kept = np.flatnonzero(rows_left > 0)
    rows, sizes = rows_left[kept], bytes_left[kept]
    if split_bytes is None and split_rows is None:
        split_bytes = usual_split_bytes(float(sizes.sum()))
    weights = np.zeros(len(kept))
    if split_bytes is not None:
        weights = np.maximum(weights, sizes / split_bytes)
    if split_rows is not None:
        weights = np.maximum(weights, rows / split_rows)
    steps = _steps(rows, weights, split_rows)
    counts = -(-rows // steps)
    owners = np.repeat(np.arange(len(kept)), counts)
    numbers = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = numbers * steps[owners]
    stops = np.minimum(starts + steps[owners], rows[owners])
    piece_weights = weights[owners] * (stops - starts) / rows[owners]
    return SplitPlan(kept[owners], starts, stops, packed(piece_weights))


def usual_split_bytes(num_bytes: float) -> int:
    """Return the most bytes of a partition where nothing is said of it."""
    return int(np.clip(num_bytes / USUAL_SPLITS, MIN_SPLIT_BYTES, MAX_SPLIT_BYTES))


def _steps(rows: NDArray[np.int64], weights: NDArray[np.float64], split_rows: int | None) -> NDArray[np.int64]:
    """Return the rows of a piece of each fragment."""
    pieces = np.maximum(1, np.ceil(weights - 1e-9)).astype(np.int64)
    steps = np.maximum(1, -(-rows // pieces))
    if split_rows is not None and split_rows < ALIGNED_ROWS:
        return steps
    aligned = -(-steps // ALIGNED_ROWS) * ALIGNED_ROWS
    return np.where(pieces > 1, aligned, steps)


def packed(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Put neighbours together while their weights do not exceed one; returns where the groups begin and end."""
    borders = [0]
    before = np.concatenate([[0.0], np.cumsum(weights)])
    num = len(weights)
    # Pieces may be somewhat heavier than one, where cuts were moved.
    room = 1.0 + 1e-6
    while borders[-1] < num:
        first = borders[-1]
        stop = int(np.searchsorted(before, before[first] + room, "right")) - 1
        borders.append(min(num, max(stop, first + 1)))
    return np.array(borders, np.int64)
