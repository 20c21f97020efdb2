"""Compares changes between versions with the logs of random histories, and with the reference's versions of rows.

`python tests/differential/changed_rows.py --histories 20`: two histories of three have stable row ids, and are written
by turns with the reference package. The third has none, and is written here alone.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import pyarrow as pa
from row_histories import RowHistory
from witness import Witness, WitnessDied, WitnessRefused

from lance_arrow.errors import LanceError

FAILURES = (AssertionError, LanceError, pa.ArrowException, OSError, WitnessDied, WitnessRefused)
PLAIN_EVERY = 3
PAIRS = 10
PAIRS_OF_REFERENCE = 2


def compared(path: Path, seed: int, steps: int, witness: Witness) -> tuple[int, int]:
    """Make a history and compare it; returns how many changes were compared with its log, and with the reference."""
    is_stable = seed % PLAIN_EVERY != 0
    history = RowHistory(path, seed, stable=is_stable, witness=witness if is_stable else None)
    history.run(steps)
    by_log = sum(history.check(*history.pair()) for _ in range(PAIRS))
    by_reference = sum(history.check_versions(*history.pair()) for _ in range(PAIRS_OF_REFERENCE if is_stable else 0))
    return by_log, by_reference


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--histories", type=int, default=500)
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    differing = by_log = by_reference = versions = 0
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        witness = Witness(folder)
        for seed in range(arguments.first, arguments.first + arguments.histories):
            path = folder / f"{seed}.lance"
            try:
                of_log, of_reference = compared(path, seed, arguments.steps, witness)
                by_log, by_reference = by_log + of_log, by_reference + of_reference
                versions += len(list((path / "_versions").glob("*.manifest")))
            except FAILURES:
                differing += 1
                traceback.print_exc()
                print(f"repeat with --first {seed} --histories 1 --steps {arguments.steps}", flush=True)
            shutil.rmtree(path, ignore_errors=True)
        witness.close()
    print(
        f"{arguments.histories:,} histories of {versions:,} versions: {by_log:,} changes compared with logs, "
        f"{by_reference:,} with versions of the reference; {differing} differ"
    )
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
