"""Tables with the reference's indices, changed in random order: after every step it finds the same rows without them.

Steps are ours, and now and then the reference's own upkeep. `nox -s indices` changes 40 tables 25 times each;
``-- --tables 4 --steps 10`` for less, ``-- --seed 7 --tables 1`` for one of them again.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "support"))

import numpy as np
from foreign_indices import COLUMNS, KEY, assert_indices_right, index_names, make_table, questions, rows_of
from witness import Witness

from lance_arrow import LanceTable

MAX_STAGE = 6


class History:
    """One table, and what is done to it."""

    def __init__(self, witness: Witness, path: Path, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.witness, self.path = witness, path
        self.stable = bool(self.random.integers(2))
        count = int(self.random.integers(1, len(COLUMNS) + 1))
        self.columns = sorted(self.random.choice(COLUMNS, count, replace=False).tolist())
        fragments = int(self.random.integers(3, 6))
        make_table(witness, path, stable=self.stable, columns=self.columns, fragments=fragments)
        self.next_key = fragments * 100
        self.stage = 0
        asked = [one for one in questions(range(MAX_STAGE + 1)) if any(name in str(one) for name in self.columns)]
        self.asked = [one for one in asked if "text" not in one or "words" in self.columns]
        self.steps: list[str] = []

    @property
    def table(self) -> LanceTable:
        """The newest version."""
        return LanceTable.open(self.path)

    def step(self) -> None:
        """Do something, and compare."""
        ours: dict[str, Callable[[], object]] = {
            "append": self._append, "delete": self._delete, "update": self._update, "merge": self._merge,
            "compact": self._compact, "restore": self._restore, "cleanup": self._cleanup, "columns": self._columns,
        }  # fmt: skip
        theirs: dict[str, Callable[[], object]] = {
            "their optimize_indices": lambda: self.witness.change_table(self.path, {"do": "optimize_indices"}),
            "their compact": lambda: self.witness.change_table(self.path, {"do": "compact"}),
            "their delete": lambda: self.witness.change_table(self.path, {"do": "delete", "predicate": self._some()}),
        }
        steps = ours if self.random.random() < 0.8 else theirs
        name = str(self.random.choice(list(steps)))
        self.steps.append(name)
        steps[name]()
        assert_indices_right(self.witness, self.path, name, self.asked)
        if all(step not in theirs for step in self.steps):
            # The reference drops vector indices that cover nothing.
            assert sorted(self.witness.index_coverage(self.path)) == index_names(self.columns)

    def _some(self) -> str:
        start = int(self.random.integers(self.next_key))
        return f"{KEY} >= {start} AND {KEY} < {start + int(self.random.integers(1, 120))} AND {KEY} % 3 <> 1"

    def _append(self) -> None:
        count = int(self.random.integers(1, 60))
        self.table.append(rows_of(range(self.next_key, self.next_key + count), self.stage))
        self.next_key += count

    def _delete(self) -> None:
        self.table.delete(self._some())

    def _update(self) -> None:
        values = {"plain": "plain + 1", "number": "number + 3", "category": "'c3'", "words": "'word3 stage1'",
                  "bounded": "bounded + 1", "name": "'stage 2'", "code": "'code-40-0'"}  # fmt: skip
        chosen = self.random.choice(list(values), int(self.random.integers(1, 4)), replace=False).tolist()
        self.table.update({name: values[name] for name in chosen}, self._some())

    def _merge(self) -> None:
        self.stage = min(self.stage + 1, MAX_STAGE)
        old = self.random.choice(self.next_key, int(self.random.integers(1, 40)), replace=False).tolist()
        count = int(self.random.integers(0, 20))
        keys = [*sorted(old), *range(self.next_key, self.next_key + count)]
        self.next_key += count
        rows = rows_of(keys, self.stage)
        self.table.merge(rows, on=KEY).when_matched_update_all().when_not_matched_insert_all().execute()

    def _compact(self) -> None:
        target = int(self.random.choice([50, 150, 1000, 1 << 20]))
        threshold = float(self.random.choice([0.0, 0.1, 0.5]))
        self.table.compact(target_rows_per_fragment=target, materialize_deletions_threshold=threshold)

    def _restore(self) -> None:
        table = self.table
        versions = [one.version for one in table.history() if one.version >= table.version - 4]
        indexed = [one for one in versions if sorted(table.checkout(one).indices) == sorted(table.indices)]
        table.restore(int(self.random.choice(indexed)))

    def _cleanup(self) -> None:
        self.table.cleanup(
            older_than=datetime.timedelta(), retain_versions=int(self.random.integers(1, 5)), delete_unverified=True,
            dry_run=False,
        )  # fmt: skip

    def _columns(self) -> None:
        table = self.table
        if "extra" not in table.schema.names:
            table.add_columns({"extra": "plain * 2"})
        elif self.random.random() < 0.5:
            table.drop_columns(["extra"])
        else:
            table.alter_columns({"path": "extra", "name": "more"})
            self.table.drop_columns(["more"])


def main() -> None:
    """Run, and say where it went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0, help="of the first table")
    given = parser.parse_args()
    begun = time.perf_counter()
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        witness = Witness(Path(folder))
        for seed in range(given.seed, given.seed + given.tables):
            history = History(witness, Path(folder) / f"{seed}.lance", seed)
            kept = "stable row ids" if history.stable else "addresses"
            try:
                for _ in range(given.steps):
                    history.step()
                    done += 1
            except BaseException:
                print(f"seed {seed} ({kept}; {', '.join(history.columns)}): {', '.join(history.steps)}", flush=True)
                raise
        witness.close()
    print(f"{given.tables} tables, {done} steps, {time.perf_counter() - begun:.0f} s: nothing differs")


if __name__ == "__main__":
    main()
