"""Run histories of seeds; a violation is printed with the line that repeats it."""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from history import Result, play, shrink
from plans import Plan, plan_of
from store import KINDS

SLICE = 50
"""Histories that one process plays before it says what came of them."""


@dataclass(slots=True)
class Slice:
    """Histories of one kind of store, and what came of them."""

    kind: str
    seeds: list[int]
    versions: int = 0
    calls: int = 0
    seconds: float = 0.0
    violations: list[tuple[int, str]] = field(default_factory=list)


def _played(kind: str, seeds: list[int]) -> Slice:
    gc.collect()
    # What is loaded by now stays; it takes an eighth of the time to look at it again and again.
    gc.freeze()
    found = Slice(kind, seeds)
    begun = time.process_time()
    for seed in seeds:
        result = play(plan_of(seed, kind))
        if result.violation is not None:
            found.violations.append((seed, f"{type(result.violation).__name__}: {result.violation}"))
        found.versions += result.num_commits
        found.calls += result.num_calls
    found.seconds = time.process_time() - begun
    return found


def _all(parts: list[tuple[str, list[int]]], processes: int) -> Iterator[Slice]:
    if processes == 1:
        yield from (_played(*part) for part in parts)
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(_played, *part) for part in parts]):
            yield done.result()


def _run(kinds: list[str], seeds: range, processes: int, results: Path | None) -> int:
    """Play slices of all kinds by turns, and print what came of them; those in `results` are not played again."""
    known = [Slice(**json.loads(line)) for line in results.read_text().splitlines()] if results else []
    done = {(one.kind, seed) for one in known for seed in one.seeds}
    parts = []
    for kind in kinds:
        left = [seed for seed in seeds if (kind, seed) not in done]
        parts += [(kind, left[at : at + SLICE]) for at in range(0, len(left), SLICE)]
    # All kinds by turns, so that a run that is cut has played some of each.
    parts.sort(key=lambda part: part[1][0])
    for found in _all(parts, processes):
        known.append(found)
        for seed, text in found.violations:
            print(f"python tests/simulation/run.py --kind {found.kind} --seed {seed}\n  {text[:400]}", flush=True)
        if results is not None:
            with results.open("a") as file:
                file.write(json.dumps(asdict(found)) + "\n")
    for kind in kinds:
        of_kind = [one for one in known if one.kind == kind]
        histories, versions, calls, bad = (
            sum(counts)
            for counts in zip(
                *[(len(one.seeds), one.versions, one.calls, len(one.violations)) for one in of_kind], strict=True
            )
        )
        rate = histories / sum(one.seconds for one in of_kind)
        print(
            f"{kind}: {histories} histories, {versions} versions, {calls} calls, {bad} violations, "
            f"{rate:.0f} a second of processor time",
            flush=True,
        )
    return 1 if any(one.violations for one in known) else 0


def _show(plan: Plan, *, traces: bool) -> Result:
    result = play(plan, keeps_trace=traces)
    if traces:
        print("\n".join(result.trace))
    if result.violation is None:
        print(f"nothing broke: {result.num_commits} versions, {result.num_calls} calls")
    else:
        traceback.print_exception(result.violation)
    return result


def main() -> int:
    """Run them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, help="one history")
    parser.add_argument("--plan", help="one history, as a line of JSON")
    parser.add_argument("--kind", choices=KINDS, action="append", help="kinds of stores; all when none is named")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--histories", type=int, default=1000, help="of each kind")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--results", type=Path, help="file that keeps what was played: the next run goes on behind it")
    parser.add_argument("--trace", action="store_true", help="print every call of one history")
    parser.add_argument("--shrink", action="store_true", help="make one history that fails as small as possible")
    arguments = parser.parse_args()
    kinds = arguments.kind or list(KINDS)
    if arguments.seed is not None or arguments.plan:
        plan = Plan.from_line(arguments.plan) if arguments.plan else plan_of(arguments.seed, kinds[0])
        if arguments.shrink:
            plan = shrink(plan)
        print(f"python tests/simulation/run.py --plan '{plan.to_line()}'")
        return 0 if _show(plan, traces=arguments.trace).violation is None else 1
    if arguments.results is not None:
        arguments.results.touch()
    seeds = range(arguments.first, arguments.first + arguments.histories)
    return _run(kinds, seeds, arguments.processes, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
