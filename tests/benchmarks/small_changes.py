"""Time small changes of a table and reads of a few rows, beside the reference; prints medians, asserts nothing.

`python tests/benchmarks/small_changes.py [--rounds 5] [--rows 1000000] [--cases append head] [--durability fsync]`.
Each round makes the tables anew, in folders that are removed at the very end: ext4 looks for free inodes longer where
some were freed a moment ago. Both sides do one case after another in turns, the reference in a process of its own.
Processor time is that of all threads, until they rest. The reference syncs nothing to the disk; `--durability` is
`rename` unless given, which does not either.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from table_operations import rows

SEED = 36
APPENDS = 50
APPENDED_ROWS = 1000
VALUES = 1000
WARM = 5
CASES = {
    "append": f"{APPENDS} appends of {APPENDED_ROWS:,} rows of 7 columns",
    "part": "10 appends of 2 of the 7 columns",
    "add": f"add a computed column to {APPENDS + 11} fragments",
    "cleanup": "cleanup, all old versions removed",
    "delete": f"delete by a list of {VALUES:,} values",
    "head": "head(5) of the table's dataset",
    "head16": "the same, of 16 fragments",
    "open": "open the table, head(10)",
    "arrow": "pyarrow.dataset.dataset, head(10) *",
}
REPEATED = {"head": 20, "head16": 20, "open": 10, "arrow": 10, "delete": 3}


class Inputs:
    """The rows and predicates that both sides are given, made before anything is timed."""

    def __init__(self, num_rows: int) -> None:
        random = np.random.default_rng(SEED)
        self.first = rows(0, APPENDED_ROWS)
        self.appended = [rows((1 + i) * APPENDED_ROWS, APPENDED_ROWS) for i in range(APPENDS)]
        self.parts = [rows((100 + i) * APPENDED_ROWS, APPENDED_ROWS).select(["id", "name"]) for i in range(10)]
        numbers = np.arange(num_rows)
        self.large = pa.table(
            {"id": numbers, "x": random.random(num_rows), "s": pa.array([f"n{i % 1000}" for i in range(num_rows)])}
        )
        # Other values each time, so that no statement is known already.
        self.predicates = [
            f"id in ({','.join(map(str, np.sort(random.choice(num_rows, VALUES, replace=False)).tolist()))})"
            for _ in range(100)
        ]


class Ours:
    """The cases by this package."""

    def __init__(self, folder: Path, inputs: Inputs, durability: str) -> None:
        import lance_arrow  # noqa: PLC0415 - not in the reference's process

        self._package, self._inputs, self._paths = lance_arrow, inputs, [str(folder / name) for name in "abc"]
        small, large, parts = self._paths
        create = lance_arrow.LanceTable.create
        self._small = create(small, inputs.first, durability=durability)
        for _ in range(WARM):
            self._small.append(inputs.first)
        self._large = create(large, inputs.large, durability=durability)
        create(parts, inputs.large, max_rows_per_file=-(-len(inputs.large) // 16), durability=durability)
        self._dataset = self._large.dataset()
        self._parts = lance_arrow.dataset(parts)

    def append(self) -> None:
        for some in self._inputs.appended:
            self._small.append(some)

    def part(self) -> None:
        for some in self._inputs.parts:
            self._small.append(some)

    def add(self) -> None:
        self._small.add_columns({"sum": "double + narrow"})

    def cleanup(self) -> None:
        self._small.cleanup(older_than=datetime.timedelta(), delete_unverified=True, dry_run=False)

    def delete(self) -> None:
        self._large.delete(self._inputs.predicates.pop())

    def head(self) -> None:
        self._dataset.head(5)

    def head16(self) -> None:
        self._parts.head(5)

    def open(self) -> None:
        self._package.dataset(self._paths[1]).head(10)

    def arrow(self) -> None:
        import pyarrow.dataset as pads  # noqa: PLC0415 - as above

        pads.dataset(self._paths[1], format=self._package.LanceFormat()).head(10)


class Reference:
    """The same by the reference."""

    def __init__(self, folder: Path, inputs: Inputs, durability: str) -> None:
        import lance  # noqa: PLC0415 - in its process alone

        self._lance, self._inputs, self._paths = lance, inputs, [str(folder / name) for name in "abc"]
        small, large, parts = self._paths
        self._small = lance.write_dataset(inputs.first, small)
        for _ in range(WARM):
            self._small = lance.write_dataset(inputs.first, self._small, mode="append")
        self._large = lance.write_dataset(inputs.large, large)
        self._parts = lance.write_dataset(inputs.large, parts, max_rows_per_file=-(-len(inputs.large) // 16))

    def append(self) -> None:
        for some in self._inputs.appended:
            self._small = self._lance.write_dataset(some, self._small, mode="append")

    def part(self) -> None:
        for some in self._inputs.parts:
            self._small = self._lance.write_dataset(some, self._small, mode="append")

    def add(self) -> None:
        self._small.add_columns({"sum": "double + narrow"})

    def cleanup(self) -> None:
        self._small.cleanup_old_versions(datetime.timedelta(), delete_unverified=True)

    def delete(self) -> None:
        self._large.delete(self._inputs.predicates.pop())

    def head(self) -> None:
        self._large.head(5)

    def head16(self) -> None:
        self._parts.head(5)

    def open(self) -> None:
        self._lance.dataset(self._paths[1]).head(10)

    arrow = open


def timed(side: Ours | Reference, case: str) -> tuple[float, float]:
    """Return seconds by the clock, and processor time of all threads; the median of several."""
    call: Callable[[], None] = getattr(side, case)
    found = []
    for _ in range(REPEATED.get(case, 1)):
        cpu, begun = time.process_time(), time.perf_counter()
        call()
        seconds = time.perf_counter() - begun
        if case == "arrow":
            # What Arrow asked for ahead is decoded, though no one takes it.
            time.sleep(0.05)
        found.append((seconds, time.process_time() - cpu))
    return statistics.median(one for one, _ in found), statistics.median(one for _, one in found)


def serve_reference(folder: Path, num_rows: int) -> int:
    """Do what is asked on standard input, ``round case`` a line; answer with seconds."""
    inputs = Inputs(num_rows)
    sides: dict[str, Reference] = {}
    print("ready", flush=True)
    for line in sys.stdin:
        number, case = line.split()
        if number not in sides:
            sides = {number: Reference(folder / f"theirs-{number}", inputs, "")}
        print(*timed(sides[number], case), flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--durability", choices=("fsync", "rename"), default="rename")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--folder", type=Path, help="where tables are made; a temporary folder unless given")
    parser.add_argument("--reference", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reference:
        return serve_reference(options.reference, options.rows)
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        inputs = Inputs(options.rows)
        command = [sys.executable, __file__, "--reference", temporary, "--rows", str(options.rows)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            samples = _rounds(other, Path(temporary), inputs, options)
    print(f"{options.rows:,} rows, durability {options.durability}, {options.rounds} rounds; milliseconds")
    print(f"{'':<42} {'clock':>9} {'processor':>9} | {'clock':>9} {'processor':>9} of the reference | ours ÷ reference")
    for case, found in samples.items():
        mine, mine_cpu, theirs, theirs_cpu = (statistics.median(one) * 1e3 for one in zip(*found, strict=True))
        ratios = f"clock {mine / theirs:5.2f}, processor {mine_cpu / theirs_cpu:5.2f}"
        print(f"{CASES[case]:<42} {mine:9.2f} {mine_cpu:9.2f} | {theirs:9.2f} {theirs_cpu:9.2f} {'':<16} | {ratios}")
    print("* the reference by its own dataset: pyarrow's own asks any format for 16 batches ahead")
    return 0


def _rounds(
    other: subprocess.Popen[str], folder: Path, inputs: Inputs, options: argparse.Namespace
) -> dict[str, list[tuple[float, ...]]]:
    assert other.stdin is not None
    assert other.stdout is not None
    other.stdout.readline()
    samples: dict[str, list[tuple[float, ...]]] = {case: [] for case in options.cases}
    # The first round warms up.
    for number in range(options.rounds + 1):
        ours = Ours(folder / f"ours-{number}", inputs, options.durability)
        for at, case in enumerate(options.cases):
            pair: list[Any] = [(), ()]
            for side in (0, 1) if (number + at) % 2 else (1, 0):
                if side == 0:
                    pair[0] = timed(ours, case)
                else:
                    print(number, case, file=other.stdin, flush=True)
                    pair[1] = tuple(map(float, other.stdout.readline().split()))
            if number:
                samples[case].append((*pair[0], *pair[1]))
    other.stdin.close()
    return samples


if __name__ == "__main__":
    sys.exit(main())
