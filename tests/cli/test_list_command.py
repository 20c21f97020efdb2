"""`lance-arrow table list`: the tables of a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import lance_arrow


def test_list(command: Callable[..., Any], tmp_path: Path) -> None:
    catalog = lance_arrow.catalog(tmp_path)
    catalog.create_table("planes", pa.table({"tail": ["a", "b"], "seats": [1, 2]})).delete("seats = 1")
    catalog.create_table("gone", pa.table({"x": [1]}))
    catalog.deregister_table("gone")
    catalog.create_table("broken", pa.table({"x": [1]}))
    for manifest in (tmp_path / "broken.lance" / "_versions").glob("*.manifest"):
        manifest.write_bytes(manifest.read_bytes()[:-4])
    outcome = command("table", "list", tmp_path)
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[:4] == [
        f"{tmp_path}: 2 tables",
        "",
        "table   version  rows  columns",
        "planes        2     1        2",
    ]
    assert lines[4].startswith("broken: ")
    found = command("table", "ls", tmp_path, "--json").document
    assert [one["name"] for one in found["tables"]] == ["broken", "planes"]
    assert [one["error"] is None for one in found["tables"]] == [False, True]
    assert found["tables"][1]["num_rows"] == 1


def test_what_is_no_catalog(command: Callable[..., Any], tmp_path: Path) -> None:
    lance_arrow.catalog(tmp_path).create_table("t", pa.table({"x": [1]}))
    (tmp_path / "empty").mkdir()
    assert command("table", "list", tmp_path / "empty").out == f"{tmp_path / 'empty'}: 0 tables\n"
    for path, expected in ((tmp_path / "t.lance", "this is a table"), (tmp_path / "absent", "no folder")):
        outcome = command("table", "list", path, "--json")
        assert (outcome.code, outcome.document["error"]["type"]) == (1, "TableNotFoundError")
        assert expected in outcome.err
