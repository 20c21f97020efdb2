"""Fuzzes whole files with libFuzzer: open, read, take, filter; only rows or a `LanceError` may come of it.

Native modules that are built with clang tell libFuzzer which of their branches an input reaches. `run.py`
starts this with the library of `python_driver.cpp` loaded before the interpreter; options are libFuzzer's.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import itertools
import os
import sys
import tempfile
import traceback
import zlib
from pathlib import Path

ROOMS = Path(__file__).parents[2]
sys.path[:0] = [str(ROOMS / "faults"), str(ROOMS / "faults" / "mutants"), str(ROOMS / "support")]

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
from bounded import SETTINGS  # noqa: E402
from fuzz import STRICT, attempt_small  # noqa: E402
from fuzz_damage import damaged  # noqa: E402
from fuzz_runs import MEMORY  # noqa: E402
from fuzz_seeds import write_forged  # noqa: E402

import lance_arrow  # noqa: E402
from lance_arrow import runtime as runtimes  # noqa: E402
from lance_arrow.errors import LanceError  # noqa: E402
from lance_arrow.runtime import Runtime  # noqa: E402

RUN_ONE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t)
MUTATE = ctypes.CFUNCTYPE(
    ctypes.c_size_t, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint
)


def read_one(content: bytes, path: Path, runtime: Runtime) -> None:
    """Read a file at one of the doors of `fuzz.py`, which its checksum chooses; other rows are raised."""
    try:
        with contextlib.suppress(LanceError):
            attempt_small(path, content, runtime, zlib.crc32(content))
    finally:
        path.unlink(missing_ok=True)


def write_seeds(folder: Path) -> int:
    """Write small files of every encoding that is made by hand, and one of this package for each version."""
    folder.mkdir(parents=True, exist_ok=True)
    write_forged(folder)
    numbers = np.arange(60)
    table = pa.table({"number": numbers, "text": [f"text {number}" for number in numbers], "real": numbers / 7})
    for version in ("2.1", "2.2", "2.3"):
        lance_arrow.write_table(table, folder / f"ours-{version}", file_version=version, rows_per_zone=20)
    return len(list(folder.iterdir()))


def run(driver: Path, folder: Path, options: list[str]) -> int:
    """Fuzz until libFuzzer's options say that it is enough; return its exit code."""
    runtimes._default, strict = Runtime(SETTINGS), Runtime(STRICT)
    room = tempfile.TemporaryDirectory(prefix="fuzzed-", dir=MEMORY)
    numbers = itertools.count()

    @RUN_ONE
    def run_one(data: ctypes._Pointer, size: int) -> int:
        try:
            # A path of its own for each: see `fuzz.py`.
            read_one(ctypes.string_at(data, size), Path(room.name) / f"{next(numbers)}.lance", strict)
        # ctypes would print what a callback raises, and go on.
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
            sys.stderr.flush()
            os.abort()
        return 0

    @MUTATE
    def mutate(data: ctypes._Pointer, size: int, max_size: int, seed: int) -> int:
        content, _ = damaged(ctypes.string_at(data, size), np.random.default_rng(seed))
        content = content[:max_size]
        ctypes.memmove(data, content, len(content))
        return len(content)

    arguments = [b"files", *(one.encode() for one in options), bytes(folder)]
    argv = (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None)
    with room:
        return int(ctypes.CDLL(str(driver)).fuzz_python(len(arguments), argv, run_one, mutate))


def main() -> int:
    """Write the seeds, and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("driver", type=Path, help="library made of python_driver.cpp")
    parser.add_argument("corpus", type=Path, help="folder of inputs; seeds are added")
    found, options = parser.parse_known_args()
    write_seeds(found.corpus)
    return run(found.driver, found.corpus, options)


if __name__ == "__main__":
    sys.exit(main())
