"""Time what changes a table beside the reference; prints medians and ratios, asserts nothing.

`python tests/benchmarks/table_operations.py [--rows 1000000] [--rounds 5] [--durability rename] [--cases parts pack]`.
With `--at s3`, tables are on an S3 emulator (moto) on loopback, whose own work is a part of all times. So are those of
`--at azure` on Azurite: it needs adlfs, and LANCE_ARROW_SERVERS, the folder where `nox -s servers` puts that server.
Each round makes both tables anew; both do one operation after another in turns, the reference in a process of its own.
`parts` and `pack` are of another table: ten appends of a tenth of the rows each, and their compaction.
"""

from __future__ import annotations

import argparse
import cProfile
import datetime
import json
import os
import pstats
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "support"))

import numpy as np
import pyarrow as pa
from running import SERVERS

SEED = 22
APPENDS = 50
APPENDED_ROWS = 1000
PARTS = 10
NARROW = 100_000
CASES = (
    "create", "append", "delete", "update", "merge", "add", "compact", "open", "count", "history", "cleanup", "scan",
    "parts", "pack",
)  # fmt: skip
REPEATED = {"open": 5, "count": 5, "history": 3, "scan": 3}
"""What leaves the table as it is: the median of some in each round."""


def rows(first: int, count: int) -> pa.Table:
    """Seven columns of rows numbered from `first`: keys, numbers, strings, categories, times."""
    random = np.random.default_rng([SEED, first])
    numbers = np.arange(first, first + count)
    return pa.table(
        {
            "id": numbers,
            "narrow": random.integers(0, NARROW, count, dtype=np.int32),
            "double": random.random(count),
            "single": random.random(count).astype(np.float32),
            "name": pa.array(np.char.add("name-", (numbers * 7919 % 1_000_003).astype(str))),
            "category": pa.array([f"category {i}" for i in range(200)]).take(pa.array(random.integers(0, 200, count))),
            "time": pa.array(numbers * 1000, pa.timestamp("us")),
        }
    )


