"""Tables of 10,000 columns, from the first row to compaction: time and peak memory of each step.

    python tests/benchmarks/wide_tables.py [--columns 10000] [--rows 100 100000] [--spark] [--packages ours reference]

Columns are integers of one byte, flags, and floats. Rows are written in batches. The peak is by how much the resident
set grew during a step. Each package has a process of its own. `nox -s bench_wide -- --only tables` runs it; it needs
some 8 GB of disk for 100,000 rows.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
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


def ours(folder: Path, num_columns: int, num_rows: int) -> None:
    """Run all steps of this package."""
    file, path = folder / "file.lance", folder / "table.lance"
    three = names_of_three(num_columns)
    last = pc.field("column0") >= num_rows - 10

    def written() -> None:
        with lance_arrow.LanceWriter(file, reader(num_columns, 1).schema) as writer:
            for batch in batches(num_columns, num_rows):
                writer.write(batch)

    measured("the rows alone, in batches", lambda: sum(one.num_rows for one in batches(num_columns, num_rows)))
    measured("write a file", written)
    measured("create a table", lambda: LanceTable.create(path, reader(num_columns, num_rows)))
    measured("append 100 rows", lambda: LanceTable.open(path).append(reader(num_columns, 100)))
    table = measured("open", lambda: LanceTable.open(path))
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
    rows = measured("all, by batches", lambda: sum(batch.num_rows for batch in table.to_batches()))
    assert rows == num_rows + 100
    found = measured("all columns of 10 rows, by a filter", lambda: table.to_table(filter=last))
    assert found.num_columns == num_columns
    measured("delete a row", lambda: LanceTable.open(path).delete("column0 = 5"))
    measured("compact", lambda: LanceTable.open(path).compact())
    assert LanceTable.open(path).count_rows() == num_rows + 98


def reference(folder: Path, num_columns: int, num_rows: int) -> None:
    """Run the steps of the reference package."""
    import lance  # noqa: PLC0415 - in its process alone
    from lance.file import LanceFileReader, LanceFileWriter  # noqa: PLC0415

    file, path = str(folder / "file.lance"), str(folder / "table.lance")
    three = names_of_three(num_columns)
    last = f"column0 >= {num_rows - 10}"

    def written() -> None:
        with LanceFileWriter(file, reader(num_columns, 1).schema, version="2.2") as writer:
            for batch in batches(num_columns, num_rows):
                writer.write_batch(batch)

    def rows_of_file() -> pa.Table:
        return LanceFileReader(file, columns=three).read_all().to_table()

    def create() -> None:
        lance.write_dataset(reader(num_columns, num_rows), path, data_storage_version="2.2")

    def append() -> None:
        lance.write_dataset(reader(num_columns, 100), path, mode="append")

    measured("write a file", written)
    measured("create a table", create)
    measured("append 100 rows", append)
    table = measured("open", lambda: lance.dataset(path))
    measured("3 columns by LanceFileReader", rows_of_file)
    measured("3 columns", lambda: lance.dataset(path).to_table(columns=three))
    measured("3 columns, a filter", lambda: lance.dataset(path).to_table(columns=three, filter=last))
    rows = measured("all, by batches", lambda: sum(batch.num_rows for batch in table.to_batches()))
    assert rows == num_rows + 100
    measured("all columns of 10 rows, by a filter", lambda: table.to_table(filter=last))
    measured("delete a row", lambda: lance.dataset(path).delete("column0 = 5"))
    measured("compact", lance.dataset(path).optimize.compact_files)
    assert lance.dataset(path).count_rows() == num_rows + 98


PACKAGES = {"ours": ours, "reference": reference}


def names_of_three(num_columns: int) -> list[str]:
    """Return the first column, one in the middle, and the last."""
    return ["column0", f"column{num_columns // 2}", f"column{num_columns - 1}"]


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


def one_package(package: str, num_columns: int, num_rows: int, *, with_spark: bool) -> None:
    """Run the steps of one package in this process."""
    folder = Path(tempfile.mkdtemp())
    try:
        PACKAGES[package](folder, num_columns, num_rows)
        if with_spark and package == "ours" and num_rows <= 1_000:
            ingested(folder, num_columns, num_rows)
    finally:
        shutil.rmtree(folder)


def main(
    num_columns: int = COLUMNS,
    num_rows: Sequence[int] = ROWS,
    packages: Sequence[str] = tuple(PACKAGES),
    *,
    with_spark: bool = False,
) -> None:
    """Run the steps of each package, in a process of its own, for each number of rows."""
    for rows in num_rows:
        for package in packages:
            print(f"{package}, {rows:,} rows x {num_columns:,} columns", flush=True)
            arguments = ["--columns", str(num_columns), "--rows", str(rows), "--process", package]
            command = [sys.executable, __file__, *arguments, *(["--spark"] if with_spark else [])]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--packages", nargs="+", choices=tuple(PACKAGES), default=list(PACKAGES))
    parser.add_argument("--process", choices=tuple(PACKAGES), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.process is None:
        main(given.columns, given.rows, given.packages, with_spark=given.spark)
    else:
        one_package(given.process, given.columns, given.rows[0], with_spark=given.spark)
