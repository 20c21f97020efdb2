"""Write a file with this plugin, which must be installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow


def rows() -> pa.Table:
    """Sorted paths, some missing; the other columns need no plugin."""
    count = 5000
    paths = [
        f"/archive/{2000 + row // 400}/station-{row // 40:04}/measurement-{row:06}.parquet" for row in range(count)
    ]
    return pa.table(
        {
            "c": [None if row % 97 == 0 else path for row, path in enumerate(paths)],
            "n": pa.array(range(count), pa.int32()),
        }
    )


def write_example(path: str | Path, **options: object) -> None:
    """Write `rows`, column ``c`` by the codec of this project; `options` as for `lance_arrow.write_table`."""
    lance_arrow.write_table(
        rows(),
        path,
        column_options={"c": {"codec": "example.front_coded/1"}},
        allow_private_encodings=True,
        **options,
    )


if __name__ == "__main__":
    write_example(sys.argv[1])