class Inputs:
    """The rows that both sides are given, made before anything is timed."""

    def __init__(self, num_rows: int) -> None:
        self.created = rows(0, num_rows)
        self.parts = [self.created.slice(i * num_rows // PARTS, num_rows // PARTS) for i in range(PARTS)]
        self.appended = [rows(num_rows + i * APPENDED_ROWS, APPENDED_ROWS) for i in range(APPENDS)]
        half = max(num_rows // 20, 1)
        known = self.created.take(pa.array(np.random.default_rng(SEED).permutation(num_rows)[:half]))
        self.merged = pa.concat_tables([known, rows(2 * num_rows, half)])


class Ours:
    """The operations by `LanceTable`."""

    def __init__(self, path: str, inputs: Inputs, durability: str, storage_options: dict[str, Any] | None) -> None:
        from lance_arrow import LanceTable  # noqa: PLC0415 - not in the reference's process

        self._kind, self._path, self._inputs = LanceTable, path, inputs
        self._storage = {"storage_options": storage_options}
        self._options: dict[str, Any] = {**self._storage, **({"durability": durability} if durability else {})}
        self._table: Any = None
        self._parts: Any = None

    def create(self) -> None:
        self._table = self._kind.create(self._path, self._inputs.created, **self._options)

    def append(self) -> None:
        for some in self._inputs.appended:
            self._table.append(some)

    def delete(self) -> None:
        self._table.delete(f"narrow < {NARROW // 100}")

    def update(self) -> None:
        self._table.update({"double": "double * 2"}, where=f"narrow >= {NARROW // 10 * 9}")

    def merge(self) -> None:
        merge = self._table.merge(self._inputs.merged, on="id")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def add(self) -> None:
        self._table.add_columns({"sum": "double + narrow"})

    def compact(self) -> None:
        self._table.compact()

    def open(self) -> None:
        self._kind.open(self._path, **self._storage)

    def count(self) -> None:
        self._kind.open(self._path, **self._storage).count_rows()

    def history(self) -> None:
        self._table.history()

    def cleanup(self) -> None:
        self._table.cleanup(older_than=datetime.timedelta(), delete_unverified=True, dry_run=False)

    def scan(self) -> None:
        self._table.to_table()

    def parts(self) -> None:
        first, *rest = self._inputs.parts
        self._parts = self._kind.create(f"{self._path}-parts", first, **self._options)
        for some in rest:
            self._parts.append(some)

    def pack(self) -> None:
        self._parts.compact(target_rows_per_fragment=self._inputs.created.num_rows)


class Reference:
    """The same by the reference."""

    def __init__(self, path: str, inputs: Inputs, storage_options: dict[str, str] | None) -> None:
        import lance  # noqa: PLC0415 - in this process alone

        self._lance, self._path, self._inputs = lance, path, inputs
        self._storage = {"storage_options": storage_options}
        self._table: Any = None
        self._parts: Any = None

    def create(self) -> None:
        self._table = self._lance.write_dataset(self._inputs.created, self._path, **self._storage)

    def append(self) -> None:
        for some in self._inputs.appended:
            self._table = self._lance.write_dataset(some, self._table, mode="append", **self._storage)

    def delete(self) -> None:
        self._table.delete(f"narrow < {NARROW // 100}")

    def update(self) -> None:
        self._table.update({"double": "double * 2"}, where=f"narrow >= {NARROW // 10 * 9}")

    def merge(self) -> None:
        merge = self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(self._inputs.merged)

    def add(self) -> None:
        self._table.add_columns({"sum": "double + narrow"})

    def compact(self) -> None:
        self._table.optimize.compact_files()

    def open(self) -> None:
        self._lance.dataset(self._path, **self._storage)

    def count(self) -> None:
        self._lance.dataset(self._path, **self._storage).count_rows()

    def history(self) -> None:
        self._table.versions()

    def cleanup(self) -> None:
        self._table.cleanup_old_versions(datetime.timedelta(0), delete_unverified=True)

    def scan(self) -> None:
        self._table.to_table()

    def parts(self) -> None:
        first, *rest = self._inputs.parts
        self._parts = self._lance.write_dataset(first, f"{self._path}-parts", **self._storage)
        for some in rest:
            self._parts = self._lance.write_dataset(some, self._parts, mode="append", **self._storage)

    def pack(self) -> None:
        self._parts.optimize.compact_files(target_rows_per_fragment=self._inputs.created.num_rows)


def timed(side: Ours | Reference, case: str, profile: str = "") -> tuple[float, float]:
    """Return seconds by the clock, and processor time of all threads."""
    call: Callable[[], None] = getattr(side, case)
    found = []
    for _ in range(REPEATED.get(case, 1)):
        profiler = cProfile.Profile() if profile == case else None
        if profiler is not None:
            profiler.enable()
        cpu, begun = time.process_time(), time.perf_counter()
        call()
        found.append((time.perf_counter() - begun, time.process_time() - cpu))
        if profiler is not None:
            profiler.disable()
            pstats.Stats(profiler).sort_stats("tottime").print_stats(45)
    return sorted(found)[len(found) // 2]


@contextmanager
def place(at: str, folder: Path) -> Iterator[tuple[str, dict[str, Any] | None, dict[str, str] | None]]:
    """Yield the URL of a folder, and what fsspec and the reference are to be given for it."""
    if at == "local":
        yield str(folder), None, None
        return
    with SERVERS[at](folder) as server:
        if at == "azure":
            said = dict(part.split("=", 1) for part in server.options["connection_string"].split(";"))
            both = {
                "azure_storage_account_name": said["AccountName"],
                "azure_storage_account_key": said["AccountKey"],
                "azure_storage_endpoint": said["BlobEndpoint"],
                "allow_http": "true",
            }
            yield server.root, both, both
            return
        theirs = {
            "aws_endpoint": server.options["endpoint_url"],
            "aws_access_key_id": server.options["key"],
            "aws_secret_access_key": server.options["secret"],
            "aws_region": "us-east-1",
            "allow_http": "true",
        }
        yield server.root, dict(server.options), theirs


def serve_reference(root: str, storage_options: dict[str, str] | None, num_rows: int) -> int:
    """Do what is asked on standard input, ``round case`` a line; answer with seconds."""
    inputs = Inputs(num_rows)
    sides: dict[str, Reference] = {}
    print("ready", flush=True)
    for line in sys.stdin:
        number, case = line.split()
        if number not in sides:
            sides = {number: Reference(f"{root}/theirs-{number}", inputs, storage_options)}
        print(*timed(sides[number], case), flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--durability", choices=("fsync", "rename"))
    parser.add_argument(
        "--cases", nargs="+", choices=CASES, default=CASES, help="which operations, each after those before"
    )
    parser.add_argument("--folder", type=Path, help="where tables are made; a temporary folder unless given")
    parser.add_argument("--at", choices=("local", "s3", "azure"), default="local")
    parser.add_argument("--profile", choices=CASES, default="", help="print where our time goes in one operation")
    parser.add_argument("--no-reference", action="store_true")
    parser.add_argument("--reference", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reference:
        root, storage_options = options.reference
        return serve_reference(root, json.loads(storage_options), options.rows)
    with (
        tempfile.TemporaryDirectory(dir=options.folder) as temporary,
        place(options.at, Path(temporary)) as (root, storage_options, theirs),
    ):
        inputs = Inputs(options.rows)
        command = [sys.executable, __file__, "--reference", root, json.dumps(theirs), "--rows", str(options.rows)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdin is not None
            assert other.stdout is not None
            other.stdout.readline()
            samples: dict[str, list[tuple[float, ...]]] = {case: [] for case in options.cases}
            # The first round warms up.
            for number in range(options.rounds + 1):
                ours = Ours(f"{root}/ours-{number}", inputs, options.durability or "", storage_options)
                for at, case in enumerate(options.cases):
                    pair: list[tuple[float, float]] = [(0.0, 0.0)] * 2
                    for side in (0, 1) if (number + at) % 2 else (1, 0):
                        os.sync()
                        if side == 0:
                            profile = options.profile if number == options.rounds else ""
                            pair[0] = timed(ours, case, profile)
                        elif not options.no_reference:
                            print(number, case, file=other.stdin, flush=True)
                            seconds, cpu_seconds = other.stdout.readline().split()
                            pair[1] = float(seconds), float(cpu_seconds)
                    if number:
                        samples[case].append((*pair[0], *pair[1]))
                if options.at == "local":
                    for path in Path(root).iterdir():
                        shutil.rmtree(path)
            other.stdin.close()
    print(
        f"{options.rows:,} rows, {options.at}, durability {options.durability or 'as by default'}, "
        f"{options.rounds} rounds; ms"
    )
    names = "".join(f" {name:>9}" for name in ("median", "best", "processor"))
    print(f"{'':<8}{names} |{names} of the reference | ratio of")
    for case, found in samples.items():
        _show(case, np.array(found) * 1e3)
    return 0


def _show(case: str, found: np.ndarray) -> None:
    ours, ours_cpu, theirs, theirs_cpu = found.T
    medians = [statistics.median(each) for each in (ours, theirs, ours_cpu, theirs_cpu)]
    mine, other, mine_cpu, other_cpu = medians
    ratio = mine / other if other else 0
    best = ours.min() / theirs.min() if theirs.min() else 0
    cpu = mine_cpu / other_cpu if other_cpu else 0
    print(
        f"{case:<8} {mine:9.1f} {ours.min():9.1f} {mine_cpu:9.1f} | "
        f"{other:9.1f} {theirs.min():9.1f} {other_cpu:9.1f} | "
        f"medians {ratio:5.2f}, best {best:5.2f}, processor {cpu:5.2f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
