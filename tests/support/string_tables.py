"""Random tables of byte strings from an integer: few and many distinct ones, long ones, nulls with bytes below them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

TYPES = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
WORDS = ("alpha", "Überlänge", "日本", "x", "", "🙂🙂", "zz\U0010ffff", "lorem ipsum dolor sit amet ")
NUM_ROWS = (1, 2, 50, 99, 100, 101, 150, 500, 1000, 1024, 3000, 9000)


def _text(rng: np.random.Generator, num_rows: int) -> list[str]:
    pattern = rng.integers(0, 9)
    numbers = rng.integers(0, 1_000_000, num_rows)
    if pattern == 0:
        return [f"v{number}" for number in numbers]
    if pattern == 1:
        return [WORDS[number % len(WORDS)] for number in numbers]
    if pattern == 2:
        few = max(num_rows // int(rng.choice([2, 3, 8, 30])), 1)
        return [f"category number {number % few}" for number in numbers]
    if pattern == 3:
        return ["same" * int(rng.integers(0, 30))] * num_rows
    if pattern == 4:
        longest = int(rng.choice([3, 20, 80]))
        return [WORDS[number % len(WORDS)] * int(number // 100 % longest) for number in numbers]
    if pattern == 5:
        return sorted(f"k{number % 20}" for number in numbers)
    if pattern == 6:
        return ["\U0010ffff" * int(10 + number % 20) for number in numbers]
    if pattern == 7:
        return [chr(97 + number % 26) * int(number // 26 % 6) for number in numbers]
    return ["ab" * int(100 + number % 300) for number in numbers]


def _array(rng: np.random.Generator, type_: pa.DataType, num_rows: int) -> pa.Array:
    values = [value.encode() for value in _text(rng, num_rows)]
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        values = [b"\xff" * int(rng.integers(60, 80)) if rng.random() < 0.02 else value for value in values]
    full = pa.array(values, pa.large_binary()).cast(type_)
    share = float(rng.choice([0.0, 0.0, 0.05, 0.9, 1.0]))
    is_null = rng.random(num_rows) < share
    if rng.random() < 0.5:
        return pa.array([None if null else value for null, value in zip(is_null, values, strict=True)]).cast(type_)
    bits = pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    return pa.Array.from_buffers(type_, num_rows, [bits, *full.buffers()[1:]])


def string_table(seed: int) -> pa.Table:
    """A table of five columns of strings, slices of longer arrays, and one of numbers."""
    rng = np.random.default_rng(seed)
    num_rows, skipped = int(rng.choice(NUM_ROWS)), int(rng.integers(0, 9))
    columns = {
        f"c{number}": _array(rng, TYPES[rng.integers(0, len(TYPES))], num_rows + skipped).slice(skipped)
        for number in range(5)
    }
    return pa.table({**columns, "n": rng.integers(0, 99, num_rows)})
