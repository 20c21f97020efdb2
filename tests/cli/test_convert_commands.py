"""`lance-arrow convert` and `export`: options, text, JSON, exit codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lance_arrow
from lance_arrow.conversion import converting


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for year, type_ in ((2023, pa.int32()), (2024, pa.int64())):
        (tmp_path / "in" / f"year={year}").mkdir(parents=True)
        rows = pa.table({"id": pa.array([year, 1], type_), "note": ["a", "b"]})
        pq.write_table(rows if year == 2023 else rows.drop(["note"]), tmp_path / "in" / f"year={year}" / "a.parquet")
    return tmp_path


def test_the_report_says_what_was_done(command: Callable[..., Any], folder: Path) -> None:
    outcome = command("convert", folder / "in", folder / "o.lance")
    assert (outcome.code, outcome.err) == (0, "")
    for text in (
        "read: 4 rows of 2 inputs (parquet, ",
        "year=2023/a.parquet: 2 rows (id int32 -> int64)",
        "year=2024/a.parquet: 2 rows (null in note)",
        "columns from names of folders: year",
        "o.lance (file, Lance 2.2): 3 columns",
        "verified: 4 rows read and written",
        "compared with checksums",
        "decoded",
    ):
        assert text in outcome.out, outcome.out
    document = command("convert", folder / "in", folder / "t", "--table", "--json").document
    assert document["target_kind"] == "table"
    assert document["verified"] is True
    assert document["checked"]["rows"] == 4
    assert document["sources"][0]["retyped"] == {"id": "int32 -> int64"}
    assert document["sources"][0]["partition"] == {"year": "2023"}


def test_options(command: Callable[..., Any], folder: Path) -> None:
    files = sorted((folder / "in").rglob("*.parquet"))
    options = ["--cast", "year=string", "--cast", "id=int16", "--exclude", "note", "--preset", "compact"]
    assert command("convert", *files, folder / "o.lance", *options).code == 0
    made = lance_arrow.read_table(folder / "o.lance")
    assert made.schema.types == [pa.int16(), pa.string()]
    again = ["convert", folder / "in", folder / "o2.lance", "--exclude", "note", "--schema"]
    assert command(*again, folder / "o.lance").code == 0
    assert lance_arrow.read_table(folder / "o2.lance").equals(made)
    assert command(*again, "id: float64, year: int16", "--overwrite").code == 0
    assert lance_arrow.read_schema(folder / "o2.lance").types == [pa.float64(), pa.int16()]
    assert command(*again, folder / "missing", "--overwrite").code == 1
    memory = command("convert", files[0], "memory://cli/o.lance", "--storage-option", "skip_instance_cache=true")
    assert memory.code == 0, memory.err


def test_storage_options_are_text_unless_they_cannot_be(
    command: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}

    def convert(*_: Any, storage_options: dict[str, Any], **__: Any) -> None:
        seen.update(storage_options)

    monkeypatch.setattr(converting, "convert", convert)
    given = ["anon=true", "key=0123", "nothing=null", 'client={"endpoint": "http://here"}', "secret=a=b"]
    assert command("convert", folder, "o", *(part for one in given for part in ("--storage-option", one))).code == 0
    assert seen == {
        "anon": True,
        "key": "0123",
        "nothing": None,
        "client": {"endpoint": "http://here"},
        "secret": "a=b",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["in"],
        ["in", "o", "--cast", "id"],
        ["in", "o", "--schema", "id: nonsense"],
    ],
    ids=" ".join,
)
def test_wrong_usage(
    command: Callable[..., Any], folder: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert command("convert", *arguments).code == 2
    assert [path.name for path in folder.iterdir()] == ["in"]


def test_a_storage_option_without_a_key(command: Callable[..., Any], folder: Path) -> None:
    outcome = command("convert", folder / "in", folder / "o.lance", "--storage-option", "=x")
    assert outcome.code == 1
    assert "KEY=VALUE" in outcome.err


def test_failures_name_file_and_column(command: Callable[..., Any], folder: Path) -> None:
    outcome = command("convert", folder / "in", folder / "o.lance", "--cast", "id=int8", "--json")
    assert outcome.code == 1
    error = outcome.document["error"]
    assert error["column"] == "id"
    assert error["path"].endswith("year=2023/a.parquet")
    assert command("convert", folder / "in", folder / "o.parquet").code == 1
    assert [path.name for path in folder.iterdir()] == ["in"]


def test_export(command: Callable[..., Any], folder: Path) -> None:
    command("convert", folder / "in", folder / "t", "--table")
    options = ["--row-group-size", 1, "--compression", "zstd", "--version", 1]
    outcome = command(
        "export", folder / "t", folder / "o.parquet", "--columns", "id,year", "--filter", "id > 1", *options
    )
    assert outcome.code == 0, outcome.err
    assert "(table, version 1) -> " in outcome.out
    assert "2 rows, 2 columns" in outcome.out
    assert pq.read_table(folder / "o.parquet").to_pydict() == {"id": [2023, 2024], "year": [2023, 2024]}
    assert command("export", folder / "t", folder / "o.parquet").code == 1
    assert command("export", folder / "t", folder / "o.arrow", "--json").document["format"] == "ipc"
    assert command("export", folder / "t", folder / "x", "--format", "csv", "--tag", "none").code == 1
    assert not (folder / "x").exists()
