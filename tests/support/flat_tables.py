"""Random tables of columns of one width: patterns that codecs are chosen by, nulls, slices, few and many rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROWS = (1, 2, 7, 8, 100, 200, 1000, 1023, 1024, 1100, 5000)
WIDTHS = ("i1", "u2", "i4", "i8", "u8", "f4", "f8", "bool", "date", "time", "decimal", "fixed")
NUM_COLUMNS = 12


def flat_table(seed: int) -> pa.Table:
    """Return the table of a seed, the same at every call."""
    rng = np.random.default_rng([seed, 36])
    num_rows = int(rng.choice(ROWS))
    return pa.table({f"c{number}": _column(rng, num_rows) for number in range(NUM_COLUMNS)})


def _column(rng: np.random.Generator, num_rows: int) -> pa.Array:
    numbers = _numbers(rng, num_rows)
    array = _typed(str(rng.choice(WIDTHS)), numbers)
    share = rng.choice([0, 0, 0.1, 0.9, 1.0])
    if share:
        nulls = rng.random(num_rows) < share
        array = pc.if_else(pa.array(nulls), pa.scalar(None, array.type), array)
    if rng.random() < 0.2:
        # A slice whose bitmap begins within a byte.
        array = pa.concat_arrays([array.slice(0, 3), array]).slice(min(3, num_rows))
    return array


def _numbers(rng: np.random.Generator, num_rows: int) -> np.ndarray:
    largest = int(rng.choice([1, 2, 5, 100, 1 << 15, 1 << 30]))
    numbers = rng.integers(0, largest, num_rows)
    order = rng.integers(0, 4)
    if order == 0:
        numbers = np.sort(numbers)
    elif order == 1:
        numbers = numbers[rng.integers(0, max(num_rows // 20, 1), num_rows)]
    return numbers


def _typed(width: str, numbers: np.ndarray) -> pa.Array:
    match width:
        case "bool":
            return pa.array(numbers % 2 == 1)
        case "date":
            return pa.array((numbers % 100_000).astype(np.int32)).cast(pa.date32())
        case "time":
            return pa.array(numbers).cast(pa.timestamp("us"))
        case "decimal":
            return pa.array(numbers).cast(pa.decimal128(30, 2))
        case "fixed":
            return pa.array([int(one).to_bytes(5, "big") for one in numbers], pa.binary(5))
        case "f4" | "f8":
            values = (numbers / 7).astype(width)
            values[numbers % 11 == 10] = np.nan
            values[numbers % 13 == 12] *= -1
            return pa.array(values)
    return pa.array(numbers.astype(width))
