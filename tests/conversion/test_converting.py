"""`convert` as a whole: sources of all kinds, tables, casts, schemas, progress, failures that leave nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import fs, orc

import lance_arrow
from lance_arrow.conversion import writing
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, UnsupportedError
from lance_arrow.files.verification import Finding, VerifyReport

ROWS = pa.table({"id": [1, 2, 3], "s": ["a", None, "c"], "l": pa.array([[1], [], None], pa.list_(pa.int32()))})


def read(path: Any) -> pa.Table:
    return lance_arrow.read_table(path)


def test_sources_of_each_kind_together(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "a.parquet")
    orc.write_table(ROWS, tmp_path / "b.orc")
    with pa.ipc.new_file(tmp_path / "c.arrow", ROWS.schema) as file:
        file.write_table(ROWS)
    with pa.ipc.new_stream(tmp_path / "d", ROWS.schema) as stream:
        stream.write_table(ROWS)
    lance_arrow.write_table(ROWS, tmp_path / "e.lance")
    table = lance_arrow.LanceTable.create(tmp_path / "f", pa.concat_tables([ROWS, ROWS]))
    table.delete("id = 2")
    sources = [tmp_path / name for name in ("a.parquet", "b.orc", "c.arrow", "d", "e.lance", "f")]
    report = lance_arrow.convert(sources, tmp_path / "out.lance")
    assert [one.format for one in report.sources] == ["parquet", "orc", "ipc", "ipc_stream", "lance", "table"]
    assert [one.num_rows for one in report.sources] == [3, 3, 3, 3, 3, 4]
    live = ROWS.take([0, 2, 0, 2])
    assert read(tmp_path / "out.lance").equals(pa.concat_tables([ROWS] * 5 + [live]).combine_chunks())
    with pytest.raises(InvalidArgumentError, match="named twice"):
        lance_arrow.convert([tmp_path / "a.parquet", tmp_path / "*.parquet"], tmp_path / "twice.lance")


def test_filesystems(tmp_path: Path) -> None:
    (tmp_path / "in" / "k=1").mkdir(parents=True)
    pq.write_table(ROWS, tmp_path / "in" / "k=1" / "a.parquet")
    expected = ROWS.append_column("k", pa.array([1] * 3, pa.int32()))
    local = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    memory = MemoryFileSystem()
    lance_arrow.convert("in", "out.lance", filesystem=local, target_filesystem=memory)
    assert lance_arrow.read_table("out.lance", filesystem=memory).equals(expected)
    lance_arrow.convert("in/k=*", str(tmp_path / "b.lance"), filesystem=local)
    assert read(tmp_path / "b.lance").equals(expected)
    lance_arrow.convert("memory://out.lance", "table", target_filesystem=local, table=True)
    assert lance_arrow.LanceTable.open(tmp_path / "table").to_table().equals(expected)


def test_tables(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "a.parquet")
    pq.write_table(
        pa.table({"id": pa.array([7], pa.int8()), "s": pa.array(["x"], pa.large_string())}), tmp_path / "b.parquet"
    )
    target = tmp_path / "t"
    report = lance_arrow.convert(tmp_path / "a.parquet", target, table=True, file_version="2.1")
    assert (report.target_kind, report.table_version, report.file_version) == ("table", 1, "2.1")
    with pytest.raises(InvalidArgumentError, match="large_string here, but string in the table") as caught:
        lance_arrow.convert(tmp_path / "b.parquet", target, append=True)
    assert (caught.value.column, caught.value.path) == ("s", str(tmp_path / "b.parquet"))
    report = lance_arrow.convert(tmp_path / "b.parquet", target, append=True, casts={"s": "string"})
    assert (report.table_version, report.num_rows, report.checked.rows) == (2, 1, 1)
    assert report.sources[0].filled == ["l"]
    assert lance_arrow.LanceTable.open(target).to_table().to_pylist() == [
        *ROWS.to_pylist(),
        {"id": 7, "s": "x", "l": None},
    ]
    pq.write_table(pa.table({"id": [8], "other": ["x"]}), tmp_path / "c.parquet")
    with pytest.raises(InvalidArgumentError, match="the table does not have this column") as caught:
        lance_arrow.convert(tmp_path / "c.parquet", target, append=True)
    assert caught.value.column == "other"
    with pytest.raises(InvalidArgumentError, match="get the table's schema"):
        lance_arrow.convert(tmp_path / "c.parquet", target, append=True, schema="id: int64, other: string")
    report = lance_arrow.convert(tmp_path / "b.parquet", target, table=True, overwrite=True)
    assert (report.table_version, report.file_version) == (3, "2.1")
    assert lance_arrow.LanceTable.open(target).count_rows() == 1
    assert lance_arrow.convert(target, tmp_path / "copy").target_kind == "table"
    assert lance_arrow.convert(target, tmp_path / "one.lance", table=False).target_kind == "file"


def test_casts_exclude_and_schema(tmp_path: Path) -> None:
    source, target = tmp_path / "a.parquet", tmp_path / "out.lance"
    pq.write_table(ROWS.append_column("n", pa.array([{"x": 1, "y": "p"}] * 3)), source)

    def converted(**options: Any) -> pa.Table:
        lance_arrow.convert(source, target, overwrite=True, **options)
        return read(target)

    assert converted(casts={"id": pa.int8(), "n.x": "string"}, exclude=["s"]).to_pylist()[0] == {
        "id": 1, "l": [1], "n": {"x": "1", "y": "p"},
    }  # fmt: skip
    made = converted(schema="extra: double, id: int16, s: large_string", exclude=["l", "n"])
    assert made.schema.types == [pa.float64(), pa.int16(), pa.large_string()]
    for options, column, message in [
        ({"casts": {"missing": "int8"}}, "missing", "no input has the column to cast"),
        ({"casts": {"n.z": "int8"}}, "n.z", "no input has the column to cast"),
        ({"exclude": ["missing"]}, "missing", "no input has the column to exclude"),
        ({"exclude": ["id"], "casts": {"id": "int8"}}, "id", "both cast and excluded"),
        ({"casts": {"s": "int8"}}, "s", "type string cannot become int8"),
        ({"casts": {"id": "list<int8>"}}, "id", "type int64 cannot become list"),
        ({"schema": "id: int64"}, "s", "the schema does not have this column"),
        ({"schema": "id: int64, s: string, l: list<int32>, n: struct<x: int64>, q: int8 not null"}, "q", "lacks"),
    ]:
        with pytest.raises(InvalidArgumentError, match=message) as caught:
            converted(**options)
        assert caught.value.column == column
    assert read(target).num_columns == 3, "what was there stays"
    with pytest.raises(InvalidArgumentError, match="no columns"):
        converted(exclude=["id", "s", "l", "n"])


@pytest.mark.parametrize(
    "type_",
    [
        pa.month_day_nano_interval(),
        pa.run_end_encoded(pa.int32(), pa.int8()),
        pa.sparse_union([pa.field("a", pa.int8())]),
    ],
    ids=str,
)
def test_what_the_format_cannot_hold(tmp_path: Path, type_: pa.DataType) -> None:
    with pa.ipc.new_file(tmp_path / "a.arrow", pa.schema([("ok", pa.int8()), ("c", type_)])):
        pass
    with pytest.raises(UnsupportedError) as caught:
        lance_arrow.convert(tmp_path / "a.arrow", tmp_path / "out.lance")
    assert (caught.value.column, caught.value.path) == ("c", str(tmp_path / "a.arrow"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.arrow"]


def test_progress_counts_bytes_of_sources(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        pq.write_table(pa.table({"id": range(5000)}), tmp_path / "in" / f"{number}.parquet", row_group_size=1000)
    seen: list[tuple[int, int | None]] = []
    report = lance_arrow.convert(
        tmp_path / "in", tmp_path / "o.lance", on_progress=lambda done, total: seen.append((done, total))
    )
    size = sum(path.stat().st_size for path in (tmp_path / "in").iterdir())
    assert report.source_bytes == size
    assert seen[-1] == (size, size)
    dones = [done for done, _ in seen]
    assert dones == sorted(dones)
    assert len(set(dones)) >= 15
    seen.clear()
    (tmp_path / "a.csv").write_text("a\n" + "1\n" * 1000)
    lance_arrow.convert(tmp_path / "a.csv", tmp_path / "c.lance", on_progress=lambda *one: seen.append(one))
    # The text is read for its types, then for its rows.
    assert seen[-1] == (2 * (tmp_path / "a.csv").stat().st_size,) * 2


@pytest.mark.parametrize("target", ["out.lance", "memory://unverified/out.lance"])
def test_what_does_not_verify_does_not_stay(tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(ROWS, tmp_path / "a.parquet")
    real = writing.verify

    def damaged(place: Any) -> VerifyReport:
        found = real(place)
        finding = Finding(type="CorruptPageError", message="a page is damaged")
        return VerifyReport(
            path=found.path, ok=False, has_checksums=True, errors=[finding], unchecked=[], checked=found.checked
        )

    monkeypatch.setattr(writing, "verify", damaged)
    named = target if "://" in target else tmp_path / target
    with pytest.raises(CorruptFileError, match="a page is damaged"):
        lance_arrow.convert(tmp_path / "a.parquet", named)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]
    assert not MemoryFileSystem().exists("/unverified/out.lance")


def test_a_failure_half_way_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"id": ["1"] * 100_000}), tmp_path / "in" / "a.parquet")
    pq.write_table(pa.table({"id": ["x"]}), tmp_path / "in" / "b.parquet")
    for options in ({}, {"table": True}):
        with pytest.raises(InvalidArgumentError) as caught:
            lance_arrow.convert(tmp_path / "in", tmp_path / "out", casts={"id": "int64"}, **options)
        assert caught.value.path == str(tmp_path / "in" / "b.parquet")
        assert not list(tmp_path.glob("**/*.lance"))
        assert not list(tmp_path.glob(".*"))


def test_folders_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "_SUCCESS").touch()
    with pytest.raises(InvalidArgumentError, match="no files to convert"):
        lance_arrow.convert(tmp_path / "in", tmp_path / "o.lance")
    pq.write_table(ROWS, tmp_path / "in" / "a.parquet")
    (tmp_path / "in" / "b.csv").write_text("a\n1\n")
    with pytest.raises(InvalidArgumentError, match=r"several formats \(csv, parquet\)"):
        lance_arrow.convert(tmp_path / "in", tmp_path / "o.lance")
    (tmp_path / "in" / "b.csv").rename(tmp_path / "in" / "notes")
    with pytest.raises(InvalidArgumentError, match="neither a Parquet") as caught:
        lance_arrow.convert(tmp_path / "in", tmp_path / "o.lance")
    assert caught.value.path == str(tmp_path / "in" / "notes")
    (tmp_path / "in" / "notes").unlink()
    lance_arrow.LanceTable.create(tmp_path / "in" / "deep" / "t", ROWS)
    with pytest.raises(InvalidArgumentError, match="holds a Lance table, 'deep/t'"):
        lance_arrow.convert(tmp_path / "in", tmp_path / "o.lance")
    for missing in ("nothing", "*.nothing"):
        with pytest.raises(FileNotFoundError):
            lance_arrow.convert(tmp_path / missing, tmp_path / "o.lance")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_keys_of_what_is_named(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"year={year}" / "m=1").mkdir(parents=True)
        pq.write_table(ROWS, tmp_path / f"year={year}" / "m=1" / "a.parquet")
    for named in ("year=2024", "year=2024/m=1/a.parquet", "year=2024/*/*.parquet", "year=2024/m=*"):
        report = lance_arrow.convert(tmp_path / named, tmp_path / "o.lance", overwrite=True)
        assert report.partition_columns == ["year", "m"], named
        assert read(tmp_path / "o.lance")["year"].to_pylist() == [2024] * 3
    report = lance_arrow.convert(
        tmp_path / "year=*", tmp_path / "o.lance", overwrite=True, casts={"year": "string"}, exclude=["m"]
    )
    assert report.num_rows == 6
    assert read(tmp_path / "o.lance").schema.field("year").type == pa.string()
    with pytest.raises(InvalidArgumentError, match="cannot be cast from string to int8") as caught:
        lance_arrow.convert(tmp_path / "year=*", tmp_path / "n.lance", casts={"year": "int8"})
    assert caught.value.column == "year"
