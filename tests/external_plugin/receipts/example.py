"""Write a file and read it once: the receipt of that lies in the file named by ``LANCE_RECEIPTS``."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow


def write_example(path: str | Path, **options: object) -> None:
    """Write three rows and read them."""
    lance_arrow.write_table(pa.table({"n": [1, 2, 3], "s": ["a", None, "c"]}), path, **options)
    lance_arrow.read_table(path)


if __name__ == "__main__":
    write_example(sys.argv[1])
