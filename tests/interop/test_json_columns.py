"""Columns of JSON, written by either side: arrow.json by every door, and their bytes where asked for."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from witness import Witness

import lance_arrow
from lance_arrow import LanceFile, LanceFormat, LanceReadOptions, LanceTable
from lance_arrow.cli.app import run
from lance_arrow.errors import InvalidArgumentError

pytestmark = pytest.mark.interop

TEXTS = ['{"a":[1,-2.5,null,true],"b":"x\\n\\u0001é/"}', None, "1e-7", "0.00001", "123456.0", "[]", '"s"', "null"]


def rows(num_rows: int = 40) -> pa.Table:
    """JSON as a column, in a struct with nulls, and in lists."""
    texts = [TEXTS[number % len(TEXTS)] for number in range(num_rows)]
    values = pa.array(texts, pa.json_())
    mask = pa.array([number % 7 == 3 for number in range(num_rows)])
    struct = pa.StructArray.from_arrays([values, pa.array(range(num_rows))], ["j", "n"], mask=mask)
    offsets = pa.array([*(number - number % 2 for number in range(num_rows)), num_rows], pa.int32())
    lists = pa.ListArray.from_arrays(offsets, values)
    return pa.table({"i": range(num_rows), "j": values, "s": struct, "l": lists})


def same_rows(found: pa.Table, expected: pa.Table) -> None:
    assert found.schema.names == expected.schema.names
    for field in expected.schema:
        assert found.schema.field(field.name).type == field.type
    found.validate(full=True)
    assert found.to_pylist() == expected.to_pylist()


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
@pytest.mark.parametrize("writer", ["ours", "theirs"])
def test_files(witness: Witness, tmp_path: Path, writer: str, version: str) -> None:
    table = rows() if version != "2.0" else rows().drop(["s"])  # 2.0 has no null structs
    path = tmp_path / "file.lance"
    if writer == "ours":
        lance_arrow.write_table(table, path, file_version=version)
    else:
        witness.write(table, path, version)
    with LanceFile(path) as file:
        assert file.schema.field("j").type == pa.json_()
        assert file.schema.field("j").metadata is None
        same_rows(file.read(), table)
        same_rows(file.take([0, 1, 9, 30]), table.take([0, 1, 9, 30]))
        same_rows(pa.Table.from_batches(list(file.to_batches(batch_size=7))), table)
        same_rows(pa.table(file), table)
        if version != "2.0":
            assert file.read(columns=["s.j"])["j"].to_pylist() == [
                None if one is None else one["j"] for one in table["s"].to_pylist()
            ]
    same_rows(lance_arrow.read_table(path), table)
    same_rows(lance_arrow.dataset(path).take([0, 1, 9]), table.slice(0, 10).take([0, 1, 9]))
    datasets = [lance_arrow.dataset(path), pads.dataset(path, format=LanceFormat())]
    for dataset in datasets:
        same_rows(dataset.to_table(), table)
        same_rows(dataset.to_table(filter=pc.field("j").is_null()), table.filter(pc.is_null(table["j"])))
        same_rows(dataset.to_table(filter=pc.field("i") < 9), table.slice(0, 9))
        assert dataset.count_rows(filter=pc.field("j").is_valid()) == len(table) - table["j"].null_count
        same_rows(
            dataset.to_table(filter=pc.field("j").cast(pa.string()) == TEXTS[0]),
            table.filter(pc.equal(table["j"].cast(pa.string()), TEXTS[0])),
        )


def test_bytes(witness: Witness, tmp_path: Path) -> None:
    path, folder = tmp_path / "file.lance", tmp_path / "t.lance"
    witness.write(rows(), path, "2.2")
    witness.write_directory(rows(), folder, "2.2")
    stored = witness.read(path)
    assert stored.schema.field("j").type == pa.large_binary()
    with LanceFile(path, json="bytes") as file:
        found = [file.read(), file.take(range(40))]
    options = LanceReadOptions(json="bytes")
    found += [
        lance_arrow.read_table(path, json="bytes"),
        lance_arrow.dataset(path, json="bytes").to_table(),
        pads.dataset(path, format=LanceFormat(json="bytes")).to_table(),
        lance_arrow.dataset(folder, json="bytes").to_table(),
        pads.dataset(folder, format=LanceFormat(json="bytes")).to_table(),
        LanceTable.open(folder, json="bytes").to_table(),
        LanceTable.open(folder, json="bytes").take(range(40)),
    ]
    assert options.changed() == {"json": "bytes"}
    assert LanceFormat(json="bytes") != LanceFormat()
    for one in found:
        assert one.schema.field("j").metadata[b"ARROW:extension:name"] == b"lance.json"
        assert one.to_pylist() == stored.to_pylist()
    with pytest.raises(InvalidArgumentError, match="json is 'binary', expected 'text' or 'bytes'"):
        LanceFile(path, json="binary")  # type: ignore[arg-type]


def table_doors(path: Path) -> list[Callable[[], pa.Table]]:
    table = LanceTable.open(path)
    return [
        table.to_table,
        lambda: table.take(range(table.count_rows())),
        lambda: pa.Table.from_batches(list(table.to_batches())),
        lambda: lance_arrow.dataset(path).to_table(),
        lambda: pads.dataset(path, format=LanceFormat()).to_table(),
    ]


@pytest.mark.parametrize("writer", ["ours", "theirs"])
def test_tables_and_their_changes(witness: Witness, tmp_path: Path, writer: str) -> None:
    path, expected = tmp_path / "t.lance", rows()
    if writer == "ours":
        LanceTable.create(path, expected)
    else:
        witness.write_directory(expected, path, "2.2", max_rows_per_file=15)
    for door in table_doors(path):
        same_rows(door().sort_by("i"), expected)
    same_rows(witness.read_directory(path).sort_by("i"), expected)
    stored = LanceTable.open(path, json="bytes").to_table()
    table = LanceTable.open(path)
    # Rows as they are read are rows to be written, in either form.
    table.append(table.to_table(filter="i < 3"))
    table.append(stored.slice(3, 3))
    expected = pa.concat_tables([expected, expected.slice(0, 6)])
    same_rows(table.to_table().sort_by("i"), expected.sort_by("i"))
    same_rows(witness.read_directory(path).sort_by("i"), expected.sort_by("i"))
    table.delete("i = 5")
    table.update({"i": "i + 100"}, where="j IS NULL")
    table.update({"j": """'{"b" : 1, "a": []}'"""}, where="i = 2")
    new = expected.slice(0, 2).set_column(0, "i", pa.array([4, 777]))
    table.merge(new, on="i").when_matched_update_all().when_not_matched_insert_all().execute()
    wanted = []
    for old in expected.to_pylist():
        row = {**new.to_pylist()[0], "i": 4} if old["i"] == 4 else old
        if row["i"] == 5:
            continue
        if row["j"] is None:
            row["i"] += 100
        if row["i"] == 2:
            row["j"] = '{"a":[],"b":1}'
        wanted.append(row)
    wanted.append(new.to_pylist()[1])

    def by_text(found: pa.Table) -> list[str]:
        return sorted(map(repr, found.to_pylist()))

    assert by_text(table.to_table()) == sorted(map(repr, wanted))
    assert by_text(witness.read_directory(path)) == sorted(map(repr, wanted))
    before = by_text(LanceTable.open(path, json="bytes").to_table())
    table.compact()
    assert by_text(LanceTable.open(path, json="bytes").to_table()) == before, "not a byte changes"
    assert by_text(witness.read_directory(path)) == sorted(map(repr, wanted))
    assert lance_arrow.verify(path).ok
    table.alter_columns({"path": "j", "data_type": pa.string()})
    assert table.to_table()["j"].to_pylist() == witness.read_directory(path)["j"].to_pylist()
    assert sorted(map(str, table.to_table()["j"].to_pylist())) == sorted(str(row["j"]) for row in wanted)


def test_what_is_no_json_reaches_no_table(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows())
    before = table.version
    given: Any
    for given in (["{}"], pa.array([b"{}"], pa.binary()), pa.array([b"{}"], pa.large_binary())):
        with pytest.raises(InvalidArgumentError, match=r"give text of the type arrow\.json") as caught:
            table.append(pa.table({"i": [1], "j": given}))
        assert caught.value.column == "j"
    with pytest.raises(InvalidArgumentError, match=r"give text of the type arrow\.json") as caught:
        table.append(pa.table({"i": [1], "s": [{"j": b"x", "n": 1}]}))
    assert caught.value.column == "s.j"
    for value, said in (("'{'", "not JSON"), ("1", "int64 is no JSON")):
        with pytest.raises(InvalidArgumentError, match=said) as caught:
            table.update({"j": value}, where="i = 1")
        assert caught.value.column == "j"
    with pytest.raises(InvalidArgumentError, match="not binary JSON"):
        table.update({"j": pc.scalar(pa.scalar(b"{}", pa.large_binary()))}, where="i = 1")
    assert LanceTable.open(tmp_path / "t.lance").version == before


def test_comparisons_are_refused(tmp_path: Path) -> None:
    """The reference refuses them too: of what is equal, two texts may differ."""
    table = LanceTable.create(tmp_path / "t.lance", rows())
    dataset = lance_arrow.dataset(tmp_path / "t.lance")
    doors: list[Callable[[], object]] = [
        lambda: dataset.to_table(filter="j = '[]'"),
        lambda: dataset.to_table(filter=pc.field("j") == "[]"),
        lambda: dataset.count_rows(filter="j < '[]'"),
        lambda: table.to_table(filter="j IN ('[]', '1')"),
        lambda: table.to_table(filter="j LIKE '%a%'"),
        lambda: table.count_rows("s.j = '[]'"),
        lambda: table.update({"i": "1"}, where="j = '[]'"),
        lambda: table.delete("j = '[]'"),
    ]
    for door in doors:
        with pytest.raises(InvalidArgumentError, match=r"extension<arrow\.json>"):
            door()
    assert table.version == LanceTable.open(tmp_path / "t.lance").version == 1


def test_engines_and_commands(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, expected = tmp_path / "t.lance", rows(10)
    LanceTable.create(path, expected)
    dataset = lance_arrow.dataset(path)
    texts = expected["j"].to_pylist()
    duckdb = pytest.importorskip("duckdb")
    flights = duckdb.from_arrow(dataset)
    assert [row[0] for row in duckdb.sql("SELECT j FROM flights ORDER BY i").fetchall()] == texts
    assert duckdb.sql("SELECT i FROM flights WHERE j ->> 'b' LIKE 'x%'").fetchall() == [(0,), (8,)]
    assert duckdb.sql("SELECT i FROM flights WHERE j = '[]'").fetchall() == [(5,)]
    assert flights.types[1] == "JSON"
    polars = pytest.importorskip("polars")
    scanned = polars.scan_pyarrow_dataset(dataset).select("j").collect()
    assert scanned.to_arrow().column("j").cast(pa.string()).to_pylist() == texts
    assert dataset.to_table(columns=["j"]).to_pandas()["j"].tolist() == texts
    for command in (["head"], ["--json", "head"], ["schema"]):
        assert run([*command, str(path)]) == 0
        written = capfd.readouterr().out
        assert ("arrow.json" if command[-1] != "head" else "[]") in written
        assert "lance.json" not in written
    for name, columns in (("c.parquet", []), ("c.arrow", []), ("c.csv", ["--columns", "i,j"])):
        assert run(["export", str(path), str(tmp_path / name), *columns]) == 0
        found = pads.dataset(tmp_path / name, format=name.partition(".")[2]).to_table()
        shown = [None if one in ("", None) else one for one in found["j"].cast(pa.string()).to_pylist()]
        assert shown == texts
    lance_arrow.write_table(expected, tmp_path / "a.lance")
    assert run(["convert", str(tmp_path / "a.lance"), str(tmp_path / "b.lance")]) == 0
    same_rows(lance_arrow.read_table(tmp_path / "b.lance"), expected)
    capfd.readouterr()


def test_spark_sees_strings(tmp_path: Path) -> None:
    source = pytest.importorskip("lance_arrow.spark.source")
    types = pytest.importorskip("pyspark.sql.types")
    expected = rows(10)
    LanceTable.create(tmp_path / "t.lance", expected)
    made = source.LanceDataSource({"path": str(tmp_path / "t.lance")})
    schema = made.schema()
    assert schema["j"].dataType == types.StringType()
    assert schema["s"].dataType["j"].dataType == types.StringType()
    reader = made.reader(schema)
    batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
    found = pa.Table.from_batches(batches)
    assert found.schema.field("j").type == pa.string()
    assert found.to_pylist() == expected.to_pylist()
    shutil.rmtree(tmp_path / "t.lance")
