"""`head`, `schema`, `stats`, `verify` of tables and of folders of files; the commands that want one file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.cli.stats_view import ColumnPart, summed
from lance_arrow.statistics.zone_builder import ZoneBuilder
from lance_arrow.statistics.zone_maps import ZoneMap

ROWS = pa.table(
    {
        "id": pa.array(range(100), pa.int64()),
        "x": [float(row) if row % 10 else None for row in range(100)],
        "tags": [[f"t{row % 3}"] * (row % 4) for row in range(100)],
    }
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four fragments of 25 rows; version 2 lacks the first 30 rows but the 6th, version 3 has one more column."""
    path = tmp_path_factory.mktemp("tables") / "table"
    made = LanceTable.create(path, ROWS, max_rows_per_file=25)
    made.tags.create("first", 1)
    made.delete("id < 30 and id != 5")
    made.add_columns({"double": "id * 2"})
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("folder")
    lance_arrow.write_table(ROWS.slice(0, 60), path / "a.lance")
    (path / "below").mkdir()
    lance_arrow.write_table(ROWS.slice(60), path / "below" / "b.lance")
    (path / "_hidden").write_text("x")
    return path


@pytest.fixture
def damaged(table: Path, tmp_path: Path) -> Path:
    """A copy of the table to damage."""
    return Path(shutil.copytree(table, tmp_path / "damaged"))


def test_head_shows_live_rows(command: Callable[..., Any], table: Path) -> None:
    found = command("head", table, "-n", 3, "--json").document
    assert [row["id"] for row in found["rows"]] == [5, 30, 31]
    assert (found["num_rows"], found["table_version"], found["columns"]) == (71, 3, ["id", "x", "tags", "double"])
    text = command("head", table, "-n", 2, "-c", "double,id").out
    assert text == "double  id\n    10   5\n    60  30\n(2 of 71 rows, version 3)\n"
    assert len(command("head", table, "-n", 1000, "--json").document["rows"]) == 71


@pytest.mark.parametrize("version", ["1", "first"])
def test_head_and_schema_of_an_older_version(command: Callable[..., Any], table: Path, version: str) -> None:
    found = command("head", table, "-n", 1, "--version", version, "--json").document
    assert (found["rows"][0]["id"], found["num_rows"], found["table_version"]) == (0, 100, 1)
    schema = command("schema", table, "--version", version, "--json").document
    assert [field["name"] for field in schema["fields"]] == ["id", "x", "tags"]


def test_a_branch(command: Callable[..., Any], tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS)
    table.branches.create("trial")
    LanceTable.open(tmp_path / "t", branch="trial").delete("id >= 7")
    assert command("head", tmp_path / "t", "--branch", "trial", "--json").document["num_rows"] == 7
    assert command("head", tmp_path / "t", "--json").document["num_rows"] == 100
    assert command("verify", tmp_path / "t", "-b", "trial", "--json").document["checked"]["rows"] == 7
    missing = command("schema", tmp_path / "t", "--branch", "absent", "--json")
    assert (missing.code, missing.document["error"]["type"]) == (1, "VersionNotFoundError")


def test_schema(command: Callable[..., Any], table: Path) -> None:
    lines = command("schema", table).out.splitlines()
    assert lines[0] == f"{table}: version 3, Lance 2.2, 71 rows"
    assert lines[-1].split() == ["double", "int64", "yes"]


def test_stats_count_live_rows_only(command: Callable[..., Any], table: Path) -> None:
    found = command("stats", table, "--json").document
    assert (found["num_rows"], found["deleted_rows"], found["num_files"], found["table_version"]) == (71, 29, 8, 3)
    columns = {one["path"]: one for one in found["columns"]}
    live = lance_arrow.dataset(str(table)).to_table()
    assert (columns["id"]["min"], columns["id"]["max"], columns["id"]["num_values"]) == (5, 99, 71)
    assert columns["x"]["null_count"] == live["x"].null_count == 7
    assert (columns["x"]["min"], columns["x"]["max"]) == (5.0, 99.0)
    items = live["tags"].combine_chunks().flatten()
    assert columns["tags.item"]["num_values"] == len(items)
    assert (columns["double"]["min"], columns["double"]["max"]) == (10, 198)
    # Two of four fragments have deleted rows: their values are read.
    assert columns["id"]["source"] == "values, zone map"
    text = command("stats", table).out
    assert "29 deleted rows" in text
    assert command("stats", table, "--version", 1, "--json").document["columns"][0]["source"] == "zone map"


def test_stats_of_a_column_that_older_fragments_lack(command: Callable[..., Any], tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"a": [1, 2]}))
    table.add_columns(pa.schema([pa.field("b", pa.int32())]))
    table.append(pa.table({"a": [3], "b": pa.array([4], pa.int32())}))
    (b,) = command("stats", tmp_path / "t", "-c", "b", "--json").document["columns"]
    assert (b["num_values"], b["null_count"], b["min"], b["max"]) == (3, 2, 4, 4)


