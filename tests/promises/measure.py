"""Measure what is promised, and write docs/promises.md: `nox -s promises`; `-- histories crashes` for some.

promises.toml ── run ──► results.json (figures, date, state of the sources) ──► docs/promises.md
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results.json"
PAGE = ROOT / "docs" / "promises.md"
_HEAD = """# Promises

What is promised, where it holds, and how it is tested. `nox -s promises` runs the commands and writes this page. Tests
in the folders run every day. Longer runs of the same commands find more.

| Promise | Where | Tests | Command | Found | Seconds | Date |
|---|---|---|---|---|---|---|
"""


def promises() -> list[dict[str, Any]]:
    """Return the promises of `promises.toml`, in order."""
    found: list[dict[str, Any]] = tomllib.loads((HERE / "promises.toml").read_text())["promise"]
    return found


def counted(output: str, patterns: Mapping[str, str]) -> dict[str, int]:
    """Add up the numbers that each pattern finds; a match of other text counts as one.

    Raises
    ------
    ValueError
        Nothing at all is found: the output is not the one that the patterns were written for.
    """
    found = {name: re.findall(pattern, output) for name, pattern in patterns.items()}
    if not any(found.values()):
        raise ValueError(f"no count of {', '.join(patterns)} in the output:\n{output[-2000:]}")
    return {
        name: sum(int(one.replace(",", "")) if one[:1].isdigit() else 1 for one in matches)
        for name, matches in found.items()
    }


def measured(promise: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Run the command of a promise, and return what to keep of it."""
    command = [sys.executable, *shlex.split(promise["run"])[1:]]
    begun = time.perf_counter()
    support = {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **support}, capture_output=True, text=True, check=False)
    seconds = round(time.perf_counter() - begun)
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-2000:], sep="\n", file=sys.stderr)
    return {
        "found": counted(done.stdout, promise["counts"]),
        "is_kept": done.returncode == 0,
        "seconds": seconds,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "source": source,
    }


def page(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the page."""
    rows = []
    for promise in promises():
        result = results.get(promise.get("key", ""))
        told = ["", "", "", ""]
        if "run" in promise:
            command = f"`{promise['run']}`"
            told = [command, "not measured yet", "", ""] if result is None else [command, *_told(result)]
        cells = [promise["says"], promise["where"], f"`{promise['tests']}`", *told]
        rows.append(f"| {' | '.join(cells)} |\n")
    return _HEAD + "".join(rows)


def _told(result: Mapping[str, Any]) -> list[str]:
    found = ", ".join(f"{count:,} {name}" for name, count in sorted(result["found"].items()))
    kept = found if result["is_kept"] else f"**broken**: {found}"
    return [kept, f"{result['seconds']:,}", f"{result['date']} (`{result['source']}`)"]


def _source() -> str:
    """Return the commit of the sources; what was measured before belongs to none."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    own = [f":!{path.relative_to(ROOT).as_posix()}" for path in (RESULTS, PAGE)]
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *own)
    return git("describe", "--always") + "-dirty" * bool(changed)


def read_results() -> dict[str, dict[str, Any]]:
    """Return what was measured before, by promise."""
    found: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the page."""
    known = {promise["key"]: promise for promise in promises() if "run" in promise}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("keys", nargs="*", help=f"some of {', '.join(known)}; all when none is named")
    parser.add_argument("--page", action="store_true", help="write the page of what was measured before")
    asked = parser.parse_args(arguments)
    unknown = set(asked.keys) - set(known)
    if unknown:
        parser.error(f"no such promise: {', '.join(sorted(unknown))}")
    results = read_results()
    source = _source()
    broken = 0
    for key in [] if asked.page else asked.keys or known:
        result = results[key] = measured(known[key], source)
        broken += not result["is_kept"]
        print(f"{key}: {_told(result)[0]} in {result['seconds']} s", flush=True)
        # What was measured is kept, also if a later one is interrupted.
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(results))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
