"""DuckDB and Polars answer as pyarrow does, and their projection and filter arrive in our scan."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from same import assert_same
from values import seeded
from witness import Witness

import lance_arrow
from lance_arrow.spi import ReadReport

pytestmark = pytest.mark.interop

ROWS = 40_000


@pytest.fixture(scope="module")
def expected() -> pa.Table:
    rng = seeded("engines")
    strings = pa.array(rng.choice(["red", "green", "blue", "grey"], ROWS), mask=rng.random(ROWS) < 0.1)
    return pa.table(
        {
            "id": np.arange(ROWS),
            "x": pa.array(rng.standard_normal(ROWS), mask=rng.random(ROWS) < 0.2),
            "s": strings,
            "when": pa.array(rng.integers(0, 10**9, ROWS), pa.timestamp("us")),
            "unused": rng.integers(0, 100, ROWS),
            "st": pa.StructArray.from_arrays([pa.array(rng.integers(0, 9, ROWS)), strings], ["a", "b"]),
        }
    )


@pytest.fixture(scope="module")
def dataset(witness: Witness, expected: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> pads.Dataset:
    folder = tmp_path_factory.mktemp("engines")
    half = ROWS // 2
    for name, start in (("a", 0), ("b", half)):
        witness.write(expected.slice(start, half).combine_chunks(), folder / f"{name}.lance", "2.2")
    return pads.dataset(folder, format=lance_arrow.LanceFormat())


def columns_read(reports: list[ReadReport]) -> set[str]:
    """Columns of filtered scans. A scan without filter that an earlier test left early may report late."""
    return {column for report in reports if report.filter is not None for column in report.columns}


def filters_read(reports: list[ReadReport]) -> set[str]:
    return {report.filter for report in reports if report.filter is not None}


def test_pyarrow(dataset: pads.Dataset, expected: pa.Table, receipts: list[ReadReport]) -> None:
    condition = (pc.field("id") > 15_000) & (pc.field("s") == "red")
    actual = dataset.to_table(columns=["x"], filter=condition)
    assert_same(expected.filter(condition).select(["x"]), actual)
    assert columns_read(receipts) == {"x", "id", "s"}
    (text,) = filters_read(receipts)
    assert "id" in text
    assert "red" in text
    assert sum(report.files for report in receipts) == 2


def test_duckdb(dataset: pads.Dataset, expected: pa.Table, receipts: list[ReadReport]) -> None:
    sql = "SELECT id, x FROM flat WHERE id > 15000 AND s = 'red' ORDER BY id"
    with duckdb.connect() as connection:
        connection.register("flat", dataset)
        actual = connection.sql(sql).to_arrow_table()
        assert columns_read(receipts) == {"id", "x", "s"}
        assert any("15000" in text and "red" in text for text in filters_read(receipts))
        receipts.clear()
        assert connection.execute("SELECT sum(st.a) FROM flat WHERE x IS NULL").fetchone() == (
            pc.sum(pc.struct_field(expected.filter(pc.field("x").is_null())["st"], "a")).as_py(),
        )
        assert "unused" not in columns_read(receipts)
        assert connection.execute('SELECT count(*), max("when") FROM flat').fetchone() == (
            ROWS,
            pc.max(expected["when"]).as_py(),
        )
    wanted = expected.filter((pc.field("id") > 15_000) & (pc.field("s") == "red")).select(["id", "x"])
    assert_same(wanted, actual.cast(wanted.schema))


def test_duckdb_join_and_limit(dataset: pads.Dataset, expected: pa.Table) -> None:
    names = pa.table({"s": ["red", "blue"], "rank": [1, 2]})
    with duckdb.connect() as connection:
        connection.register("flat", dataset)
        connection.register("names", names)
        rows = connection.execute(
            "SELECT rank, count(*) FROM flat JOIN names USING (s) GROUP BY rank ORDER BY 1"
        ).fetchall()
        counts = {row["values"]: row["counts"] for row in pc.value_counts(expected["s"]).to_pylist()}
        assert rows == [(1, counts["red"]), (2, counts["blue"])]
        assert len(connection.execute("SELECT * FROM flat LIMIT 7").fetchall()) == 7


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_polars(dataset: pads.Dataset, expected: pa.Table, receipts: list[ReadReport], engine: str) -> None:
    lazy = pl.scan_pyarrow_dataset(dataset)
    actual = lazy.filter((pl.col("id") > 15_000) & (pl.col("s") == "red")).select("id", "x").collect(engine=engine)
    assert columns_read(receipts) == {"id", "x", "s"}
    assert any("15000" in text for text in filters_read(receipts))
    wanted = expected.filter((pc.field("id") > 15_000) & (pc.field("s") == "red")).select(["id", "x"])
    assert_same(wanted, actual.to_arrow().cast(wanted.schema))
    total = lazy.select(pl.col("x").sum()).collect(engine=engine).item()
    assert total == pytest.approx(pc.sum(expected["x"]).as_py())


def test_polars_takes_a_file_as_a_stream(dataset: pads.Dataset, expected: pa.Table) -> None:
    with lance_arrow.LanceFile(dataset.files[0]) as file:
        frame = pl.DataFrame(file)
    half = expected.slice(0, ROWS // 2).select(["id", "s"])
    assert_same(half, frame.select("id", "s").to_arrow().cast(half.schema))
