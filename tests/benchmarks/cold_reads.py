"""Time the first read of files that nothing in the process has seen, beside the reference, Vortex and Arrow IPC.

`python tests/benchmarks/cold_reads.py [--rounds 9] [--each 60]`. Every file is opened once, by one reader; all readers
take turns. Prints medians, asserts nothing.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import vortex
from lance.file import LanceFileReader, LanceFileWriter

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from measuring import interleaved
from small_files import small_file_rows

import lance_arrow
from lance_arrow import LanceFile, LanceFormat

ROWS = 1000


def write(folder: Path, count: int) -> dict[str, list[str]]:
    """Write the same rows for each reader; return the paths by format."""
    paths: dict[str, list[str]] = {"lance": [], "reference": [], "vortex": [], "ipc": []}
    for number in range(count):
        table = pa.Table.from_batches([small_file_rows(number, ROWS)])
        for name, found in paths.items():
            found.append(str(folder / f"{number:06}.{name}"))
        lance_arrow.write_table(table, paths["lance"][-1])
        with LanceFileWriter(paths["reference"][-1], table.schema) as writer:
            writer.write_batch(table)
        vortex.io.write(table, paths["vortex"][-1])
        with pa.ipc.new_file(paths["ipc"][-1], table.schema) as file:
            file.write_table(table)
    for path in (one for found in paths.values() for one in found):
        # What is timed is reading, not the disk.
        Path(path).read_bytes()
    return paths


def cases() -> dict[str, dict[str, tuple[str, Callable[[str, Any], object]]]]:
    """For each case its readers: the format they read, and what they do with a path and row numbers."""
    takes = {
        "LanceFile": ("lance", lambda path, rows: LanceFile(path).take(rows)),
        "lance_arrow.dataset": ("lance", lambda path, rows: lance_arrow.dataset(path).take(rows)),
        "reference": ("reference", lambda path, rows: LanceFileReader(path).take_rows(rows.tolist()).to_table()),
        "Vortex": ("vortex", _take_vortex),
        "IPC": ("ipc", lambda path, rows: pads.dataset(path, format="ipc").take(pa.array(rows))),
    }
    schemas = {
        "LanceFile": ("lance", lambda path, _: LanceFile(path).schema),
        "lance_arrow.dataset": ("lance", lambda path, _: lance_arrow.dataset(path).schema),
        "pyarrow.dataset": ("lance", lambda path, _: pads.dataset(path, format=LanceFormat()).schema),
        "reference": ("reference", lambda path, _: LanceFileReader(path).metadata()),
        "Vortex": ("vortex", lambda path, _: vortex.open(path)),
        "IPC": ("ipc", lambda path, _: pads.dataset(path, format="ipc").schema),
    }
    return {"open": schemas, "take 1": takes, "take 100": takes}


def _take_vortex(path: str, rows: Any) -> object:
    indices = vortex.array(pa.array(rows, pa.uint64()))
    return vortex.open(path).scan(indices=indices).read_all().to_arrow_table()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--each", type=int, default=60, help="files that a reader opens in a round")
    options = parser.parse_args()
    generator = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        found = cases()
        # No reader meets a file twice: of a format the most readers of a case want so many.
        most = max(sum(kind == "lance" for kind, _ in readers.values()) for readers in found.values())
        count = options.each * (options.rounds + 1) * most
        for number, (case, readers) in enumerate(found.items()):
            own = Path(folder) / str(number)
            own.mkdir()
            paths = write(own, count)
            wanted = 100 if case == "take 100" else 1
            rounds = []
            for _ in range(options.rounds + 1):
                rows = [np.sort(generator.choice(ROWS, wanted, replace=False)) for _ in range(options.each)]
                rounds.append({name: (_next(paths[kind], options.each), rows) for name, (kind, _) in readers.items()})
            calls = {name: _repeated(read) for name, (_, read) in readers.items()}
            for name, samples in interleaved(calls, rounds).items():
                clock, processor = (1e3 * one / options.each for one in (samples.median_ms, samples.median_cpu_ms))
                print(f"{case:<9} {name:<20} {clock:8.0f} us, processor {processor:8.0f}", flush=True)
    return 0


def _next(paths: list[str], count: int) -> list[str]:
    """Take paths from the front of a list."""
    found = paths[:count]
    del paths[:count]
    return found


def _repeated(read: Callable[[str, Any], object]) -> Callable[[Sequence[str], Sequence[Any]], None]:
    def run(paths: Sequence[str], rows: Sequence[Any]) -> None:
        for path, one in zip(paths, rows, strict=True):
            read(path, one)

    gc.collect()
    return run


if __name__ == "__main__":
    sys.exit(main())
