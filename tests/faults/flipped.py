"""Flips single bits of files that this package wrote: each way of reading gives the right rows or `CorruptFileError`.

`nox -s fuzz` runs 2,000 flips; `test_flipped_files.py` a short form. A worker process reads one damaged file after the
other, so that a crash or a hang is found too; each flip is made from (seed, number) alone: ``--replay SEED NUMBER``.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "support")]

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
from blobs import first_kind, payloads  # noqa: E402
from random_rows import random_array  # noqa: E402

import lance_arrow  # noqa: E402
from lance_arrow.container import checksums  # noqa: E402
from lance_arrow.errors import CorruptFileError, LanceError  # noqa: E402

VERSIONS = ("2.1", "2.2", "2.3")
PRESETS = ("fast", "default", "compact")
CASE_SECONDS = 60
SMALL_ROWS = 48
Outcomes = dict[str, str]


def numbers(chance: random.Random, rows: int = 3000) -> pa.Table:
    rng = np.random.default_rng(chance.randrange(1 << 30))
    return pa.table(
        {
            "key": np.arange(rows),
            "small": rng.integers(0, 50, rows).astype(np.int32),
            "runs": np.repeat(rng.integers(0, 9, -(-rows // 50)), 50)[:rows],
            "double": rng.random(rows),
            "flag": pa.array([None if i % 11 == 0 else i % 3 == 0 for i in range(rows)]),
            "same": np.full(rows, 7, np.int16),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(rows * 8).astype(np.float32)), 8),
        }
    )


def strings(chance: random.Random, rows: int = 2000) -> pa.Table:
    words = ["amber", "birch", "cedar", "délta", "", "fjord " * 20]
    return pa.table(
        {
            "key": np.arange(rows),
            "few": [chance.choice(words) for _ in range(rows)],
            "many": [None if i % 9 == 0 else f"{chance.choice(words)} {i * 7919}" for i in range(rows)],
            "large": pa.array([chance.randbytes(chance.randrange(900)) for _ in range(rows // 4)] * 4, pa.binary()),
            "long": pa.array([chance.choice(words) * 3 for _ in range(rows)], pa.large_string()),
            "code": pa.array([chance.choice(words[:4]) for _ in range(rows)]).dictionary_encode(),
        }
    )


def nested(chance: random.Random, rows: int = 700) -> pa.Table:
    inner = pa.struct([("x", pa.int32()), ("t", pa.string()), ("l", pa.list_(pa.int16()))])
    types = {
        "s": inner,
        "l": pa.list_(inner),
        "ll": pa.list_(pa.large_list(pa.float64())),
        "f": pa.list_(pa.list_(pa.int32(), 3)),
        "d": pa.list_(pa.dictionary(pa.int16(), pa.string())),
    }
    columns = {name: random_array(type_, rows, chance) for name, type_ in types.items()}
    return pa.table({"key": np.arange(rows), **columns})


def blobs(chance: random.Random, rows: int = 120) -> pa.Table:
    return first_kind(payloads(rows, largest=1500)).rename_columns(["b", "key"])


TABLES: dict[str, Callable[..., pa.Table]] = {
    "numbers": numbers,
    "strings": strings,
    "nested": nested,
    "blobs": blobs,
}


class Whole:
    """A sound file and its rows: in several pages and zones, or with few rows and columns."""

    def __init__(self, name: str, version: str, preset: str, *, is_small: bool = False) -> None:
        self.name = f"{name}-{version}-{preset}"
        chance = random.Random(self.name)
        rows_per_zone, page_bytes = 256, 20_000
        if is_small:
            table = TABLES[name](chance, SMALL_ROWS)
            first, second = chance.sample(table.column_names[1:], 2) if table.num_columns > 2 else ("b", "key")
            self.table = table.select(list(dict.fromkeys(("key", first, second))))
            rows_per_zone, page_bytes = 16, 200
        else:
            self.table = TABLES[name](chance)
        sink = pa.BufferOutputStream()
        # As large files, these have checksums that are read when their blocks are.
        late_bytes = 0 if preset == "fast" else checksums.LATE_BYTES
        with mock.patch.object(checksums, "LATE_BYTES", late_bytes):
            lance_arrow.write_table(
                self.table,
                sink,
                file_version=version,
                preset=preset,
                rows_per_zone=rows_per_zone,
                page_bytes=page_bytes,
            )
        self.content = sink.getvalue().to_pybytes()

    def flipped(self, bit: int) -> bytes:
        damaged = bytearray(self.content)
        damaged[bit // 8] ^= 1 << bit % 8
        return bytes(damaged)


# One file for each; 2.3 has no such blobs.
FILES = [
    (name, version, preset)
    for name in TABLES
    for version in VERSIONS
    for preset in PRESETS
    if (name, version) != ("blobs", "2.3")
]


@functools.cache
def whole_files() -> list[Whole]:
    """Return one file for each table, version and preset."""
    return [Whole(*one) for one in FILES]


@functools.cache
def small_files() -> list[Whole]:
    """Return the same with 48 rows and three columns, of which a mutant is read in a millisecond."""
    return [Whole(*one, is_small=True) for one in FILES]


def doors(whole: Whole, seed: int) -> Iterator[tuple[str, Callable[[Path], pa.Table], Callable[[], pa.Table]]]:
    """Each way to read: its name, how it is done, the rows to come, which are made only for what is asked."""
    table = whole.table
    chance = random.Random(seed)
    rows = [chance.randrange(table.num_rows) for _ in range(chance.choice([1, 5, 40]))]
    column = chance.choice(table.column_names)
    low = chance.randrange(table.num_rows)
    wanted = pc.field("key") >= low

    def read(path: Path) -> pa.Table:
        with lance_arrow.LanceFile(path) as file:
            return file.read()

    def read_memory(path: Path) -> pa.Table:
        with lance_arrow.LanceFile(path.read_bytes()) as file:
            return file.read([column])

    def take(path: Path) -> pa.Table:
        with lance_arrow.LanceFile(path) as file:
            return file.take(rows)

    def batches(path: Path) -> pa.Table:
        with lance_arrow.LanceFile(path) as file:
            return pa.Table.from_batches(file.to_batches(batch_size=100), schema=file.schema)

    def scan(path: Path) -> pa.Table:
        return lance_arrow.dataset(path).to_table()

    def scan_filtered(path: Path) -> pa.Table:
        return lance_arrow.dataset(path).to_table(filter=wanted)

    yield "read", read, lambda: table
    yield "read of a column from memory", read_memory, lambda: table.select([column])
    yield "take", take, lambda: table.take(rows)
    yield "to_batches", batches, lambda: table
    yield "dataset", scan, lambda: table
    yield "filtered dataset", scan_filtered, lambda: table.filter(wanted)


def same_rows(rows: pa.Table, expected: pa.Table) -> bool:
    """Whether the rows are equal, whatever their dictionaries."""
    return rows.equals(expected) or rows.to_pylist() == expected.to_pylist()


def attempt(
    whole: Whole,
    path: Path,
    damaged: bytes,
    seed: int,
    error_type: type[LanceError] = CorruptFileError,
    *,
    most_doors: int | None = None,
    is_verified: bool = True,
) -> Outcomes:
    """Read a damaged copy at every door, or some: ``right``, ``noticed`` by an error, or what else came of it."""
    path.write_bytes(damaged)
    outcomes = {}
    asked = list(doors(whole, seed))
    if most_doors is not None:
        asked = random.Random(seed).sample(asked, most_doors)
    for name, read, expected in asked:
        try:
            rows = read(path)
        except error_type:
            outcomes[name] = "noticed"
        # Any other error is a finding.
        except Exception as error:  # noqa: BLE001
            outcomes[name] = f"{type(error).__name__}: {error}"[:300]
        else:
            outcomes[name] = "right" if same_rows(rows, expected()) else "SILENT"
    if not is_verified:
        return outcomes
    try:
        is_sound = lance_arrow.verify(path).ok
    except error_type:
        is_sound = False
    except Exception as error:  # noqa: BLE001
        outcomes["verify"] = f"{type(error).__name__}: {error}"[:300]
        return outcomes
    noticed = "noticed" in outcomes.values()
    outcomes["verify"] = "noticed" if not is_sound else "SILENT" if noticed else "right"
    return outcomes


def flip(files: list[Whole], seed: int, number: int) -> tuple[Whole, int]:
    """File and bit of (seed, number): a third of the bits lie in the last 4 KiB, which steer everything."""
    rng = np.random.default_rng([seed, number])
    whole = files[number % len(files)]
    size = len(whole.content)
    first = max(0, size - 4096) if rng.random() < 1 / 3 else 0
    return whole, int(rng.integers(first * 8, size * 8))


def work(seed: int, first: int, count: int) -> int:
    """The worker: print each number before it is tried, its outcomes after it."""
    files = whole_files()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + count):
            print(f"trying {number}", flush=True)
            whole, bit = flip(files, seed, number)
            signal.alarm(CASE_SECONDS)
            outcomes = attempt(whole, Path(folder) / "damaged.lance", whole.flipped(bit), number)
            signal.alarm(0)
            print(json.dumps({"number": number, "file": whole.name, "bit": bit, "outcomes": outcomes}), flush=True)
    return 0


def run(seed: int, count: int, seconds: float) -> tuple[Counter[str], list[dict]]:
    """Start workers until all is tried: counts over all doors, and everything that may not happen."""
    counts: Counter[str] = Counter()
    failures: list[dict] = []
    first, stop = 0, time.monotonic() + seconds
    while first < count and time.monotonic() < stop:
        command = [sys.executable, str(HERE / "flipped.py"), "--work", *map(str, (seed, first, count - first))]
        left = stop - time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=left, check=False)
            text, code, problem = done.stdout, done.returncode, done.stderr
        except subprocess.TimeoutExpired as error:
            text, code, problem = (error.stdout or b"").decode(), None, ""
        lines = text.splitlines()
        for one in (json.loads(line) for line in lines if line.startswith("{")):
            counts["flips"] += 1
            counts.update(f"{door}: {what.partition(':')[0]}" for door, what in one["outcomes"].items())
            if not set(one["outcomes"].values()) <= {"right", "noticed"}:
                failures.append(one)
        if code in (0, None):
            break
        last = max((int(line.split()[1]) for line in lines if line.startswith("trying")), default=first)
        what = "hung" if code == -signal.SIGALRM else f"ended with {code}"
        failures.append({"number": last, "seed": seed, "error": what, "trace": problem[-1500:]})
        first = last + 1
    return counts, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=2000, help="how many bits to flip, one at a time")
    parser.add_argument("--minutes", type=float, default=60.0, help="when to stop at the latest")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="which bits")
    parser.add_argument("--replay", type=int, nargs=2, metavar=("SEED", "NUMBER"), help="try one flip again")
    parser.add_argument("--work", type=int, nargs=3, metavar="NUMBER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(*options.work)
    if options.replay:
        whole, bit = flip(whole_files(), *options.replay)
        with tempfile.TemporaryDirectory() as folder:
            print(
                whole.name, bit, attempt(whole, Path(folder) / "damaged.lance", whole.flipped(bit), options.replay[1])
            )
        return 0
    counts, failures = run(options.seed, options.flips, options.minutes * 60)
    for failure in failures:
        print(json.dumps(failure, indent=1))
    print("seed", options.seed, json.dumps(dict(sorted(counts.items()))), len(failures), "failures")
    return 1 if failures or counts["flips"] < options.flips else 0


if __name__ == "__main__":
    sys.exit(main())
