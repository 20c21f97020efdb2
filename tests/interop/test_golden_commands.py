"""The command line on every historical table: schema, first rows, statistics and verification agree with its rows."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import golden
import pytest

from lance_arrow import LanceTable
from lance_arrow.cli.app import run
from lance_arrow.errors import MissingFileError

TABLES = sorted(path.parent for path in golden.FOLDER.rglob("_versions") if "tree" not in path.parts)

if not TABLES and not os.environ.get("LANCE_ARROW_REQUIRE_GOLDEN"):
    pytest.skip(f"no historical tables in {golden.FOLDER}", allow_module_level=True)


def ask(*arguments: object) -> tuple[int, Any]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
        code = run(["--json", *map(str, arguments)])
    return code, json.loads(out.getvalue())


@pytest.mark.share(3)
@pytest.mark.cover(1)
@pytest.mark.parametrize(
    ("writer", "name"),
    [(path.parent, path.name) for path in TABLES],
    ids=[path.relative_to(golden.FOLDER).as_posix() for path in TABLES],
)
def test_reports_agree_with_the_rows(writer: Path, name: str) -> None:
    path = writer / name
    table = LanceTable.open(path)
    try:
        rows = table.to_table()
    except MissingFileError:
        code, report = ask("verify", path)
        assert code == 1
        assert "MissingFileError" in {error["type"] for error in report["errors"]}
        return
    code, report = ask("verify", path)
    assert (code, report["errors"], report["checked"]["rows"]) == (0, [], rows.num_rows)
    code, schema = ask("schema", path)
    assert (code, [field["name"] for field in schema["fields"]]) == (0, rows.column_names)
    code, head = ask("head", path, "-n", 3)
    assert (code, len(head["rows"]), head["num_rows"]) == (0, min(3, rows.num_rows), rows.num_rows)
    code, stats = ask("stats", path)
    assert (code, stats["num_rows"]) == (0, rows.num_rows)
    counts = {column["path"]: column["null_count"] for column in stats["columns"]}
    for column in rows.column_names:
        # A leaf of this name is the column; its nulls are known where its type has bounds.
        if counts.get(column) is not None:
            assert counts[column] == rows[column].null_count, column


def test_there_are_tables() -> None:
    assert TABLES
