"""Kills every operation of a table at every call to the filesystem: the table is the old or the new one, never both.

The filesystem is a dictionary in memory, so that thousands of crashes take a minute. At the chosen call, before its
effect or after, it raises what nobody catches, and so does each later call: a dead process cleans nothing up. Then the
files are looked at by a fresh filesystem. `python tests/faults/crash_points.py` does all; the tests some.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from fsspec.implementations.memory import MemoryFileSystem

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from copied_early import copied_early

from lance_arrow import LanceTable, commit_fragments, write_fragments
from lance_arrow.errors import TableNotFoundError, VersionNotFoundError
from lance_arrow.io import Location, list_tree
from lance_arrow.manifests.index_section import read_indices
from lance_arrow.manifests.version_files import names_in
from lance_arrow.manifests.versions import list_manifests, read_listed
from lance_arrow.settings import Limits

PATH = "/crash/t.lance"
CLONE = "/crash/clone.lance"
_COUNTED = (
    "ls", "info", "exists", "isfile", "isdir", "find", "cat_file", "cat_ranges", "pipe_file", "_open", "rm_file", "_rm",
    "makedirs", "mkdir", "created", "modified", "mv", "cp_file",
)  # fmt: skip


class Killed(BaseException):
    """The process is dead."""


class Fuse:
    """Counts calls, and blows at one of them.

    Parameters
    ----------
    at
        Number of the call, from 0; never when None.
    after
        Whether the call's effect takes place.
    """

    def __init__(self, at: int | None = None, *, after: bool = False) -> None:
        self.at = at
        self.after = after
        self.calls = 0
        self.is_blown = False

    def around(self, call: Callable[[], Any]) -> Any:
        """Do a call, unless the process is dead or dies of it."""
        if self.is_blown:
            raise Killed
        number = self.calls
        self.calls += 1
        if number != self.at:
            return call()
        self.is_blown = True
        if self.after:
            call()
        raise Killed


class _Store(dict[str, Any]):
    """The files; making one only if there is none is a call too."""

    fuse: Fuse

    def setdefault(self, key: str, default: Any = None) -> Any:
        return self.fuse.around(lambda: dict.setdefault(self, key, default))


class FragileFileSystem(MemoryFileSystem):
    """Files of its own in memory, and a fuse."""

    cachable = False
    protocol = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.store = _Store()
        self.store.fuse = Fuse()
        self.pseudo_dirs = [""]

    def fused(self, fuse: Fuse) -> FragileFileSystem:
        """Return another view of copies of the same files."""
        other = FragileFileSystem()
        for path, file in self.store.items():
            copy = type(file)(other, path, file.getvalue())
            copy.created, copy.modified = file.created, file.modified
            dict.__setitem__(other.store, path, copy)
        other.pseudo_dirs = list(self.pseudo_dirs)
        other.store.fuse = fuse
        return other


def _counted(name: str) -> Callable[..., Any]:
    plain = getattr(MemoryFileSystem, name)
    depth = "_depth"

    def call(self: FragileFileSystem, *arguments: Any, **options: Any) -> Any:
        # What one call of a filesystem does by others is one call.
        if getattr(self, depth, 0):
            return plain(self, *arguments, **options)

        def inner() -> Any:
            setattr(self, depth, 1)
            try:
                return plain(self, *arguments, **options)
            finally:
                setattr(self, depth, 0)

        return self.store.fuse.around(inner)

    return call


for _name in _COUNTED:
    if hasattr(MemoryFileSystem, _name):
        setattr(FragileFileSystem, _name, _counted(_name))


@dataclass(frozen=True, slots=True)
class Case:
    """An operation, and how a table becomes ready for it."""

    do: Callable[[LanceTable], object]
    prepare: Callable[[LanceTable], object] | None = None


def rows_of(start: int, stop: int) -> pa.Table:
    """Rows of the table."""
    return pa.table({"id": np.arange(start, stop), "s": [f"t{i}" for i in range(start, stop)]})


def _merge(table: LanceTable) -> object:
    merge = table.merge(rows_of(15, 24), on="id").when_matched_update_all().when_not_matched_insert_all()
    return merge.when_not_matched_by_source_delete("id < 2").execute()


def _old_versions(table: LanceTable) -> None:
    table.delete("id = 5")
    table.compact()


def _copy(table: LanceTable) -> None:
    with copied_early() as counts:
        table.compact()
    assert counts


def _distributed(table: LanceTable) -> None:
    store = table._root.filesystem
    parts = [write_fragments(rows_of(at, at + 6), PATH, max_rows_per_file=4, filesystem=store) for at in (20, 26)]
    commit_fragments(PATH, parts, filesystem=store)


CASES: dict[str, Case] = {
    "append": Case(lambda table: table.append(rows_of(20, 30), max_rows_per_file=4)),
    "distributed": Case(_distributed),
    "overwrite": Case(lambda table: table.overwrite(rows_of(50, 60))),
    "delete": Case(lambda table: table.delete("id < 9")),
    "update": Case(lambda table: table.update({"s": "'x'"}, "id IN (3, 12)")),
    "merge": Case(_merge),
    "add_columns": Case(lambda table: table.add_columns({"twice": "id * 2"})),
    "drop_columns": Case(lambda table: table.drop_columns(["s"])),
    "alter_columns": Case(lambda table: table.alter_columns({"path": "id", "data_type": pa.int32(), "name": "key"})),
    "replace_columns": Case(
        lambda table: table.replace_columns({"x": "id + 1"}), lambda table: table.add_columns({"x": 0})
    ),
    "compact": Case(lambda table: table.compact()),
    "compact_by_copying": Case(_copy),
    "compact_zone_map": Case(lambda table: table.compact(), lambda table: table.create_zone_map("id")),
    "restore": Case(lambda table: table.restore(1)),
    "update_config": Case(lambda table: table.update_config({"a": "b"})),
    "create_zone_map": Case(lambda table: table.create_zone_map("id")),
    "drop_index": Case(lambda table: table.drop_index("id_idx"), lambda table: table.create_zone_map("id")),
    "tag": Case(lambda table: table.tags.create("t", 1)),
    "branch": Case(lambda table: table.branches.create("b", 1)),
    "clone": Case(lambda table: table.shallow_clone(CLONE, filesystem=table._root.filesystem)),
    "cleanup": Case(
        lambda table: table.cleanup(older_than=datetime.timedelta(), dry_run=False, delete_unverified=True),
        _old_versions,
    ),
}


def base_of(case: Case) -> FragileFileSystem:
    """Make the files that an operation begins with."""
    store = FragileFileSystem()
    table = LanceTable.create(PATH, rows_of(0, 20), max_rows_per_file=8, enable_stable_row_ids=True, filesystem=store)
    table.delete("id = 7")
    if case.prepare is not None:
        case.prepare(table)
    return store


def points_of(case: Case, base: FragileFileSystem) -> int:
    """How many calls an operation makes."""
    fuse = Fuse()
    store = base.fused(Fuse())
    table = LanceTable.open(PATH, filesystem=store)
    store.store.fuse = fuse
    case.do(table)
    return fuse.calls


def crash(name: str, base: FragileFileSystem, point: int, *, after: bool) -> None:
    """Crash one operation at one call, and look at what is left.

    Raises
    ------
    AssertionError
        The table is neither the old one nor the new one, or something is left that nobody finds.
    """
    case = CASES[name]
    healthy = base.fused(Fuse())
    old = _state(healthy)
    case.do(LanceTable.open(PATH, filesystem=healthy))
    new = _state(healthy)
    store = base.fused(Fuse())
    table = LanceTable.open(PATH, filesystem=store)
    store.store.fuse = Fuse(point, after=after)
    with contextlib.suppress(Killed):
        case.do(table)
    left = store.fused(Fuse())
    found = _state(left)
    where = f"{name} at call {point} {'after' if after else 'before'} its effect"
    versions = [found.version]
    assert old.version <= found.version <= new.version, (where, versions)
    assert found.rows == (old.rows if found.version == old.version else new.rows), where
    assert found.tags in (old.tags, new.tags), where
    assert found.config in (old.config, new.config), where
    if name == "cleanup":
        # Whatever was removed, the newest version has all it needs.
        LanceTable.open(PATH, filesystem=left).cleanup(older_than=datetime.timedelta(), dry_run=False)
        assert _state(left).rows == old.rows, where
        return
    _check_lines(left, where)
    _check_orphans(left, where)
    again = LanceTable.open(PATH, filesystem=left)
    count = again.count_rows()
    again.delete("false")
    assert again.count_rows() == count, where


@dataclass(frozen=True, slots=True)
class _State:
    version: int
    rows: tuple[str, ...]
    tags: dict[str, int]
    config: dict[str, str]


def _state(store: FragileFileSystem) -> _State:
    table = LanceTable.open(PATH, filesystem=store)
    names = [*table.schema.names, "_rowid"]
    rows = tuple(sorted(map(repr, table.to_table(columns=names).to_pylist())))
    assert len(rows) == table.count_rows()
    for one in table.history():
        table.checkout(one.version).to_table()
    return _State(
        table.version, rows, {name: tag.version for name, tag in table.tags.items()}, dict(table.manifest.config)
    )


def _check_lines(store: FragileFileSystem, where: str) -> None:
    """A branch or clone is there, whole, or not at all."""
    with contextlib.suppress(TableNotFoundError):
        assert LanceTable.open(CLONE, filesystem=store).to_table().num_rows == 19, where
    table = LanceTable.open(PATH, filesystem=store)
    if "b" in table.branches:
        assert LanceTable.open(PATH, branch="b", filesystem=store).to_table().num_rows == 20, where
        return
    with contextlib.suppress(VersionNotFoundError):
        table.branches.delete("b")
    table.branches.create("b", 1)
    table.branches.delete("b")


def _check_orphans(store: FragileFileSystem, where: str) -> None:
    """What no version names is found by the dry run, all of it and nothing else."""
    table = LanceTable.open(PATH, filesystem=store)
    root = Location(store, PATH)
    needed: set[str] = set()
    for listed in list_manifests(root):
        manifest = read_listed(root, listed)
        needed |= names_in(manifest, read_indices(root, manifest, Limits()))
    files = {path for path in list_tree(store, PATH) if not path.startswith(("_refs", "tree"))}
    orphans = {path for path in files if path not in needed and "/".join(path.split("/")[:2]) not in needed}
    report = table.cleanup(delete_unverified=True)
    assert {file.path for file in report.files} == orphans, (where, orphans, report)
    assert all(file.reason == "no version" for file in report.files), where
    assert not any(file.path for file in table.cleanup().files), where
    before = table.to_table()
    table.cleanup(delete_unverified=True, dry_run=False)
    assert table.to_table().equals(before), where


def crashes(name: str, step: int = 1, start: int = 0) -> Iterator[int]:
    """Crash an operation at every `step`-th call, and yield their numbers."""
    base = base_of(CASES[name])
    for point in range(start % step, points_of(CASES[name], base), step):
        for after in (False, True):
            crash(name, base, point, after=after)
        yield point


def main() -> int:
    """Crash all operations at all calls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *CASES], help="operations; all when none is named")
    parser.add_argument("--step", type=int, default=1, help="every so many calls")
    arguments = parser.parse_args()
    total = 0
    for name in arguments.names or CASES:
        count = sum(1 for _ in crashes(name, arguments.step))
        total += 2 * count
        print(f"{name}: {count} calls, {2 * count} crashes")
    print(f"{total} crashes, each left the old table or the new one")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
