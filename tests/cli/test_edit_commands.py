"""`lance-arrow table delete`, `append`, `restore`, `tag`: what changes, and that a dry run writes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from lance_arrow import LanceTable

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("note", pa.string())])


def rows(start: int, stop: int) -> pa.Table:
    return pa.table({"id": range(start, stop), "note": [f"n{row}" for row in range(start, stop)]}, schema=SCHEMA)


@pytest.fixture
def table(tmp_path: Path) -> LanceTable:
    """Version 2 has fragments of 8, 8, 4 and 5 rows; version 3 lacks ids 0 to 2; a tag, and a branch of version 3."""
    made = LanceTable.create(tmp_path / "t.lance", rows(0, 20), max_rows_per_file=8)
    made.append(rows(20, 25))
    made.delete("id < 3")
    made.tags.create("good", 2)
    made.branches.create("side")
    return made


def listing(folder: Path, *, files_only: bool = False) -> dict[str, tuple[int, int]]:
    """Size and time of change of each file, and of each folder, whose time tells of files that came and went."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() or not files_only
    }


def sources(folder: Path) -> list[Path]:
    """A Parquet file whose ids are of 32 bits and a CSV without notes."""
    (folder / "in").mkdir()
    new = pa.table({"id": pa.array([100, 101], pa.int32()), "note": ["a", None]})
    pq.write_table(new, folder / "in" / "a.parquet")
    pyarrow.csv.write_csv(pa.table({"id": [102]}), folder / "in" / "b.csv")
    return [folder / "in" / "a.parquet", folder / "in" / "b.csv"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["delete", "{table}", "id >= 7 and id < 16"],
        ["append", "{table}", "{parquet}", "{csv}"],
        ["restore", "{table}", "good"],
        ["tag", "{table}", "new", "1"],
        ["tag", "{table}", "good", "--move"],
        ["tag", "{table}", "good", "--delete"],
        ["delete", "{table}", "true", "--branch", "side"],
    ],
    ids=lambda arguments: " ".join(arguments[::2]),
)
def test_a_dry_run_writes_nothing_and_says_what_the_run_does(
    command: Callable[..., Any], table: LanceTable, tmp_path: Path, arguments: list[str]
) -> None:
    values = {"table": table.uri, **dict(zip(("parquet", "csv"), map(str, sources(tmp_path)), strict=True))}
    line = ["table", *(one.format(**values) for one in arguments)]
    before = listing(tmp_path)
    dry = command(*line, "--dry-run", "--json")
    assert (dry.code, dry.err) == (0, "")
    text = command(*line, "--dry-run")
    assert text.out.endswith("dry run: nothing was written\n")
    assert "would" in text.out
    assert listing(tmp_path) == before
    made = command(*line, "--json")
    assert made.code == 0
    assert listing(tmp_path) != before
    # The numbers foreseen are those of the run, but for what only a run has.
    only_made = {"is_dry_run", "seconds", "verified", "checked", "num_bytes", "table_version"}
    if "tag" not in arguments:
        only_made.add("new_version")
    foreseen, done = dry.document, made.document
    assert foreseen["is_dry_run"]
    assert not done["is_dry_run"]
    assert {**foreseen, **dict.fromkeys(only_made)} == {**done, **dict.fromkeys(only_made)}


def test_delete(command: Callable[..., Any], table: LanceTable) -> None:
    # Fragment 1 is removed whole; of fragments 0 and 2 rows are left.
    outcome = command("table", "delete", table.uri, "id >= 7 and id < 17", "-m", "why", "--json")
    found = outcome.document
    assert (found["rows_before"], found["rows_deleted"], found["rows_after"]) == (22, 10, 12)
    assert (found["fragments_removed"], found["fragments_changed"], found["fragments_added"]) == ([1], [0, 2], [])
    assert (found["old_version"], found["new_version"]) == (3, 4)
    newest = LanceTable.open(table.uri)
    assert newest.to_table()["id"].to_pylist() == [3, 4, 5, 6, *range(17, 25)]
    assert newest.history()[0].message == "why"
    text = command("table", "delete", table.uri, "id = 3").out
    assert text == (
        f"{table.uri}: deleted 1 of 12 rows; 11 stay\nfragments: 0 added, 0 removed, 1 changed\n"
        "version 4 -> 5 of main\n"
    )
    command("table", "delete", table.uri, "id = 4", "--branch", "side")
    assert LanceTable.open(table.uri, branch="side").count_rows() == 21
    assert LanceTable.open(table.uri).count_rows() == 11


