"""Many processes write one table at once; then every version is compared with its operation done to the one before.

That is what a serial order is. An operation that read an older version need not know the rows that were added since: it
comes before those appends, then. Each operation tells what it does in its message. `nox -s crowd` runs 16 processes of
100 appends, and a mixture, here or (``--at s3``, ``--at azure``) through a server; `tests/table/test_crowd.py` a few.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "support"))

import pyarrow as pa
from running import SERVERS

from lance_arrow import LanceTable
from lance_arrow.errors import CommitConflictError
from lance_arrow.manifests.fragments import FragmentMeta

Row = tuple[int, int]
# What fsspec is to be given, for the processes that write.
OPTIONS = "LANCE_ARROW_CROWD_OPTIONS"
ROLES = ("append", "delete", "update", "merge", "compact")


def rows_of(ids: Sequence[int]) -> pa.Table:
    """New rows, which nobody has counted yet."""
    return pa.table({"id": pa.array(ids, pa.int64()), "n": pa.array([0] * len(ids), pa.int64())})


def work(path: str, role: str, worker: int, steps: int) -> None:
    """Do operations of one kind, each to a table that is opened anew; what others make impossible, again."""
    options = json.loads(os.environ.get(OPTIONS, "null"))
    for step in range(steps):
        number = worker * 10_000 + step
        told = {"do": role, "number": number}
        while True:
            try:
                _do(LanceTable.open(path, storage_options=options), told)
                break
            except CommitConflictError as error:
                if not error.retryable:
                    raise


def _do(table: LanceTable, told: dict[str, Any]) -> None:
    message, number = json.dumps(told), told["number"]
    if told["do"] == "append":
        table.append(rows_of([number]), message=message)
    elif told["do"] == "delete":
        table.delete(f"id % 31 = {number % 31}", message=message)
    elif told["do"] == "update":
        table.update({"n": "n + 1"}, f"id % 7 = {number % 7}", message=message)
    elif told["do"] == "merge":
        merge = table.merge(rows_of([number % 50, number]), on="id")
        merge.when_matched_update_all().when_not_matched_insert_all().execute(message=message)
    else:
        table.compact(target_rows_per_fragment=100, message=message)


def applied(rows: Counter[Row], told: dict[str, Any]) -> Counter[Row]:
    """What an operation makes of rows."""
    number = told["number"]
    if told["do"] == "append":
        return rows + Counter([(number, 0)])
    if told["do"] == "delete":
        return Counter({row: count for row, count in rows.items() if row[0] % 31 != number % 31})
    if told["do"] == "update":
        made: Counter[Row] = Counter()
        for (one, n), count in rows.items():
            made[one, n + (one % 7 == number % 7)] += count
        return made
    if told["do"] == "merge":
        keys = {number % 50, number}
        found = Counter(one for (one, _), count in rows.items() for _ in range(count) if one in keys)
        kept = Counter({row: count for row, count in rows.items() if row[0] not in keys})
        return kept + Counter({(key, 0): max(1, found[key]) for key in keys})
    return rows


def _added_since(base: Counter[Row], rows: Counter[Row]) -> Counter[Row]:
    """Return the rows with ids that nobody had before."""
    known = {one for one, _ in base}
    return Counter({row: count for row, count in rows.items() if row[0] not in known})


class Rows:
    """Rows of versions; those of a fragment that several have are read once."""

    def __init__(self) -> None:
        self._read: dict[FragmentMeta, Counter[Row]] = {}

    def of(self, version: LanceTable) -> Counter[Row]:
        """Return the rows of a version."""
        metas = list(version.manifest.fragments)
        if not all(meta in self._read for meta in metas):
            for meta, fragment in zip(metas, version.dataset().get_fragments(), strict=True):
                if meta not in self._read:
                    rows = fragment.to_table(columns=["id", "n"])
                    self._read[meta] = Counter(zip(rows["id"].to_pylist(), rows["n"].to_pylist(), strict=True))
        found: Counter[Row] = Counter()
        for meta in metas:
            found.update(self._read[meta])
        return found


def check(path: str, expected: Counter[str], options: Mapping[str, Any] | None = None) -> int:
    """Compare every version with the one before it; returns how many there are.

    Raises
    ------
    AssertionError
        One is no such thing, an operation is missing or came twice, or there is a gap.
    """
    table = LanceTable.open(path, storage_options=options)
    history = table.history()[::-1]
    assert [one.version for one in history] == list(range(1, len(history) + 1)), "there is a gap"
    done: Counter[str] = Counter(one.message for one in history if one.message is not None)
    # A compaction that is not worth it makes no version.
    missing = {message: count for message, count in (expected - done).items() if json.loads(message)["do"] != "compact"}
    assert not missing, missing
    assert not done - expected, done - expected
    rows: Counter[Row] = Counter()
    read = Rows()
    states: dict[int, Counter[Row]] = {}
    for one in history:
        found = read.of(table.checkout(one.version))
        if one.version > 1:
            told = {"do": "compact", "number": 0} if one.message is None else json.loads(one.message)
            after = applied(rows, told)
            base = states.get(one.transaction.read_version, rows) if one.transaction is not None else rows
            unseen = _added_since(base, rows)
            before = applied(rows - unseen, told) + unseen
            assert found in (after, before), (one.version, told, found - after, after - found)
        rows = states[one.version] = found
    return len(history)


def run(
    path: Path | str, roles: Sequence[str], steps: int, *, stable: bool, options: Mapping[str, Any] | None = None
) -> tuple[int, float]:
    """Let one process for each role work at once; returns versions made, and seconds taken."""
    first = rows_of(range(40))
    LanceTable.create(path, first, max_rows_per_file=10, enable_stable_row_ids=stable, storage_options=options)
    environment = {**os.environ, OPTIONS: json.dumps(options)}
    started = time.perf_counter()
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, "--work", str(path), role, str(number), str(steps)], env=environment
        )
        for number, role in enumerate(roles, start=1)
    ]
    codes = [worker.wait() for worker in workers]
    seconds = time.perf_counter() - started
    assert not any(codes), codes
    return check(str(path), Counter(_messages(roles, steps)), options), seconds


@contextmanager
def place(at: str) -> Iterator[tuple[str, Mapping[str, Any] | None, Callable[[], int]]]:
    """A folder here, or on a server that is started and stopped again; what fsspec is to be given; requests so far."""
    with tempfile.TemporaryDirectory() as folder:
        if at == "local":
            yield folder, None, lambda: 0
            return
        with SERVERS[at](Path(folder)) as server:
            log = Path(folder, "server.log")
            yield server.root, dict(server.options), lambda: log.read_bytes().count(b" HTTP/1.1")


def _messages(roles: Sequence[str], steps: int) -> Iterator[str]:
    for worker, role in enumerate(roles, start=1):
        yield from (json.dumps({"do": role, "number": worker * 10_000 + step}) for step in range(steps))


def main() -> int:
    """Run both crowds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", nargs=4, metavar=("PATH", "ROLE", "NUMBER", "STEPS"), help="be one of the writers")
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--at", choices=("local", "s3", "azure"), default="local")
    parser.add_argument("--only", choices=("appends", "mixed"))
    arguments = parser.parse_args()
    if arguments.work:
        path, role, number, steps = arguments.work
        work(path, role, int(number), int(steps))
        return 0
    crowds = {
        "appends": (["append"] * arguments.processes, arguments.steps),
        "mixed": ([ROLES[at % len(ROLES)] for at in range(arguments.processes)], max(1, arguments.steps // 10)),
    }
    with place(arguments.at) as (root, options, num_requests):
        for name, (roles, steps) in crowds.items():
            if arguments.only in (None, name):
                before = num_requests()
                versions, seconds = run(f"{root}/{name}.lance", roles, steps, stable=True, options=options)
                requests = f", {(num_requests() - before) / versions:.0f} requests each" if num_requests() else ""
                asked = f"{name} on {arguments.at}: {len(roles)} processes x {steps}"
                print(
                    f"{asked}: {versions} versions, each follows from the one before, {seconds:.0f} s{requests}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
