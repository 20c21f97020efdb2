"""Joins of TPC-H (Q3, Q12, Q14, Q19), `LIKE` and nested fields in DuckDB and Polars, with all tables ours.

Run by `nox -s bench_engines -- --joins`; alone: ``python engine_joins.py --scale 0.2``. Beside our doors: the engines'
own Parquet readers, the reference's dataset and DuckDB's extensions where they are installed (`engine_peers`). All ways
answer in turns, and answers must be equal.
"""

from __future__ import annotations

import argparse
import datetime
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from engine_peers import answering, peers
from engines import report

import lance_arrow
from lance_arrow.integrations import duckdb as duckdb_door
from lance_arrow.integrations import polars as polars_door

_MODES = ["AIR", "RAIL", "TRUCK", "MAIL", "SHIP", "FOB", "REG AIR"]
_PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
_SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
_TYPES = [f"{a} {b}" for a in ("PROMO", "STANDARD", "SMALL", "ECONOMY") for b in ("BRASS", "TIN", "STEEL", "COPPER")]
_CONTAINERS = [f"{a} {b}" for a in ("SM", "MED", "LG") for b in ("CASE", "BOX", "PACK", "PKG", "BAG")]
_FIRST_DAY, _DAYS = 8036, 2405

SQL: Mapping[str, str] = {
    "q3": (
        "SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate"
        " FROM {customer}, {orders}, {lineitem}"
        " WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey"
        " AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'"
        " GROUP BY l_orderkey, o_orderdate ORDER BY revenue DESC, l_orderkey LIMIT 10"
    ),
    "q12": (
        "SELECT l_shipmode, sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END)"
        " FROM {orders}, {lineitem} WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP')"
        " AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate"
        " AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01' GROUP BY 1 ORDER BY 1"
    ),
    "q14": (
        "SELECT sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)"
        " FROM {lineitem}, {part} WHERE l_partkey = p_partkey"
        " AND l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'"
    ),
    "q19": (
        "SELECT sum(l_extendedprice * (1 - l_discount)) FROM {lineitem}, {part} WHERE p_partkey = l_partkey"
        " AND l_shipmode IN ('AIR', 'REG AIR') AND ("
        "(p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX') AND l_quantity BETWEEN 1 AND 11)"
        " OR (p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX') AND l_quantity BETWEEN 10 AND 20))"
    ),
    "like": "SELECT count(*) FROM {part} WHERE p_type LIKE '%BRASS'",
    "in": "SELECT count(*) FROM {lineitem} WHERE l_shipmode IN ('MAIL', 'SHIP', 'AIR')",
    "nested": "SELECT count(*), sum(o_detail.total) FROM {orders} WHERE o_detail.clerk < 100",
}


class _Frames:
    """Frames by name of a table, each scanned when it is asked for."""

    def __init__(self, scan: Callable[[str], pl.LazyFrame]) -> None:
        self._scan = scan

    def __getitem__(self, name: str) -> pl.LazyFrame:
        return self._scan(name)


_c = pl.col
FRAMES: Mapping[str, Callable[[_Frames], pl.LazyFrame]] = {
    "q3": lambda of: (
        of["customer"]
        .filter(_c("c_mktsegment") == "BUILDING")
        .join(of["orders"], left_on="c_custkey", right_on="o_custkey")
        .filter(_c("o_orderdate") < datetime.date(1995, 3, 15))
        .join(of["lineitem"], left_on="o_orderkey", right_on="l_orderkey")
        .filter(_c("l_shipdate") > datetime.date(1995, 3, 15))
        .group_by("o_orderkey", "o_orderdate")
        .agg((_c("l_extendedprice") * (1 - _c("l_discount"))).sum().alias("revenue"))
        .sort("revenue", "o_orderkey", descending=[True, False])
        .head(10)
    ),
    "q12": lambda of: (
        of["lineitem"]
        .filter(
            _c("l_shipmode").is_in(["MAIL", "SHIP"])
            & (_c("l_commitdate") < _c("l_receiptdate"))
            & (_c("l_shipdate") < _c("l_commitdate"))
            & _c("l_receiptdate").is_between(datetime.date(1994, 1, 1), datetime.date(1994, 12, 31))
        )
        .join(of["orders"], left_on="l_orderkey", right_on="o_orderkey")
        .group_by("l_shipmode")
        .agg(_c("o_orderpriority").is_in(["1-URGENT", "2-HIGH"]).sum())
        .sort("l_shipmode")
    ),
    "q14": lambda of: (
        of["lineitem"]
        .filter(_c("l_shipdate").is_between(datetime.date(1995, 9, 1), datetime.date(1995, 9, 30)))
        .join(of["part"], left_on="l_partkey", right_on="p_partkey")
        .filter(_c("p_type").str.starts_with("PROMO"))
        .select((_c("l_extendedprice") * (1 - _c("l_discount"))).sum())
    ),
    "like": lambda of: of["part"].filter(_c("p_type").str.ends_with("BRASS")).select(pl.len()),
    "in": lambda of: of["lineitem"].filter(_c("l_shipmode").is_in(["MAIL", "SHIP", "AIR"])).select(pl.len()),
    "nested": lambda of: (
        of["orders"]
        .filter(_c("o_detail").struct.field("clerk") < 100)
        .select(pl.len(), _c("o_detail").struct.field("total").sum())
    ),
}


