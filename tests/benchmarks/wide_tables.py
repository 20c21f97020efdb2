"""Tables of 10,000 columns, from the first row to compaction: time and peak memory of each step.

    python tests/benchmarks/wide_tables.py [--columns 10000] [--rows 100 100000] [--spark]

Columns are integers of one byte, flags, and floats. Rows are written in batches. The peak is by how much the resident
set grew during a step. `nox -s bench_wide -- --only tables` runs it; it needs some 8 GB of disk for 100,000 rows.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

import lance_arrow
from lance_arrow import LanceFormat, LanceTable

ROWS = (100, 100_000)
COLUMNS = 10_000
BATCH_ROWS = 2_000
POOL = 97
"""Distinct columns of a batch."""
MEBIBYTE = 1 << 20


def batches(num_columns: int, num_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield rows: six of ten columns are bytes, two are flags, two are floats."""
    rng = np.random.default_rng(num_rows)
    names = [f"column{number}" for number in range(num_columns)]
    for start in range(0, num_rows, BATCH_ROWS):
        count = min(BATCH_ROWS, num_rows - start)
        kinds = {
            "int8": [pa.array(rng.integers(-50, 50, count).astype(np.int8)) for _ in range(POOL)],
            "bool": [pa.array(rng.integers(0, 2, count).astype(bool)) for _ in range(POOL)],
            "float": [pa.array(rng.normal(size=count).astype(np.float32)) for _ in range(POOL)],
        }
        kind_of = ["int8"] * 6 + ["bool"] * 2 + ["float"] * 2
        columns = [kinds[kind_of[number % 10]][number % POOL] for number in range(num_columns)]
        columns[0] = pa.array(np.arange(start, start + count, dtype=np.int32))
        yield pa.record_batch(columns, names=names)


def reader(num_columns: int, num_rows: int) -> pa.RecordBatchReader:
    """Return the rows as a stream."""
    first = next(batches(num_columns, 1))
    return pa.RecordBatchReader.from_batches(first.schema, batches(num_columns, num_rows))


def measured(what: str, action: Callable[[], Any]) -> Any:
    """Run a step; print its time by the clock, processor time, and how far the resident set grew."""
    process = psutil.Process()
    before = process.memory_info().rss
    with contextlib.suppress(OSError):
        # The kernel begins to count the peak anew.
        Path("/proc/self/clear_refs").write_text("5")
    clock, processor = time.perf_counter(), time.process_time()
    result = action()
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    peak = next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), before)
    grown = max(peak - before, 0) / MEBIBYTE
    print(f"  {what:44} {1e3 * clock:10.0f} ms {1e3 * processor:10.0f} ms processor {grown:8.0f} MiB", flush=True)
    return result


def all_rows(table: LanceTable) -> int:
    """Read every value, batch by batch."""
    return sum(batch.num_rows for batch in table.to_batches())


def steps(folder: Path, num_columns: int, num_rows: int) -> None:
    """Run all steps."""
    file, path = folder / "file.lance", folder / "table.lance"
    three = ["column0", f"column{num_columns // 2}", f"column{num_columns - 1}"]
    last = pc.field("column0") >= num_rows - 10

    def written() -> None:
        with lance_arrow.LanceWriter(file, reader(num_columns, 1).schema) as writer:
            for batch in batches(num_columns, num_rows):
                writer.write(batch)

    measured("the rows alone, in batches", lambda: sum(one.num_rows for one in batches(num_columns, num_rows)))
    measured("write a file", written)
    table = measured("create a table", lambda: LanceTable.create(path, reader(num_columns, num_rows)))
    table = measured("append 100 rows", lambda: LanceTable.open(path).append(reader(num_columns, 100))) or table
    measured("open", lambda: LanceTable.open(path))
    table = LanceTable.open(path)
    doors: dict[str, Callable[[], Any]] = {
        "LanceFile": lambda: lance_arrow.read_table(file, columns=three),
        "LanceTable": lambda: LanceTable.open(path).to_table(columns=three),
        "LanceTable, a filter": lambda: LanceTable.open(path).to_table(columns=three, filter=last),
        "LanceTable.dataset, a filter": lambda: LanceTable.open(path).dataset().to_table(three, filter=last),
        "lance_arrow.dataset, a filter": lambda: lance_arrow.dataset(file).to_table(three, filter=last),
        "pyarrow.dataset, a filter": lambda: pads.dataset(file, format=LanceFormat()).to_table(three, filter=last),
    }
    for name, door in doors.items():
        found = measured(f"3 columns by {name}", door)
        assert found.num_columns == len(three)
    assert measured("all, by batches", lambda: all_rows(table)) == num_rows + 100
    found = measured("all columns of 10 rows, by a filter", lambda: table.to_table(filter=last))
    assert found.num_columns == num_columns
    measured("delete a row", lambda: LanceTable.open(path).delete("column0 = 5"))
    measured("compact", lambda: LanceTable.open(path).compact())
    assert LanceTable.open(path).count_rows() == num_rows + 98


def ingested(folder: Path, num_columns: int, num_rows: int) -> None:
    """Ingest by Spark what Parquet files hold."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - for this step alone
    from pyspark.sql import SparkSession  # noqa: PLC0415

    pq.write_table(reader(num_columns, num_rows).read_all(), folder / "rows.parquet")
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = spark.read.parquet(str(folder / "rows.parquet"))
        path = str(folder / "spark.lance")
        measured("ingest by Spark", lambda: frame.write.format("lance").mode("overwrite").save(path))
        assert LanceTable.open(path).count_rows() == num_rows
        measured("count by Spark", lambda: spark.read.format("lance").load(path).count())
    finally:
        spark.stop()


def main(num_columns: int = COLUMNS, num_rows: tuple[int, ...] = ROWS, *, with_spark: bool = False) -> None:
    """Run the steps for each number of rows."""
    for rows in num_rows:
        folder = Path(tempfile.mkdtemp())
        print(f"{rows:,} rows x {num_columns:,} columns", flush=True)
        try:
            steps(folder, num_columns, rows)
            if with_spark and rows <= 1_000:
                ingested(folder, num_columns, rows)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--spark", action="store_true")
    given = parser.parse_args()
    main(given.columns, tuple(given.rows), with_spark=given.spark)
