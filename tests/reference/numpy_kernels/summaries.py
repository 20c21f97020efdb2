"""Numpy twins of ``engine/door/encode/summaries.pxi``."""

from __future__ import annotations

import numpy as np

from lance_arrow.errors import InternalError
from numpy_kernels.chunks import Bytes, Positions, each_part, words


def measure_groups(
    values: Bytes, value_starts: Positions, word_bits: int, out_bits: Positions, out_changes: Positions
) -> tuple[int, int, int]:
    """Find how many bits the largest value of each group needs, and how often values change."""
    if not len(out_bits) == len(out_changes) == len(value_starts) - 1:
        raise InternalError("value_starts and outputs have contradicting lengths")
    if word_bits not in (8, 16, 32, 64):
        raise InternalError("word_bits is none of 8, 16, 32, 64")
    integers = words(values[: len(values) // (word_bits // 8) * (word_bits // 8)], word_bits)
    before = np.concatenate([integers[:1], integers[:-1]])
    for index, start, stop in each_part(values, value_starts, word_bits // 8):
        out_bits[index] = int(integers[start:stop].max(initial=0)).bit_length()
        out_changes[index] = int((integers[start:stop] != before[start:stop]).sum())
    return int(out_bits.sum()), int(out_bits.max(initial=0)), int(out_changes.sum())


def all_equal(values: Bytes, bytes_per_value: int) -> bool:
    """Tell whether all values are the same bytes."""
    if bytes_per_value < 1:
        raise InternalError("bytes_per_value is not positive")
    if len(values) % bytes_per_value:
        raise InternalError("the bytes are not a whole number of values")
    rows = values.reshape(-1, bytes_per_value)
    return bool((rows == rows[:1]).all())
