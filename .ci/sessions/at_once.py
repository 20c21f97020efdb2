"""Sessions beside each other: each is short of something else, and one alone leaves a processor idle."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import nox

from sessions.common import ROOT


def _run(words: Sequence[str]) -> tuple[str, int, str]:
    """Run a session in a nox of its own; return its words, its exit code and what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "nox", "--session", *words], cwd=ROOT, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return words[0], done.returncode, done.stdout


def at_once(session: nox.Session, *sessions: Sequence[str]) -> None:
    """Run sessions, as many at once as there are processors, in the order given; show each when it has ended.

    All run, also when one fails. What the package's wheel holds must be built before: each would build its own.
    """
    failed = []
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 4)) as workers:
        for one in as_completed([workers.submit(_run, words) for words in sessions]):
            name, code, printed = one.result()
            print(printed, end="", flush=True)
            if code:
                failed.append(name)
    if failed:
        session.error(f"failed: {', '.join(failed)}")
