"""Fuzzes whole files with libFuzzer: open, read, take, filter; only rows or a `LanceError` may come of it.

Native modules that are built with clang tell libFuzzer which of their branches an input reaches. `run.py`
starts this with the library of `python_driver.cpp` loaded before the interpreter; options are libFuzzer's.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import sys
import tempfile
import traceback
import zlib
from pathlib import Path

ROOMS = Path(__file__).parents[2]
sys.path[:0] = [str(ROOMS / "faults"), str(ROOMS / "support")]

import forged  # noqa: E402
import forged_arrays  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
from fuzz import LARGEST_FILTERED, LIMITS, filters, patterns  # noqa: E402
from fuzz_damage import damaged  # noqa: E402
from same import difference, take_rows, whole  # noqa: E402

import lance_arrow  # noqa: E402
from lance_arrow import runtime as runtimes  # noqa: E402
from lance_arrow.errors import LanceError  # noqa: E402
from lance_arrow.runtime import Runtime  # noqa: E402
from lance_arrow.settings import Settings  # noqa: E402

RUN_ONE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t)
MUTATE = ctypes.CFUNCTYPE(
    ctypes.c_size_t, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint
)
LARGEST_SEED = 4_000


def read_one(content: bytes, path: Path, runtime: Runtime) -> None:
    """Take rows of a file, read it, filter it; takes must give the rows that a read gives."""
    # Each input goes one way: through a file, which the engine reads by itself, or through memory.
    source: Path | bytes = content
    if zlib.crc32(content) % 2:
        path.write_bytes(content)
        source = path
    with contextlib.suppress(LanceError), lance_arrow.LanceFile(source, runtime=runtime) as file:
        takes = {}
        for number in (0, 1, 4):
            rows = patterns(file.num_rows)[number % len(patterns(file.num_rows))]
            with contextlib.suppress(LanceError):
                takes[number] = rows, file.take(rows)
        if file.num_rows >= LARGEST_FILTERED:
            return
        with contextlib.suppress(LanceError):
            for one in filters(file.schema)[:3]:
                file.read(filter=one).validate(full=True)
        table = file.read()
        table.validate(full=True)
        for rows, taken in takes.values():
            for left, right in zip(table.columns, taken.columns, strict=True):
                found = difference(take_rows(whole(left), rows), whole(right))
                if found is not None:
                    raise AssertionError(f"a take of {rows.tolist()[:8]} differs from a read: {found}")


def write_seeds(folder: Path) -> int:
    """Write small files of every encoding that is made by hand, and one of this package for each version."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, file in {**forged.GOOD, **forged_arrays.GOOD, **forged_arrays.PRE_RELEASE}.items():
        content = file.build()
        if len(content) <= LARGEST_SEED:
            (folder / f"forged-{name}").write_bytes(content)
    numbers = np.arange(60)
    table = pa.table({"number": numbers, "text": [f"text {number}" for number in numbers], "real": numbers / 7})
    for version in ("2.1", "2.2", "2.3"):
        lance_arrow.write_table(table, folder / f"ours-{version}", file_version=version, rows_per_zone=20)
    return len(list(folder.iterdir()))


def run(driver: Path, folder: Path, options: list[str]) -> int:
    """Fuzz until libFuzzer's options say that it is enough; return its exit code."""
    runtimes._default = strict = Runtime(Settings(limits=LIMITS, num_threads=1, prove_row_indices=True))
    memory = Path("/dev/shm")
    room = tempfile.TemporaryDirectory(prefix="fuzzed-", dir=memory if memory.is_dir() else None)
    path = Path(room.name) / "input.lance"

    @RUN_ONE
    def run_one(data: ctypes._Pointer, size: int) -> int:
        try:
            read_one(ctypes.string_at(data, size), path, strict)
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