def tables(scale: float) -> dict[str, pa.Table]:
    """Make the columns that the queries read, with the numbers of rows of TPC-H."""
    rng = np.random.default_rng(1)
    num_orders, num_parts, num_customers = int(1_500_000 * scale), int(200_000 * scale), int(150_000 * scale)
    num_lines = 4 * num_orders

    def one_of(values: list[str], count: int) -> pa.Array:
        return pa.array(values).take(pa.array(rng.integers(0, len(values), count)))

    def days(offsets: np.ndarray) -> pa.Array:
        return pa.array(offsets.astype(np.int32)).cast(pa.date32())

    shipped = rng.integers(_FIRST_DAY, _FIRST_DAY + _DAYS, num_lines)
    quantity = rng.integers(1, 51, num_lines)
    total = np.round(rng.uniform(900, 400_000, num_orders), 2)
    return {
        "customer": pa.table({"c_custkey": np.arange(num_customers), "c_mktsegment": one_of(_SEGMENTS, num_customers)}),
        "orders": pa.table(
            {
                "o_orderkey": np.arange(num_orders),
                "o_custkey": rng.integers(0, num_customers, num_orders),
                "o_orderdate": days(rng.integers(_FIRST_DAY, _FIRST_DAY + _DAYS, num_orders)),
                "o_orderpriority": one_of(_PRIORITIES, num_orders),
                "o_detail": pa.StructArray.from_arrays(
                    [pa.array(rng.integers(0, 1000, num_orders)), pa.array(total)], ["clerk", "total"]
                ),
            }
        ),
        "part": pa.table(
            {
                "p_partkey": np.arange(num_parts),
                "p_type": one_of(_TYPES, num_parts),
                "p_brand": one_of([f"Brand#{a}{b}" for a in range(1, 6) for b in range(1, 6)], num_parts),
                "p_container": one_of(_CONTAINERS, num_parts),
            }
        ),
        "lineitem": pa.table(
            {
                "l_orderkey": np.sort(rng.integers(0, num_orders, num_lines)),
                "l_partkey": rng.integers(0, num_parts, num_lines),
                "l_quantity": quantity.astype(np.float64),
                "l_extendedprice": np.round(quantity * rng.uniform(900, 2000, num_lines), 2),
                "l_discount": np.round(rng.integers(0, 11, num_lines) / 100, 2),
                "l_shipdate": days(shipped),
                "l_commitdate": days(shipped + rng.integers(-30, 60, num_lines)),
                "l_receiptdate": days(shipped + rng.integers(1, 31, num_lines)),
                "l_shipmode": one_of(_MODES, num_lines),
            }
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", nargs="*", default=list(SQL), choices=list(SQL))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as where, duckdb.connect() as connection:
        folder = Path(where)
        made = tables(asked.scale)
        names = list(made)
        for name, rows in made.items():
            lance_arrow.LanceTable.create(folder / f"{name}.lance", rows)
            pq.write_table(rows, folder / f"{name}.parquet", compression="zstd")
            duckdb_door.register(connection, f"door_{name}", folder / f"{name}.lance")
            connection.execute(f"CREATE VIEW parquet_{name} AS FROM '{folder / f'{name}.parquet'}'")
        made.clear()
        ways = ["door", *peers(connection, folder, names), "parquet"]
        for query in asked.queries:
            texts = {way: SQL[query].format(**{name: f"{way}_{name}" for name in names}) for way in ways}
            report("duckdb", query, answering(connection, texts), asked.rounds)
            if query not in FRAMES:
                continue
            scans: dict[str, Callable[[str], pl.LazyFrame]] = {
                "door": lambda name: polars_door.scan(folder / f"{name}.lance"),
                "parquet": lambda name: pl.scan_parquet(folder / f"{name}.parquet"),
            }
            report("polars", query, {
                way: lambda scan=scan, query=query: FRAMES[query](_Frames(scan)).collect().rows()
                for way, scan in scans.items()
            }, asked.rounds)  # fmt: skip


if __name__ == "__main__":
    main()
