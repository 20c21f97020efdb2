"""`lance-arrow table ...`: what is said, as text and as JSON, and what is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from forged_indices import put_index

from lance_arrow import LanceTable


@pytest.fixture
def table(tmp_path: Path) -> LanceTable:
    made = LanceTable.create(tmp_path / "t.lance", pa.table({"id": range(20)}), max_rows_per_file=8, message="first")
    made.append(pa.table({"id": range(20, 25)}))
    made.delete("id < 3", message="the first three\nand why")
    made.add_columns({"twice": "id * 2"})
    made.tags.create("good", 2)
    made.update_config({"a": "b"})
    made.branches.create("side")
    return made


def test_log(command: Callable[..., Any], table: LanceTable) -> None:
    outcome = command("table", "log", table.uri, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    versions = outcome.document["versions"]
    assert [one["version"] for one in versions] == [5, 4, 3, 2, 1]
    assert [one["operation"] for one in versions] == ["update_config", "merge", "delete", "append", "overwrite"]
    assert [one["num_rows"] for one in versions] == [22, 22, 22, 25, 20]
    assert (versions[3]["tags"], versions[4]["message"]) == (["good"], "first")
    assert outcome.document["branches"] == ["side"]
    text = command("table", "log", table.uri).out
    assert "5 versions of main" in text
    assert "the first three" in text
    assert "and why" not in text
    assert (
        command("table", "log", table.uri, "--branch", "side", "--json").document["versions"][0]["operation"] == "clone"
    )


def test_show(command: Callable[..., Any], table: LanceTable) -> None:
    table.create_zone_map("id")
    document = command("table", "show", table.uri, "--json").document
    assert document["columns"] == {"id": "int64", "twice": "int64"}
    assert (document["config"], document["indices"]) == ({"a": "b"}, {"id_idx": ["id"]})
    assert [(one["num_rows"], one["deleted_rows"], len(one["files"])) for one in document["fragments"]] == [
        (5, 3, 2), (8, 0, 2), (4, 0, 2), (5, 0, 2),
    ]  # fmt: skip
    assert command("table", "show", table.uri, "good", "--json").document["version"]["version"] == 2
    text = command("table", "show", table.uri, "3").out
    assert "version 3 of main" in text
    assert "made by: delete" in text
    assert "the first three\nand why" in text


def test_diff(command: Callable[..., Any], table: LanceTable) -> None:
    document = command("table", "diff", table.uri, "1", "5", "--json").document
    assert document["operations"] == ["append", "delete", "merge", "update_config"]
    assert (document["rows_added"], document["rows_removed"]) == (5, 3)
    assert document["columns_added"] == {"twice": "int64"}
    assert (document["fragments_added"], document["fragments_changed"]) == ([3], [0, 1, 2])
    assert document["config_changed"] == {"a": [None, "b"]}
    assert command("table", "diff", table.uri, "--json").document["old"]["version"] == 4
    assert command("table", "diff", table.uri, "good", "--json").document["new"]["version"] == 5
    back = command("table", "diff", table.uri, "5", "1").out
    assert "column removed: twice (int64)" in back
    assert "rows: 3 added, 5 removed, 0 updated" in back
    table.overwrite(pa.table({"id": ["x"]}))
    document = command("table", "diff", table.uri, "1", "6", "--json").document
    assert document["columns_changed"] == {"id": ["int64", "string"]}
    assert (document["rows_added"], document["rows_removed"], document["rows_updated"]) == (None, None, None)
    assert "replaced the whole table" in document["rows_unknown"]
    assert "rows: unknown: version 6" in command("table", "diff", table.uri, "1", "6").out
    single = LanceTable.create(Path(table.uri) / "../single.lance", pa.table({"id": [1]}))
    outcome = command("table", "diff", single.uri)
    assert (outcome.code, "no version before 1" in outcome.err) == (1, True)


def test_upkeep(command: Callable[..., Any], table: LanceTable) -> None:
    outcome = command("table", "compact", table.uri, "--json")
    assert (outcome.document["old_fragments"], outcome.document["new_fragments"]) == (4, 1)
    assert "nothing is worth" in command("table", "compact", table.uri).out
    assert LanceTable.open(table.uri).count_rows() == 22
    text = command("table", "cleanup", table.uri, "--older-than-days", "0").out
    assert "nothing was removed; add --execute to remove these files" in text
    assert len(LanceTable.open(table.uri).history()) == 7
    document = command("table", "cleanup", table.uri, "--older-than-days", "0", "--retain", "2", "--json").document
    assert document["report"]["versions"] == [1, 3, 4]
    assert document["report"]["kept"]["5"] == "branch 'side' begins here"
    assert document["report"]["is_dry_run"] is True
    outcome = command("table", "cleanup", table.uri, "--older-than-days", "0", "--execute")
    assert (outcome.code, "were removed" in outcome.out) == (0, True)
    assert [one.version for one in LanceTable.open(table.uri).history()] == [7, 5, 2]


def test_compact_with_a_zone_map(command: Callable[..., Any], table: LanceTable) -> None:
    LanceTable.open(table.uri).create_zone_map("id", rows_per_zone=4)
    outcome = command("table", "compact", table.uri, "--json")
    assert (outcome.document["carried_indices"], outcome.document["kept_out"]) == (["id_idx"], {})
    found = LanceTable.open(table.uri)
    assert found.indices == {"id_idx": ("id",)}
    assert sorted(found.to_table(filter="id >= 23")["id"].to_pylist()) == [23, 24]


def test_compact_sorts(command: Callable[..., Any], table: LanceTable) -> None:
    count = LanceTable.open(table.uri).count_rows()
    outcome = command("table", "compact", table.uri, "--cluster-by", "id", "--json")
    assert (outcome.code, outcome.document["new_fragments"], outcome.document["num_rows"]) == (0, 1, count)
    ids = LanceTable.open(table.uri).to_table()["id"].to_pylist()
    assert ids == sorted(ids)
    outcome = command("table", "compact", table.uri, "--cluster-by", "nothing")
    assert outcome.code == 1
    assert "no column 'nothing'" in outcome.err


def test_compact_beside_an_index(command: Callable[..., Any], table: LanceTable) -> None:
    put_index(LanceTable.open(table.uri), "old", "BTreeIndexDetails", [0, 2])
    put_index(LanceTable.open(table.uri), "all", "BTreeIndexDetails", [1, 3])
    outcome = command("table", "compact", table.uri, "--json")
    assert outcome.code == 0
    # Alone, fragment 0 is worth a rewrite for the rows that were deleted of it.
    assert outcome.document["kept_out"] == {"old": [0]}
    assert (outcome.document["old_fragments"], outcome.document["new_fragments"]) == (4, 4)
    text = command("table", "compact", table.uri).out
    assert "no fragment was rewritten in 4 fragments" in text
    assert "index old kept 1 fragment out: 0 (--drop-indices drops it)" in text
    outcome = command("table", "compact", table.uri, "--drop-indices", "--json")
    assert outcome.document["dropped_indices"] == ["all", "old"]
    assert (outcome.document["kept_out"], outcome.document["new_fragments"]) == ({}, 1)
    put_index(LanceTable.open(table.uri), "many", "BTreeIndexDetails", [4])
    LanceTable.open(table.uri).delete("id < 10")
    assert "indices dropped: many" in command("table", "compact", table.uri, "--drop-indices").out


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("name", ["log", "show", "diff", "compact", "cleanup"])
def test_what_is_no_table(command: Callable[..., Any], tmp_path: Path, name: str, as_json: bool) -> None:
    outcome = command("table", name, tmp_path / "nothing", *["--json"] * as_json)
    assert outcome.code == 1
    assert "there is no table here" in outcome.err
    if as_json:
        assert outcome.document["error"]["type"] == "TableNotFoundError"


def test_wrong_usage(command: Callable[..., Any], table: LanceTable) -> None:
    for arguments in (["table"], ["table", "log"], ["table", "nope"], ["table", "cleanup", table.uri, "--retain", "0"]):
        assert command(*arguments).code == 2
    assert command("table", "show", table.uri, "99").code == 1
    assert command("table", "show", table.uri, "no-such-tag").code == 1