def test_delete_counts_its_own_rows_beside_another_writer(
    command: Callable[..., Any], table: LanceTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    delete = LanceTable.delete

    def after_another(self: LanceTable, predicate: Any, **options: Any) -> None:
        monkeypatch.setattr(LanceTable, "delete", delete)
        LanceTable.open(self.uri).append(rows(50, 60))
        delete(self, predicate, **options)

    monkeypatch.setattr(LanceTable, "delete", after_another)
    found = command("table", "delete", table.uri, "id = 10", "--json").document
    assert (found["old_version"], found["new_version"], found["rows_before"], found["rows_deleted"]) == (4, 5, 32, 1)
    assert found["fragments_changed"] == [1]


def test_append(command: Callable[..., Any], table: LanceTable, tmp_path: Path) -> None:
    outcome = command("table", "append", table.uri, *sources(tmp_path), "--json")
    document = outcome.document
    assert (document["num_rows"], document["table_version"], document["verified"]) == (3, 4, True)
    assert document["sources"][0]["retyped"] == {"id": "int32 -> int64"}
    last = LanceTable.open(table.uri).to_table(filter="id >= 100")
    assert last.to_pylist() == [{"id": 100, "note": "a"}, {"id": 101, "note": None}, {"id": 102, "note": None}]


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_dry_run_of_append_finds_what_the_run_finds(
    command: Callable[..., Any], table: LanceTable, tmp_path: Path, dry_run: bool
) -> None:
    flag = ["--dry-run"] * dry_run
    pq.write_table(pa.table({"id": pa.array([1, None], pa.int64())}), tmp_path / "null.parquet")
    pq.write_table(pa.table({"id": [1], "more": [1]}), tmp_path / "more.parquet")
    pq.write_table(pa.table({"id": ["1", "x"]}), tmp_path / "text.parquet")
    # A run that fails removes what it wrote; a dry run touches nothing.
    before = listing(Path(table.uri), files_only=not dry_run)
    for arguments, expected in (
        (["null.parquet"], "null in a field that is not nullable"),
        (["more.parquet"], "--exclude"),
        (["text.parquet", "--cast", "id=int64"], "'x'"),
        (["absent.parquet"], "absent.parquet"),
    ):
        outcome = command("table", "append", table.uri, tmp_path / arguments[0], *arguments[1:], *flag)
        assert outcome.code == 1
        assert expected in outcome.err
    assert listing(Path(table.uri), files_only=not dry_run) == before
    assert command("table", "append", tmp_path / "none", tmp_path / "null.parquet", *flag).code == 1
    assert not (tmp_path / "none").exists()


def test_convert_has_a_dry_run_too(command: Callable[..., Any], tmp_path: Path) -> None:
    files = sources(tmp_path)
    before = listing(tmp_path)
    for target in (["o.lance"], ["o", "--table"]):
        outcome = command("convert", *files, tmp_path / target[0], *target[1:], "--dry-run")
        assert "2 columns, 3 rows\ndry run: nothing was written\n" in outcome.out
    assert listing(tmp_path) == before


def test_restore(command: Callable[..., Any], table: LanceTable) -> None:
    found = command("table", "restore", table.uri, "good", "--message", "back", "--json").document
    assert (found["rows_before"], found["rows_after"], found["restored_version"]) == (22, 25, 2)
    assert (found["rows_added"], found["rows_deleted"], found["rows_updated"]) == (3, 0, 0)
    assert (found["old_version"], found["new_version"], found["fragments_changed"]) == (3, 4, [0])
    newest = LanceTable.open(table.uri)
    assert newest.to_table().equals(newest.checkout(2).to_table())
    assert newest.history()[0].message == "back"
    newest.overwrite(pa.table({"id": ["x"]}))
    found = command("table", "restore", table.uri, "2", "--dry-run", "--json").document
    assert (found["rows_added"], found["rows_after"]) == (None, 25)
    assert "rows: unknown: version 5" in command("table", "restore", table.uri, "2", "--dry-run").out


@pytest.mark.parametrize("dry_run", [False, True])
def test_restore_takes_versions_of_the_branch(command: Callable[..., Any], table: LanceTable, dry_run: bool) -> None:
    LanceTable.open(table.uri, branch="side").tags.create("aside", 3)
    for version in ("99", "absent", "aside"):
        outcome = command("table", "restore", table.uri, version, *["--dry-run"] * dry_run)
        assert outcome.code == 1
        assert version in outcome.err
    assert LanceTable.open(table.uri).version == 3


def test_tag(command: Callable[..., Any], table: LanceTable) -> None:
    assert command("table", "tag", table.uri, "now").out == f"{table.uri}: tagged version 3 as now of main\n"
    assert command("table", "tag", table.uri, "same", "good").code == 0
    moved = command("table", "tag", table.uri, "good", "1", "--move", "--json").document
    assert (moved["action"], moved["old_version"], moved["new_version"]) == ("move", 2, 1)
    assert {name: tag.version for name, tag in table.tags.items()} == {"good": 1, "now": 3, "same": 2}
    assert "removed tag good of version 1" in command("table", "tag", table.uri, "good", "--delete").out
    assert set(table.tags) == {"now", "same"}
    command("table", "tag", table.uri, "beside", "--branch", "side")
    assert table.tags["beside"].branch == "side"


@pytest.mark.parametrize("dry_run", [False, True])
def test_refused_tags(command: Callable[..., Any], table: LanceTable, dry_run: bool) -> None:
    before = listing(Path(table.uri))
    for arguments, expected in (
        (["good"], "--move moves it"),
        (["absent", "--move"], "tags: 'good'"),
        (["absent", "--delete"], "tags: 'good'"),
        (["a/b"], "a/b"),
        (["new", "99"], "99"),
    ):
        outcome = command("table", "tag", table.uri, *arguments, *["--dry-run"] * dry_run)
        assert (outcome.code, expected in outcome.err) == (1, True), outcome
    assert command("table", "tag", table.uri, "good", "1", "--delete").code == 2
    assert listing(Path(table.uri)) == before


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_predicate_that_does_not_fit(command: Callable[..., Any], table: LanceTable, dry_run: bool) -> None:
    before = listing(Path(table.uri))
    for where, expected in (("nothing = 1", "nothing"), ("id <", "id <"), ("note", "bool")):
        outcome = command("table", "delete", table.uri, where, *["--dry-run"] * dry_run)
        assert (outcome.code, expected in outcome.err) == (1, True), outcome
    assert listing(Path(table.uri)) == before


@pytest.mark.parametrize("dry_run", [False, True])
def test_tables_that_this_release_cannot_change(command: Callable[..., Any], tmp_path: Path, dry_run: bool) -> None:
    hidden = LanceTable.create(tmp_path / "h", pa.table({"_rowaddr": [1, 2]}))
    outcome = command("table", "delete", hidden.uri, "_rowaddr = 1", *["--dry-run"] * dry_run, "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["error"]["type"] == "UnsupportedError"
