"""Pickled and copied tables: the same version, branch and options wherever they arrive."""

from __future__ import annotations

import copy
import datetime
import pickle
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.fs as arrow_fs
import pytest
from outside import run

from lance_arrow import LanceTable
from lance_arrow.errors import VersionNotFoundError


@pytest.fixture
def table(tmp_path: Path) -> LanceTable:
    words = pa.array(["a", "b", "a"]).dictionary_encode()
    return LanceTable.create(tmp_path / "t.lance", pa.table({"id": [1, 2, 3], "word": words}))


def more(number: int) -> pa.Table:
    return pa.table({"id": [number], "word": pa.array(["c"]).dictionary_encode()})


def there_and_back(table: LanceTable) -> LanceTable:
    return pickle.loads(pickle.dumps(table))


def test_newer_versions_change_nothing(table: LanceTable) -> None:
    stored = pickle.dumps(table)
    LanceTable.open(table.uri).append(more(4))
    again = pickle.loads(stored)
    assert type(again) is LanceTable
    assert (again.version, again.count_rows(), again.uri) == (1, 3, table.uri)
    assert again.to_table().equals(table.to_table())
    assert there_and_back(LanceTable.open(table.uri)).version == 2


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, there_and_back])
def test_a_copy_moves_by_itself(table: LanceTable, copied) -> None:
    other = copied(table)
    other.append(more(4))
    assert (other.version, other.count_rows()) == (2, 4)
    assert (table.version, table.count_rows()) == (1, 3)


def test_branches_and_tags(table: LanceTable) -> None:
    table.branches.create("side", 1)
    side = LanceTable.open(table.uri, branch="side")
    side.append(more(7))
    again = there_and_back(side)
    assert (again.branch, again.version) == ("side", side.version)
    assert again.to_table()["id"].to_pylist() == [1, 2, 3, 7]
    table.tags.create("first", 1)
    table.append(more(4))
    assert there_and_back(table.checkout("first")).count_rows() == 3


def test_options(table: LanceTable) -> None:
    again = there_and_back(LanceTable.open(table.uri, dictionaries="decode", unsafe_single_writer=True))
    assert again.schema.field("word").type == pa.string()
    again.append(more(4))
    assert again.count_rows() == 4


def test_filesystems(table: LanceTable, tmp_path: Path) -> None:
    below = arrow_fs.SubTreeFileSystem(str(tmp_path), arrow_fs.LocalFileSystem())
    assert there_and_back(LanceTable.open("t.lance", filesystem=below)).count_rows() == 3
    memory = fsspec.filesystem("memory")
    LanceTable.create("/pickled.lance", table.to_table(), filesystem=memory)
    assert there_and_back(LanceTable.open("memory://pickled.lance")).count_rows() == 3
    memory.rm("/pickled.lance", recursive=True)


def test_a_version_that_was_cleaned_up(table: LanceTable) -> None:
    stored = pickle.dumps(table)
    table.append(more(4))
    table.cleanup(older_than=datetime.timedelta(), dry_run=False)
    with pytest.raises(VersionNotFoundError):
        pickle.loads(stored)


def test_another_process_reads_the_same_version(table: LanceTable, tmp_path: Path) -> None:
    (tmp_path / "pickled").write_bytes(pickle.dumps(table))
    LanceTable.open(table.uri).append(more(4))
    script = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).to_table()['id'].to_pylist())"
    done = run(script, tmp_path / "pickled")
    assert done.stdout == "[1, 2, 3]\n", done.stderr
