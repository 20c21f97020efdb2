"""Many processes write one table at once; then every version is compared with its operation done to the one before.

That is what a serial order is. An operation that read an older version need not know the rows that were added since: it
comes before those appends, then. Each operation tells what it does in its message. `nox -s crowd` runs 16 processes of
100 appends, and a mixture; `tests/table/test_crowd.py` a few.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from lance_arrow import LanceTable
from lance_arrow.errors import CommitConflictError

Row = tuple[int, int]
ROLES = ("append", "delete", "update", "merge", "compact")


def rows_of(ids: Sequence[int]) -> pa.Table:
    """New rows, which nobody has counted yet."""
    return pa.table({"id": pa.array(ids, pa.int64()), "n": pa.array([0] * len(ids), pa.int64())})


def work(path: str, role: str, worker: int, steps: int) -> None:
    """Do operations of one kind, each to a table that is opened anew; what others make impossible, again."""
    for step in range(steps):
        number = worker * 10_000 + step
        told = {"do": role, "number": number}
        while True:
            try:
                _do(LanceTable.open(path), told)
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


def check(path: str, expected: Counter[str]) -> int:
    """Compare every version with the one before it; returns how many there are.

    Raises
    ------
    AssertionError
        One is no such thing, an operation is missing or came twice, or there is a gap.
    """
    table = LanceTable.open(path)
    history = table.history()[::-1]
    assert [one.version for one in history] == list(range(1, len(history) + 1)), "there is a gap"
    done: Counter[str] = Counter(one.message for one in history if one.message is not None)
    # A compaction that is not worth it makes no version.
    missing = {message: count for message, count in (expected - done).items() if json.loads(message)["do"] != "compact"}
    assert not missing, missing
    assert not done - expected, done - expected
    rows: Counter[Row] = Counter()
    states: dict[int, Counter[Row]] = {}
    for one in history:
        version = table.checkout(one.version).to_table(columns=["id", "n"])
        found = Counter(zip(version["id"].to_pylist(), version["n"].to_pylist(), strict=True))
        if one.version > 1:
            told = {"do": "compact", "number": 0} if one.message is None else json.loads(one.message)
            after = applied(rows, told)
            base = states.get(one.transaction.read_version, rows) if one.transaction is not None else rows
            unseen = _added_since(base, rows)
            before = applied(rows - unseen, told) + unseen
            assert found in (after, before), (one.version, told, found - after, after - found)
        rows = states[one.version] = found
    return len(history)


def run(path: Path, roles: Sequence[str], steps: int, *, stable: bool) -> tuple[int, float]:
    """Let one process for each role work at once; returns versions made, and seconds taken."""
    LanceTable.create(path, rows_of(range(40)), max_rows_per_file=10, enable_stable_row_ids=stable)
    started = time.perf_counter()
    workers = [
        subprocess.Popen([sys.executable, __file__, "--work", str(path), role, str(number), str(steps)])
        for number, role in enumerate(roles, start=1)
    ]
    codes = [worker.wait() for worker in workers]
    seconds = time.perf_counter() - started
    assert not any(codes), codes
    return check(str(path), Counter(_messages(roles, steps))), seconds


def _messages(roles: Sequence[str], steps: int) -> Iterator[str]:
    for worker, role in enumerate(roles, start=1):
        yield from (json.dumps({"do": role, "number": worker * 10_000 + step}) for step in range(steps))


def main() -> int:
    """Run both crowds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", nargs=4, metavar=("PATH", "ROLE", "NUMBER", "STEPS"), help="be one of the writers")
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    if arguments.work:
        path, role, number, steps = arguments.work
        work(path, role, int(number), int(steps))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for name, roles, steps in (
            ("appends", ["append"] * arguments.processes, arguments.steps),
            ("mixed", [ROLES[at % len(ROLES)] for at in range(arguments.processes)], max(1, arguments.steps // 10)),
        ):
            versions, seconds = run(Path(folder) / f"{name}.lance", roles, steps, stable=True)
            asked = f"{len(roles)} processes x {steps}"
            print(f"{name}: {asked}: {versions} versions, each follows from the one before, {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
