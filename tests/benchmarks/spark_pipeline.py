"""Ingest and reads on Spark beside Parquet and beside sources and sinks that do nothing, measured by turns.

``python spark_pipeline.py [--rows 6000000] [--rounds 3]``: writes lineitem-like Parquet, then in one session on
``local[2]`` with a heap of 1 GiB, by turns: ``df.write.parquet``, a Python sink that drops its Arrow batches, ours;
then aggregates over Parquet, over a Python source that yields the same batches from memory, over ours: medians.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from lance_arrow import LanceTable
from lance_arrow.spark.source import LanceDataSource, register
from lance_arrow.spark.type_mapping import batch_schema

GROUP_ROWS = 1 << 18
AGGREGATE = (
    "l_returnflag", "sum(l_quantity) q", "avg(l_extendedprice) p", "sum(l_discount) d", "max(l_shipdate) s",
    "count(l_comment) n", "sum(l_orderkey) o", "max(l_partkey) k", "sum(l_tax) t", "max(l_shipmode) m",
)  # fmt: skip


def lineitem(first: int, count: int, seed: int) -> pa.Table:
    """Make rows that look like lineitem's: keys that ascend, small numbers, dates, a few words, a comment."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word{number}" for number in range(500)])
    comments = np.char.add(np.char.add(rng.choice(words, count), " "), rng.choice(words, count))
    return pa.table({
        "l_orderkey": np.arange(first, first + count) // 4,
        "l_partkey": rng.integers(1, 200_000, count),
        "l_suppkey": rng.integers(1, 10_000, count).astype(np.int32),
        "l_linenumber": (np.arange(count) % 7 + 1).astype(np.int32),
        "l_quantity": rng.integers(1, 51, count).astype(np.float64),
        "l_extendedprice": np.round(rng.uniform(900, 105_000, count), 2),
        "l_discount": np.round(rng.integers(0, 11, count) / 100, 2),
        "l_tax": np.round(rng.integers(0, 9, count) / 100, 2),
        "l_returnflag": pa.array(rng.choice(["A", "N", "R"], count)),
        "l_linestatus": pa.array(rng.choice(["O", "F"], count)),
        "l_shipdate": pa.array(rng.integers(8000, 10500, count).astype(np.int32)).cast(pa.date32()),
        "l_shipmode": pa.array(rng.choice(["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"], count)),
        "l_comment": pa.array(comments),
    })  # fmt: skip


class NoSink(DataSourceArrowWriter):
    """Drops what it is given."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:  # type: ignore[override]
        pass


class Held(InputPartition):
    """One row group of a Parquet file."""


class FromMemory(DataSourceReader):
    """Yields the batches that our source would yield, read from an Arrow file that is mapped."""

    def __init__(self, path: str, count: int) -> None:
        self._path, self._count = path, count

    def partitions(self) -> list[Held]:  # type: ignore[override]
        return [Held(number) for number in range(self._count)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(f"{self._path}/{partition.value}.arrow") as mapped:
            reader = pa.ipc.open_file(mapped)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)


class Nothing(DataSource):
    """A sink that drops, and a source that yields batches from memory."""

    @classmethod
    def name(cls) -> str:
        return "nothing"

    def schema(self) -> StructType:
        return StructType.fromJson(json.loads(Path(self.options["path"], "schema.json").read_text()))

    def reader(self, schema: StructType) -> DataSourceReader:
        return FromMemory(self.options["path"], int(self.options["count"]))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return NoSink()


class PeakMemory:
    """The most bytes that this process and all below it had at once, JVM and Python workers apart."""

    def __init__(self) -> None:
        self.jvm = self.workers = 0
        self._stop = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._stop.wait(0.25):
            jvm = workers = 0
            for one in me.children(recursive=True):
                try:
                    if "java" in one.name():
                        jvm += one.memory_info().rss
                    else:
                        workers += one.memory_full_info().uss
                except (psutil.NoSuchProcess, psutil.AccessDenied):
                    continue
            self.jvm, self.workers = max(self.jvm, jvm), max(self.workers, workers)

    def stop(self) -> None:
        self._stop.set()


def by_turns(cases: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Run each once to warm up, then all by turns; return medians in seconds."""
    for one in cases.values():
        one()
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, one in cases.items():
            begun = time.perf_counter()
            one()
            taken[name].append(time.perf_counter() - begun)
    return {name: round(statistics.median(times), 2) for name, times in taken.items()}


