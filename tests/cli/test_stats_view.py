"""`stats` and `zones` on the command line, as text and as JSON; what `inspect` says of our own files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from first_files import FirstFile

from lance_arrow import write_table

ROWS = 3000
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "share": [float("nan") if i % 100 == 0 else None if i % 10 == 1 else i / 10 for i in range(ROWS)],
        "word": [f"{'long ' * 30}{i % 3}" for i in range(ROWS)],
        "day": pa.array([dt.date(2020, 1, 1) + dt.timedelta(i % 50) for i in range(ROWS)]),
        "items": [[i] * (i % 3) for i in range(ROWS)],
        "vector": pa.array([[i, -i] for i in range(ROWS)], pa.list_(pa.float32(), 2)),
        "nothing": pa.nulls(ROWS, pa.int32()),
    }
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("stats")
    for name, rows_per_zone in (("zoned", 1000), ("plain", 0)):
        write_table(TABLE, folder / f"{name}.lance", rows_per_zone=rows_per_zone)
    return {name: folder / f"{name}.lance" for name in ("zoned", "plain")}


@pytest.mark.parametrize("name", ["zoned", "plain"])
def test_stats_are_those_of_the_values(command: Callable[..., Any], files: dict[str, Path], name: str) -> None:
    outcome = command("stats", files[name], "--json")
    assert (outcome.code, outcome.err) == (0, "")
    report = outcome.document
    assert (report["path"], report["num_rows"]) == (str(files[name]), ROWS)
    columns = {column["path"]: column for column in report["columns"]}
    assert list(columns) == ["id", "share", "word", "day", "items.item", "vector", "nothing"]
    source = "zone map" if name == "zoned" else "values"
    assert {path: column["source"] for path, column in columns.items()} == {
        **dict.fromkeys(columns, source),
        "vector": "nothing",
    }
    bounds = {path: (column["min"], column["max"]) for path, column in columns.items()}
    assert bounds["id"] == (0, ROWS - 1)
    assert bounds["share"] == (0.2, 299.9)
    assert bounds["day"] == ("2020-01-01", "2020-02-19")
    assert bounds["items.item"] == (1, ROWS - 1)
    assert bounds["nothing"] == bounds["vector"] == (None, None)
    assert (columns["share"]["null_count"], columns["share"]["nan_count"]) == (300, 30)
    assert columns["nothing"]["null_count"] == ROWS
    assert columns["items.item"]["num_values"] == ROWS
    assert (columns["word"]["min_exact"], columns["word"]["max_exact"]) == (False, False)
    assert columns["word"]["min"].startswith("long long")
    assert columns["id"]["min_exact"] is True
    assert columns["vector"]["null_count"] is None
    assert all(column["size_bytes"] >= 0 for column in columns.values())
    assert columns["id"]["codecs"]


def test_stats_as_text(command: Callable[..., Any], files: dict[str, Path]) -> None:
    outcome = command("stats", files["zoned"], "--columns", "id,word", "--wide")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[2].split()[:6] == ["column", "type", "values", "nulls", "NaN", "min"]
    assert lines[3].split()[:7] == ["id", "int64", "3,000", "0", "0", "0", "2999"]
    assert "(cut)" in lines[4]
    assert len(lines) == 5
    narrow = command("stats", files["zoned"]).out.splitlines()
    # The first line has the path.
    assert max(map(len, narrow[1:])) <= 80
    assert narrow[-1].startswith("not shown: ")
    assert command("stats", files["zoned"], "-c", "nobody").code == 1


def test_zones_are_shown(command: Callable[..., Any], files: dict[str, Path]) -> None:
    outcome = command("zones", "show", files["zoned"], "--json")
    assert outcome.code == 0
    maps = {one["path"]: one for one in outcome.document["maps"]}
    assert maps["id"] == {
        "path": "id",
        "type": "int64",
        "source": "file",
        "rows_per_zone": 1000,
        "num_zones": 3,
        "zones": None,
        "num_fragments": None,
    }
    assert outcome.document["without"] == ["vector"]
    listed = command("zones", "show", files["zoned"], "--column", "share", "--json").document
    zones = listed["maps"][0]["zones"]
    assert [(zone["zone"], zone["first_row"], zone["num_rows"]) for zone in zones] == [
        (0, 0, 1000),
        (1, 1000, 1000),
        (2, 2000, 1000),
    ]
    assert (zones[1]["min"], zones[1]["max"], zones[1]["nan_count"], zones[1]["null_count"]) == (100.2, 199.9, 10, 100)
    text = command("zones", "show", files["zoned"], "-c", "id").out
    assert "id: int64, 3 zones of 1,000 rows (file)" in text
    assert "1,000" in text.splitlines()[4]


def test_zones_are_built(command: Callable[..., Any], files: dict[str, Path], tmp_path: Path) -> None:
    copies = [tmp_path / "a.lance", tmp_path / "b.lance"]
    for copy in copies:
        copy.write_bytes(files["plain"].read_bytes())
    outcome = command("zones", "build", *copies, "--rows-per-zone", 500, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert [file["sidecar"] for file in outcome.document["files"]] == [
        str(tmp_path / "_a.lance.zones"),
        str(tmp_path / "_b.lance.zones"),
    ]
    shown = command("zones", "show", copies[0], "--json").document
    assert {one["source"] for one in shown["maps"]} == {"sidecar"}
    assert {one["num_zones"] for one in shown["maps"]} == {6}
    assert command("stats", copies[0], "--json").document["columns"][0]["source"] == "sidecar"
    text = command("zones", "build", copies[0], "-c", "id").out
    assert "a.lance.zones: id (3,000 rows" in text
    assert "nothing to build" in command("zones", "build", files["zoned"]).out


def test_files_of_0_1_show_what_they_tell_of_their_batches(command: Callable[..., Any], tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array(range(8)), "share": [one / 2 for one in range(8)]})
    told = {
        str(number): ([0, 0], column.take([0, 4]).combine_chunks(), column.take([3, 7]).combine_chunks())
        for number, column in enumerate(rows.columns)
    }
    path = tmp_path / "old.lance"
    path.write_bytes(FirstFile(rows, [4, 4], told).build())
    shown = command("zones", "show", path, "-c", "share", "--json").document["maps"][0]
    assert (shown["source"], shown["rows_per_zone"]) == ("file", 4)
    assert [(zone["min"], zone["max"]) for zone in shown["zones"]] == [(0.0, 1.5), (2.0, 3.5)]
    assert [(zone["null_count"], zone["nan_count"]) for zone in shown["zones"]] == [(0, None)] * 2
    last = command("zones", "show", path, "-c", "share").out.splitlines()[-1]
    assert last.split() == ["1", "4", "4", "2.0", "3.5", "0"]
    # Whether there is NaN is not told: the values are read for it.
    sources = {one["path"]: one["source"] for one in command("stats", path, "--json").document["columns"]}
    assert sources == {"id": "zone map", "share": "values"}
    assert command("zones", "build", path, "--json").document["files"][0]["columns"] == ["share"]
    sources = {one["path"]: one["source"] for one in command("zones", "show", path, "--json").document["maps"]}
    assert sources == {"id": "file", "share": "sidecar"}
    assert {one["nan_count"] for one in command("stats", path, "--json").document["columns"]} == {0}
    assert command("verify", path).code == 0


@pytest.mark.parametrize("arguments", [["zones"], ["zones", "build"], ["zones", "show"], ["stats"]], ids=" ".join)
def test_wrong_usage(command: Callable[..., Any], arguments: list[str]) -> None:
    assert command(*arguments, "--json").code == 2


@pytest.mark.parametrize("arguments", [["zones", "build"], ["zones", "show"], ["stats"]], ids=" ".join)
def test_a_missing_file(command: Callable[..., Any], tmp_path: Path, arguments: list[str]) -> None:
    outcome = command(*arguments, tmp_path / "gone.lance", "--json")
    assert outcome.code == 1
    assert outcome.document["error"]["type"] == "FileNotFoundError"


def test_inspect_labels_what_we_add(command: Callable[..., Any], files: dict[str, Path]) -> None:
    report = command("inspect", files["zoned"], "--json").document
    assert [buffer["role"] for buffer in report["global_buffers"]] == ["file descriptor", "checksums"]
    columns = {column["path"]: column for column in report["columns"]}
    assert [buffer["role"] for buffer in columns["id"]["buffers"]] == ["zone map"]
    assert columns["vector"]["buffers"] == []
    assert all(page["codecs"] for page in columns["id"]["pages"])
    text = command("inspect", files["zoned"], "-c", "id").out
    assert "(checksums)" in text
    assert "column buffer 0 (zone map)" in text
