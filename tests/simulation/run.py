"""Run histories of seeds; a violation is printed with the line that repeats it."""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from history import Result, play, shrink
from plans import Plan, plan_of
from store import KINDS


def _some(kind: str, seeds: range) -> list[tuple[int, str | None, int, int]]:
    found = []
    gc.collect()
    # What is loaded by now stays; it takes an eighth of the time to look at it again and again.
    gc.freeze()
    for seed in seeds:
        result = play(plan_of(seed, kind))
        violation = result.violation
        text = None if violation is None else f"{type(violation).__name__}: {violation}"
        found.append((seed, text, result.num_commits, result.num_calls))
    return found


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
    failed = 0
    with ProcessPoolExecutor(arguments.processes, multiprocessing.get_context("spawn")) as pool:
        for kind in kinds:
            begun = time.perf_counter()
            seeds = range(arguments.first, arguments.first + arguments.histories)
            parts = [seeds[at : at + 50] for at in range(0, len(seeds), 50)]
            commits = calls = bad = 0
            for some in pool.map(_some, [kind] * len(parts), parts):
                for seed, text, num_commits, num_calls in some:
                    commits, calls = commits + num_commits, calls + num_calls
                    if text is not None:
                        bad += 1
                        print(f"python tests/simulation/run.py --kind {kind} --seed {seed}\n  {text[:400]}", flush=True)
            seconds = time.perf_counter() - begun
            print(
                f"{kind}: {len(seeds)} histories, {commits} versions, {calls} calls, {bad} violations, "
                f"{len(seeds) / seconds:.0f} a second",
                flush=True,
            )
            failed += bad
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
