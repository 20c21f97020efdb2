"""Random histories of a table that keep their own log, with which `changes` and `diff` are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from witness import Witness

from lance_arrow import LanceTable

FIRST_ROWS = 20
APPENDED_ROWS = 4
# Names of the reference for the versions of rows.
VERSIONS = ["id", "_row_created_at_version", "_row_last_updated_at_version"]
Values = dict[int, float]


def rows(first: int, count: int) -> pa.Table:
    ids = np.arange(first, first + count)
    return pa.table({"id": ids, "v": ids * 1.0})


class RowHistory:
    """A table of random versions, and for each version its values by key. Keys are never given again.

    Parameters
    ----------
    path
        Where the table is made.
    seed
        What the history is drawn from.
    stable
        Whether rows have stable ids. Without them, there are no updates, merges and compactions.
    witness
        The reference package. If given, about half of the versions are its own.
    """

    def __init__(self, path: Path, seed: int, *, stable: bool, witness: Witness | None = None) -> None:
        self._path = path
        self._random = np.random.default_rng(seed)
        self._witness = witness
        self._following = FIRST_ROWS
        self.table = LanceTable.create(path, rows(0, FIRST_ROWS), enable_stable_row_ids=stable, max_rows_per_file=7)
        self.log: list[Values] = [{}, {key: float(key) for key in range(FIRST_ROWS)}]
        self.restored: set[int] = set()
        self._kinds = ["append", "delete", "restore"]
        if stable:
            self._kinds += ["update", "merge", "compact"]

    def run(self, steps: int) -> None:
        for _ in range(steps):
            kind = str(self._random.choice(self._kinds))
            is_theirs = self._witness is not None and self._random.random() < 0.5
            held: Values = getattr(self, f"_{kind}")(dict(self.log[-1]), is_theirs)
            self.table = LanceTable.open(self._path)
            if kind == "restore":
                self.restored.add(self.table.version)
            while len(self.log) <= self.table.version:
                self.log.append(held)

    def pair(self) -> tuple[int, int]:
        """Draw two versions, the older one first."""
        since, until = sorted(self._random.integers(1, self.table.version + 1, size=2).tolist())
        return since, until

    def _change_theirs(self, **step: Any) -> None:
        assert self._witness is not None
        self._witness.change_table(self._path, step)

    def _append(self, held: Values, is_theirs: bool) -> Values:
        added = rows(self._following, APPENDED_ROWS)
        if is_theirs:
            self._change_theirs(do="append", rows=added)
        else:
            self.table.append(added)
        self._following += APPENDED_ROWS
        return held | dict(zip(added["id"].to_pylist(), added["v"].to_pylist(), strict=True))

    def _delete(self, held: Values, is_theirs: bool) -> Values:
        remainder, after = int(self._random.integers(5)), self._following - 15
        predicate = f"id % 5 = {remainder} AND id > {after}"
        if is_theirs:
            self._change_theirs(do="delete", predicate=predicate)
        else:
            self.table.delete(predicate)
        return {key: value for key, value in held.items() if not (key % 5 == remainder and key > after)}

    def _update(self, held: Values, is_theirs: bool) -> Values:
        # No two versions write the same value: a value that is written again, after a restore, is an update.
        remainder, stamp = int(self._random.integers(5)), 1000 * (self.table.version + 1) + 0.5
        # The reference converts no literal by itself.
        values, where = {"v": f"CAST(id AS DOUBLE) + {stamp}"}, f"id % 5 = {remainder}"
        if is_theirs:
            self._change_theirs(do="update", updates=values, where=where)
        else:
            self.table.update(values, where)
        return {key: key + stamp if key % 5 == remainder else value for key, value in held.items()}

    def _merge(self, held: Values, is_theirs: bool) -> Values:
        keys, value = [*sorted(held)[:2], self._following], self.table.version * 10_000.0
        source = pa.table({"id": keys, "v": [value] * len(keys)})
        if is_theirs:
            self._change_theirs(do="merge", on="id", rows=source)
        else:
            self.table.merge(source, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
        self._following += 1
        return held | dict.fromkeys(keys, value)

    def _restore(self, held: Values, is_theirs: bool) -> Values:
        number = int(self._random.integers(1, self.table.version + 1))
        if is_theirs:
            self._change_theirs(do="restore", version=number)
        else:
            self.table.restore(number)
        return dict(self.log[number])

    def _compact(self, held: Values, is_theirs: bool) -> Values:
        target = int(self._random.choice([10, 1000]))
        if is_theirs:
            self._change_theirs(do="compact", target_rows_per_fragment=target)
        else:
            self.table.compact(target_rows_per_fragment=target)
        return held

    def check(self, since: int, until: int) -> int:
        """Compare the changes of two versions with the log; returns how many there are."""
        log = self.log
        old, new = log[since], log[until]
        found = self.table.changes(since, until).read_all().to_pylist()
        told = {kind: {row["id"]: row["v"] for row in found if row["_change_type"] == kind} for kind in
                ("insert", "delete", "update")}  # fmt: skip
        assert sum(map(len, told.values())) == len(found)
        assert told["insert"] == {key: new[key] for key in new.keys() - old.keys()}
        assert told["delete"] == {key: old[key] for key in old.keys() - new.keys()}
        assert told["update"] == {key: new[key] for key in new.keys() & old.keys() if old[key] != new[key]}
        for row in found:
            key, version = row["id"], row["_change_version"]
            assert since < version <= until
            assert log[version].get(key) != log[version - 1].get(key)
            ever = range(version, until + 1)
            if row["_change_type"] == "delete":
                assert not any(key in log[one] for one in ever)
            elif row["_change_type"] == "insert":
                assert all(key in log[one] for one in ever)
            else:
                assert len({log[one].get(key) for one in ever}) == 1
        difference = self.table.diff(since, until)
        assert (difference.rows_added, difference.rows_deleted, difference.rows_updated) == tuple(
            len(told[kind]) for kind in ("insert", "delete", "update")
        )
        return len(found)

    def check_versions(self, since: int, until: int) -> int:
        """Compare the changes of two versions with the reference's columns of versions; returns how many there are."""
        assert self._witness is not None
        old, new = (self._versions_of(version) for version in (since, until))
        found = self.table.changes(since, until, columns=["id"]).read_all().to_pylist()
        told = {kind: {row["id"]: row["_change_version"] for row in found if row["_change_type"] == kind} for kind in
                ("insert", "delete", "update")}  # fmt: skip
        assert told["insert"].keys() == new.keys() - old.keys()
        assert told["delete"].keys() == old.keys() - new.keys()
        assert told["update"].keys() == {key for key in new.keys() & old.keys() if new[key][1] != old[key][1]}
        for kind, column in (("insert", 0), ("update", 1)):
            for key, version in told[kind].items():
                # A restore brings older numbers back: the row came with the restore.
                assert version == new[key][column] or version in self.restored
        return len(found)

    def _versions_of(self, version: int) -> dict[int, tuple[int, int]]:
        assert self._witness is not None
        read = self._witness.read_version(self._path, version, columns=VERSIONS)
        return {row["id"]: (row[VERSIONS[1]], row[VERSIONS[2]]) for row in read.to_pylist()}
