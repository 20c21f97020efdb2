"""Run in a process of its own by `test_files.py`: read damaged copies of a file, print what came of each.

Arguments: file, number of damages, seed, first byte of the metadata. Prints ``trying N WHAT`` before each read, so
that a crash or hang names its cause, and one JSON line of counts at the end.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

import lance_arrow
from lance_arrow.errors import LanceError

MEMORY_BYTES = 4 << 30
BORDERS = [0, 1, *(2**bits - 1 for bits in (7, 8, 15, 16, 31, 32, 63, 64)), 2**7, 2**15, 2**31, 2**63]


def attempt(damaged: bytes, num_rows: int) -> str:
    """Read everything each way; return ``read`` or the error's name; anything unexpected is raised."""
    try:
        with lance_arrow.LanceFile(damaged) as file:
            table = file.read()
            taken = file.take([0, file.num_rows - 1]) if file.num_rows else table
        fragment = lance_arrow.LanceFormat().make_fragment(pa.py_buffer(damaged))
        scanned = pads.FileSystemDataset([fragment], fragment.physical_schema, lance_arrow.LanceFormat()).to_table()
    except LanceError as error:
        return type(error).__name__
    table.validate(full=True)
    taken.validate(full=True)
    if scanned.num_rows != table.num_rows:
        raise AssertionError(f"a scan gave {scanned.num_rows} rows, a read {table.num_rows}")
    return "read" if table.num_rows == num_rows else "other rows"


def damage(content: bytes, metadata_start: int, rng: np.random.Generator) -> tuple[bytes, str]:
    """Flip one bit, or overwrite 1 to 8 bytes at one to three places with a number at the border of its type.

    Half of the places lie in the metadata, which is small and steers everything.
    """
    damaged = bytearray(content)
    if rng.random() < 0.5:
        place = int(rng.integers(metadata_start if rng.random() < 0.5 else 0, len(content)))
        bit = int(rng.integers(0, 8))
        damaged[place] ^= 1 << bit
        return bytes(damaged), f"bit {bit} of byte {place} flipped"
    done = []
    for _ in range(int(rng.integers(1, 4))):
        width = int(rng.choice([1, 2, 4, 8]))
        place = int(rng.integers(metadata_start if rng.random() < 0.5 else 0, len(content) - width))
        number = BORDERS[int(rng.integers(len(BORDERS)))] % 2 ** (8 * width)
        damaged[place : place + width] = number.to_bytes(width, "little")
        done.append(f"{number} written over {width} bytes at {place}")
    return bytes(damaged), ", ".join(done)


def main() -> int:
    path, num_damages, seed, metadata_start = Path(sys.argv[1]), *map(int, sys.argv[2:5])
    if "ASAN_OPTIONS" not in os.environ:
        # The shadow of AddressSanitizer alone takes terabytes of addresses; its own options limit memory.
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    content = path.read_bytes()
    with lance_arrow.LanceFile(path) as file:
        num_rows = file.num_rows
    rng = np.random.default_rng(seed)
    outcomes: Counter[str] = Counter()
    failures = []
    for number in range(num_damages):
        damaged, what = damage(content, metadata_start, rng)
        print("trying", number, what, flush=True)
        try:
            outcomes[attempt(damaged, num_rows)] += 1
        # Whatever is not a LanceError is what this test looks for.
        except Exception as error:  # noqa: BLE001
            failures.append({"damage": what, "error": repr(error), "trace": traceback.format_exc()[-1500:]})
    print(json.dumps({"outcomes": outcomes, "failures": failures}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
