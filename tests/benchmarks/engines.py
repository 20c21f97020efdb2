"""Queries of DuckDB and Polars over rows like TPC-H lineitem: our doors, our datasets, the engines' Parquet readers.

Run by `nox -s bench_engines`; alone: ``python engines.py --rows 1000000``. Peers take part where they are installed
(`engine_peers`). All ways answer in turns; the least times of all rounds count, and answers must be equal. Nothing else
is asserted.
"""

from __future__ import annotations

import argparse
import datetime
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from engine_peers import answering, peers
from measuring import interleaved

import lance_arrow
from lance_arrow.integrations import duckdb as duckdb_door
from lance_arrow.integrations import polars as polars_door

_WORDS = [
    "carefully",
    "quickly",
    "final",
    "deposits",
    "requests",
    "sleep",
    "furiously",
    "ironic",
    "pending",
    "blithely",
]
_TABLE = "lineitem"
_DAY = datetime.date(1998, 9, 2)
_FIRST, _LAST = datetime.date(1994, 1, 1), datetime.date(1994, 12, 31)

SQL: Mapping[str, str] = {
    "count": "SELECT count(*) FROM {}",
    "mode": "SELECT count(*) FROM {} WHERE l_shipmode = 'AIR'",
    "flags": "SELECT count(*) FROM {} WHERE l_returnflag IN ('A', 'R')",
    "group": "SELECT l_returnflag, count(*) FROM {} GROUP BY 1 ORDER BY 1",
    "q1": (
        "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),"
        " sum(l_extendedprice * (1 - l_discount)), avg(l_tax), count(*)"
        " FROM {} WHERE l_shipdate <= DATE '1998-09-02' GROUP BY 1, 2 ORDER BY 1, 2"
    ),
    "q6": (
        "SELECT sum(l_extendedprice * l_discount) FROM {} WHERE l_shipdate BETWEEN DATE '1994-01-01' AND"
        " DATE '1994-12-31' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"
    ),
    "point": "SELECT l_partkey, l_comment FROM {} WHERE l_orderkey = 1234 ORDER BY ALL",
    "prefix": "SELECT count(*) FROM {} WHERE l_comment LIKE 'final dep%'",
    "top": "SELECT l_orderkey, l_extendedprice FROM {} ORDER BY l_extendedprice DESC, l_orderkey LIMIT 10",
}

_col = pl.col
FRAMES: Mapping[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "count": lambda frame: frame.select(pl.len()),
    "mode": lambda frame: frame.filter(_col("l_shipmode") == "AIR").select(pl.len()),
    "flags": lambda frame: frame.filter(_col("l_returnflag").is_in(["A", "R"])).select(pl.len()),
    "group": lambda frame: frame.group_by("l_returnflag").len().sort("l_returnflag"),
    "q1": lambda frame: (
        frame.filter(_col("l_shipdate") <= _DAY)
        .group_by("l_returnflag", "l_linestatus")
        .agg(_col("l_quantity").sum(), _col("l_extendedprice").sum(), _col("l_tax").mean(), pl.len())
        .sort("l_returnflag", "l_linestatus")
    ),
    "q6": lambda frame: frame.filter(
        _col("l_shipdate").is_between(_FIRST, _LAST)
        & _col("l_discount").is_between(0.05, 0.07)
        & (_col("l_quantity") < 24)
    ).select((_col("l_extendedprice") * _col("l_discount")).sum()),
    "point": lambda frame: (
        frame.filter(_col("l_orderkey") == 1234).select("l_partkey", "l_comment").sort("l_partkey", "l_comment")
    ),
    "prefix": lambda frame: frame.filter(_col("l_comment").str.starts_with("final dep")).select(pl.len()),
}


