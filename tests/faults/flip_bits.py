"""Run in a process of its own by `test_files.py`: read damaged copies of a file, print what came of each.

Arguments: file, number of flips, seed, first byte of the metadata. Prints ``trying N BYTE BIT`` before each read, so
that a crash or hang names its cause, and one JSON line of counts at the end.
"""

from __future__ import annotations

import json
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


def main() -> int:
    path, num_flips, seed, metadata_start = Path(sys.argv[1]), *map(int, sys.argv[2:5])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    content = path.read_bytes()
    with lance_arrow.LanceFile(path) as file:
        num_rows = file.num_rows
    rng = np.random.default_rng(seed)
    # Half of the flips go into the metadata, which is small and steers everything.
    places = np.concatenate(
        [rng.integers(0, len(content), num_flips // 2), rng.integers(metadata_start, len(content), num_flips // 2)]
    )
    outcomes: Counter[str] = Counter()
    failures = []
    for number, place in enumerate(places.tolist()):
        bit = int(rng.integers(0, 8))
        print("trying", number, place, bit, flush=True)
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        try:
            outcomes[attempt(bytes(damaged), num_rows)] += 1
        # Whatever is not a LanceError is what this test looks for.
        except Exception as error:  # noqa: BLE001
            failures.append({"byte": place, "bit": bit, "error": repr(error), "trace": traceback.format_exc()[-1500:]})
    print(json.dumps({"outcomes": outcomes, "failures": failures}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
