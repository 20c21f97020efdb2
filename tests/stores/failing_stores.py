"""Reads and commits through a server that fails: what each ends in, and how long it takes.

`python failing_stores.py --reads 10000 --commits 1000` runs as many, and prints the counts. A read is right, or a
located error. A commit is made once, or it is an error and made once or not at all. Anything else is wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from faulty_bucket import PASSING, FaultyBucket, faulty_bucket

import lance_arrow
from lance_arrow import LanceFile, LanceTable
from lance_arrow.errors import LanceError, StoreError

NUM_ROWS = 20_000
ROWS = pa.table({
    "id": np.arange(NUM_ROWS),
    "x": np.random.default_rng(1).random(NUM_ROWS),
    "s": [f"row {number * 7919}" for number in range(NUM_ROWS)],
})  # fmt: skip
FINAL = ("denied", "expired")
SHARES = (0.02, 0.1, 0.3, 1.0)


def by_obstore(server: FaultyBucket) -> tuple[Any, str]:
    """A store of obstore that repeats a request three times, quickly."""
    from datetime import timedelta  # noqa: PLC0415

    brief = {"init_backoff": timedelta(milliseconds=5), "max_backoff": timedelta(milliseconds=20), "base": 2}
    return server.store(retry_config={"max_retries": 3, "backoff": brief}), ""


def by_s3fs(server: FaultyBucket) -> tuple[Any, str]:
    """A filesystem of s3fs that tries twice."""
    import s3fs  # noqa: PLC0415 - for its tests alone

    made = s3fs.S3FileSystem(
        key="key", secret="secret", endpoint_url=server.endpoint, skip_instance_cache=True,
        config_kwargs={"retries": {"total_max_attempts": 2, "mode": "standard"}},
    )  # fmt: skip
    made.retries = 1
    return made, "bucket/"


def by_http(server: FaultyBucket) -> tuple[Any, str]:
    """fsspec's filesystem of HTTP, which repeats nothing."""
    import fsspec  # noqa: PLC0415

    return fsspec.filesystem("http", skip_instance_cache=True), f"{server.endpoint}/bucket/"


CLIENTS: dict[str, Callable[[FaultyBucket], tuple[Any, str]]] = {
    "obstore": by_obstore,
    "s3fs": by_s3fs,
    "http": by_http,
}
AVAILABLE = tuple(name for name in CLIENTS if name != "s3fs" or find_spec("s3fs") is not None)
WRITING = tuple(name for name in AVAILABLE if name != "http")


