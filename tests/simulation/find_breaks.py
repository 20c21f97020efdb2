"""Count the seeds that each deliberate break takes to be found; `nox -s simulate` runs it, tests a few of them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from breaks import BREAKS
from history import play
from plans import plan_of


def seed_of(name: str, most_seeds: int, first: int = 0) -> tuple[int, BaseException] | None:
    """Return the first seed that finds a break, and what it found; None if none does."""
    one = BREAKS[name]
    for seed in range(first, first + most_seeds):
        plan = plan_of(seed, one.kind, only=one.only)
        violation = play(plan, broken=one.make).violation
        # It is the break that is found, and nothing else.
        if violation is not None and play(plan).violation is None:
            return seed, violation
    return None


def main() -> int:
    """Look for all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="breaks; all when none is named")
    parser.add_argument("--most", type=int, default=1000, help="seeds for each")
    arguments = parser.parse_args()
    missed = 0
    for name in arguments.names or BREAKS:
        found = seed_of(name, arguments.most)
        missed += found is None
        text = "not found" if found is None else f"seed {found[0]}: {type(found[1]).__name__}: {found[1]}"
        print(f"{name}: {text[:220]}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
