"""Two writers, the second one running wholly at each step of the first: no row is lost or doubled, whatever happens."""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Callable
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scripted import Dead, ScriptedFileSystem

from lance_arrow import LanceTable
from lance_arrow.errors import CommitConflictError
from lance_arrow.table.history import VersionMeta

PATH = "/t.lance"
Edit = Callable[[LanceTable], None]


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "s": [f"row {i}" for i in ids]})


@functools.cache
def first_versions(*, enable_stable_row_ids: bool = False) -> ScriptedFileSystem:
    filesystem = ScriptedFileSystem()
    table = LanceTable.create(
        PATH,
        rows(*range(8)),
        filesystem=filesystem,
        max_rows_per_file=4,
        enable_stable_row_ids=enable_stable_row_ids,
    )
    table.append(rows(8, 9))
    return filesystem


def opened(filesystem: ScriptedFileSystem) -> LanceTable:
    return LanceTable.open(PATH, filesystem=filesystem)


def _merge(table: LanceTable) -> None:
    merge = table.merge(rows(2, 100, 300), on="id")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


EDITS: dict[str, Edit] = {
    "append": lambda table: table.append(rows(100, 101)),
    "delete_first": lambda table: table.delete(pc.field("id") < 3),
    "delete_fragment": lambda table: table.delete(pc.field("id") >= 8),
    "overwrite": lambda table: table.overwrite(rows(200, 201)),
    "restore": lambda table: table.restore(1),
    "update": lambda table: table.update({"id": "id + 1000"}, pc.field("id").isin([1, 9])),
    "merge": _merge,
}


def ids_of(table: LanceTable) -> Counter[int]:
    return Counter(table.to_table()["id"].to_pylist())


@functools.cache
def serially(first: Edit, second: Edit | None) -> Counter[int]:
    """What two edits give one after the other."""
    filesystem = first_versions().copy()
    table = opened(filesystem)
    first(table)
    if second is not None:
        second(table)
    return ids_of(table)


def data_files(filesystem: ScriptedFileSystem, history: list[VersionMeta]) -> tuple[set[str], set[str]]:
    """Files that are there, and files that some version names."""
    named = set()
    for version in history:
        manifest = opened(filesystem).checkout(version.version).manifest
        for fragment in manifest.fragments:
            named |= {f"{PATH}/data/{file.path}" for file in fragment.files}
            if fragment.deletion is not None:
                named.add(f"{PATH}/_deletions/{fragment.deletion.name}")
        named.add(f"{PATH}/_transactions/{manifest.transaction_file}")
    there = {path for path in filesystem.file_names() if "/_versions/" not in path}
    return there, named


# What the first writer gets when the second one is done before it commits. Source: table-format 7.3.
REFUSED = {
    ("append", "overwrite"): False,
    ("append", "restore"): False,
    ("delete_first", "overwrite"): False,
    ("delete_first", "restore"): False,
    ("delete_fragment", "overwrite"): False,
    ("delete_fragment", "restore"): False,
    ("overwrite", "overwrite"): True,
    ("update", "overwrite"): False,
    ("update", "restore"): False,
    ("merge", "overwrite"): False,
    ("merge", "restore"): False,
}


@pytest.mark.cover(1)
@pytest.mark.parametrize(("mine", "theirs"), list(product(EDITS, EDITS)))
def test_every_step(mine: str, theirs: str) -> None:
    first, second = EDITS[mine], EDITS[theirs]
    step, outcomes = 0, set()
    while True:
        filesystem = first_versions().copy()
        writers = opened(filesystem), opened(filesystem)
        refused: dict[int, CommitConflictError] = {}

        def edit(which: int, refused: dict = refused, writers: tuple = writers) -> None:
            try:
                (first, second)[which](writers[which])
            except CommitConflictError as error:
                refused[which] = error

        def script(number: int, what: str, path: str, step: int = step, edit: Callable = edit) -> None:
            if number == step:
                edit(1)

        num_calls = len(filesystem.run(lambda edit=edit: edit(0), script))  # type: ignore[misc]
        if step >= num_calls:
            break
        check_outcome(filesystem, writers, refused, (mine, theirs))
        outcomes.add(tuple(refused))
        step += 1
    assert step >= 5
    # Whoever is second is refused where the conflict table says so.
    expected = {(0,) if (mine, theirs) in REFUSED else (), (1,) if (theirs, mine) in REFUSED else ()}
    assert outcomes == expected


