"""Random tables of structs, at most three deep, of all plain types: nulls at any depth, required fields, slices."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

ROWS = (1, 7, 100, 900, 3000)
TYPES = (
    *(pa.int64(), pa.int32(), pa.float64(), pa.bool_(), pa.timestamp("us"), pa.decimal128(9, 2)),
    *(pa.string(), pa.large_string(), pa.binary()),
)


def struct_table(seed: int) -> pa.Table:
    """Return the table of a seed, the same at every call."""
    rng = np.random.default_rng([seed, 3600])
    num_rows, skipped = int(rng.choice(ROWS)), int(rng.integers(0, 5))
    everything = np.ones(num_rows + skipped, bool)
    columns = {}
    for number in range(int(rng.integers(1, 4))):
        share = float(rng.choice([0, 0, 0.1, 0.6, 1.0]))
        columns[f"c{number}"] = _array(rng, _type(rng, 3), everything, share, nullable=True)
    return pa.table(columns).slice(skipped)


def _type(rng: np.random.Generator, most_depth: int) -> pa.DataType:
    if not most_depth or (most_depth < 3 and rng.random() < 0.7):
        return TYPES[rng.integers(len(TYPES))]
    names = [f"f{number}" for number in range(rng.integers(1, 4))]
    return pa.struct([pa.field(name, _type(rng, most_depth - 1), nullable=bool(rng.random() < 0.8)) for name in names])


def _array(
    rng: np.random.Generator, type_: pa.DataType, visible: np.ndarray, share: float, *, nullable: bool
) -> pa.Array:
    """Return an array with a share of nulls; if it may have none, only where the struct around it is not `visible`."""
    nulls = rng.random(len(visible)) < share
    if not nullable:
        nulls &= ~visible
    if isinstance(type_, pa.StructType):
        shares = [share if rng.random() < 0.7 else 0.0 for _ in type_]
        inside = visible & ~nulls
        fields = list(type_)
        arrays = [
            _array(rng, one.type, inside, own, nullable=one.nullable) for one, own in zip(fields, shares, strict=True)
        ]
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=pa.array(nulls) if nulls.any() else None)
    numbers = rng.integers(0, rng.choice([1, 3, 50, 1_000_000]), len(visible))
    if pa.types.is_decimal(type_):
        return pa.array(
            [None if null else Decimal(one) for one, null in zip(numbers.tolist(), nulls, strict=True)], type_
        )
    if type_ in TYPES[6:]:
        values = [f"value {one}" for one in numbers.tolist()]
        return pa.array(np.where(nulls, None, np.array(values, object)), pa.string()).cast(type_)
    if pa.types.is_boolean(type_):
        return pa.array(numbers % 2 == 1, mask=nulls)
    if pa.types.is_floating(type_):
        return pa.array(np.where(rng.random(len(numbers)) < 0.05, np.nan, numbers / 3), mask=nulls, from_pandas=False)
    return pa.array(numbers, pa.int64(), mask=nulls).cast(type_)
