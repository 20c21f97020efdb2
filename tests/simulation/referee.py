"""`Referee`: looks at the store after each change, and at each answer that a task gets; what breaks a promise ends it.

A new version is compared with its operation done to the version before, as a serial order demands. The referee keeps
the rows of all versions, also of those that a cleanup removed, and knows which files the versions in the store name.
"""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from store import Object, SimulatedFileSystem, Store
from world import Killed, Violation, World

from lance_arrow import LanceTable, verify
from lance_arrow.io import Location
from lance_arrow.manifests.index_section import read_indices
from lance_arrow.manifests.names import NamingScheme, parse_name
from lance_arrow.manifests.references import branch_root
from lance_arrow.manifests.version_files import names_in
from lance_arrow.manifests.versions import ManifestFile
from lance_arrow.settings import Limits
from lance_arrow.table.history import read_versions

PATH = "/t.lance"
FILTERED_OF = 3
"""Of so many versions one is asked with a filter when it appears; the newest one at the end always is."""
Row = Mapping[str, Any]
Line = str
"""Name of a branch; empty for the main one."""


@dataclass(frozen=True, slots=True)
class State:
    """The rows of a version by their key, without and with the ids that the table gave them."""

    columns: frozenset[str]
    rows: Mapping[int, Row]
    row_ids: Mapping[int, int]


def applied(told: Mapping[str, Any], before: State, read: State, states: Mapping[tuple[str, int], State]) -> State:
    """What an operation makes of the version before it.

    Parameters
    ----------
    told
        What the operation said of itself.
    before, read
        The version before, and the one that the operation was made from: rows that were added since are not its.
    states
        All versions, for restores.
    """
    do, columns = told["do"], before.columns

    def is_hit(key: int) -> bool:
        seen = read.row_ids.get(key) == before.row_ids[key]
        return bool(seen and key % told["by"] == told["rest"])

    if do in ("append", "branch_append"):
        fresh = {key: _fresh(key, told, columns) for key in told["keys"]}
        return State(columns, {**before.rows, **fresh}, before.row_ids)
    if do == "delete":
        return State(columns, {key: row for key, row in before.rows.items() if not is_hit(key)}, before.row_ids)
    if do == "update":
        rows = {key: {**row, "n": row["n"] + 1} if is_hit(key) else row for key, row in before.rows.items()}
        return State(columns, rows, before.row_ids)
    if do == "merge":
        rows = dict(before.rows)
        for key in told["keys"]:
            rows[key] = {**rows.get(key, _fresh(key, told, columns)), "w": told["number"], "n": 0}
        return State(columns, rows, before.row_ids)
    if do == "overwrite":
        names = frozenset(("id", "w", "n"))
        return State(names, {key: _fresh(key, told, names) for key in told["keys"]}, {})
    if do == "restore":
        return states[told["line"], told["version"]]
    if do == "add_column":
        name = told["name"]
        return State(
            columns | {name}, {key: {**row, name: key * 2} for key, row in before.rows.items()}, before.row_ids
        )
    if do == "drop_column":
        rows = {key: {n: v for n, v in row.items() if n != told["name"]} for key, row in before.rows.items()}
        return State(columns - {told["name"]}, rows, before.row_ids)
    return before


def _fresh(key: int, told: Mapping[str, Any], columns: frozenset[str]) -> Row:
    return {name: None for name in columns} | {"id": key, "w": told["number"], "n": 0}


