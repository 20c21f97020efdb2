"""Write a file with this plugin, which must be installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow


def rows() -> pa.Table:
    """Notes, short and long, which Brotli makes small; the other column needs no plugin."""
    count = 3000
    notes = [
        f"The flight {row} of {row % 12 + 1} o'clock was {'late' if row % 3 else 'early'}." for row in range(count)
    ]
    letters = ["".join(f"Line {line} of letter {row}. " for line in range(40)) for row in range(count)]
    return pa.table(
        {
            "c": pa.array([None if row % 97 == 0 else note for row, note in enumerate(notes)]),
            "letter": letters,
            "n": pa.array(range(count), pa.int32()),
        }
    )


def write_example(path: str | Path, **options: object) -> None:
    """Write `rows`, two columns by the codec of this project; `options` as for `lance_arrow.write_table`."""
    lance_arrow.write_table(
        rows(),
        path,
        column_options={
            "c": {"codec": "example.brotli/1"},
            "letter": {"codec": "example.brotli/1", "level": 9},
        },
        allow_private_encodings=True,
        **options,
    )


if __name__ == "__main__":
    write_example(sys.argv[1])
