"""`export`: Lance files and tables as Parquet, CSV, Arrow IPC."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather

import lance_arrow
from lance_arrow.conversion import exporting
from lance_arrow.errors import InvalidArgumentError, TargetExistsError, UnsupportedError

ROWS = pa.table({"id": range(1000), "s": [None if row % 5 == 0 else f"s{row}" for row in range(1000)]})
NESTED = ROWS.append_column("n", pa.array([{"l": [row], "m": row} for row in range(1000)]))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    lance_arrow.write_table(NESTED, tmp_path / "a.lance")
    table = lance_arrow.LanceTable.create(tmp_path / "t", ROWS)
    table.delete("id >= 500")
    table.tags.create("first", 1)
    return tmp_path


def test_files(source: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    report = lance_arrow.export(
        source / "a.lance",
        source / "a.parquet",
        compression="zstd",
        row_group_size=300,
        on_progress=lambda *one: seen.append(one),
    )
    assert (report.format, report.num_rows, report.source_kind) == ("parquet", 1000, "file")
    assert report.num_bytes == (source / "a.parquet").stat().st_size
    assert seen[-1] == (1000, 1000)
    assert pq.read_table(source / "a.parquet").equals(NESTED)
    about = pq.read_metadata(source / "a.parquet")
    assert [about.row_group(at).num_rows for at in range(about.num_row_groups)] == [300, 300, 300, 100]
    assert about.row_group(0).column(0).compression == "ZSTD"
    lance_arrow.export(source / "a.lance", source / "a.feather", compression="lz4", row_group_size=64)
    assert feather.read_table(source / "a.feather").equals(NESTED)
    lance_arrow.export(source / "a.lance", source / "named", format="ipc", columns=["n.m", "id"], filter="id < 7")
    with pa.ipc.open_file(source / "named") as file:
        assert file.read_all().to_pydict() == {"m": list(range(7)), "id": list(range(7))}


def test_tables(source: Path) -> None:
    for options, count in (({}, 500), ({"version": 1}, 1000), ({"tag": "first"}, 1000)):
        report = lance_arrow.export(source / "t", source / "t.csv", overwrite=True, **options)
        assert (report.source_kind, report.num_rows) == ("table", count)
        assert report.table_version == (1 if options else 2)
        assert csv.read_csv(source / "t.csv")["id"].to_pylist() == list(range(count))
    lance_arrow.export(source / "t", "memory://exported/t.parquet", filter=pc.field("id") > 490)
    with pytest.raises(InvalidArgumentError, match="only tables have versions"):
        lance_arrow.export(source / "a.lance", source / "n.csv", version=1)


def test_no_rows(source: Path) -> None:
    for columns, names in ((None, NESTED.column_names), (["n.m", "id"], ["m", "id"])):
        lance_arrow.export(
            source / "a.lance", source / "none.parquet", filter="id < 0", columns=columns, overwrite=True
        )
        made = pq.read_table(source / "none.parquet")
        assert (made.num_rows, made.column_names) == (0, names)


@pytest.mark.parametrize(
    ("target", "options", "error", "message"),
    [
        ("a.lance/b.csv", {}, InvalidArgumentError, "lies inside the source"),
        ("b.lance", {}, InvalidArgumentError, "does not tell the format"),
        ("b.lance", {"format": "parquet"}, InvalidArgumentError, "is not that of parquet"),
        ("b.csv", {"format": "parquet"}, InvalidArgumentError, "is not that of parquet"),
        ("b.orc", {}, InvalidArgumentError, "does not tell the format"),
        ("b.parquet", {"format": "orc"}, InvalidArgumentError, "expected parquet, csv or ipc"),
        ("b.parquet", {"compression": "rar"}, InvalidArgumentError, "compression is 'rar'"),
        ("b.arrow", {"compression": "snappy"}, InvalidArgumentError, "ipc has zstd"),
        ("b.csv", {"row_group_size": 5}, InvalidArgumentError, "no row groups"),
        ("b.parquet", {"row_group_size": 0}, InvalidArgumentError, "at least 1"),
        ("b.parquet", {"columns": ["missing"]}, InvalidArgumentError, "missing"),
        ("b.csv", {}, UnsupportedError, "csv cannot hold struct"),
        ("old.parquet", {}, TargetExistsError, "--overwrite"),
        ("t", {"format": "parquet", "overwrite": True}, InvalidArgumentError, "there is a table here"),
    ],
)
def test_refusals(source: Path, target: str, options: dict[str, Any], error: type[Exception], message: str) -> None:
    (source / "old.parquet").write_bytes(b"precious")
    before = sorted(path.name for path in source.iterdir())
    with pytest.raises(error, match=message):
        lance_arrow.export(source / "a.lance", source / target, **options)
    assert sorted(path.name for path in source.iterdir()) == before
    assert (source / "old.parquet").read_bytes() == b"precious"


def test_row_groups_are_bounded_by_bytes(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "BATCH_ROWS", 100)
    monkeypatch.setattr(exporting, "_DEFAULT_GROUP_BYTES", 5000)
    lance_arrow.export(source / "a.lance", source / "bounded.parquet")
    about = pq.read_metadata(source / "bounded.parquet")
    counts = [about.row_group(at).num_rows for at in range(about.num_row_groups)]
    assert sum(counts) == 1000
    assert 3 <= len(counts) <= 10, counts
    assert pq.read_table(source / "bounded.parquet").equals(NESTED)