def check_outcome(
    filesystem: ScriptedFileSystem,
    writers: tuple[LanceTable, LanceTable],
    refused: dict[int, CommitConflictError],
    names: tuple[str, str],
) -> None:
    edits = [EDITS[name] for name in names]
    table = opened(filesystem)
    found, history = ids_of(table), table.history()
    assert [version.version for version in history] == list(range(len(history), 0, -1))
    assert len(refused) < 2
    if not refused:
        assert len(history) == 4
        assert found in (serially(*edits), serially(*reversed(edits)))
        assert {writer.version for writer in writers} == {3, 4}
    for which, error in refused.items():
        assert len(history) == 3
        assert found == serially(edits[1 - which], None)
        assert writers[which].version == 2
        assert error.retryable == REFUSED[names[which], names[1 - which]]
        assert error.ours is not None
        assert error.theirs is not None
    there, named = data_files(filesystem, history)
    assert there == named, "files are left behind, or missing"


def test_losing_again_and_again() -> None:
    """Another writer is first at every attempt but the last."""
    filesystem = first_versions().copy()
    ours, lost = opened(filesystem), []

    def script(number: int, what: str, path: str) -> None:
        if what == "create" and "/_versions/" in path and len(lost) < 5:
            lost.append(path)
            opened(filesystem).append(rows(1000 + len(lost)))

    calls = filesystem.run(lambda: ours.append(rows(50)), script)
    assert len(lost) == 5
    assert ours.version == 8
    assert ids_of(ours) == Counter([*range(10), 50, *range(1001, 1006)])
    assert sum("_transactions/" in path for what, path in calls if what == "write") == 1


@pytest.mark.parametrize("edit", list(EDITS))
def test_lost_answers(edit: str) -> None:
    """The version appears, but the store's answer is an error: it is ours all the same, once."""
    filesystem = first_versions().copy()
    ours = opened(filesystem)
    answers = []

    def script(number: int, what: str, path: str) -> None:
        if what == "created" and "/_versions/" in path and not answers:
            answers.append(path)
            raise TimeoutError("no answer")

    filesystem.run(lambda: EDITS[edit](ours), script)
    assert answers
    assert ours.version == opened(filesystem).version == 3
    assert ids_of(ours) == serially(EDITS[edit], None)


@pytest.mark.cover(1)
@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("edit", list(EDITS))
@pytest.mark.parametrize("kind", [Dead, OSError])
def test_dying_at_every_step(edit: str, kind: type[BaseException], stable: bool) -> None:
    """Whatever call is the last one: the table is at the old version or at the new one, and can be written on."""
    before, after = Counter(range(10)), serially(EDITS[edit], None)
    step, outcomes = 0, set()
    while True:
        filesystem = first_versions(enable_stable_row_ids=stable).copy()
        ours = opened(filesystem)

        def script(number: int, what: str, path: str, step: int = step) -> None:
            # Who is dead does nothing more; an error comes once.
            if number == step or (number > step and kind is Dead):
                raise kind("here")

        with contextlib.suppress(kind):
            filesystem.run(lambda ours=ours: EDITS[edit](ours), script)  # type: ignore[misc]
        is_done = step >= len(filesystem.calls)
        if is_done:
            break
        table = opened(filesystem)
        found = ids_of(table)
        assert found == (before if table.version == 2 else after)
        assert table.version in (2, 3)
        outcomes.add(table.version)
        there, named = data_files(filesystem, table.history())
        assert there >= named, "a version names what is not there"
        if kind is OSError and table.version == 2 and filesystem.calls[step][0] not in ("remove", "removed"):
            assert ours.version == 2
        table.append(rows(77))
        assert ids_of(opened(filesystem)) == found + Counter([77])
        step += 1
    assert outcomes == {2, 3}


def test_an_error_leaves_nothing_behind() -> None:
    refused = set()
    for edit, forbidden in product(EDITS, ("/data/", "/_deletions/", "/_transactions/")):
        filesystem = first_versions().copy()
        before = filesystem.file_names()

        def script(number: int, what: str, path: str, forbidden: str = forbidden) -> None:
            if what == "written" and forbidden in path:
                raise PermissionError("no")

        ours = opened(filesystem)
        try:
            filesystem.run(lambda edit=edit, ours=ours: EDITS[edit](ours), script)  # type: ignore[misc]
        except PermissionError:
            refused.add(forbidden)
            assert filesystem.file_names() == before, (edit, forbidden)
            assert ours.version == 2
    assert refused == {"/data/", "/_deletions/", "/_transactions/"}
