"""Compare many random tables with the reference: `python tests/differential/run.py --version 2.2 --count 2000`.

The reference writes and both read; with `--written`, we write and both read.

One table: `python tests/differential/run.py --version 2.2 --seed 123`. The tables are read by processes of their own:
one that dies is a failure of the table it had begun.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

from compare import Outcome, compare  # noqa: E402
from random_tables import random_case  # noqa: E402
from witness import Witness  # noqa: E402
from written import compare_written  # noqa: E402

VERSIONS = ("2.0", "2.1", "2.2", "2.3")
SHORT, LONG = 2_000, 20_000
SHOWN_FAILURES = 20
STRIDE_SEEDS = 250
# A table that takes longer hangs: its process ends, with the stack on stderr.
MOST_SECONDS = 900


Compare = Callable[[Witness, Path, str, int], Outcome]
DIRECTIONS: dict[str, Compare] = {"read": compare, "written": compare_written}


def work(direction: str, version: str, first: int, stop: int) -> None:
    """Compare the tables of a range of seeds, printing a line before and a JSON line after each.

    Ends the process when one table takes too long.
    """
    with tempfile.TemporaryDirectory() as folder:
        witness = Witness(Path(folder), timeout_seconds=60)
        try:
            for seed in range(first, stop):
                print(seed, flush=True)
                faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
                print(DIRECTIONS[direction](witness, Path(folder), version, seed).to_json(), flush=True)
        finally:
            witness.close()


def outcomes(direction: str, version: str, first: int, stop: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield seed and outcome of each table, starting another process behind a table that killed one."""
    while first < stop:
        command = [sys.executable, str(HERE / "run.py"), "--worker", direction, version, str(first), str(stop)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            answered = True
            for line in process.stdout:
                if line.startswith("{"):
                    answered = True
                    yield first, json.loads(line)
                    first += 1
                else:
                    first, answered = int(line), False
        if process.returncode:
            if answered:
                raise RuntimeError(f"the comparing process ended with {process.returncode} between two tables")
            yield (
                first,
                {
                    "refused": None,
                    "reference_differs": [],
                    "unsupported": [],
                    "failures": [f"the process ended with code {process.returncode}"],
                },
            )
            first += 1


class Summary:
    """Counts of one version.

    Parameters
    ----------
    version
        What is counted here, in one word.
    command
        How one table is repeated, but for its seed.
    """

    def __init__(self, version: str, command: str) -> None:
        self.version = version
        self.command = command
        self.counts: Counter[str] = Counter()
        self.reasons: dict[str, Counter[str]] = {"unsupported": Counter(), "refused": Counter(), "differs": Counter()}
        self.failures: list[tuple[int | str, str]] = []
        self.seconds = 0.0

    def add(self, seed: int | str, outcome: dict[str, Any]) -> None:
        """Count one table under the first of: failure, refused, reference differs, unsupported, equal."""
        self.counts["tables"] += 1
        self.counts["columns"] += outcome.get("compared", 0)
        self.reasons["unsupported"].update(outcome.get("unsupported", []))
        self.counts["undecided"] += bool(outcome.get("undecided"))
        for text in outcome.get("reference_differs", []):
            self.reasons["differs"][_general(text)] += 1
        if outcome["failures"]:
            self.counts["failures"] += 1
            self.failures.append((seed, "; ".join(outcome["failures"])))
        elif outcome["refused"] is not None:
            self.counts["refused"] += 1
            self.reasons["refused"][_general(outcome["refused"])] += 1
        elif outcome["reference_differs"]:
            self.counts["differs"] += 1
        elif outcome["unsupported"]:
            self.counts["unsupported"] += 1
        else:
            self.counts["equal"] += 1


def summarise(direction: str, version: str, first: int, stop: int, jobs: int) -> Summary:
    """Compare the tables of a range of seeds, `jobs` processes at a time."""
    word = " --written" if direction == "written" else ""
    summary = Summary(f"{version}{word}", f"python tests/differential/run.py{word} --version {version} --seed")
    started, known_failures = time.perf_counter(), 0
    starts = range(first, stop, STRIDE_SEEDS)
    with ThreadPoolExecutor(jobs) as pool:
        spans = pool.map(
            lambda start: list(outcomes(direction, version, start, min(start + STRIDE_SEEDS, stop))), starts
        )
        for span in spans:
            for seed, outcome in span:
                summary.add(seed, outcome)
            summary.seconds = time.perf_counter() - started
            # Long runs are watched: what is known so far goes to stderr.
            print(f"{summary.version} {summary.seconds:6.0f} s {dict(summary.counts)}", file=sys.stderr, flush=True)
            for seed, text in summary.failures[known_failures:]:
                print(f"FAILED {summary.command} {seed}: {text}", file=sys.stderr, flush=True)
            known_failures = len(summary.failures)
    return summary


def _general(text: str) -> str:
    """Cut what varies from table to table, so that equal reasons count together."""
    text = re.sub(r"(?:/[^\s/:]+)+/", "", text)
    return re.sub(r"\d+", "#", re.sub(r"'[^']*'|\"[^\"]*\"|b'.*", "…", text))[:110]


def report(summaries: list[Summary], show_reasons: bool) -> None:
    """Print the table of counts, then reasons and failures."""
    names = ("tables", "columns", "equal", "refused", "differs", "undecided", "unsupported", "failures")
    print("version            seconds  " + "  ".join(f"{name:>11}" for name in names))
    for summary in summaries:
        print(
            f"{summary.version:17}  {summary.seconds:7.0f}  "
            + "  ".join(f"{summary.counts[name]:11,}" for name in names)
        )
    print("refused: the writer did not write it; differs: the reference reads other than it was given, and ours")
    print("equals one of both, unless undecided; unsupported: some column of it, the others are equal.")
    for summary in summaries:
        for kind, reasons in summary.reasons.items():
            for reason, count in reasons.most_common() if show_reasons or kind == "unsupported" else ():
                print(f"{summary.version:10} {kind:11} {count:6,}  {reason}")
        for seed, text in summary.failures[:SHOWN_FAILURES]:
            print(f"FAILED {summary.command} {seed}\n  {text}")


def show_one(direction: str, version: str, seed: int) -> int:
    """Print the table of one seed, its encodings and its outcome."""
    case = random_case(seed, version)
    print(case.table.schema.to_string(truncate_metadata=False))
    print("rows per batch:", [len(batch) for batch in case.table.to_batches()], "slices:", case.slices)
    with tempfile.TemporaryDirectory() as folder:
        witness = Witness(Path(folder), timeout_seconds=60)
        try:
            outcome = DIRECTIONS[direction](witness, Path(folder), version, seed)
        finally:
            witness.close()
    print(json.dumps(json.loads(outcome.to_json()), indent=2))
    return 1 if outcome.failures else 0


def main() -> int:
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", action="append", choices=VERSIONS, help="file version; default all")
    parser.add_argument("--written", action="store_true", help="tables that we write")
    parser.add_argument("--seed", type=int, help="only this table, shown in full")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, help=f"tables per version; default {SHORT:,}")
    parser.add_argument("--long", action="store_true", help=f"{LONG:,} tables per version")
    parser.add_argument("--reasons", action="store_true", help="also print why the reference refused or differs")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4))
    options = parser.parse_args()
    versions = options.version or list(VERSIONS)
    direction = "written" if options.written else "read"
    if options.seed is not None:
        return max(show_one(direction, version, options.seed) for version in versions)
    count = options.count or (LONG if options.long else SHORT)
    summaries = [
        summarise(direction, version, options.first, options.first + count, options.jobs) for version in versions
    ]
    report(summaries, options.reasons)
    return 1 if any(summary.failures for summary in summaries) else 0


if __name__ == "__main__":
    sys.exit(main())
