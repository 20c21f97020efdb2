"""Read and write two tables for an hour, with faults: memory, descriptors and threads stay flat.

`python tests/soak/mixed.py --minutes 60`. One table is on the disk, the other behind a server in a process of its own
that fails one request in twenty. Threads of this process append, delete, update, merge, compact and clean up; others
scan, take, filter, count, and leave scans early. Writers in processes of their own are killed. Each row holds what its
key says, each key is there once, and at the end both tables verify.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import gc
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "support"))
# Arrow's own allocator keeps free memory for each of a hundred threads, which would hide what the package holds.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

import psutil
import pyarrow as pa
from faulty_bucket import PASSING, faulty_bucket

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.errors import CommitConflictError, CorruptFileError, LanceError, StoreError, TruncatedReadError
from lance_arrow.runtime import default_runtime

FAILING_SHARE = 0.05
WRITERS = READERS = 2
"""Threads of each kind for each table."""
FAR, NEAR = "far", "near"
NEAR_ERRORS = (CommitConflictError,)
# The server also answers with other bytes than those that were asked for, which checksums notice.
FAR_ERRORS = (CommitConflictError, StoreError, CorruptFileError, TruncatedReadError)
KEPT_ROWS = 2000
KILLED_KEYS = 1 << 40
"""Writers that are killed have keys above all others: they do not tell how many they appended."""
# Every version is read by each cleanup, as long as it is kept.
_APPEND_SECONDS = 0.05
_TURNS_UNTIL_REST = 20
_SETTLE_SECONDS = 11.0
"""What a scan that was left early reads ahead ends a little later; idle threads of obstore's runtime after ten."""
_MOST_ACT_SECONDS = 120.0
_MOST_THREADS = 256
"""More than any pool has."""
KEPT_FOR = datetime.timedelta(seconds=60)
MAX_GROWTH_BYTES = 32 << 20
MAX_MORE_DESCRIPTORS = MAX_MORE_THREADS = 4
WARM = 0.2
"""Share of the time after which nothing grows: caches and modules are filled."""


def rows_of(first: int, count: int) -> pa.Table:
    """Rows whose columns follow from their keys."""
    keys = list(range(first, first + count))
    return pa.table({"key": keys, "word": [word_of(key) for key in keys], "turn": [0] * count})


def word_of(key: int) -> str:
    return f"word {key * 7919 % 9973}"


class Gate:
    """Lets threads act, or waits until none does, so that what is held is counted at rest."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._acting = 0
        self._is_open = True

    @contextmanager
    def act(self) -> Iterator[None]:
        """Count as acting; begins when the gate is open."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_open)
            self._acting += 1
        try:
            yield
        finally:
            with self._changed:
                self._acting -= 1
                self._changed.notify_all()

    @contextmanager
    def rest(self, seconds: float) -> Iterator[None]:
        """Keep the gate closed; raises `AssertionError` if an act does not end within so many seconds."""
        with self._changed:
            self._is_open = False
            is_quiet = self._changed.wait_for(lambda: not self._acting, seconds)
        try:
            if not is_quiet:
                raise AssertionError(f"{self._acting} acts did not end within {seconds:.0f} s")
            yield
        finally:
            with self._changed:
                self._is_open = True
                self._changed.notify_all()


@dataclass
class Soak:
    """One table that threads read and write until they are told to stop.

    Parameters
    ----------
    path, filesystem
        Of the table.
    expected
        Errors that an act may end in.
    gate
        Each act waits for it.
    first_living
        Keys from `KILLED_KEYS` to this one are of writers that were killed.
    """

    path: str
    filesystem: Any
    expected: tuple[type[LanceError], ...]
    gate: Gate
    stop: threading.Event = field(default_factory=threading.Event)
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    first_living: int = KILLED_KEYS
    _next: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self) -> LanceTable:
        return LanceTable.open(self.path, filesystem=self.filesystem)

    def claim(self, count: int) -> int:
        """Return the first of so many keys; no other call returns one of them."""
        with self._lock:
            self._next += count
            return self._next - count

    def work(self, acts: list[Callable[[Soak, random.Random], None]], seed: int) -> None:
        """Do one act after the other, drawn at random; errors of `expected` kinds are what faults give."""
        chance = random.Random(seed)
        while not self.stop.is_set():
            act = chance.choice(acts)
            try:
                with self.gate.act():
                    act(self, chance)
                outcome = act.__name__
            except self.expected as error:
                outcome = type(error).__name__
            # Errors of other kinds are what this looks for.
            except Exception as error:  # noqa: BLE001
                outcome = "wrong"
                self.wrong.append(f"{self.path} {act.__name__}: {error!r}")
            with self._lock:
                self.counts[outcome] += 1


