"""`Player`: the operations of one task, by the product's public names, and which answers it may get."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from plans import Script
from referee import PATH, Referee
from store import SimulatedFileSystem
from world import Killed, Task, World

from lance_arrow import LanceTable
from lance_arrow.errors import (
    CommitConflictError,
    CorruptFileError,
    InvalidArgumentError,
    LanceError,
    MissingFileError,
    UnsupportedError,
    VersionNotFoundError,
)
from lance_arrow.settings import Settings

FIRST_KEYS = range(8)
_ZONE_MAP = "id_idx"
_COMMIT_SECONDS = Settings().commit_seconds
# What may come between the version that an operation was made from and its commit, so that it is refused for good.
# Source: table-format 7.3; all else is rebased or done again.
REPLACING = frozenset({"overwrite", "restore"})
REFUSING = {
    "append": REPLACING | {"merge", "project"},
    "add_column": REPLACING | {"project"},
    "drop_column": REPLACING | {"project"},
    "restore": frozenset(),
}
# These name what another task may have removed, or made.
_BY_NAME = frozenset(
    {"drop_column", "drop_index", "tag", "move_tag", "drop_tag", "branch", "drop_branch", "branch_append", "add_column"}
)
_READS = frozenset({"read", "count", "take", "travel", "history", "read_tag", "read_branch"})


def rows_of(keys: list[int], number: int) -> pa.Table:
    """Rows with the number of the operation that wrote them."""
    return pa.table({
        "id": pa.array(keys, pa.int64()),
        "w": pa.array([number] * len(keys), pa.int64()),
        "n": pa.array([0] * len(keys), pa.int64()),
    })  # fmt: skip


class Player:
    """Does the steps of a script.

    Parameters
    ----------
    world, referee
        Of the history.
    filesystem
        The task's view of the store.
    script
        What to do.
    is_only_writer
        For a store without a conditional write: whether this task may promise to be alone.
    """

    def __init__(
        self, world: World, referee: Referee, filesystem: SimulatedFileSystem, script: Script, *, is_only_writer: bool
    ) -> None:
        self._world, self._referee, self._filesystem, self._script = world, referee, filesystem, script
        self._is_only_writer = is_only_writer
        self._table: LanceTable | None = None
        self._began = 0.0

    def run(self, task: Task) -> None:
        """Do all steps."""
        for do, number in self._script.steps:
            if do == "wait":
                self._world.wait_quietly(task.random.choice((1, 8, 15, 40)) * 86_400.0)
                continue
            self._world.pause(task)
            task.operation_calls = task.injected = 0
            task.is_busy = True
            self._began = self._world.now
            try:
                self._step(do, number, task)
            finally:
                task.is_busy = False
                self._referee.cleaning.pop(task.name, None)

    def _step(self, do: str, number: int, task: Task) -> None:
        newest = self._referee.newest[""]
        self._world.note(f"begins {do} {number}")
        try:
            if self._table is None or do in _READS or task.random.random() < 0.6:
                self._table = self._open()
                if self._table.version < newest and self._referee.kind != "stale-listing":
                    self._referee.broken(f"version {self._table.version} was opened, {newest} was there before")
            act: Callable[[int, Task], object] = getattr(self, f"_{do}")
            answer = act(number, task)
        except Killed:
            raise
        except (LanceError, OSError) as error:
            self._world.note(f"{do} {number} raises {type(error).__name__}")
            self._judge(do, number, task, error)
            self._table = None
            return
        self._world.note(f"ends {do} {number}")
        if self._referee.kind == "none" and not self._is_only_writer and do not in _READS and answer is not False:
            self._referee.broken(f"{do} was done on a store that cannot keep writers apart")
        if do.startswith("branch") and self._referee.dropped:
            return
        is_recorded = do not in _READS and not do.startswith(("cleanup", "move_tag", "drop_tag", "drop_branch"))
        expected = int(is_recorded and answer is not False and do != "tag")
        if self._referee.published[number] != expected:
            self._referee.broken(
                f"{do} {number} was acknowledged, and is in the history {self._referee.published[number]} times"
            )

    def _judge(self, do: str, number: int, task: Task, error: Exception) -> None:
        """Say whether an operation may fail so."""
        referee = self._referee
        if referee.published[number] > 1:
            referee.broken(f"{do} {number} failed, and is in the history twice")
        if isinstance(error, CorruptFileError) and not isinstance(error, MissingFileError):
            referee.broken(f"{do} {number} found {error!r}")
        if task.injected:
            return
        if referee.published[number]:
            referee.broken(f"{do} {number} is in the history, and raised {error!r} although no call failed")
        if isinstance(error, UnsupportedError) and referee.kind == "none" and not self._is_only_writer:
            return
        if isinstance(error, CommitConflictError):
            theirs = None if error.theirs is None else error.theirs.operation
            if theirs in REFUSING.get(do, REPLACING):
                return
            if error.retryable and self._world.now - self._began >= _COMMIT_SECONDS:
                return
            # Versions that it should be compared with are gone, or are going.
            if error.theirs is None and referee.has_cleaned and "remov" in str(error):
                return
            referee.broken(f"{do} {number} was refused after {theirs}: {error}")
        is_gone = isinstance(error, (VersionNotFoundError, MissingFileError, FileNotFoundError))
        if is_gone and (referee.has_cleaned or do in _BY_NAME or do in ("read_tag", "read_branch")):
            table = self._table
            if table is not None and do in ("read", "count", "take") and referee.is_there("", table.version):
                referee.broken(f"{do} of version {table.version}, which is there, found {error!r}")
            return
        if is_gone and referee.kind == "stale-listing":
            return
        if isinstance(error, InvalidArgumentError) and do in _BY_NAME:
            return
        referee.broken(f"{do} {number} raised {error!r}")

    def _open(self, **choice: Any) -> LanceTable:
        is_alone = self._referee.kind == "none" and self._is_only_writer
        return LanceTable.open(PATH, filesystem=self._filesystem, unsafe_single_writer=is_alone, **choice)

    @property
    def _held(self) -> LanceTable:
        assert self._table is not None
        return self._table

    @staticmethod
    def _told(do: str, number: int, **more: Any) -> dict[str, Any]:
        return {"do": do, "number": number, **more}

    def _append(self, number: int, task: Task) -> None:
        keys = [1000 * number + at for at in range(task.random.randrange(1, 6))]
        message = json.dumps(self._told("append", number, keys=keys))
        self._held.append(rows_of(keys, number), message=message, max_rows_per_file=3)

    def _hit(self, do: str, number: int, task: Task) -> tuple[dict[str, Any], str]:
        by = task.random.choice((2, 3, 5, 1000))
        told = self._told(do, number, by=by, rest=task.random.randrange(min(by, 8)))
        return told, f"id % {by} = {told['rest']}"

    def _delete(self, number: int, task: Task) -> None:
        told, predicate = self._hit("delete", number, task)
        self._held.delete(predicate, message=json.dumps(told))

    def _update(self, number: int, task: Task) -> None:
        told, predicate = self._hit("update", number, task)
        self._held.update({"n": "n + 1"}, predicate, message=json.dumps(told))

    def _merge(self, number: int, task: Task) -> None:
        # Keys of others too, so that two merges may add one.
        keys = {task.random.randrange(20, 23)}
        if task.random.random() < 0.5:
            keys = {task.random.randrange(10), task.random.randrange(10), 1000 * number}
        merge = self._held.merge(rows_of(sorted(keys), number), on="id")
        message = json.dumps(self._told("merge", number, keys=sorted(keys)))
        merge.when_matched_update_all().when_not_matched_insert_all().execute(message=message)

    def _compact(self, number: int, task: Task) -> bool:
        message = json.dumps(self._told("compact", number))
        report = self._held.compact(target_rows_per_fragment=task.random.choice((6, 100)), message=message)
        return bool(report.fragments_rewritten)

    def _add_column(self, number: int, task: Task) -> None:
        told = self._told("add_column", number, name=f"c{number}")
        self._held.add_columns({f"c{number}": "id * 2"}, message=json.dumps(told))

    def _drop_column(self, number: int, task: Task) -> bool:
        extra = sorted(name for name in self._held.schema.names if name.startswith("c"))
        if not extra:
            self._add_column(number, task)
            return True
        name = task.random.choice(extra)
        self._held.drop_columns([name], message=json.dumps(self._told("drop_column", number, name=name)))
        return True

    def _overwrite(self, number: int, task: Task) -> None:
        keys = [1000 * number + at for at in range(task.random.randrange(0, 5))]
        message = json.dumps(self._told("overwrite", number, keys=keys))
        self._held.overwrite(rows_of(keys, number), message=message, max_rows_per_file=3)

    def _restore(self, number: int, task: Task) -> None:
        version = task.random.choice(sorted(one.version for one in self._held.history()))
        told = self._told("restore", number, line="", version=version)
        self._held.restore(version, message=json.dumps(told))

    def _config(self, number: int, task: Task) -> None:
        self._held.update_config({f"k{number}": "v"}, message=json.dumps(self._told("config", number)))

    def _zone_map(self, number: int, task: Task) -> None:
        told = self._told("zone_map", number)
        self._held.create_zone_map("id", rows_per_zone=2, name=_ZONE_MAP, message=json.dumps(told))

    def _drop_index(self, number: int, task: Task) -> None:
        if _ZONE_MAP in self._held.indices:
            self._held.drop_index(_ZONE_MAP, message=json.dumps(self._told("drop_index", number)))
        else:
            self._zone_map(number, task)

    def _some_version(self, task: Task) -> int:
        return int(task.random.choice(sorted(one.version for one in self._held.history())))

    def _tag(self, number: int, task: Task) -> None:
        version = self._some_version(task)
        self._held.tags.create(f"t{number}", version)
        if f"t{number}" not in self._referee.touched_tags:
            self._referee.kept_tags[f"t{number}"] = "", version

    def _chosen_tag(self, task: Task) -> str | None:
        names = sorted(self._held.tags)
        return task.random.choice(names) if names else None

    def _move_tag(self, number: int, task: Task) -> bool:
        name = self._chosen_tag(task)
        if name is None:
            return False
        # Which of several moves came last is not known.
        self._referee.touch(name)
        self._held.tags.update(name, self._some_version(task))
        return True

    def _drop_tag(self, number: int, task: Task) -> bool:
        name = self._chosen_tag(task)
        if name is None:
            return False
        self._referee.touch(name)
        self._held.tags.delete(name)
        return True

    def _branch(self, number: int, task: Task) -> None:
        version = self._some_version(task)
        told = self._told("branch", number, line="", version=version)
        self._held.branches.create(f"b{number}", version, message=json.dumps(told))

    def _chosen_branch(self, task: Task) -> str | None:
        names = sorted(self._held.branches)
        return task.random.choice(names) if names else None

    def _branch_append(self, number: int, task: Task) -> bool:
        name = self._chosen_branch(task)
        if name is None:
            self._branch(number, task)
            return True
        keys = [1000 * number]
        message = json.dumps(self._told("branch_append", number, keys=keys))
        self._open(branch=name).append(rows_of(keys, number), message=message)
        return True

    def _drop_branch(self, number: int, task: Task) -> bool:
        name = self._chosen_branch(task)
        if name is None:
            return False
        self._referee.dropped.add(name)
        self._held.branches.delete(name)
        return True

    def _cleanup(self, number: int, task: Task) -> bool:
        age = datetime.timedelta(days=task.random.choice((0, 0, 0.05, 1, 14)))
        retained = task.random.choice((None, None, 1, 2))
        if not age:
            # A version is removed before the commits are over that began before it: its number would be free again.
            self._world.wait_quietly(0.0)
        self._referee.has_cleaned = True
        self._referee.cleaning[task.name] = age.total_seconds()
        self._held.cleanup(older_than=age, retain_versions=retained, dry_run=task.random.random() < 0.2)
        return False

    def _check_rows(self, table: LanceTable, line: str) -> list[dict[str, Any]]:
        found = table.to_table(columns=[*table.schema.names, "_rowid"]).to_pylist()
        state = self._referee.states.get((line, table.version))
        if state is None and line in self._referee.dropped:
            # It was written while another process removed the branch, see `Referee._put`.
            return found
        if state is None:
            self._referee.broken(f"version {table.version} was read, which never was")
        assert state is not None
        expected = {key: {**row, "_rowid": state.row_ids[key]} for key, row in state.rows.items()}
        if {row["id"]: row for row in found} != expected or len(found) != len(expected):
            self._referee.broken(f"version {table.version} of {line or 'main'} was read with other rows")
        return found

    def _read(self, number: int, task: Task) -> None:
        self._check_rows(self._held, "")

    def _count(self, number: int, task: Task) -> None:
        pivot = task.random.choice((3, 6, 1500, 3000))
        state = self._referee.states["", self._held.version]
        if self._held.count_rows(f"id < {pivot}") != sum(key < pivot for key in state.rows):
            self._referee.broken(f"version {self._held.version} counts other rows below {pivot} than it has")

    def _take(self, number: int, task: Task) -> None:
        state = self._referee.states["", self._held.version]
        keys = sorted(state.rows)[::3]
        if not keys:
            return
        found = self._held.take_row_ids([state.row_ids[key] for key in keys], ["id", "n"]).to_pylist()
        if found != [{"id": key, "n": state.rows[key]["n"]} for key in keys]:
            self._referee.broken(f"version {self._held.version} takes other rows by id than it has")

    def _travel(self, number: int, task: Task) -> None:
        self._check_rows(self._open(version=self._some_version(task)), "")

    def _history(self, number: int, task: Task) -> None:
        versions = [one.version for one in self._held.history()]
        if versions != sorted(versions, reverse=True) or len(set(versions)) != len(versions):
            self._referee.broken(f"the history has the versions {versions}")

    def _read_tag(self, number: int, task: Task) -> None:
        name = self._chosen_tag(task)
        if name is not None:
            self._check_rows(self._open(tag=name), "")

    def _read_branch(self, number: int, task: Task) -> None:
        name = self._chosen_branch(task)
        if name is not None:
            self._check_rows(self._open(branch=name), name)
