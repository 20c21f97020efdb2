"""Write a file with this plugin, which must be installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow


def rows() -> pa.Table:
    """Sensor values, some missing; the other columns need no plugin."""
    count = 5000
    return pa.table(
        {
            "c": pa.array([None if row % 97 == 0 else row * row % 1201 / 8 for row in range(count)]),
            "n": pa.array(range(count), pa.int32()),
            "s": [f"sensor {row % 800}" for row in range(count)],
        }
    )


def write_example(path: str | Path, **options: object) -> None:
    """Write `rows`, column ``c`` by the layout of this project; `options` as for `lance_arrow.write_table`."""
    lance_arrow.write_table(
        rows(),
        path,
        column_options={"c": {"layout": "example.Aligned"}},
        allow_private_encodings=True,
        **options,
    )


if __name__ == "__main__":
    write_example(sys.argv[1])
