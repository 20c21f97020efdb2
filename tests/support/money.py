"""Columns whose size matters: decimals with sign-extended upper halves, few scattered integers, days, comments."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def decimals(numbers: np.ndarray, type_: pa.Decimal128Type | pa.Decimal256Type, nulls: np.ndarray | None) -> pa.Array:
    """Integers as unscaled values, with their sign in all upper words."""
    words = np.repeat(np.where(numbers < 0, -1, 0)[:, None], type_.bit_width // 64, axis=1)
    words[:, 0] = numbers
    validity = None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little").tobytes())
    return pa.Array.from_buffers(type_, len(numbers), [validity, pa.py_buffer(words.tobytes())])


def line_items(num_rows: int, seed: int = 37) -> pa.Table:
    """Prices of four kinds, a tenth of some null; distances as between 217 pairs of towns; quantities from 1 to 50."""
    random = np.random.default_rng(seed)
    prices, nulls = random.integers(90_000, 10_500_000, num_rows), random.random(num_rows) < 0.1
    return pa.table(
        {
            "price": decimals(prices, pa.decimal128(15, 2), None),
            "rebate": decimals(prices - 5_000_000, pa.decimal128(15, 2), nulls),
            "balance": decimals(prices * 1000, pa.decimal256(60, 4), nulls),
            "distance": random.choice(np.arange(17, 4990, 23), num_rows),
            "quantity": decimals(random.integers(1, 51, num_rows) * 100, pa.decimal128(15, 2), None),
        }
    )