@dataclass
class Outcomes:
    """Counts of what reads or commits ended in."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    longest_seconds: float = 0.0
    num_late: int = 0

    def note(self, outcome: str, seconds: float, deadline: float) -> None:
        """Count one."""
        self.counts[outcome] += 1
        self.longest_seconds = max(self.longest_seconds, seconds)
        self.num_late += seconds > deadline

    def __str__(self) -> str:
        told = ", ".join(f"{name} {number}" for name, number in sorted(self.counts.items()))
        errors = ", ".join(f"{name} {number}" for name, number in self.errors.most_common())
        return f"{told}; wrong {len(self.wrong)}; late {self.num_late}; longest {self.longest_seconds:.2f} s; {errors}"


def _some_rows(generator: random.Random) -> list[int]:
    return sorted(generator.sample(range(NUM_ROWS), generator.choice((1, 10, 100))))


def read_file(path: str, filesystem: Any, generator: random.Random) -> bool:
    """Read a part of a file by `LanceFile`; returns whether it is right."""
    with LanceFile(path, filesystem=filesystem) as file:
        if generator.random() < 0.5:
            rows = _some_rows(generator)
            return bool(file.take(rows).equals(ROWS.take(rows)))
        return bool(file.read(columns=["x"]).equals(ROWS.select(["x"])))


def read_dataset(path: str, filesystem: Any, generator: random.Random) -> bool:
    """Read a part of a file by a dataset."""
    dataset = lance_arrow.dataset(path, filesystem=filesystem)
    if generator.random() < 0.5:
        rows = _some_rows(generator)
        return bool(dataset.take(rows).equals(ROWS.take(rows)))
    return bool(dataset.to_table(columns=["s"]).equals(ROWS.select(["s"])))


def read_table(path: str, filesystem: Any, generator: random.Random) -> bool:
    """Read a part of a table."""
    table = LanceTable.open(path, filesystem=filesystem)
    if generator.random() < 0.5:
        rows = _some_rows(generator)
        return bool(table.take(rows).equals(ROWS.take(rows)))
    return table.count_rows("id < 100") == 100


DOORS: dict[str, tuple[str, Callable[[str, Any, random.Random], bool]]] = {
    "file": ("file.lance", read_file),
    "bare": ("bare.lance", read_file),
    "dataset": ("file.lance", read_dataset),
    "table": ("table", read_table),
}
"""Names and functions by door; `bare` has no checksums, as files of the reference have none."""


def write_rows(folder: Path) -> None:
    """Write what the doors read."""
    lance_arrow.write_table(ROWS, folder / "file.lance")
    lance_arrow.write_table(ROWS, folder / "bare.lance", checksums=False)
    LanceTable.create(folder / "table", ROWS)


def is_located(error: LanceError) -> bool:
    """Return whether an error names the object, and attempts where it has them."""
    return error.path is not None and (not isinstance(error, StoreError) or error.attempts >= 1)


def run_reads(num_reads: int, seed: int, deadline: float, clients: Sequence[str] = AVAILABLE) -> Outcomes:
    """Read so many times, by each client and door in turn, with faults of all kinds."""
    outcomes = Outcomes()
    generator = random.Random(seed)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_rows(folder)
        kinds = (*PASSING, *FINAL, "silent", "slow")
        with faulty_bucket(folder, seed=seed, kinds=kinds, silent_seconds=0.3, slow_seconds=0.1) as server:
            filesystems = {name: CLIENTS[name](server) for name in clients}
            for number in range(num_reads):
                client = clients[number % len(clients)]
                door = generator.choice([name for name in DOORS if (client, name) != ("http", "table")])
                filesystem, before = filesystems[client]
                name, read = DOORS[door]
                server.share = generator.choices(SHARES, (8, 4, 2, 1))[0]
                begun = time.monotonic()
                try:
                    outcome = "right" if read(f"{before}{name}", filesystem, generator) else "wrong"
                except LanceError as error:
                    outcome = "located" if is_located(error) else "unlocated"
                    outcomes.errors[type(error).__name__] += 1
                except FileNotFoundError as error:
                    outcome = "wrong"
                    outcomes.wrong.append(f"{client} {door} {number}: {error!r}")
                if outcome in ("wrong", "unlocated"):
                    outcomes.wrong.append(f"{client} {door} {number}: {outcome}")
                outcomes.note(outcome, time.monotonic() - begun, deadline)
    return outcomes


def run_commits(num_commits: int, seed: int, deadline: float, clients: Sequence[str] = WRITING) -> Outcomes:
    """Append so many times with faults; afterwards, each row of a commit is there once, or not if it failed."""
    outcomes = Outcomes()
    generator = random.Random(seed)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for client in clients:
            LanceTable.create(folder / client, pa.table({"id": pa.array([-1])}))
        kinds = (*PASSING, "silent", "slow")
        with faulty_bucket(folder, seed=seed, kinds=kinds, silent_seconds=0.3, slow_seconds=0.1) as server:
            done: dict[str, list[int]] = {name: [] for name in clients}
            failed: dict[str, list[int]] = {name: [] for name in clients}
            filesystems = {name: CLIENTS[name](server) for name in clients}
            for number in range(num_commits):
                client = clients[number % len(clients)]
                filesystem, before = filesystems[client]
                server.share = generator.choices(SHARES[:3], (8, 4, 1))[0]
                begun = time.monotonic()
                try:
                    table = LanceTable.open(f"{before}{client}", filesystem=filesystem)
                    table.append(pa.table({"id": [number]}))
                    outcome = "made"
                    done[client].append(number)
                except (LanceError, OSError) as error:
                    outcome = "failed" if isinstance(error, LanceError) else "other error"
                    if outcome == "other error":
                        outcomes.wrong.append(f"{client} {number}: {error!r}")
                    failed[client].append(number)
                    outcomes.errors[type(error).__name__] += 1
                outcomes.note(outcome, time.monotonic() - begun, deadline)
            server.share = 0.0
        for client in clients:
            table = LanceTable.open(folder / client)
            found = Counter(table.to_table()["id"].to_pylist())
            outcomes.wrong += [
                f"{client}: {one} is there {found[one]} times" for one in done[client] if found[one] != 1
            ]
            outcomes.wrong += [
                f"{client}: {one} is there {found[one]} times" for one in failed[client] if found[one] > 1
            ]
            versions = [one.version for one in table.history()]
            if sorted(versions) != list(range(1, table.version + 1)) or table.version != sum(found.values()):
                outcomes.wrong.append(
                    f"{client}: versions {len(versions)} of {table.version}, {sum(found.values())} rows"
                )
            outcomes.counts["failed, but made"] += sum(found[one] for one in failed[client])
            if not lance_arrow.verify(folder / client).ok:
                outcomes.wrong.append(f"{client}: the table is damaged")
    return outcomes


def main() -> int:
    """Run as the arguments say; 1 if anything was wrong or late."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reads", type=int, default=10_000)
    parser.add_argument("--commits", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--deadline", type=float, default=20.0, help="seconds of a read or a commit")
    given = parser.parse_args()
    reads = run_reads(given.reads, given.seed, given.deadline)
    print("reads:", reads, flush=True)
    commits = run_commits(given.commits, given.seed, given.deadline)
    print("commits:", commits, flush=True)
    for one in (*reads.wrong, *commits.wrong):
        print("WRONG", one)
    return int(bool(reads.wrong or commits.wrong or reads.num_late or commits.num_late))


if __name__ == "__main__":
    sys.exit(main())
