"""Write a file with this plugin, which must be installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow


def rows() -> pa.Table:
    """Temperatures that change slowly; the other columns need no plugin."""
    count = 5000
    return pa.table(
        {
            "c": [None if row % 97 == 0 else 20 + (row + row * row % 7) / 8192 for row in range(count)],
            "n": pa.array(range(count), pa.int32()),
        }
    )


def write_example(path: str | Path, **options: object) -> None:
    """Write `rows`, column ``c`` by the codec of this project; `options` as for `lance_arrow.write_table`."""
    lance_arrow.write_table(
        rows(),
        path,
        column_options={"c": {"codec": "example.shuffled/1"}},
        allow_private_encodings=True,
        **options,
    )


if __name__ == "__main__":
    write_example(sys.argv[1])
