"""Bitmaps of many numbers hold the numbers that Python's sets do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lance_arrow.manifests.bitmaps import bitmap_of


@pytest.mark.parametrize(
    "numbers",
    [
        np.array([], np.int64),
        np.array([7], np.uint32),
        np.arange(5, 1000, dtype=np.uint32),
        np.arange(1000, 5, -1, dtype=np.uint32),
        np.array([3, 3, 5], np.uint32),
        np.array([9, 1, 4, 12], np.int64),
        np.array([2**32 - 2, 2**32 - 1], np.uint64),
        np.arange(70_000, dtype=np.uint64)[::3],
    ],
    ids=lambda numbers: f"{len(numbers)} {numbers.dtype}",
)
def test_numbers_are_held(numbers: NDArray[Any]) -> None:
    found = bitmap_of(numbers)
    assert set(found) == set(numbers.tolist())


def test_low_bits_of_addresses_count() -> None:
    offsets = np.arange(10, 500, dtype=np.uint64)
    for some in (offsets, offsets[::7]):
        assert set(bitmap_of(some | np.uint64(3 << 32))) == set(some.tolist())