def lineitem(num_rows: int) -> pa.Table:
    """Rows with the columns, and about the distributions, of TPC-H lineitem."""
    random = np.random.default_rng(1)

    def one_of(values: Sequence[str]) -> pa.Array:
        return pa.array(values).take(pa.array(random.integers(0, len(values), num_rows)))

    days = random.integers(8036, 10561, num_rows).astype(np.int32)
    quantity = random.integers(1, 51, num_rows)
    words = [one_of(_WORDS) for _ in range(4)]
    return pa.table(
        {
            "l_orderkey": np.sort(random.integers(1, num_rows, num_rows)),
            "l_partkey": random.integers(1, 200_000, num_rows),
            "l_quantity": quantity.astype(np.float64),
            "l_extendedprice": np.round(quantity * random.uniform(900, 2000, num_rows), 2),
            "l_discount": np.round(random.integers(0, 11, num_rows) / 100, 2),
            "l_tax": np.round(random.integers(0, 9, num_rows) / 100, 2),
            "l_returnflag": one_of(["A", "N", "R"]),
            "l_linestatus": one_of(["O", "F"]),
            "l_shipdate": pa.array(days).cast(pa.date32()),
            "l_shipinstruct": one_of(["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]),
            "l_shipmode": one_of(["AIR", "RAIL", "TRUCK", "MAIL", "SHIP", "FOB", "REG AIR"]),
            "l_comment": pc.binary_join_element_wise(*words, pa.array(days).cast(pa.string()), " "),
        }
    )


def same(left: Sequence[tuple[Any, ...]], right: Sequence[tuple[Any, ...]]) -> bool:
    """Whether two answers are equal; sums of floats depend on their order."""
    return len(left) == len(right) and all(
        math.isclose(mine, other, rel_tol=1e-9) if isinstance(mine, float) else mine == other
        for mine_row, other_row in zip(left, right, strict=True)
        for mine, other in zip(mine_row, other_row, strict=True)
    )


def report(engine: str, name: str, ways: Mapping[str, Callable[[], Sequence[tuple[Any, ...]]]], rounds: int) -> None:
    """Compare the answers of all ways, measure them, and print a line; Parquet is the last way.

    Ratios to Parquet are of processor time, then by the clock.
    """
    answers = [way() for way in ways.values()]
    if not all(same(answer, answers[-1]) for answer in answers):
        raise AssertionError(f"{engine} answers {name} differently")
    taken = interleaved(ways, [dict.fromkeys(ways, ())] * (rounds + 1))
    *ours, parquet = taken
    least = {way: (min(one.cpu_seconds), min(one.seconds)) for way, one in taken.items()}
    cpu_of, clock_of = least[parquet]
    figures = "  ".join(
        f"{way} {1e3 * least[way][0]:7.1f} ms, ratio {least[way][0] / cpu_of:5.2f} {least[way][1] / clock_of:5.2f}"
        for way in ours
    )
    print(f"{engine:<7}{name:<8}{figures}  parquet {1e3 * cpu_of:7.1f} ms {1e3 * clock_of:7.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", nargs="*", default=list(SQL), choices=list(SQL))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        table, parquet = str(Path(folder) / f"{_TABLE}.lance"), str(Path(folder) / f"{_TABLE}.parquet")
        rows = lineitem(asked.rows)
        lance_arrow.LanceTable.create(table, rows)
        pq.write_table(rows, parquet, compression="zstd")
        del rows
        dataset = lance_arrow.dataset(table)
        duckdb_door.register(connection, f"door_{_TABLE}", table)
        connection.register(f"dataset_{_TABLE}", dataset)
        connection.execute(f"CREATE VIEW parquet_{_TABLE} AS FROM '{parquet}'")
        ways = ["door", "dataset", *peers(connection, Path(folder), [_TABLE]), "parquet"]
        frames: dict[str, Callable[[], pl.LazyFrame]] = {
            "door": lambda: polars_door.scan(table),
            "dataset": lambda: pl.scan_pyarrow_dataset(dataset),
            "parquet": lambda: pl.scan_parquet(parquet),
        }
        for name in asked.queries:
            texts = {way: SQL[name].format(f"{way}_{_TABLE}") for way in ways}
            report("duckdb", name, answering(connection, texts), asked.rounds)
            if name in FRAMES:
                report("polars", name, {
                    way: lambda scan=scan, name=name: FRAMES[name](scan()).collect().rows()
                    for way, scan in frames.items()
                }, asked.rounds)  # fmt: skip


if __name__ == "__main__":
    main()
