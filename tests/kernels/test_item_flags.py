"""Codes of dictionary items as flags, and as views, of their items."""

import numpy as np
import pytest

from lance_arrow import engine
from lance_arrow.errors import InternalError


@pytest.mark.cover(1)
@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize(("num_items", "num_set"), [(0, 0), (1, 1), (7, 1), (200, 4), (200, 5), (200, 150), (3000, 3)])
@pytest.mark.parametrize("num_codes", [1, 7, 8, 511, 512, 513, 5000])
def test_flags_are_those_of_the_items(width: int, num_items: int, num_set: int, num_codes: int) -> None:
    random = np.random.default_rng(num_codes + num_items)
    flags = np.zeros(num_items, np.uint8)
    flags[random.permutation(num_items)[:num_set]] = 1
    # Codes of nulls may name no item.
    codes = random.integers(0, min(num_items + 3, 256**width), num_codes).astype(f"u{width}")
    out = np.full(-(-num_codes // 8), 255, np.uint8)
    engine.flags_of_codes(codes.view(np.uint8), width, flags, out)
    padded = np.concatenate([flags, np.zeros(3, np.uint8)])
    assert out.tolist() == np.packbits(padded[codes], bitorder="little").tolist()


def test_negative_codes_name_no_item() -> None:
    out = np.zeros(1, np.uint8)
    engine.flags_of_codes(np.array([-1, 0, -128], np.int8).view(np.uint8), 1, np.ones(1, np.uint8), out)
    assert out[0] == 0b010


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_views_are_those_of_the_items(width: int) -> None:
    views = np.arange(3 * 16, dtype=np.uint8)
    codes = np.array([2, 0, 1, 1, 99], f"u{width}")
    out = np.zeros(5 * 16, np.uint8)
    engine.views_of_codes(codes.view(np.uint8), width, views, out)
    assert out.reshape(5, 16)[:, 0].tolist() == [32, 0, 16, 16, 32]
    assert out.reshape(5, 16)[4].tolist() == views[32:].tolist()


def test_memory_that_does_not_fit_is_refused() -> None:
    codes = np.zeros(9, np.uint8)
    with pytest.raises(InternalError, match="too few bytes"):
        engine.flags_of_codes(codes, 1, np.ones(1, np.uint8), np.zeros(1, np.uint8))
    with pytest.raises(InternalError, match="too few bytes"):
        engine.views_of_codes(codes, 1, np.zeros(16, np.uint8), np.zeros(8 * 16, np.uint8))
    with pytest.raises(InternalError, match="no views"):
        engine.views_of_codes(codes, 1, np.zeros(0, np.uint8), np.zeros(9 * 16, np.uint8))
    with pytest.raises(InternalError, match="1, 2, 4 or 8"):
        engine.flags_of_codes(codes, 3, np.ones(1, np.uint8), np.zeros(9, np.uint8))