def prepared(folder: Path, rows: int) -> int:
    """Write the Parquet file, row group by row group."""
    writer: pq.ParquetWriter | None = None
    for number, first in enumerate(range(0, rows, GROUP_ROWS)):
        part = lineitem(first, min(GROUP_ROWS, rows - first), number)
        if writer is None:
            writer = pq.ParquetWriter(folder / "lineitem.parquet", part.schema)
        writer.write_table(part)
    assert writer is not None
    writer.close()
    return (folder / "lineitem.parquet").stat().st_size


def hold(folder: Path) -> int:
    """Write the batches that our source yields as Arrow files, one for each partition."""
    source = LanceDataSource({"path": str(folder / "ours.lance")})
    schema = source.schema()
    reader = source.reader(schema)
    target = folder / "held"
    target.mkdir()
    (target / "schema.json").write_text(schema.json())
    partitions = reader.partitions()
    for number, one in enumerate(partitions):
        with pa.ipc.new_file(str(target / f"{number}.arrow"), batch_schema(schema)) as file:
            for batch in reader.read(one):
                file.write_batch(batch)
    return len(partitions)


def aggregated(frame: DataFrame) -> object:
    flag, *sums = AGGREGATE
    return frame.selectExpr(flag, *[one.split("(")[1].split(")")[0] for one in sums]).groupBy(flag).agg(
        *[sf.expr(one.split(" ")[0]) for one in sums]
    ).collect()  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parquet_bytes = prepared(folder, given.rows)
        spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", "1g").config(
            "spark.ui.enabled", "false"
        ).config("spark.driver.host", "127.0.0.1").config("spark.local.dir", name).getOrCreate()  # fmt: skip
        try:
            spark.sparkContext.setLogLevel("ERROR")
            register(spark)
            spark.dataSource.register(Nothing)
            _measure(spark, folder, given.rows, given.rounds, parquet_bytes)
        finally:
            spark.stop()


def _measure(spark: SparkSession, folder: Path, rows: int, rounds: int, parquet_bytes: int) -> None:
    source = spark.read.option("mergeSchema", "false").parquet(str(folder / "lineitem.parquet"))
    ours = str(folder / "ours.lance")

    def write_ours() -> None:
        shutil.rmtree(ours, ignore_errors=True)
        source.write.format("lance").mode("append").save(ours)

    peak = PeakMemory()
    writes = by_turns(
        {
            "parquet": lambda: source.write.mode("overwrite").parquet(str(folder / "out.parquet")),
            "a sink that drops": lambda: source.write.format("nothing").mode("append").save("/x"),
            "lance": write_ours,
        },
        rounds,
    )
    peak.stop()
    # Said at once: reading takes as long again.
    print(json.dumps({"write_seconds": writes}), flush=True)
    table = LanceTable.open(ours)
    assert table.count_rows() == rows
    sizes = {
        "given": parquet_bytes,
        "parquet": sum(one.stat().st_size for one in (folder / "out.parquet").glob("*.parquet")),
        "lance": sum(one.stat().st_size for one in (folder / "ours.lance" / "data").iterdir()),
    }
    count = hold(folder)
    columns = ",".join(dict.fromkeys(one.split("(")[-1].split(")")[0] for one in AGGREGATE))
    reads = by_turns(
        {
            "parquet": lambda: aggregated(spark.read.parquet(str(folder / "out.parquet"))),
            "batches from memory": lambda: aggregated(
                spark.read.format("nothing").option("count", count).load(str(folder / "held"))
            ),
            "lance, all columns": lambda: aggregated(spark.read.format("lance").load(ours)),
            "lance, columns named": lambda: aggregated(
                spark.read.format("lance").option("columns", columns).load(ours)
            ),
        },
        rounds,
    )
    report = {"rows": rows, "write_seconds": writes, "bytes": sizes, "read_seconds": reads, "partitions": count}
    report["peak_jvm_mib"], report["peak_workers_mib"] = peak.jvm >> 20, peak.workers >> 20
    report["write_to_parquet"] = round(writes["lance"] / writes["parquet"], 2)
    report["drop_to_parquet"] = round(writes["a sink that drops"] / writes["parquet"], 2)
    report["read_to_memory"] = round(reads["lance, all columns"] / reads["batches from memory"], 2)
    report["memory_to_parquet"] = round(reads["batches from memory"] / reads["parquet"], 2)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
