"""What engines make of a predicate still prunes: the forms DuckDB, Polars and DataFusion send are understood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datafusion
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

from lance_arrow import LanceFormat, write_table
from lance_arrow.spi import ReadReport

NUM_ROWS, ROWS_PER_ZONE = 50_000, 1000
NUM_ZONES = NUM_ROWS // ROWS_PER_ZONE


@pytest.fixture(scope="module")
def table() -> pa.Table:
    n = np.arange(NUM_ROWS)
    return pa.table(
        {
            "id": pa.array(n, mask=n % 1777 == 0),
            "x": pa.array(n / 2),
            "name": [f"name {one:06}" for one in n],
            "at": pa.array(n * 1_000_000, pa.timestamp("us")),
            "day": pa.array(n // 100, pa.int32()).cast(pa.date32()),
            "payload": [f"payload {one}" for one in n],
        }
    )


@pytest.fixture(scope="module")
def dataset(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> pads.Dataset:
    path: Path = tmp_path_factory.mktemp("pruned") / "file.lance"
    write_table(table, path, rows_per_zone=ROWS_PER_ZONE)
    return pads.dataset(path, format=LanceFormat())


CONDITIONS: dict[str, tuple[str, pc.Expression]] = {
    "equal": ("id = 4321", pc.field("id") == 4321),
    "range": ("id >= 20000 AND id < 20100", (pc.field("id") >= 20_000) & (pc.field("id") < 20_100)),
    "between": ("id BETWEEN 200 AND 301", (pc.field("id") >= 200) & (pc.field("id") <= 301)),
    "or": ("id = 1 OR id = 49999", (pc.field("id") == 1) | (pc.field("id") == 49_999)),
    "in": ("id IN (3, 5, 40001)", pc.field("id").isin([3, 5, 40_001])),
    "in strings": ("name IN ('name 000777', 'name 033333')", pc.field("name").isin(["name 000777", "name 033333"])),
    "string": ("name > 'name 049990'", pc.field("name") > "name 049990"),
    "prefix": ("name LIKE 'name 0123%'", pc.starts_with(pc.field("name"), "name 0123")),
    "null": ("id IS NULL AND x < 1000", pc.field("id").is_null() & (pc.field("x") < 1000)),
    "date": ("day = DATE '1970-02-01'", pc.field("day") == pa.scalar(31, pa.int32()).cast(pa.date32())),
}


def pruned(receipts: list[ReadReport]) -> int:
    """Zones left out by scans; a scan that an engine leaves early may report late."""
    return max((report.zones_pruned for report in receipts if report.zones_total == NUM_ZONES), default=0)


def wanted(table: pa.Table, name: str) -> list[str]:
    return table.filter(CONDITIONS[name][1])["payload"].to_pylist()


@pytest.mark.parametrize("name", CONDITIONS)
def test_duckdb(dataset: pads.Dataset, table: pa.Table, receipts: list[ReadReport], name: str) -> None:
    with duckdb.connect() as connection:
        connection.register("flat", dataset)
        query = f"SELECT payload FROM flat WHERE {CONDITIONS[name][0]} ORDER BY x"
        assert [row[0] for row in connection.execute(query).fetchall()] == wanted(table, name)
    assert pruned(receipts) >= (NUM_ZONES // 2 if name != "prefix" else 0)


@pytest.mark.parametrize("sign", ["=", "<", "<=", "in", ">", ">=", "<>"])
def test_duckdb_keeps_comparisons_in_which_nan_differs(
    dataset: pads.Dataset, receipts: list[ReadReport], sign: str
) -> None:
    with duckdb.connect() as connection:
        connection.register("flat", dataset)
        condition = "x IN (3, 5)" if sign == "in" else f"x {sign} {3 if '<' in sign or sign == '=' else 24_990}"
        (found,) = connection.execute(f"SELECT count(*) FROM flat WHERE {condition}").fetchone() or (None,)
    assert found == {"=": 1, "<": 6, "<=": 7, "in": 2, ">": 19, ">=": 20, "<>": NUM_ROWS - 1}[sign]
    assert pruned(receipts) == (0 if sign in (">", ">=", "<>") else NUM_ZONES - 1)


POLARS: dict[str, Any] = {
    "equal": pl.col("id") == 4321,
    "range": (pl.col("id") >= 20_000) & (pl.col("id") < 20_100),
    "between": pl.col("id").is_between(200, 301),
    "or": (pl.col("id") == 1) | (pl.col("id") == 49_999),
    "in": pl.col("id").is_in([3, 5, 40_001]),
    "in strings": pl.col("name").is_in(["name 000777", "name 033333"]),
    "string": pl.col("name") > "name 049990",
    "null": pl.col("id").is_null() & (pl.col("x") < 1000),
}


@pytest.mark.parametrize("name", POLARS)
def test_polars(dataset: pads.Dataset, table: pa.Table, receipts: list[ReadReport], name: str) -> None:
    found = pl.scan_pyarrow_dataset(dataset).filter(POLARS[name]).select("payload").collect()
    assert found["payload"].to_list() == wanted(table, name)
    assert pruned(receipts) >= NUM_ZONES // 2


@pytest.mark.parametrize("name", CONDITIONS)
def test_datafusion(dataset: pads.Dataset, table: pa.Table, receipts: list[ReadReport], name: str) -> None:
    context = datafusion.SessionContext()
    context.register_dataset("flat", dataset)
    query = f"SELECT payload FROM flat WHERE {CONDITIONS[name][0]} ORDER BY x"
    found = pa.Table.from_batches(context.sql(query).collect(), pa.schema([("payload", pa.string())]))
    assert found["payload"].to_pylist() == wanted(table, name)
    assert pruned(receipts) >= (NUM_ZONES // 2 if name != "prefix" else 0)