def test_zones_of_older_files_may_be_null_where_others_are_not(tmp_path: Path) -> None:
    """Files of 0.1 do not always know how many values are null; their schema of zones says so."""
    (leaf,) = LanceTable.create(tmp_path / "t", ROWS.select(["id"]))._reader.columns.roots
    builder = ZoneBuilder(leaf, 100)
    builder.add(pa.array([3, None, 5]))
    zones = builder.finish()
    older = pa.RecordBatch.from_arrays(
        zones.columns, schema=pa.schema([field.with_nullable(not field.nullable) for field in zones.schema])
    )
    maps = [ZoneMap(one, 100, is_repeated=False) for one in (zones, older)]
    parts = [ColumnPart(leaf=leaf, size_bytes=1, codecs=["flat"], zone_map=one, origin="zone map") for one in maps]
    found = summed(parts)
    assert (found.num_values, found.null_count, found.min, found.max, found.size_bytes) == (6, 2, 3, 5, 2)


def test_a_table_without_rows(command: Callable[..., Any], tmp_path: Path) -> None:
    LanceTable.create(tmp_path / "t", ROWS.slice(0, 0))
    assert command("head", tmp_path / "t", "--json").document["rows"] == []
    stats = command("stats", tmp_path / "t", "--json").document
    assert [(one["num_values"], one["min"], one["source"]) for one in stats["columns"]] == [(0, None, "nothing")] * 3
    assert command("verify", tmp_path / "t").code == 0


def test_a_folder_of_files(command: Callable[..., Any], folder: Path) -> None:
    head = command("head", folder, "-n", 70, "--json").document
    assert [row["id"] for row in head["rows"]] == list(range(70))
    assert (head["num_rows"], head["table_version"]) == (100, None)
    assert command("schema", folder, "--json").document["num_rows"] == 100
    stats = command("stats", folder, "--json").document
    assert (stats["columns"][0]["min"], stats["columns"][0]["max"], stats["num_files"]) == (0, 99, 2)
    assert stats["columns"][1]["null_count"] == ROWS["x"].null_count
    verified = command("verify", folder, "--json").document
    assert (verified["ok"], verified["checked"]["files"], verified["checked"]["rows"]) == (True, 2, 100)


def test_files_of_a_folder_with_other_types(command: Callable[..., Any], tmp_path: Path) -> None:
    lance_arrow.write_table(pa.table({"a": [1]}), tmp_path / "a.lance")
    lance_arrow.write_table(pa.table({"a": ["x"]}), tmp_path / "b.lance")
    outcome = command("stats", tmp_path, "--json")
    error = outcome.document["error"]
    assert (outcome.code, error["column"], error["path"]) == (1, "a", str(tmp_path / "b.lance"))
    assert "string" in error["message"]
    assert "int64" in error["message"]


@pytest.mark.parametrize("name", ["head", "schema", "stats", "verify", "inspect"])
def test_a_folder_without_files(command: Callable[..., Any], tmp_path: Path, name: str) -> None:
    (tmp_path / "empty" / ".git").mkdir(parents=True)
    (tmp_path / "empty" / ".git" / "x").write_text("x")
    outcome = command(name, tmp_path / "empty", "--json")
    assert (outcome.code, outcome.document["error"]["type"]) == (1, "TableNotFoundError")
    assert "_versions" in outcome.err


@pytest.mark.parametrize("name", ["head", "schema", "stats", "verify"])
def test_versions_are_of_tables(command: Callable[..., Any], folder: Path, name: str) -> None:
    for path in (folder, folder / "a.lance"):
        outcome = command(name, path, "--version", "1", "--json")
        assert (outcome.code, outcome.document["error"]["type"]) == (1, "InvalidArgumentError")
        assert "--version" in outcome.err


def test_commands_for_one_file_name_the_files_and_the_other_command(
    command: Callable[..., Any], table: Path, folder: Path
) -> None:
    for name, instead in ((["inspect"], "table show"), (["zones", "show", "-c", "id"], "zones show")):
        outcome = command(*name, table)
        assert outcome.code == 1
        assert f"lance-arrow {instead} {table}" in outcome.err
        assert f"{table}/data/" in outcome.err
        assert "and 3 more" in outcome.err
        assert "b.lance" in command(*name, folder).err
    outcome = command("zones", "build", folder / "a.lance", table)
    assert (outcome.code, f"{table}/data/" in outcome.err) == (1, True)
    assert not list(folder.glob("*.zones"))


