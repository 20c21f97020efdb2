"""Write a file whose first column this plugin reads, if it is preferred to the built-in codec; it cannot write."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow

FLAT = "lance.encodings21.CompressiveEncoding/flat"


def rows() -> pa.Table:
    """Numbers that are stored as they are, and others that are not."""
    count = 3000
    numbers = pa.array([row * 2_654_435_761 % 2**31 for row in range(count)], pa.int32())
    return pa.table({"c": numbers, "n": pa.array(range(count), pa.int32())})


def write_example(path: str | Path, **options: object) -> None:
    """Write `rows`, column ``c`` flat; the built-in codec does it, whoever else provides the key."""
    runtime = lance_arrow.Runtime(lance_arrow.Settings(prefer={FLAT: "codec.flat"}))
    lance_arrow.write_table(rows(), path, column_options={"c": {"codec": "flat"}}, runtime=runtime, **options)


if __name__ == "__main__":
    write_example(sys.argv[1])
