"""`lance-arrow sql`: sources and their names, formats, limits, errors; pyarrow and csv are the witnesses."""

from __future__ import annotations

import csv
import datetime
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.cli.querying.sql_view import named_sources, run_query

pytest.importorskip("duckdb")

ROWS = pa.table(
    {
        "id": pa.array(range(300), pa.int64()),
        "kind": [None if row % 7 == 0 else f"k{row % 3}" for row in range(300)],
    }
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file of all rows, a table whose newest version lacks the first 100, and a folder of two files."""
    lance_arrow.write_table(ROWS, tmp_path / "file.lance")
    table = LanceTable.create(tmp_path / "rows.lance", ROWS, max_rows_per_file=120)
    table.delete("id < 100")
    (tmp_path / "many").mkdir()
    for at in range(2):
        lance_arrow.write_table(ROWS.slice(at * 150, 150), tmp_path / "many" / f"{at}.lance")
    return tmp_path


def test_sources_are_named_by_their_stem(command: Callable[..., Any], folder: Path) -> None:
    query = (
        "SELECT (SELECT count(*) FROM file) AS f, (SELECT count(*) FROM rows) AS r, "
        "(SELECT sum(id) FROM many WHERE id >= 140) AS m, (SELECT sum(id) FROM rows WHERE id < 0) AS none"
    )
    found = command("sql", query, folder / "file.lance", folder / "rows.lance", f"{folder}/many/", "--json")
    assert (found.code, found.err) == (0, "")
    assert found.document["rows"] == [{"f": 300, "r": 200, "m": sum(range(140, 300)), "none": None}]
    joined = "SELECT count(*) AS n FROM a JOIN B USING (id)"
    found = command("sql", joined, f"a={folder / 'file.lance'}", f"B={folder / 'rows.lance'}", "--json")
    assert found.document["rows"] == [{"n": 200}]


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "year=2024").mkdir()
    assert named_sources(["s3://bucket/a/flights.lance", "x=s3://bucket/b?version=1", "data/v1.2.lance"]) == {
        "flights": "s3://bucket/a/flights.lance",
        "x": "s3://bucket/b?version=1",
        "v1.2": "data/v1.2.lance",
    }
    # A path that exists is a path; a hive folder in a longer path has no name before its sign.
    assert named_sources(["year=2024"]) == {"year=2024": "year=2024"}
    assert named_sources(["t/year=2025"]) == {"year=2025": "t/year=2025"}
    assert named_sources(["."]) == {tmp_path.name: "."}


@pytest.mark.parametrize("sources", [["a/T.lance", "b/t.lance"], ["x=a", "X=b"]])
def test_names_that_repeat(command: Callable[..., Any], sources: list[str]) -> None:
    found = command("sql", "SELECT 1", *sources)
    assert (found.code, "both named" in found.err, "NAME=" in found.err) == (1, True, True)


def test_output_of_values(command: Callable[..., Any], tmp_path: Path) -> None:
    rows = pa.table(
        {
            "text": ["a,b", "", None, 'say "x"\nand y'],
            "x": [0.1, float("nan"), None, 1e300],
            "yes": [True, False, None, True],
            "day": pa.array([datetime.date(2024, 2, 29)] * 4),
            "items": pa.array([[1, 2], [], None, [3]], pa.list_(pa.int32())),
        }
    )
    lance_arrow.write_table(rows, tmp_path / "t.lance")
    line = ["sql", "FROM t", tmp_path / "t.lance"]
    text = command(*line, "--format", "csv").out
    read = list(csv.reader(io.StringIO(text)))
    assert read[0] == rows.column_names
    assert read[1] == ["a,b", "0.1", "true", "2024-02-29", "[1, 2]"]
    assert read[4] == ['say "x"\nand y', "1e+300", "true", "2024-02-29", "[3]"]
    assert text.splitlines()[2:4] == ['"",nan,false,2024-02-29,[]', ",,,2024-02-29,"]
    lines = [json.loads(one) for one in command(*line, "--format", "jsonl").out.splitlines()]
    assert lines == json.loads(command(*line, "--format", "json").out)
    assert lines[1] == {"text": "", "x": None, "yes": False, "day": "2024-02-29", "items": []}
    shown = command("sql", "SELECT id, kind FROM f LIMIT 1", f"f={_small(tmp_path)}").out
    assert shown == "id  kind\n 0  null\n(1 row)\n"
    assert command("sql", "FROM f WHERE id < 0", f"f={tmp_path / 'small.lance'}", "--format", "json").out == "[]\n"


def _small(folder: Path) -> Path:
    lance_arrow.write_table(ROWS.slice(0, 3), folder / "small.lance")
    return folder / "small.lance"


def test_limits(command: Callable[..., Any], folder: Path) -> None:
    line = ["sql", "SELECT id FROM file ORDER BY id", folder / "file.lance"]
    text = command(*line).out.splitlines()
    assert (len(text), text[-1]) == (102, "(first 100 rows; --limit shows more)")
    assert command(*line, "--limit", 300).out.splitlines()[-1] == "(300 rows)"
    assert len(command(*line, "--format", "csv").out.splitlines()) == 301
    found = command(*line, "-n", 2, "--format", "jsonl", "--json").document
    assert ([row["id"] for row in found["rows"]], found["has_more"]) == ([0, 1], True)
    assert command(*line, "-n", 0, "--json").document["rows"] == []


def test_names_of_columns_that_repeat(command: Callable[..., Any], folder: Path) -> None:
    found = command("sql", "SELECT 1 AS a, 2 AS a_1, 3 AS a FROM file LIMIT 1", folder / "file.lance", "--json")
    assert sorted(found.document["rows"][0].values()) == [1, 2, 3]
    assert len(found.document["columns"]) == 3


def test_statements_without_a_result(command: Callable[..., Any], folder: Path) -> None:
    made = folder / "made.parquet"
    found = command("sql", f"COPY (FROM file WHERE id < 5) TO '{made}'", folder / "file.lance")
    assert found.code == 0
    assert pq.read_table(made)["id"].to_pylist() == [0, 1, 2, 3, 4]
    assert command("sql", "SET threads = 1", folder / "file.lance").code == 0


def test_only_what_is_asked_for_is_read(folder: Path) -> None:
    """A filter of the query prunes by zone maps, and columns that it does not name are not read."""
    wide = pa.table({"id": range(100_000), "more": [f"text {row}" for row in range(100_000)]})
    lance_arrow.write_table(wide, folder / "wide.lance")
    with lance_arrow.receipts() as all_of_it:
        run_query("SELECT * FROM wide", [str(folder / "wide.lance")], format="csv")
    with lance_arrow.receipts() as some:
        assert run_query("SELECT max(id) AS m FROM wide WHERE id < 500", [str(folder / "wide.lance")]).rows == [
            {"m": 499}
        ]
    assert 0 < some.total.fetched_bytes * 4 < all_of_it.total.fetched_bytes


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM absent", "absent"),
        ("SELECT nothing FROM file", "nothing"),
        ("SELEC 1", "syntax error"),
        ("SELECT CAST('x' AS INTEGER)", "'x'"),
        # Not a variable of this program.
        ("SELECT * FROM sources", "sources"),
    ],
)
def test_queries_that_are_wrong(command: Callable[..., Any], folder: Path, query: str, expected: str) -> None:
    found = command("sql", query, folder / "file.lance", "--json")
    assert found.code == 1
    error = found.document["error"]
    assert error["type"] == "InvalidArgumentError"
    assert expected in error["message"]
    assert error["message"].endswith("sources: file")


def test_damage_is_not_blamed_on_the_query(command: Callable[..., Any], folder: Path) -> None:
    data = bytearray((folder / "file.lance").read_bytes())
    data[64] ^= 0xFF
    (folder / "file.lance").write_bytes(data)
    found = command("sql", "SELECT sum(id) AS s FROM file", folder / "file.lance", "--json")
    assert found.code == 1
    assert found.document["error"]["type"] == "CorruptPageError"
    assert found.document["error"]["column"] == "id"


def test_wrong_usage(command: Callable[..., Any], folder: Path) -> None:
    assert command("sql", "SELECT 1").code == 2
    assert command("sql", "SELECT 1", folder / "file.lance", "--format", "xml").code == 2
    missing = command("sql", "SELECT 1", folder / "absent.lance", "--json")
    assert (missing.code, "absent.lance" in missing.err) == (1, True)


def test_without_duckdb(command: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "lance_arrow.integrations.duckdb", raising=False)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    found = command("sql", "SELECT 1", folder / "file.lance", "--json")
    assert (found.code, found.document["error"]["type"]) == (1, "UnsupportedError")
    assert "lance-arrow[duckdb]" in found.err
