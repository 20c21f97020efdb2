"""Random histories of tables, written by turns with the reference package; prints what differs and how to repeat it."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from table_histories import History
from witness import Witness


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--reference", default=sys.executable, help="interpreter of another release of the reference")
    parser.add_argument("--old", action="store_true", help="leave out what release 4.0.0 does wrong by itself")
    arguments = parser.parse_args()
    differing = 0
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        witness = Witness(folder, python=arguments.reference)
        for seed in range(arguments.first, arguments.first + arguments.histories):
            path = folder / f"{seed}.lance"
            try:
                History(witness, path, seed, is_old=arguments.old).run(arguments.steps)
            except Exception:  # noqa: BLE001 - whatever went wrong is told, and the next history begins
                differing += 1
                traceback.print_exc()
                print(f"repeat with --first {seed} --histories 1 --steps {arguments.steps}", flush=True)
            shutil.rmtree(path, ignore_errors=True)
            print(f"seed {seed}: {differing} of {seed + 1 - arguments.first} differ", flush=True)
        witness.close()
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
