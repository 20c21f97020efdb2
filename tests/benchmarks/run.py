"""Scans, opens and takes of six tables, beside the reference package and Vortex in one interleaved run.

Run by `nox -s bench`; prints one line per case: medians in milliseconds, and the medians of the ratios of neighbouring
runs (ours / the reference's faster reader, ours / Vortex). Nothing here is a test: times are compared, never asserted.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Comparison, interleaved, median_ratio
from readers import ALL_OURS, REFERENCES, VORTEX, Readers, check, prepared, readers
from tables import SEED, TABLES

from lance_arrow.errors import UnsupportedError

TAKES = (1, 10, 100, 1_000, 10_000)
CASES = ("scan", "open", *(f"take-{count}" for count in TAKES))
VERSIONS = ("2.1", "2.2")
# Short calls are measured more often: their medians are the ones that noise can move.
_RUNS = {"open": 8, "take-1": 8, "take-10": 6, "take-100": 4, "take-1000": 2}


def compare(
    name: str,
    version: str,
    case: str,
    calls: Mapping[str, Callable[..., object]],
    arguments: list[dict[str, tuple[Any, ...]]],
) -> Iterator[Comparison]:
    """Measure one case; yield a line for each reader of ours."""
    samples = interleaved(calls, arguments)
    best = min((one for one in REFERENCES if one in samples), key=lambda one: samples[one].median_ms)
    for ours in ALL_OURS:
        if ours in samples:
            mine, theirs, other = samples[ours], samples[best], samples[VORTEX]
            yield Comparison(
                name,
                version,
                case,
                ours,
                mine.median_ms,
                best,
                theirs.median_ms,
                median_ratio(mine.seconds, theirs.seconds),
                median_ratio(mine.cpu_seconds, theirs.cpu_seconds),
                other.median_ms,
                median_ratio(mine.seconds, other.seconds),
            )


def cases(found: Readers, num_rows: int, wanted: list[str], runs: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, calls and arguments of each wanted case that the table has rows for."""
    for case in wanted:
        rounds = runs * _RUNS.get(case, 1) + 1
        if case in ("scan", "open"):
            calls = found.scans if case == "scan" else found.opens
            yield case, calls, [dict.fromkeys(calls, ())] * rounds
            continue
        count = int(case.removeprefix("take-"))
        if count <= num_rows:
            random = np.random.default_rng(SEED + count)
            picks = (np.sort(random.choice(num_rows, count, replace=False)) for _ in range(rounds))
            rows = [{name: (these,) for name, these in prepared(one).items()} for one in picks]
            yield case, found.takes, rows


def run(arguments: argparse.Namespace) -> Iterator[Comparison]:
    """Measure every wanted table, version and case."""
    for name in arguments.tables:
        table = TABLES[name]()
        for version in arguments.versions:
            with tempfile.TemporaryDirectory() as folder:
                found = readers(table, Path(folder), version)
                try:
                    check(table, found, np.sort(np.random.default_rng(SEED).choice(table.num_rows, 100, replace=False)))
                except UnsupportedError as error:
                    print(f"{name} {version} is not measured: {error}", file=sys.stderr)
                    continue
                for case, calls, rows in cases(found, table.num_rows, arguments.cases, arguments.runs):
                    yield from compare(name, version, case, calls, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--versions", nargs="+", default=list(VERSIONS))
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--runs", type=int, default=9, help="rounds of a scan; shorter cases get more (default: 9)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of lines")
    arguments = parser.parse_args()
    results = []
    for comparison in run(arguments):
        results.append(comparison.as_dict())
        if not arguments.json:
            print(comparison, flush=True)
    if arguments.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
