"""Files that the reference wrote, seen from the command line: text and JSON as in ``golden/``, and what must hold.

Sizes and places are not the same each time the reference writes; in the golden files they are replaced by ``#`` and 0.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from witness import Witness

from lance_arrow.cli.file_view import view_file, view_head
from lance_arrow.container.footer import FOOTER_BYTES
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi.loading import entry_points, load_plugins

pytestmark = pytest.mark.interop

GOLDEN = Path(__file__).with_name("golden")
PLACES = re.compile(r"(at|from) \d+")
AMOUNTS = re.compile(r"[\d,]+ (B|bytes)\b( \([\d.]+ \w+\))?")
VARYING = {
    *("offset", "size_bytes", "data_bytes", "bytes_per_value", "compression_ratio"),
    *("first_column_position", "column_table_position", "buffer_table_position"),
}
NUM_ROWS = 1000
PAGE_ROWS = 600


def table() -> pa.Table:
    rows = range(NUM_ROWS)
    return pa.table(
        {
            "id": pa.array(rows, pa.int64()),
            "word": [None if row % 10 == 0 else ("red", "green", "blue")[row % 3] for row in rows],
            "s": pa.array([{"day": dt.date(2020, 1, 1) + dt.timedelta(row % 50), "ok": row % 3 == 0} for row in rows]),
            "vector": pa.array([[row, 0.5] for row in rows], pa.list_(pa.float32(), 2)),
            "items": pa.array([[row] * (row % 3) for row in rows], pa.list_(pa.int32())),
            "nothing": pa.nulls(NUM_ROWS, pa.float64()),
        },
        schema=pa.schema(
            [
                pa.field("id", pa.int64(), nullable=False, metadata={"unit": "m"}),
                pa.field("word", pa.string()),
                pa.field("s", pa.struct({"day": pa.date32(), "ok": pa.bool_()})),
                pa.field("vector", pa.list_(pa.float32(), 2)),
                pa.field("items", pa.list_(pa.int32())),
                pa.field("nothing", pa.float64()),
            ],
            metadata={"origin": "a test"},
        ),
    )


@pytest.fixture(scope="module")
def path(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose columns have two pages each."""
    target = tmp_path_factory.mktemp("view") / "file.lance"
    slices = [(0, PAGE_ROWS), (PAGE_ROWS, NUM_ROWS)]
    return witness.write(table(), target, "2.1", slices=slices, data_cache_bytes=1)


def golden(name: str) -> str:
    return (GOLDEN / name).read_text()


def same_each_time(text: str, path: Path) -> str:
    """Take out what the reference does not write the same each time; columns of the table shift with the sizes."""
    text = AMOUNTS.sub(r"# \1", PLACES.sub(r"\1 #", text.replace(str(path), "PATH")))
    lines = text.splitlines()
    start, stop = lines.index("") + 1, lines.index("", lines.index("") + 1)
    for at in range(start, stop):
        lines[at] = re.sub(r"(?<= )[\d.,]+(?= )", "#", re.sub(r" {2,}", "  ", lines[at]))
    return "\n".join(lines) + "\n"


def same_values(document: Any, path: Path) -> Any:
    if isinstance(document, list):
        return [same_values(item, path) for item in document]
    if isinstance(document, dict):
        return {
            key: 0 if key in VARYING and value is not None else same_values(value, path)
            for key, value in document.items()
        }
    return "PATH" if document == str(path) else document


def test_inspect_text(command: Callable[..., Any], path: Path) -> None:
    outcome = command("inspect", path)
    assert (outcome.code, outcome.err) == (0, "")
    assert same_each_time(outcome.out, path) == golden("inspect.txt")


def test_inspect_json(command: Callable[..., Any], path: Path) -> None:
    outcome = command("inspect", path, "--json", "--columns", "id,word")
    assert (outcome.code, outcome.err) == (0, "")
    assert same_values(outcome.document, path) == json.loads(golden("inspect.json"))


def test_schema_text(command: Callable[..., Any], path: Path) -> None:
    outcome = command("schema", path)
    assert outcome.out.replace(str(path), "PATH") == golden("schema.txt")


def test_head_text(command: Callable[..., Any], path: Path) -> None:
    outcome = command("head", path, "-n", 3, "--columns", "id,word", "--columns", "s,vector,nothing")
    assert outcome.out == golden("head.txt")


