"""`write_fragments` in many processes, `commit_fragments` in one: all rows or none, and no file unnoticed."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import fsspec
import pyarrow as pa
import pytest
from shares import ROWS, share, write_share
from witness import Witness

import lance_arrow
from lance_arrow import LanceTable, commit_fragments, discard_fragments, write_fragments
from lance_arrow.errors import (
    CommitConflictError,
    InvalidArgumentError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
)


def data_files(path: Path) -> set[str]:
    return {file.name for file in (path / "data").iterdir()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    LanceTable.create(tmp_path / "t.lance", share(0))
    return tmp_path / "t.lance"


@pytest.mark.parametrize(
    "mode",
    [pytest.param("create", marks=pytest.mark.whole), "append", pytest.param("overwrite", marks=pytest.mark.whole)],
)
def test_processes_write_and_one_commits(mode: str, tmp_path: Path, witness: Witness) -> None:
    target = tmp_path / "t.lance"
    if mode != "create":
        LanceTable.create(target, share(9))
    # A process that dies is an error here, where a pool of multiprocessing would wait for it.
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        parts = list(pool.map(write_share, [(str(target), number, mode) for number in range(4)]))
    assert [(one.num_rows, len(one.files)) for one in parts] == [(ROWS, 2)] * 4
    table = commit_fragments(target, parts, message="by four")
    wanted = pa.concat_tables([*([share(9)] if mode == "append" else []), *map(share, range(4))])
    assert table.version == (1 if mode == "create" else 2)
    assert (table.history()[0].message, len(table.history())) == ("by four", table.version)
    for found in (table, LanceTable.open(target)):
        assert found.to_table().equals(wanted)
    assert witness.read_directory(target).equals(wanted)
    assert witness.read_version(target, filter="id = 2500")["word"].to_pylist() == ["w1"]


def test_nothing_is_seen_before_the_commit_and_cleanups_find_what_is_left(path: Path) -> None:
    before = data_files(path)
    part = pickle.loads(pickle.dumps(write_fragments(share(1), path)))
    orphans = set(part.files)
    assert data_files(path) == before | orphans
    assert LanceTable.open(path).to_table().equals(share(0))
    table = LanceTable.open(path)
    # Young files may belong to a writer at work.
    assert not {Path(one.path).name for one in table.cleanup(dry_run=True).files} & orphans
    found = table.cleanup(dry_run=True, delete_unverified=True).files
    assert {Path(one.path).name for one in found} == orphans
    discard_fragments(path, [part])
    assert data_files(path) == before
    with pytest.raises(InvalidArgumentError, match="data files of the fragments are gone"):
        commit_fragments(path, [part])
    assert LanceTable.open(path).version == 1


def test_a_writer_that_fails_leaves_no_file(path: Path) -> None:
    before = data_files(path)

    def failing() -> object:
        yield share(1)
        raise RuntimeError("the source ended")

    with pytest.raises(RuntimeError, match="the source ended"):
        write_fragments(failing(), path, max_rows_per_file=300)
    assert data_files(path) == before


def test_a_commit_that_is_repeated_makes_no_second_version(path: Path) -> None:
    parts = [write_fragments(share(number), path) for number in (1, 2)]
    assert commit_fragments(path, parts).version == 2
    LanceTable.open(path).append(share(3))
    assert commit_fragments(path, list(reversed(parts))).version == 2
    assert LanceTable.open(path).version == 3
    with pytest.raises(InvalidArgumentError, match="version 2 of the table has these fragments"):
        discard_fragments(path, parts)
    assert LanceTable.open(path).to_table().equals(pa.concat_tables(map(share, range(4))))
    new = [write_fragments(share(0), path.parent / "new.lance", mode="create")]
    assert [commit_fragments(path.parent / "new.lance", new).version for _ in range(2)] == [1, 1]


def test_others_may_append_meanwhile_but_not_replace_the_table(path: Path) -> None:
    first = write_fragments(share(1), path)
    LanceTable.open(path).append(share(2))
    second = write_fragments(share(3), path)
    assert (first.read_version, second.read_version) == (1, 2)
    table = commit_fragments(path, [second, first])
    assert table.to_table().equals(pa.concat_tables(map(share, (0, 2, 3, 1))))
    late = write_fragments(share(4), path)
    LanceTable.open(path).overwrite(share(5).select(["id"]))
    before = data_files(path)
    with pytest.raises(CommitConflictError, match="version 4 came first"):
        commit_fragments(path, [late])
    # The commit may be repeated, so its files stay until they are discarded.
    assert data_files(path) == before >= set(late.files)
    assert not list((path / "_transactions").glob("3-*"))[1:]
    discard_fragments(path, [late])
    assert data_files(path) == before - set(late.files)
    assert LanceTable.open(path).to_table().equals(share(5).select(["id"]))


def test_a_table_that_appeared_meanwhile(tmp_path: Path) -> None:
    target = tmp_path / "t.lance"
    parts = {mode: write_fragments(share(1), target, mode=mode) for mode in ("create", "overwrite")}
    LanceTable.create(target, share(0))
    with pytest.raises(TableExistsError):
        commit_fragments(target, [parts["create"]])
    with pytest.raises(TableExistsError, match='mode="append"'):
        write_fragments(share(1), target, mode="create")
    assert commit_fragments(target, [parts["overwrite"]]).to_table().equals(share(1))
    with pytest.raises(TableNotFoundError):
        write_fragments(share(1), tmp_path / "none.lance")


def test_fragments_that_do_not_fit_together_are_refused(path: Path) -> None:
    part, other = write_fragments(share(1), path), write_fragments(share(2), path, mode="overwrite")
    narrow = write_fragments(share(2).select(["id"]), path, mode="overwrite")
    for given, said in (
        ([], "there are no fragments"),
        (part, "expected a list"),
        ([part, "x"], "fragments have str"),
        ([part, part], "given twice"),
        ([part, other], "mode 'append' and 'overwrite'"),
        ([other, narrow], "different columns: id: int64, word: string and id: int64"),
    ):
        with pytest.raises(InvalidArgumentError, match=said):
            commit_fragments(path, given)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"mode is 'apend'.*did you mean 'append'"):
        write_fragments(share(1), path, mode="apend")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"files are of version 2\.2, not 2\.1"):
        write_fragments(share(1), path, file_version="2.1")
    with pytest.raises(InvalidArgumentError, match="no stable row ids"):
        commit_fragments(path, [part], enable_stable_row_ids=True)
    with pytest.raises(UnsupportedError):
        write_fragments(pa.table({"x": pa.array([], pa.month_day_nano_interval())}), path, mode="overwrite")
    assert LanceTable.open(path).version == 1


def test_rows_are_fitted_as_in_appends(path: Path) -> None:
    before = data_files(path)
    with pytest.raises(InvalidArgumentError, match="no column 'identity'"):
        write_fragments(pa.table({"identity": [1]}), path)
    with pytest.raises(InvalidArgumentError, match="cast them"):
        write_fragments(pa.table({"id": pa.array([1], pa.int16())}), path)
    with pytest.raises(InvalidArgumentError, match="as schema="):
        write_fragments(share(1), path, mode="overwrite", cast=True)
    assert data_files(path) == before
    small = write_fragments(pa.table({"id": pa.array([7000], pa.int16())}), path, cast=True)
    empty = write_fragments(iter(()), path)
    table = commit_fragments(path, [empty, small])
    assert (empty.num_rows, small.num_rows, small.num_bytes > 0) == (0, 1, True)
    assert table.take([ROWS]).to_pylist() == [{"id": 7000, "word": None}]


def test_stable_row_ids_branches_and_stores(path: Path) -> None:
    stable = path.parent / "stable.lance"
    made = commit_fragments(
        stable,
        [write_fragments(share(number, 3), stable, mode="create") for number in (0, 1)],
        enable_stable_row_ids=True,
    )
    assert made.to_table(columns=["_rowid"])["_rowid"].to_pylist() == list(range(6))
    table = LanceTable.open(path)
    table.branches.create("other", 1)
    grown = commit_fragments(path, [write_fragments(share(1), path, branch="other")])
    assert (grown.branch, grown.count_rows(), LanceTable.open(path).count_rows()) == ("other", 2 * ROWS, ROWS)
    store = fsspec.filesystem("memory")
    part = write_fragments(share(0), "/distributed/t", mode="create", filesystem=store)
    kept = commit_fragments("/distributed/t", [part], filesystem=store, unsafe_single_writer=True)
    assert kept.to_table().equals(share(0))
    store.rm("/distributed", recursive=True)


def test_what_travels_says_what_it_is(path: Path) -> None:
    part = lance_arrow.write_fragments(share(1), path, max_rows_per_file=600)
    assert str(part) == f"1,000 rows in 2 files of {part.num_bytes:,} bytes, not committed"
    assert len(pickle.dumps(part)) < 4000
