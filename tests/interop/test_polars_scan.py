"""`lance_arrow.integrations.polars.scan`: the same rows as Polars' own filter; columns, predicate, few rows arrive."""

from __future__ import annotations

import datetime
import math
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import lance_arrow
from lance_arrow import write_table
from lance_arrow.integrations.polars import scan
from lance_arrow.integrations.polars_predicates import arrow_filter
from lance_arrow.spi import ReadReport

ROWS, ROWS_PER_ZONE = 4000, 100
NUM_ZONES = ROWS // ROWS_PER_ZONE
UTC = datetime.UTC


@pytest.fixture(scope="module")
def table() -> pa.Table:
    n = np.arange(ROWS)
    x = n / 8
    x[::50] = math.nan
    return pa.table(
        {
            "id": pa.array(n, mask=n % 333 == 0),
            "small": pa.array(n % 100, pa.int8()),
            "x": pa.array(x, mask=n % 77 == 0),
            "f": pa.array(x, pa.float32()),
            "word": [f"w{one:04}" for one in n],
            "at": pa.array(n * 1_000_000, pa.timestamp("us", "UTC")),
            "naive": pa.array(n * 1000, pa.timestamp("ms")),
            "day": pa.array(n // 10, pa.int32()).cast(pa.date32()),
            "flag": pa.array(n < 1000, mask=n % 90 == 0),
            "st": pa.StructArray.from_arrays([pa.array(n), pa.array(n % 3)], ["a", "b"], mask=pa.array(n % 40 == 0)),
            "row": n,
            "kind": pa.array(np.where(n < 2000, "red", "blue")).dictionary_encode(),
            "tags": [[int(one)] for one in n],
        }
    )


@pytest.fixture(scope="module")
def path(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("polars")
    write_table(table, folder / "file.lance", rows_per_zone=ROWS_PER_ZONE)
    return folder / "file.lance"


c = pl.col
MOMENT = datetime.datetime(1970, 1, 1, 0, 10, tzinfo=UTC)
PRUNING = {
    "equal": c("id") == 7,
    "swapped": c("id") <= 7,
    "literal first": pl.lit(3990) < c("id"),
    "not equal": (c("id") != 7) & (c("id") < 50),
    "float": c("x") < 10,
    "float range": (c("x") >= 10.5) & (c("x") <= 11),
    "float equal": c("f") == 2.5,
    "between": c("id").is_between(200, 300),
    "between open": c("id").is_between(200, 300, closed="none"),
    "in": c("id").is_in([5, 3999]),
    "in words": c("word").is_in(["w0001", "w3000"]),
    "not in": ~c("id").is_in([5, 6]) & (c("id") < 100),
    "word": c("word") > "w3950",
    "prefix": c("word").str.starts_with("w12"),
    "moment": c("at") < MOMENT,
    "naive": c("naive") < datetime.datetime(1970, 1, 1, 0, 0, 1),
    "day": c("day") == datetime.date(1970, 2, 1),
    "null": c("id").is_null() & (c("row") < 500),
    "not null": c("id").is_not_null() & (c("id") < 10),
    "flag": c("flag") & (c("id") < 2000),
    "struct": c("st").struct.field("a") > 3900,
    "or": (c("id") < 10) | (c("word") == "w3999"),
    "not": ~(c("id") < 3900),
    "partly": (c("id") < 10) & (c("word").str.contains("[13579]$")),
    "row": c("row") == 17,
}
OTHERS = {
    "nan": c("x").is_nan(),
    "not nan": c("x").is_not_nan(),
    "greater than nan too": c("x") > 499,
    "not greater": ~(c("x") > 499),
    "is nan": c("x").eq(math.nan),
    "nan in": c("x").is_in([math.nan, 1.0]),
    "null in": c("id").is_in([None, 5]),
    "not null in": ~c("id").is_in([None, 5]),
    "nulls equal": c("id").is_in([None, 5], nulls_equal=True),
    "out of range": c("small") < 1000,
    "float of int": c("small") > 98.5,
    "inexact": c("f") == 0.1,
    "cast": c("id").cast(pl.Float64) > 3990.5,
    "computed": c("id") + 1 == 500,
    "category": c("kind") == "blue",
    "fields": c("id") > c("row"),
    "missing": c("id").eq_missing(None),
    "list": c("tags").list.first() > 3990,
    "xor": c("flag") ^ (c("id") > 3000),
    "nothing": c("id") < -1,
    "null literal": c("id") > pl.lit(None),
    "length": c("word").str.len_bytes() == 5,
}


@pytest.mark.share(2)
@pytest.mark.cover(1)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("name", [*PRUNING, *OTHERS])
def test_the_same_rows(path: Path, table: pa.Table, name: str, engine: str) -> None:
    predicate = {**PRUNING, **OTHERS}[name]
    wanted = pl.from_arrow(table).filter(predicate)
    assert_frame_equal(wanted, scan(path).filter(predicate).collect(engine=engine))
    some = scan(path).filter(predicate).select("word", c("x") * 2).collect(engine=engine)
    assert_frame_equal(wanted.select("word", c("x") * 2), some)
    few = scan(path).filter(predicate).head(7).select("row").collect(engine=engine)
    assert_frame_equal(wanted.head(7).select("row"), few)


@pytest.mark.parametrize("name", PRUNING)
def test_predicates_prune(path: Path, receipts: list[ReadReport], name: str) -> None:
    scan(path).filter(PRUNING[name]).select("word").collect()
    (report,) = (one for one in receipts if one.zones_total)
    assert report.zones_pruned >= NUM_ZONES // 2


def test_columns_arrive(path: Path, receipts: list[ReadReport]) -> None:
    scan(path).filter(c("id") > 3990).select("small", "row").collect()
    assert {column for one in receipts for column in one.columns} == {"small", "row", "id"}


def test_few_rows_arrive(path: Path, receipts: list[ReadReport], table: pa.Table) -> None:
    assert_frame_equal(scan(path).head(5).collect(), pl.from_arrow(table).head(5))
    assert all(rows <= 5 for one in receipts for rows in one.decoded_rows.values())


def test_what_is_not_exact_is_not_said(table: pa.Table) -> None:
    for name in ("is nan", "nan in", "null in", "out of range", "inexact", "computed", "category", "missing", "cast"):
        assert arrow_filter(OTHERS[name], table.schema) is None, name
    assert arrow_filter((c("id") < 10) & (c("id") + 1 == 3), table.schema) is not None
    assert arrow_filter((c("id") < 10) | (c("id") + 1 == 3), table.schema) is None


def test_a_filtered_dataset_and_a_missing_file(path: Path, tmp_path: Path) -> None:
    dataset = lance_arrow.dataset(path).filter(pa.compute.field("id") < 20)
    assert scan(dataset).select(pl.len()).collect().item() == 19
    assert "lance" in scan(dataset).explain()
    with pytest.raises(FileNotFoundError):
        scan(tmp_path / "absent.lance")


@pytest.mark.share(3)
@pytest.mark.cover(2)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("name", [*PRUNING, *OTHERS])
@pytest.mark.parametrize("num_rows", [0, 5, 700, 1_000_000])
def test_first_rows_are_taken_before_they_are_filtered(
    path: Path, table: pa.Table, name: str, engine: str, num_rows: int
) -> None:
    predicate = {**PRUNING, **OTHERS}[name]
    wanted = pl.from_arrow(table).head(num_rows).filter(predicate)
    found = scan(path).head(num_rows).filter(predicate)
    assert_frame_equal(wanted, found.collect(engine=engine))
    assert found.select(pl.len()).collect(engine=engine).item() == wanted.height


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("is_true", [True, False])
def test_predicates_without_a_column(path: Path, table: pa.Table, is_true: bool, engine: str) -> None:
    for frame, num_rows in ((scan(path), len(table)), (scan(path).head(9), 9)):
        found = frame.filter(pl.lit(is_true))
        assert found.select(pl.len()).collect(engine=engine).item() == num_rows * is_true
        assert found.select("row").collect(engine=engine).height == num_rows * is_true