def test_head_json_is_what_was_written(command: Callable[..., Any], path: Path) -> None:
    outcome = command("head", "--json", path, "-n", 700, "-c", "word,s.day,id")
    rows = table().slice(0, 700).to_pylist()
    assert outcome.document["columns"] == ["word", "day", "id"]
    assert outcome.document["rows"] == [
        {"word": row["word"], "day": row["s"]["day"].isoformat(), "id": row["id"]} for row in rows
    ]


def test_head_of_more_rows_than_there_are(path: Path) -> None:
    assert len(view_head(path, num_rows=10**18, columns=["id"]).rows) == NUM_ROWS
    assert view_head(path, num_rows=0, columns=["id"]).rows == []


def test_places_and_sizes(path: Path, witness: Witness) -> None:
    """Buffers are where the reference says; all of a column's bytes are counted."""
    report = view_file(path)
    described = witness.describe(path)["columns"]
    assert report.size_bytes == path.stat().st_size
    assert report.footer.num_columns == len(report.columns) == len(described)
    assert (
        report.footer.buffer_table_position + 16 * report.footer.num_global_buffers + FOOTER_BYTES == report.size_bytes
    )
    for column, pages in zip(report.columns, described, strict=True):
        places = [[[buffer.offset, buffer.size_bytes] for buffer in page.buffers] for page in column.pages]
        assert places == [page["buffers"] for page in pages]
        assert column.size_bytes == sum(size for page in places for _, size in page)
        assert [(page.first_row, page.num_rows) for page in column.pages] == [(0, 600), (600, 400)]
    assert report.data_bytes == sum(column.size_bytes for column in report.columns)


def test_bytes_per_value_and_ratio(path: Path) -> None:
    columns = {column.path: column for column in view_file(path).columns}
    widths = {"id": 64, "s.day": 32, "s.ok": 1, "vector": 64}
    for name, bits in widths.items():
        column = columns[name]
        assert column.bytes_per_value == column.size_bytes / NUM_ROWS
        assert column.compression_ratio == pytest.approx(NUM_ROWS * bits / 8 / column.size_bytes)
    assert columns["word"].compression_ratio is None
    (items,) = (column for column in columns.values() if column.path and column.path.startswith("items"))
    assert items.bytes_per_value is None
    assert columns["nothing"].compression_ratio is None


@pytest.fixture
def without_bitpacking(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [point for point in entry_points() if point.name != "codec.inline_bitpacking"]
    monkeypatch.setattr("lance_arrow.runtime._default", Runtime(Settings(), load_plugins(points)))


@pytest.mark.usefixtures("without_bitpacking")
def test_a_missing_plugin_hinders_one_column(command: Callable[..., Any], path: Path) -> None:
    key = "lance.encodings21.CompressiveEncoding/inline_bitpacking"
    outcome = command("inspect", path, "--json", "-c", "id,vector")
    assert outcome.code == 0
    lost, kept = (column["pages"][0] for column in outcome.document["columns"])
    (child,) = lost["encoding"]["children"]
    assert (child["role"], child["key"], child["provider"]) == ("value_compression", key, None)
    assert child["parameters"] == {"uncompressed_bits_per_value": 64}
    assert child["detail"] == "no installed plugin provides it"
    assert key in lost["problem"]
    assert {buffer["role"] for buffer in lost["buffers"]} == {None}
    assert kept["problem"] is None
    assert "! no installed plugin provides it" in command("inspect", path).out

    outcome = command("head", path, "--json", "-c", "id")
    assert outcome.code == 1
    error = outcome.document["error"]
    assert (error["type"], error["column"], error["path"]) == ("UnknownEncodingError", "id", str(path))
    assert key in error["message"]
    assert command("head", path, "-c", "vector").code == 0


@pytest.mark.parametrize("version", ["2.0", "2.3"])
def test_other_versions_can_be_inspected(
    command: Callable[..., Any], witness: Witness, tmp_path: Path, version: str
) -> None:
    flat = table().select(["id", "word", "s"])
    path = witness.write(flat, tmp_path / "other.lance", version)
    outcome = command("inspect", path, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.document["version"] == version
    columns = outcome.document["columns"]
    assert [column["path"] for column in columns if column["path"]] == ["id", "word", "s.day", "s.ok"]
    assert sum(column["path"] is None for column in columns) == (version == "2.0")
    assert all(
        page["encoding"]["children"] for column in columns for page in column["pages"] if column["path"] == "word"
    )
    assert command("inspect", path).code == 0
    assert command("head", path, "--json").code == 0
