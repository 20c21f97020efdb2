"""A version that a cleanup removes is named meanwhile, at each step of either: it stays whole, or naming it fails."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pyarrow as pa
import pytest
from scripted import ScriptedFileSystem

from lance_arrow import LanceTable
from lance_arrow.errors import CommitConflictError, VersionNotFoundError
from lance_arrow.io import Location
from lance_arrow.manifests import version_marks
from lance_arrow.manifests.version_marks import keeping, removing

PATH = "/t.lance"
_REFUSED = (CommitConflictError, VersionNotFoundError)


def opened(filesystem: ScriptedFileSystem) -> LanceTable:
    return LanceTable.open(PATH, filesystem=filesystem)


def _clean(table: LanceTable) -> None:
    table.cleanup(older_than=datetime.timedelta(0), dry_run=False)


NAMINGS: dict[str, Callable[[LanceTable], object]] = {
    "tag": lambda table: table.tags.create("first", 1),
    "move": lambda table: table.tags.update("other", 1),
    "branch": lambda table: table.branches.create("side", 1),
    "restore": lambda table: table.restore(1),
}


def _check(filesystem: ScriptedFileSystem, name: str, before: list[int]) -> None:
    """What was named has the rows of the first version."""
    table = opened(filesystem)
    if name == "tag":
        table = LanceTable.open(PATH, tag="first", filesystem=filesystem)
    elif name == "move":
        table = LanceTable.open(PATH, tag="other", filesystem=filesystem)
    elif name == "branch":
        table = LanceTable.open(PATH, branch="side", filesystem=filesystem)
    assert table.to_table()["id"].to_pylist() == before


@pytest.fixture(scope="module")
def base() -> ScriptedFileSystem:
    filesystem = ScriptedFileSystem()
    table = LanceTable.create(PATH, pa.table({"id": [1, 2, 3]}), filesystem=filesystem)
    table.overwrite(pa.table({"id": [4]}))
    table.overwrite(pa.table({"id": [5]}))
    table.tags.create("other", 3)
    return filesystem


def is_refused(act: Callable[[LanceTable], object], table: LanceTable) -> bool:
    try:
        act(table)
    except _REFUSED:
        return True
    return False


@pytest.mark.cover(1)
@pytest.mark.parametrize("name", NAMINGS)
@pytest.mark.parametrize("cleans_first", [True, False])
def test_each_step(base: ScriptedFileSystem, name: str, cleans_first: bool) -> None:
    first, second = (_clean, NAMINGS[name]) if cleans_first else (NAMINGS[name], _clean)

    def outcome(at: int | None) -> tuple[bool, int]:
        filesystem = base.copy()
        one, other = opened(filesystem), opened(filesystem)
        refusals: list[bool] = []

        def script(number: int, what: str, path: str) -> None:
            if number == at:
                refusals.append(is_refused(second, other))

        calls = filesystem.run(lambda: refusals.append(is_refused(first, one)), script)
        if at is not None and not any(refusals):
            _check(filesystem, name, [1, 2, 3])
        assert not any(".tmp" in path for path in filesystem.file_names())
        assert opened(filesystem).to_table().num_rows in (1, 3)
        return any(refusals), len(calls)

    _, num_calls = outcome(None)
    assert {outcome(at)[0] for at in range(num_calls)} == {True, False}


def test_a_version_is_kept(base: ScriptedFileSystem) -> None:
    filesystem = base.copy()
    line = Location(filesystem, PATH)
    with keeping(line, 2):
        report = opened(filesystem).cleanup(older_than=datetime.timedelta(0), dry_run=False)
        assert report.versions == (1,)
        assert report.kept[2] == "another process is about to name it"
    assert opened(filesystem).cleanup(older_than=datetime.timedelta(0), dry_run=False).versions == (2,)
    with pytest.raises(VersionNotFoundError, match="version 2 was removed"), keeping(line, 2):
        pass


def test_a_version_is_going(base: ScriptedFileSystem) -> None:
    line = Location(base.copy(), PATH)
    with removing(line, [1, 2]) as kept:
        assert kept == frozenset()
        with pytest.raises(CommitConflictError, match="removing versions 1 to 2") as caught, keeping(line, 2):
            pass
        assert caught.value.retryable
        with keeping(line, 3):
            pass
    with keeping(line, 2), removing(line, [1, 2]) as kept:
        assert kept == {2}
    with removing(line, []) as kept:
        assert kept == frozenset()


def test_marks_are_listed_first(base: ScriptedFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that lists in order is not asked for the names of all manifests, unless there are too many marks."""
    filesystem = base.copy()
    line = Location(filesystem, PATH)
    folders = []

    def first(held: object, folder: str, count: int, *, after: str = "") -> tuple[dict[str, int | None], bool]:
        names = sorted(path.rsplit("/", 1)[1] for path in filesystem.file_names() if path.startswith(f"{folder}/"))
        return dict.fromkeys(names[:most]), len(names) <= most

    def listed(held: object, folder: str) -> list[str]:
        folders.append(folder)
        return list(first(held, folder, 0)[0])

    monkeypatch.setattr(version_marks, "list_first", first)
    monkeypatch.setattr(version_marks, "list_names", listed)
    most = 3
    with keeping(line, 1), removing(line, [1, 2]) as kept:
        assert kept == {1}
    assert not folders
    with removing(line, [1, 2]), pytest.raises(CommitConflictError), keeping(line, 1):
        pass
    assert not folders
    most = 1
    with keeping(line, 1):
        assert folders == [f"{PATH}/_versions"]
