"""Write a file with this plugin, which must be installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow


def rows() -> pa.Table:
    """Departures around 9 o'clock, in seconds; the other columns need no plugin."""
    count = 5000
    delays = [row * row % 1201 - 600 for row in range(count)]
    return pa.table(
        {
            "c": pa.array([None if row % 97 == 0 else 32_400 + delay for row, delay in enumerate(delays)]),
            "n": pa.array(range(count), pa.int32()),
            "s": [f"flight {row % 800}" for row in range(count)],
        }
    )


def write_example(path: str | Path, **options: object) -> None:
    """Write `rows`, column ``c`` by the codec of this project; `options` as for `lance_arrow.write_table`."""
    lance_arrow.write_table(
        rows(),
        path,
        column_options={"c": {"codec": "example.zigzag/1", "base": 32_400}},
        allow_private_encodings=True,
        **options,
    )


if __name__ == "__main__":
    write_example(sys.argv[1])
