"""Runs of a fuzzer: processes that try one mutant after the other, some hundred each, and what came of all of them.

A process prints ``trying N`` before each mutant, so that one that crashes or hangs names its cause; a failure as a line
of JSON; what it counted as the last one. A mutant is made from (seed, N) alone.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from bounded import ENVIRONMENT, Bounds

SLICE = 20_000
"""Mutants of a process. Its start takes as long as some thousands of them."""
MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
"""Where files are made and removed without a disk."""
_HANGS = {-signal.SIGALRM: "hung", -signal.SIGPROF: "took too much time"}


@dataclass(frozen=True)
class Mutant:
    """Damaged bytes, and where they came from.

    Parameters
    ----------
    name
        Of what was whole.
    what
        What was done to it.
    num_bytes
        Size, for the bound on memory.
    read
        Reads it at every door, and returns one word for what came of it. Raises what may not happen.
    """

    name: str
    what: str
    num_bytes: int
    read: Callable[[], str]


@dataclass
class Findings:
    """What came of a run so far."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[dict] = field(default_factory=list)
    most_bytes: int = 0

    @property
    def tried(self) -> int:
        return sum(self.outcomes.values())

    def __str__(self) -> str:
        most = f"{self.most_bytes / (1 << 20):.1f} MiB at most"
        return f"{self.tried:,} mutants {dict(sorted(self.outcomes.items()))}, {len(self.failures)} failures, {most}"


def work(make: Callable[[int], Mutant], seed: int, first: int, count: int, seconds: float) -> None:
    """Try mutants number `first` and on, in a worker process, until all are tried or the time is over."""
    bounds = Bounds()
    outcomes: Counter[str] = Counter()
    stop = time.monotonic() + seconds
    for number in range(first, first + count):
        if time.monotonic() > stop:
            break
        print(f"trying {number}", flush=True)
        mutant = make(number)
        try:
            with bounds.keep(mutant.num_bytes):
                outcome = mutant.read()
        # Any other error is a finding.
        except Exception as error:  # noqa: BLE001
            outcome = "failure"
            print(json.dumps(_failure(mutant, seed, number, repr(error), traceback.format_exc())), flush=True)
        outcomes[outcome] += 1
    print(json.dumps({"outcomes": outcomes, "most_bytes": bounds.most_bytes}), flush=True)


def _failure(mutant: Mutant, seed: int, number: int, error: str, trace: str) -> dict:
    where = {"file": mutant.name, "seed": seed, "number": number, "damage": mutant.what}
    return {**where, "error": error[:500], "trace": trace[-1800:]}


class Run:
    """Workers that try mutants.

    Parameters
    ----------
    script, folder
        What is started, with ``--work FOLDER SEED FIRST COUNT SECONDS``, and the whole files for it.
    make
        Makes the mutant of a number again, to name one that ended its process.
    seed, first, count, seconds
        Which mutants, and how long at most.
    workers
        How many processes at once.
    report
        Gets a line for each failure, and one each time that a process is done.
    """

    def __init__(
        self,
        script: Path,
        folder: Path,
        make: Callable[[int], Mutant],
        seed: int,
        count: int,
        seconds: float,
        *,
        first: int = 0,
        workers: int = 1,
        report: Callable[[str], object] | None = None,
    ) -> None:
        self._command = [sys.executable, str(script), "--work", str(folder), str(seed)]
        self._make, self._seed, self._last = make, seed, first + count
        self._stop = time.monotonic() + seconds
        self._workers, self._report = workers, report
        self._next = first
        self._lock = Lock()
        self._findings = Findings()
        self._num_told = 0
        self._hung: set[int] = set()

    def all(self) -> Findings:
        """Try all; a crash or hang is a failure, and the rest goes on behind it."""
        with tempfile.TemporaryDirectory(prefix="damaged-", dir=MEMORY) as room:
            self._environment = {**os.environ, **ENVIRONMENT, "TMPDIR": room}
            with ThreadPoolExecutor(self._workers) as pool:
                for done in [pool.submit(self._slices) for _ in range(self._workers)]:
                    done.result()
        return self._findings

    def _slices(self) -> None:
        while (left := self._stop - time.monotonic()) > 0:
            with self._lock:
                first, stop = self._next, min(self._next + SLICE, self._last)
                self._next = stop
            if first >= stop:
                return
            while first < stop and left > 0:
                first = self._slice(first, stop, left)
                left = self._stop - time.monotonic()
            if self._report is not None:
                with self._lock:
                    for failure in self._findings.failures[self._num_told :]:
                        self._report(json.dumps(failure, indent=1))
                    self._num_told = len(self._findings.failures)
                    self._report(str(self._findings))

    def _slice(self, first: int, stop: int, seconds: float) -> int:
        """Start one process, and return the number to go on with."""
        command = [*self._command, str(first), str(stop - first), str(seconds)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds + 300,
            check=False,
            env=self._environment,
            errors="replace",
        )
        lines = done.stdout.splitlines()
        results = [json.loads(line) for line in lines if line.startswith("{")]
        tried = [int(line.split()[1]) for line in lines if line.startswith("trying")]
        with self._lock:
            self._findings.failures += [one for one in results if "error" in one]
            for one in results:
                self._findings.outcomes.update(one.get("outcomes", {}))
                self._findings.most_bytes = max(self._findings.most_bytes, one.get("most_bytes", 0))
            if done.returncode == 0:
                return stop
            last = max(tried, default=first)
            if done.returncode == -signal.SIGALRM and last not in self._hung:
                # The clock goes on while a process is stopped for others: a read that hangs does so again.
                self._hung.add(last)
                self._findings.outcomes["tried by a lost worker"] += last - first
                return last
            what = _HANGS.get(done.returncode, f"ended with {done.returncode}")
            mutant = self._make(last)
            self._findings.failures.append(_failure(mutant, self._seed, last, what, done.stderr))
            self._findings.outcomes["failure"] += 1
            self._findings.outcomes["tried by a lost worker"] += last - first
        return last + 1


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return the options that all fuzzers have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, help="how many mutants; as many as the time allows without")
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--minutes", type=float, help="when to stop; one minute without this and --count")
    parser.add_argument("--workers", type=int, default=1, help="processes at once")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="which mutants")
    parser.add_argument("--seeds", type=Path, help="folder of what is whole, kept; made anew without")
    parser.add_argument("--replay", type=int, nargs=2, metavar=("SEED", "NUMBER"), help="try one mutant again")
    parser.add_argument("--work", nargs=5, metavar="ARGUMENT", help=argparse.SUPPRESS)
    return parser


def run(script: Path, folder: Path, make: Callable[[int], Mutant], options: argparse.Namespace) -> int:
    """Try the mutants that the options ask for, print what was found, and return the exit code: failures are 1."""
    is_short = options.count is None and options.minutes is None
    findings = Run(
        script,
        folder,
        make,
        options.seed,
        options.count or 10**9,
        60.0 * (options.minutes or (1 if is_short else 24 * 60)),
        first=options.first,
        workers=options.workers,
        report=functools.partial(print, flush=True),
    ).all()
    print("seed", options.seed, findings)
    return int(bool(findings.failures) or findings.tried < (options.count or 0))