def append(soak: Soak, chance: random.Random) -> None:
    count = chance.choice((1, 20, 100))
    soak.open().append(rows_of(soak.claim(count), count))


def delete(soak: Soak, chance: random.Random) -> None:
    """Some rows, and all that are old or of killed writers, so that the table stays as large as it is."""
    is_old = f"key < {soak.claim(0) - KEPT_ROWS} OR (key >= {KILLED_KEYS} AND key < {soak.first_living})"
    soak.open().delete(f"key % 97 = {chance.randrange(97)} OR {is_old}")


def update(soak: Soak, chance: random.Random) -> None:
    soak.open().update({"turn": "turn + 1"}, f"key % 53 = {chance.randrange(53)}")


def merge(soak: Soak, chance: random.Random) -> None:
    rows = rows_of(soak.claim(10), 10)
    soak.open().merge(rows, on="key").when_matched_update_all().when_not_matched_insert_all().execute()


def compact(soak: Soak, chance: random.Random) -> None:
    soak.open().compact(target_rows_per_fragment=500)


def cleanup(soak: Soak, chance: random.Random) -> None:
    """Versions that readers opened a while ago stay."""
    soak.open().cleanup(older_than=KEPT_FOR, dry_run=False)


def scan(soak: Soak, chance: random.Random) -> None:
    _check(soak.open().to_table(columns=["key", "word"]))


def filtered(soak: Soak, chance: random.Random) -> None:
    low = soak.claim(0) - chance.randrange(KEPT_ROWS)
    table = soak.open()
    found = table.to_table(filter=f"key >= {low} AND key < {low + 50}")
    _check(found)
    if found.num_rows != table.count_rows(f"key >= {low} AND key < {low + 50}"):
        raise AssertionError("a count differs from the rows of one version")


def take(soak: Soak, chance: random.Random) -> None:
    table = soak.open()
    count = table.count_rows()
    if count:
        _check(table.take(sorted(chance.sample(range(count), min(count, 30)))))


def left_early(soak: Soak, chance: random.Random) -> None:
    batches = soak.open().to_batches(batch_size=10)
    for _ in range(chance.randrange(4)):
        next(iter(batches), None)


def dataset(soak: Soak, chance: random.Random) -> None:
    found = lance_arrow.dataset(soak.path, filesystem=soak.filesystem)
    _check(found.to_table(columns=["key", "word"]))


WRITES: list[Callable[[Soak, random.Random], None]] = [append, append, append, delete, update, merge, compact, cleanup]
READS: list[Callable[[Soak, random.Random], None]] = [scan, filtered, take, left_early, dataset]


def _check(rows: pa.Table) -> None:
    keys = rows["key"].to_pylist()
    if len(set(keys)) != len(keys):
        raise AssertionError("a key is there twice")
    if rows["word"].to_pylist() != [word_of(key) for key in keys]:
        raise AssertionError("a row holds what its key does not say")


def serve(folder: str, seed: int, pipe: Connection) -> None:
    """Serve a folder, until the other end of the pipe is closed."""
    with faulty_bucket(Path(folder), seed=seed, kinds=(*PASSING, "slow"), slow_seconds=0.1) as server:
        pipe.send(server.server_address[1])
        server.share = FAILING_SHARE
        with suppress(EOFError):
            pipe.recv()


def append_for_ever(path: str, first: int) -> None:
    """Append, until somebody kills this process, or the one that began it."""
    table, parent = LanceTable.open(path), multiprocessing.parent_process()
    assert parent is not None
    for number in range(first, first + 1_000_000):
        if not parent.is_alive():
            return
        table.append(rows_of(number, 1))
        time.sleep(_APPEND_SECONDS)


_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
"""Of glibc: gives free memory of all arenas back to the system."""


@dataclass(frozen=True)
class Held:
    """What the process holds at one moment."""

    memory_bytes: int
    descriptors: int
    threads: int