class Referee:
    """Checks one history.

    Parameters
    ----------
    world, held
        The tasks, and the store.
    kind
        One of `store.KINDS`.
    """

    def __init__(self, world: World, held: Store, kind: str) -> None:
        self.world, self.held, self.kind = world, held, kind
        self.filesystem = SimulatedFileSystem(held, kind)
        self.root = Location(self.filesystem, PATH)
        self.states: dict[tuple[Line, int], State] = {}
        self.newest: dict[Line, int] = {}
        self.owners: dict[Line, dict[int, int]] = {}
        self.named: dict[str, frozenset[str]] = {}
        self.published: Counter[int] = Counter()
        self.made: dict[int, tuple[Line, int]] = {}
        self.times: dict[tuple[Line, int], float] = {}
        self.kept_tags: dict[str, tuple[Line, int]] = {}
        self.touched_tags: set[str] = set()
        self.dropped: set[Line] = set()
        self.cleaning: dict[str, float] = {}
        self.has_cleaned = False
        self.num_commits = 0
        self.read: dict[tuple[object, ...], list[dict[str, Any]]] = {}

    def watch(self) -> None:
        """Be told of each change from now on."""
        self.held.on_put, self.held.on_remove = self._put, self._removed

    def broken(self, what: str) -> None:
        """End the history, because a promise is broken."""
        self.world.fail(Violation(what))
        raise Killed

    def _put(self, path: str, old: Object | None) -> None:
        found = _manifest(path)
        if found is None:
            return
        line, version = found
        if line in self.dropped:
            # Nothing is promised for a branch that is written while another process removes it.
            return
        if old is not None:
            if old.data != self.held.objects[path].data:
                self.broken(f"version {version} of {line or 'main'} was replaced by another one")
            return
        task, self.world.current = self.world.current, None
        try:
            self.look(line, version)
        except Killed:
            raise
        except BaseException as error:
            self.world.current = task
            self.world.fail(error)
            raise Killed from error
        self.world.current = task

    def look(self, line: Line, version: int) -> None:
        """Read a new version, and compare it with its operation."""
        newest = self.newest.get(line)
        if newest is not None and version != newest + 1:
            self.broken(f"version {version} of {line or 'main'} follows version {newest}")
        table = LanceTable.open(PATH, branch=line or None, version=version, filesystem=self.filesystem)
        place = branch_root(self.root, line or None)
        name = posixpath.basename(table.manifest.facts.manifest_path)
        parsed = parse_name(name)
        assert parsed is not None
        ((_, transaction),) = read_versions(place, [ManifestFile(parsed, None)], Limits())
        assert transaction is not None
        self.num_commits += 1
        self._note_files(table, posixpath.join(place.path, "_versions", name))
        state = self._state(table)
        told = json.loads(transaction.message) if transaction.message else {"do": "nothing"}
        if newest is not None:
            read = self.states.get((line, transaction.read_version))
            if read is None:
                self.broken(f"version {version} was made from version {transaction.read_version}, which never was")
            before = self.states[line, newest]
            if transaction.operation == "reserve_fragments":
                told = {"do": "nothing"}
            self._compare(state, applied(told, before, read, self.states), f"version {version}: {told}")
            self._check_ids(line, state, before, told)
        elif told["do"] == "branch":
            parent = told["line"], told["version"]
            self._compare(state, self.states[parent], f"branch {line}")
            self.owners[line] = {row_id: key for key, row_id in state.row_ids.items()}
        else:
            self.owners[line] = {row_id: key for key, row_id in state.row_ids.items()}
        self.states[line, version] = state
        self.newest[line] = version
        self.times[line, version] = self.world.now
        number = told.get("number")
        if number is not None:
            self.published[number] += 1
            self.made[number] = line, version
            if self.published[number] > 1:
                self.broken(f"operation {number} made two versions: {told}")

    def _state(self, table: LanceTable) -> State:
        names = table.schema.names
        found = self._rows(table)
        rows, row_ids = {}, {}
        for row in found:
            row_ids[row["id"]] = row.pop("_rowid")
            rows[row["id"]] = row
        if len(rows) != len(found) or len(set(row_ids.values())) != len(found):
            self.broken(f"version {table.version} has a row, or an id, twice")
        keys = sorted(rows)
        if table.version % FILTERED_OF == 0:
            self._check_filter(table, keys)
        if table.count_rows() != len(keys):
            self.broken(f"version {table.version} counts other rows than it has")
        return State(frozenset(names), rows, row_ids)

    def _check_filter(self, table: LanceTable, keys: list[int]) -> None:
        pivot = keys[len(keys) // 2] if keys else 0
        count = table.count_rows(f"id < {pivot}")
        if count != sum(key < pivot for key in keys):
            self.broken(f"version {table.version}: a filter finds {count} rows below {pivot} of {keys}")

    def _rows(self, table: LanceTable) -> list[dict[str, Any]]:
        """Read all rows; those of a fragment that versions share are read once, by the reader of tables."""
        columns = [*table.schema.names, "_rowid"]
        keys = [(meta, *columns) for meta in table.manifest.fragments]
        missing = [number for number, key in enumerate(keys) if key not in self.read]
        if missing:
            part = table._reader.part(missing)
            batches = list(part.batches(part.projection(columns), None, None))
            rows = [row for batch in batches for row in batch.to_pylist()]
            for number in missing:
                count = table.manifest.fragments[number].num_rows
                self.read[keys[number]], rows = rows[:count], rows[count:]
            if rows:
                self.broken(f"version {table.version} has more rows than its fragments: {rows}")
        return [dict(row) for key in keys for row in self.read[key]]

    def _compare(self, found: State, expected: State, what: str) -> None:
        if found.columns != expected.columns:
            self.broken(f"{what}: columns {sorted(found.columns)}, expected {sorted(expected.columns)}")
        if found.rows != expected.rows:
            wrong = [
                (key, found.rows.get(key), expected.rows.get(key))
                for key in sorted(found.rows.keys() | expected.rows.keys())
                if found.rows.get(key) != expected.rows.get(key)
            ]
            self.broken(f"{what}: key, found, expected: {wrong[:4]}")

    def _check_ids(self, line: Line, state: State, before: State, told: Mapping[str, Any]) -> None:
        owners = self.owners[line]
        is_new = told["do"] == "overwrite"
        for key, row_id in state.row_ids.items():
            if owners.setdefault(row_id, key) != key:
                self.broken(f"row id {row_id} was that of row {owners[row_id]}, and is that of row {key}")
            if not is_new and told["do"] != "restore" and before.row_ids.get(key, row_id) != row_id:
                self.broken(f"row {key} had the id {before.row_ids[key]}, and has {row_id}: {told}")
        if is_new and set(state.row_ids.values()) & set(before.row_ids.values()):
            self.broken("an overwrite gave ids of other rows again")

    def _note_files(self, table: LanceTable, path: str) -> None:
        place = branch_root(self.root, table.branch)
        indices = read_indices(place, table.manifest, Limits())
        names = names_in(table.manifest, indices)
        self.named[path] = frozenset(name for name in names if not name.startswith("_versions/"))
        fragments = [fragment.id for fragment in table.manifest.fragments]
        if len(set(fragments)) != len(fragments):
            self.broken(f"version {table.version} has two fragments of one id: {fragments}")
        for name in self.named[path]:
            if not any(f"{held}/".endswith(f"/{name}/") or f"/{name}/" in held for held in self.held.objects):
                self.broken(f"version {table.version} names {name}, which is not there")

    def _removed(self, path: str) -> None:
        found = _manifest(path)
        if found is None:
            owner = _owner(path)
            for manifest, names in self.named.items():
                if owner in names:
                    self.broken(f"{path} was removed, and {manifest} needs it")
            return
        self.named.pop(path, None)
        line, version = found
        if line in self.dropped:
            return
        if version == self.newest.get(line):
            self.broken(f"the newest version {version} of {line or 'main'} was removed")
        for tag, place in self.kept_tags.items():
            if place == found:
                self.broken(f"version {version} was removed, and tag {tag} names it")
        task = self.world.current
        least = self.cleaning.get("" if task is None else task.name)
        age = self.world.now - self.times.get((line, version + 1), -1e12)
        if least is not None and age < least - SKEW_SECONDS:
            self.broken(f"version {version} was removed, and was current {age:.0f} seconds ago")

    def touch(self, tag: str) -> None:
        """Note that a tag is moved or removed: nothing is promised of it from now on."""
        self.touched_tags.add(tag)
        self.kept_tags.pop(tag, None)

    def is_there(self, line: Line, version: int) -> bool:
        """Whether the store has a version."""
        return any(_manifest(path) == (line, version) for path in self.held.objects)

    def finish(self, *, verifies: bool) -> None:
        """Look at the store when all tasks are done; to verify the newest versions takes as long as five commits."""
        for line, version in sorted(self.newest.items()):
            if not verifies or line in self.dropped or not self.is_there(line, version):
                continue
            report = verify(PATH, branch=line or None, version=version, filesystem=self.filesystem)
            if not report.ok:
                self.broken(f"{line or 'main'}: {[str(one) for one in report.errors]}")
        table = LanceTable.open(PATH, filesystem=self.filesystem, unsafe_single_writer=True)
        if table.version != self.newest[""]:
            self.broken(f"the newest version is {table.version}, expected {self.newest['']}")
        self._check_filter(table, sorted(self.states["", table.version].rows))
        for tag, (line, version) in sorted(self.kept_tags.items()):
            found = table.tags.get(tag)
            if found is None or (found.branch or "", found.version) != (line, version):
                self.broken(f"tag {tag} is {found}, expected version {version} of {line or 'main'}")
            if not self.is_there(line, version):
                self.broken(f"tag {tag} names version {version} of {line or 'main'}, which is not there")
        table.update_config({"is_over": "yes"})


SKEW_SECONDS = 6 * 86_400 + 60.0


def _manifest(path: str) -> tuple[Line, int] | None:
    folder, name = posixpath.split(path)
    parsed = parse_name(name)
    if posixpath.basename(folder) != "_versions" or parsed is None or parsed.scheme is NamingScheme.DETACHED:
        return None
    line = posixpath.dirname(folder).removeprefix(PATH).removeprefix("/tree/")
    return line, parsed.version


def _owner(path: str) -> str:
    parts = path.split("/")
    for at, part in enumerate(parts):
        if part == "_indices":
            return "/".join(parts[at : at + 2])
        if part in ("data", "_deletions", "_transactions"):
            return "/".join(parts[at : at + 2])
    return path
