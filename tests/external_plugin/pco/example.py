"""Write a file with this plugin, which must be installed; ``--compare`` prints figures beside the built-ins."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import lance_arrow


def rows(count: int = 5000) -> pa.Table:
    """Times, sensor values in hundredths, some missing, prices, and random integers; column ``n`` needs no plugin."""
    random = np.random.default_rng(7)
    value = np.round(20 + np.cumsum(random.normal(0, 0.05, count)), 2)
    return pa.table(
        {
            "c": pa.array(value, mask=random.random(count) < 0.01),
            "time": 1_700_000_000_000 + np.cumsum(random.integers(990, 1011, count)),
            "price": np.round(np.exp(random.normal(3, 1, count)), 2),
            "random": random.integers(0, 1 << 40, count),
            "n": pa.array(range(count), pa.int32()),
        }
    )


def options(codec: str = "example.pco/1") -> dict[str, dict[str, object]]:
    """Return column options: the float columns say their dtype, because a block tells only the width."""
    return {
        "c": {"codec": codec, "dtype": "float64"},
        "time": {"codec": codec},
        "price": {"codec": codec, "dtype": "float64"},
        "random": {"codec": codec},
    }


def write_example(path: str | Path, **words: object) -> None:
    """Write `rows` by the codec of this project; `words` as for `lance_arrow.write_table`."""
    lance_arrow.write_table(rows(), path, column_options=options(), allow_private_encodings=True, **words)


def compare(count: int = 1_000_000) -> None:
    """Print MB of each column, and milliseconds to write and to read it, with pcodec and with built-in codecs."""
    table = rows(count)
    print("column  codec    MB     write ms  read ms")
    for name in options():
        one = table.select([name])
        for label, words in (("default", {}), ("zstd", {"compression": "zstd"}), ("pco", options()[name])):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "file.lance"
                start = time.perf_counter()
                lance_arrow.write_table(one, path, column_options={name: words}, allow_private_encodings=True)
                written = time.perf_counter() - start
                reads = []
                for _ in range(3):
                    start = time.perf_counter()
                    lance_arrow.read_table(path)
                    reads.append(time.perf_counter() - start)
                size = os.path.getsize(path) / 1e6
                print(f"{name:7} {label:8} {size:5.2f} {written * 1e3:9.0f} {min(reads) * 1e3:8.0f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--compare"]:
        compare()
    else:
        write_example(sys.argv[1])