def held(process: psutil.Process) -> Held:
    """Return what is held, without what the allocator keeps of memory that is free."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    if _trim is not None:
        _trim(0)
    return Held(process.memory_info().rss, process.num_fds(), process.num_threads())


def grown(samples: list[Held]) -> tuple[Held, Held]:
    """Return what was held in the first and in the last third of the time after the warm-up.

    Of memory that is the median. Of threads and descriptors it is the least: what leaks stays, and how many connections
    wait for more requests depends on what was read last.
    """
    warm = samples[int(len(samples) * WARM) :]
    third = max(1, len(warm) // 3)

    def of(some: list[Held]) -> Held:
        memory_bytes = int(statistics.median(one.memory_bytes for one in some))
        return Held(memory_bytes, min(one.descriptors for one in some), min(one.threads for one in some))

    return of(warm[:third]), of(warm[-third:])


def fill_pools() -> None:
    """Start all threads that pools may have: which of them are needed, and when, is chance."""
    runtime = default_runtime()
    for is_far in (False, True):
        list(runtime.ahead(time.sleep, [0.1] * _MOST_THREADS, num_ahead=_MOST_THREADS, is_far=is_far))


def run(minutes: float, folder: Path, seed: int) -> str:
    """Soak; raises `AssertionError` for what is wrong, or grows."""
    from obstore.store import S3Store  # noqa: PLC0415 - an extra of the tests

    for name in (FAR, NEAR):
        LanceTable.create(folder / name, rows_of(0, 100), enable_stable_row_ids=name == NEAR)
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    server = context.Process(target=serve, args=(str(folder), seed, theirs), daemon=True)
    server.start()
    theirs.close()
    store = S3Store(
        "bucket", endpoint=f"http://127.0.0.1:{pipe.recv()}", access_key_id="key", secret_access_key="secret",
        region="us-east-1", client_options={"allow_http": True}, retry_config={"max_retries": 3},
    )  # fmt: skip
    gate = Gate()
    soaks = [
        Soak(FAR, store, FAR_ERRORS, gate, _next=100),
        Soak(str(folder / NEAR), None, NEAR_ERRORS, gate, _next=100),
    ]
    threads = [
        threading.Thread(target=soak.work, args=(acts, seed * 1000 + number), daemon=True)
        for soak in soaks
        for acts, count in ((WRITES, WRITERS), (READS, READERS))
        for number in range(count)
    ]
    fill_pools()
    own, samples, killed = psutil.Process(os.getpid()), [], 0
    for thread in threads:
        thread.start()
    begun = time.monotonic()
    chance = random.Random(seed)
    while time.monotonic() - begun < minutes * 60:
        first = KILLED_KEYS | killed << 20
        soaks[1].first_living = first
        victim = context.Process(target=append_for_ever, args=(str(folder / NEAR), first), daemon=True)
        victim.start()
        victim.join(chance.uniform(2.0, 6.0))
        victim.kill()
        victim.join()
        victim.close()
        killed += 1
        # A short soak looks once, at its end.
        if killed % _TURNS_UNTIL_REST == 0 or (not samples and time.monotonic() - begun >= minutes * 60):
            with gate.rest(_MOST_ACT_SECONDS):
                time.sleep(_SETTLE_SECONDS)
                samples.append(held(own))
    for soak in soaks:
        soak.stop.set()
    for thread in threads:
        thread.join(120)
    alive = sum(thread.is_alive() for thread in threads)
    pipe.close()
    server.join(10)
    found = [lance_arrow.verify(folder / name).ok for name in (FAR, NEAR)]
    before, after = grown(samples)
    counts = sum((soak.counts for soak in soaks), Counter())
    told = ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
    said = (
        f"{sum(counts.values()):,} operations in {time.monotonic() - begun:.0f} s, {killed} killed writers, "
        f"{len(samples)} samples: memory {(after.memory_bytes - before.memory_bytes) / (1 << 20):+.1f} MiB of "
        f"{after.memory_bytes / (1 << 20):.0f}, descriptors {after.descriptors - before.descriptors:+} of "
        f"{after.descriptors}, threads {after.threads - before.threads:+} of {after.threads}; {told}"
    )
    wrong = [one for soak in soaks for one in soak.wrong]
    is_flat = (
        after.memory_bytes - before.memory_bytes <= MAX_GROWTH_BYTES
        and after.descriptors - before.descriptors <= MAX_MORE_DESCRIPTORS
        and after.threads - before.threads <= MAX_MORE_THREADS
    )
    if wrong or alive or not all(found) or not is_flat:
        raise AssertionError(f"{said}\n{alive} threads do not end; tables verify: {found}\n" + "\n".join(wrong[:20]))
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(run(options.minutes, Path(folder), options.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