def test_zones_of_a_table(command: Callable[..., Any], tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS, max_rows_per_file=50, rows_per_zone=20)
    table.append(ROWS.slice(0, 30), rows_per_zone=None)
    table.delete("id = 3")
    found = command("zones", "show", tmp_path / "t", "--json").document
    assert (found["num_rows"], found["num_fragments"], found["table_version"]) == (130, 3, 3)
    (of_id,) = [one for one in found["maps"] if one["path"] == "id"]
    assert (of_id["num_zones"], of_id["num_fragments"], of_id["source"]) == (6, 2, "file")
    last = table.manifest.fragments[2].files[0].path
    assert command("zones", "build", tmp_path / "t" / "data" / last, "-c", "id").code == 0
    (of_id,) = [
        one for one in command("zones", "show", tmp_path / "t", "--json").document["maps"] if one["path"] == "id"
    ]
    assert (of_id["num_fragments"], of_id["source"]) == (3, "file, sidecar")
    assert (
        "id: int64, 6 zones of 20 rows in 2 of 2 fragments (file)"
        in command("zones", "show", tmp_path / "t", "--version", 1).out
    )


def test_table_show_says_how_to_see_rows(command: Callable[..., Any], table: Path) -> None:
    last = command("table", "show", table, "first").out.splitlines()[-1]
    assert last == f"first rows: lance-arrow head {table} --version 1"
    assert command(*last.split()[3:]).code == 0


def test_verify_in_order(command: Callable[..., Any], table: Path) -> None:
    outcome = command("verify", table)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[:2] == [
        f"{table}: version 3, in order",
        "files: 8 data files, 2 deletion files",
    ]
    assert "71 rows" in outcome.out


def test_verify_names_what_is_damaged(command: Callable[..., Any], damaged: Path) -> None:
    files = LanceTable.open(damaged).manifest.fragments
    broken, lost, short = (damaged / "data" / files[at].files[0].path for at in (1, 2, 3))
    data = bytearray(broken.read_bytes())
    data[64] ^= 1
    broken.write_bytes(data)
    lost.unlink()
    short.write_bytes(short.read_bytes()[:-100])
    deletions = sorted((damaged / "_deletions").iterdir())
    deletions[1].write_bytes(b"no deletions")
    outcome = command("verify", damaged, "--json")
    assert outcome.code == 1
    errors = {error["path"]: error for error in outcome.document["errors"]}
    assert errors.keys() == {str(broken), str(lost), str(short), str(deletions[1])}
    assert (errors[str(broken)]["column"], errors[str(broken)]["page"]) == ("id", 0)
    assert errors[str(lost)]["type"] == "MissingFileError"
    assert errors[str(deletions[1])]["type"] == "CorruptManifestError"
    text = command("verify", damaged)
    assert text.code == 1
    assert text.out.startswith(f"{damaged}: version 3, {len(outcome.document['errors'])} faults\n")
    assert text.out.count("fault: ") == len(outcome.document["errors"])


def test_verify_compares_counts_with_the_manifest(command: Callable[..., Any], damaged: Path) -> None:
    """A sound file of other rows under the name of a data file."""
    fragment = LanceTable.open(damaged).manifest.fragments[3]
    victim = damaged / "data" / fragment.files[0].path
    lance_arrow.write_table(ROWS.slice(75, 24), victim)
    (error,) = command("verify", damaged, "--json").document["errors"]
    assert error["path"] == str(victim)
    assert error["type"] == "CorruptManifestError"
    assert lance_arrow.verify(str(victim)).ok


def test_python_verifies_tables_too(damaged: Path) -> None:
    assert lance_arrow.verify(damaged).version == 3
    assert lance_arrow.verify(damaged, tag="first").checked.rows == 100
    for file in (damaged / "_deletions").iterdir():
        file.unlink()
    assert not lance_arrow.verify(damaged).ok
    # The first version knows no deletion file.
    assert lance_arrow.verify(damaged, version=1).ok


def test_urls_and_storage_options(command: Callable[..., Any], table: Path, tmp_path: Path) -> None:
    cached = f"simplecache::{(table / 'data').as_uri()}/"
    name = LanceTable.open(table).manifest.fragments[0].files[0].path
    option = ["--storage-option", f'simplecache={{"cache_storage": "{tmp_path / "cache"}"}}']
    for command_name in ("schema", "head", "stats", "inspect", "verify"):
        assert command(command_name, cached + name, *option).code == 0
    assert command("zones", "show", cached + name, *option).code == 0
    assert any((tmp_path / "cache").iterdir())
    outcome = command("table", "log", f"file://{table}", "--storage-option", "auto_mkdir=false", "--json")
    assert [one["version"] for one in outcome.document["versions"]] == [3, 2, 1]
    wrong = command("schema", cached + name, "--storage-option", "nonsense", "--json")
    assert (wrong.code, wrong.document["error"]["type"]) == (1, "InvalidArgumentError")
