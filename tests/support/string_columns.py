"""Rows with strings of every kind, filters of them, and their values in each form they are read in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NUM_ROWS = 20_000
MODES = ["AIR", "MAIL", "RAIL", "SHIP", "TRUCK", "FOB", "REG AIR"]


def rows(num_rows: int = NUM_ROWS, seed: int = 1, modes: list[str] | None = None) -> pa.Table:
    rng = np.random.default_rng(seed)
    names = pa.array(MODES if modes is None else modes)
    codes = rng.integers(0, len(names), num_rows)
    holes = rng.random(num_rows) < 0.1
    return pa.table(
        {
            "id": np.arange(num_rows),
            "mode": names.take(pa.array(codes)),
            "hole": names.take(pa.array(codes, mask=holes)),
            "text": pa.array([f"text {number} {'' if number % 3 else 'long ' * 5}" for number in range(num_rows)]),
            "empty": pa.array(["", None, "x", ""] * (num_rows // 4) + [""] * (num_rows % 4)),
            "none": pa.nulls(num_rows, pa.string()),
            "raw": pa.array([b"\xff", b"", b"\x00\x01"]).take(pa.array(codes % 3)).cast(pa.large_binary()),
            "st": pa.StructArray.from_arrays([names.take(pa.array(codes, mask=holes))], ["mode"]),
            "tags": pa.array([["a", "b", None][: number % 4] or None for number in range(num_rows)]),
        }
    )


FILTERS = [
    pc.field("mode") == "AIR",
    pc.field("hole").isin(["AIR", "MAIL", "nothing"]),
    ~pc.field("hole").isin(["AIR"]),
    pc.field("hole").is_null(),
    (pc.field("hole") == "AIR").is_null(),
    (pc.field("mode") > "M") & (pc.field("id") < 700),
    (pc.field("mode") == "AIR") | (pc.field("hole") == "MAIL"),
    (pc.field("mode") == "AIR") | (pc.field("mode") == "MAIL") | (pc.field("mode") == "FOB"),
    pc.starts_with(pc.field("mode"), "R") & (pc.utf8_length(pc.field("hole")) > 3),
    pc.match_substring(pc.field("raw").cast(pa.large_binary()), b"x") | pc.field("empty").is_valid(),
    (pc.field("mode") == pc.field("hole")) & (pc.field("empty") == ""),
]


def decoded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Decode by values, not by casts of ours."""
    return pa.table([pa.array(table[field.name].to_pylist(), field.type) for field in schema], schema=schema)


def assert_values(expected: pa.Table, found: pa.Table) -> None:
    found.validate(full=True)
    assert decoded(found, expected.schema).equals(expected)
