"""Folders of bare files in the doors of engines: listed once, filtered once, by our own scan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import lance_arrow
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.integrations import duckdb as duckdb_door
from lance_arrow.integrations.engine_rows import EngineRows
from lance_arrow.integrations.polars import scan

c = pl.col


def rows(start: int, count: int) -> pa.Table:
    modes = ["AIR", None, "RAIL", "a mode of more than twelve bytes"]
    return pa.table(
        {
            "id": range(start, start + count),
            # Each file has a dictionary of its own.
            "mode": [modes[(number + start // 100) % 4] for number in range(count)],
        },
        schema=pa.schema({"id": pa.int64(), "mode": pa.string()}),
    )


def folder_of(place: Path, parts: list[pa.Table]) -> Path:
    place.mkdir()
    for number, part in enumerate(parts):
        lance_arrow.write_table(part, place / f"{number}.lance", rows_per_zone=100)
    return place


@pytest.fixture
def parts() -> list[pa.Table]:
    return [rows(0, 1000), rows(1000, 1300), rows(2300, 0), rows(2300, 700)]


QUERIES: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "all": lambda frame: frame,
    "equal": lambda frame: frame.filter(c("mode") == "AIR"),
    "in": lambda frame: frame.filter(c("mode").is_in(["RAIL", "AIR"]) & (c("id") > 900)).select("id", "mode"),
    "prefix": lambda frame: frame.filter(c("mode").str.starts_with("a ")).select("id", "mode"),
    "null": lambda frame: frame.filter(c("mode").is_null()).select("id"),
    "count": lambda frame: frame.filter(c("mode") > "B").select(pl.len()),
    "head": lambda frame: frame.filter(c("id") > 990).head(20),
}


@pytest.mark.parametrize("name", QUERIES)
def test_our_scan_alone_reads_them(
    parts: list[pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = folder_of(tmp_path / "files", parts)
    query, together = QUERIES[name], pa.concat_tables(parts)
    frame = scan(folder)
    if name != "count":
        monkeypatch.setattr(LanceDataset, "scanner", None)
    assert query(frame).collect().equals(query(pl.from_arrow(together).lazy()).collect())


def test_duckdb_reads_them(parts: list[pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(tmp_path / "files", parts)
    together = pa.concat_tables(parts)
    with duckdb.connect() as connection:
        duckdb_door.register(connection, "files", folder)
        monkeypatch.setattr(LanceDataset, "scanner", None)
        found = connection.execute("SELECT id, mode FROM files WHERE mode IN ('AIR', 'RAIL') AND id > 500 ORDER BY id")
        wanted = together.filter((pc.field("id") > 500) & pc.field("mode").isin(["AIR", "RAIL"]))
        assert found.fetchall() == list(zip(*wanted.to_pydict().values(), strict=True))


def test_files_of_other_columns_are_cast_by_arrow(parts: list[pa.Table], tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "files", parts)
    lance_arrow.write_table(pa.table({"id": pa.array([7000], pa.int32())}), folder / "7.lance")
    lance_arrow.write_table(rows(8000, 5), folder / "8.lance")
    found = scan(folder).filter(c("id") >= 2995).collect()
    assert found["id"].to_list() == [*range(2995, 3000), 7000, *range(8000, 8005)]
    assert found["mode"].to_list()[5] is None
    assert found["mode"].to_list()[6:] == rows(8000, 5)["mode"].to_pylist()


def test_partitions_are_columns(tmp_path: Path) -> None:
    for number in (1, 2):
        place = tmp_path / "files" / f"part={number}"
        place.mkdir(parents=True)
        lance_arrow.write_table(rows(1000 * number, 300), place / "f.lance")
    dataset = lance_arrow.dataset(tmp_path / "files", partitioning="hive", strings="dictionary")
    assert scan(dataset).filter((c("part") == 2) & (c("mode") == "AIR")).select("id", "part").collect()[
        "part"
    ].unique().to_list() == [2]
    assert scan(dataset).filter(c("mode") == "AIR").select(pl.len()).collect().item() == 150
    assert isinstance(dataset.schema.field("mode").type, pa.DictionaryType)


def test_many_small_files_are_read_in_groups(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "files", [rows(10 * number, 10) for number in range(1, 40)])
    assert EngineRows(lance_arrow.dataset(folder))._files is None
    assert scan(folder).filter(c("id") >= 200).collect().height == 200


def test_files_are_listed_once(parts: list[pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(tmp_path / "files", parts)
    memory: Any = fsspec.filesystem("memory")
    memory.put(str(folder), "/listed", recursive=True)
    listed: list[str] = []
    find = MemoryFileSystem.find
    monkeypatch.setattr(
        MemoryFileSystem, "find", lambda self, path, **how: listed.append(path) or find(self, path, **how)
    )
    plain = lance_arrow.dataset("memory://listed")
    once = len(listed)
    assert once > 0
    coded = lance_arrow.dataset("memory://listed", strings="dictionary")
    assert len(listed) == 2 * once
    assert coded.files == plain.files
    assert coded.format.read_dictionary == ("mode",)
    assert coded.to_table().column("mode").cast("string").equals(plain.to_table().column("mode"))
    schema = pa.schema({"mode": pa.string()})
    assert lance_arrow.dataset("memory://listed", strings="dictionary", schema=schema).schema.equals(schema)
    assert pads.dataset(str(folder), format=lance_arrow.LanceFormat()).count_rows() == coded.count_rows() == 3000
