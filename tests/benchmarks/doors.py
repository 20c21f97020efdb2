"""Time every door on every kind of source: files and tables of few and many rows; prints least times, asserts nothing.

`python tests/benchmarks/doors.py [--layouts 1x1000000 150x20000 1000x1000] [--rounds 5]`. Each read opens what it
reads, and all doors take turns. Milliseconds by the clock, and of processor time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import lance
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from measuring import interleaved

import lance_arrow
from lance_arrow import LanceFormat, LanceTable
from lance_arrow.integrations import duckdb as duckdb_door
from lance_arrow.integrations import polars as polars_door

LAYOUTS = ("1x1000000", "150x20000", "80x100000", "1000x1000")
Reads = Mapping[str, Callable[[], object]]


def rows_of(start: int, count: int, rng: np.random.Generator) -> pa.Table:
    """Rows of ten columns: sorted and random numbers, few and many strings, dates, flags."""
    return pa.table(
        {
            "id": np.arange(start, start + count),
            "number": rng.integers(0, 1_000_000, count),
            "real": rng.random(count),
            "narrow": rng.random(count).astype(np.float32),
            "mode": pa.array(rng.choice(["AIR", "MAIL", "RAIL", "SHIP"], count)),
            "name": pa.array([f"name {one:07} of something" for one in rng.integers(0, 10_000_000, count)]),
            "day": pa.array(rng.integers(0, 20_000, count).astype(np.int32)).cast(pa.date32()),
            "flag": pa.array(rng.integers(0, 2, count).astype(bool)),
            "small": rng.integers(0, 100, count).astype(np.int16),
            "large": rng.integers(0, 1_000_000_000, count),
        }
    )


def write(folder: Path, num_files: int, num_rows: int) -> None:
    """Write the same rows as files and tables of ours, as Parquet, and as a table of the reference."""
    rng = np.random.default_rng(1)
    for kind in ("files", "parquet"):
        (folder / kind).mkdir(parents=True)
    parts = [rows_of(number * num_rows, num_rows, rng) for number in range(num_files)]
    for number, part in enumerate(parts):
        lance_arrow.write_table(part, folder / "files" / f"{number:05}.lance")
        pq.write_table(part, folder / "parquet" / f"{number:05}.parquet")
    whole = pa.concat_tables(parts)
    LanceTable.create(folder / "table.lance", whole, max_rows_per_file=num_rows)
    lance.write_dataset(whole, folder / "reference.lance", max_rows_per_file=num_rows)


def cases(folder: Path, num_rows: int) -> dict[str, Reads]:
    """For each case its doors, and what each of them does."""
    files, table, parquet = (str(folder / name) for name in ("files", "table.lance", "parquet"))
    reference = str(folder / "reference.lance")
    middle = num_rows // 2
    few = (pc.field("id") >= middle) & (pc.field("id") < middle + 10)
    some = pc.field("number") < 10_000
    few_sql, some_sql = f"id >= {middle} AND id < {middle + 10}", "number < 10000"
    taken = np.sort(np.random.default_rng(5).choice(num_rows, 100, replace=False))
    datasets: dict[str, Callable[[], pads.Dataset]] = {
        "pyarrow.dataset, files": lambda: pads.dataset(files, format=LanceFormat()),
        "pyarrow.dataset, table": lambda: pads.dataset(table, format=LanceFormat()),
        "lance_arrow.dataset, files": lambda: lance_arrow.dataset(files),
        "lance_arrow.dataset, table": lambda: lance_arrow.dataset(table),
        "Parquet, pyarrow": lambda: pads.dataset(parquet, format="parquet"),
    }
    # Takes of pyarrow's own datasets are scans.
    taking = {name: open_ for name, open_ in datasets.items() if name.startswith("lance_arrow")}

    def of(
        read: Callable[[pads.Dataset], object],
        own: Callable[[LanceTable], object],
        theirs: Callable[[lance.LanceDataset], object],
        doors: Mapping[str, Callable[[], pads.Dataset]] = datasets,
    ) -> dict[str, Callable[[], object]]:
        made: dict[str, Callable[[], object]] = {
            name: (lambda open_=open_: read(open_())) for name, open_ in doors.items()
        }
        made["LanceTable"] = lambda: own(LanceTable.open(table))
        made["reference"] = lambda: theirs(lance.dataset(reference))
        return made

    found: dict[str, Reads] = {
        "rows": of(lambda one: one.count_rows(), lambda one: one.count_rows(), lambda one: one.count_rows()),
        "count 1 %": of(
            lambda one: one.count_rows(filter=some),
            lambda one: one.count_rows(some),
            lambda one: one.count_rows(some_sql),
        ),
        "ten rows": of(
            lambda one: one.to_table(filter=few),
            lambda one: one.to_table(filter=few),
            lambda one: one.to_table(filter=few_sql),
        ),
        "1 % of rows": of(
            lambda one: one.to_table(filter=some),
            lambda one: one.to_table(filter=some),
            lambda one: one.to_table(filter=some_sql),
        ),
        "numbers": of(
            lambda one: one.to_table(["real"]), lambda one: one.to_table(["real"]), lambda one: one.to_table(["real"])
        ),
        "strings": of(
            lambda one: one.to_table(["name"]), lambda one: one.to_table(["name"]), lambda one: one.to_table(["name"])
        ),
        "all columns": of(lambda one: one.to_table(), lambda one: one.to_table(), lambda one: one.to_table()),
        "first ten": of(lambda one: one.head(10), lambda one: one.head(10), lambda one: one.head(10)),
        "take 100": of(
            lambda one: one.take(taken), lambda one: one.take(taken), lambda one: one.take(taken), doors=taking
        ),
    }
    queries = {
        "rows": "SELECT count(*) FROM {}",
        "count 1 %": f"SELECT count(*) FROM {{}} WHERE {some_sql}",
        "ten rows": f"SELECT * FROM {{}} WHERE {few_sql}",
        "sum": "SELECT sum(real) FROM {}",
        "groups": "SELECT mode, count(*) FROM {} GROUP BY 1",
    }
    connection = duckdb.connect()
    for name, text in queries.items():
        found[f"DuckDB, {name}"] = {
            "files": lambda text=text: (
                duckdb_door.relation(files, connection=connection).query("ours", text.format("ours")).fetchall()
            ),
            "table": lambda text=text: (
                duckdb_door.relation(table, connection=connection).query("ours", text.format("ours")).fetchall()
            ),
            "Parquet": lambda text=text: connection.sql(text.format(f"'{parquet}/*.parquet'")).fetchall(),
        }
    plans: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
        "rows": lambda frame: frame.select(pl.len()),
        "count 1 %": lambda frame: frame.filter(pl.col("number") < 10_000).select(pl.len()),
        "ten rows": lambda frame: frame.filter((pl.col("id") >= middle) & (pl.col("id") < middle + 10)),
        "sum": lambda frame: frame.select(pl.col("real").sum()),
        "groups": lambda frame: frame.group_by("mode").len(),
    }
    for name, plan in plans.items():
        found[f"Polars, {name}"] = {
            "files": lambda plan=plan: plan(polars_door.scan(files)).collect(),
            "table": lambda plan=plan: plan(polars_door.scan(table)).collect(),
            "Parquet": lambda plan=plan: plan(pl.scan_parquet(f"{parquet}/*.parquet")).collect(),
        }
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--layouts", nargs="*", default=LAYOUTS, help="files x rows of each")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for layout in options.layouts:
        num_files, num_rows = map(int, layout.split("x"))
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), num_files, num_rows)
            for case, doors in cases(Path(folder), num_files * num_rows).items():
                for door, samples in interleaved(doors, [dict.fromkeys(doors, ())] * (options.rounds + 1)).items():
                    clock, processor = (1e3 * min(one) for one in (samples.seconds, samples.cpu_seconds))
                    print(f"{layout:<10} {case:<18} {door:<28} {clock:9.1f} ms, processor {processor:9.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
