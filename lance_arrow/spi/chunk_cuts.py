"""Sizes of chunks of fixed-width values: every chunk but the last holds the same power of two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["cut_evenly", "even_starts", "largest_power_of_two", "starts_of"]


def largest_power_of_two(limit: int) -> int:
    """Return the largest power of two that is not above `limit`; 0 if `limit` is below 1."""
    return 1 << (limit.bit_length() - 1) if limit > 0 else 0


def cut_evenly(num_values: int, chunk_values: int) -> NDArray[np.int64]:
    """Return ``(num_chunks,) int64`` values per chunk; without values there is one empty chunk."""
    counts = np.full(max(-(-num_values // chunk_values), 1), chunk_values, np.int64)
    counts[-1] = num_values - (len(counts) - 1) * chunk_values
    return counts


def even_starts(num_values: int, chunk_values: int) -> NDArray[np.int64]:
    """Return ``starts_of(cut_evenly(num_values, chunk_values))``."""
    num_chunks = max(-(-num_values // chunk_values), 1)
    starts = np.arange(0, (num_chunks + 1) * chunk_values, chunk_values, dtype=np.int64)
    starts[-1] = num_values
    return starts


def starts_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``(n + 1,) int64`` running sums of `counts` from 0."""
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts
