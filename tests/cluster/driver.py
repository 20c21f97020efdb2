"""An application of Spark that does one thing after another: a JSON object a line on stdin, another one on stdout."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from lance_arrow.errors import LanceError
from lance_arrow.spark import jobs
from lance_arrow.spark.source import register

_MARK = "@@"


def rows(spark: SparkSession, start: int, stop: int, parts: int) -> DataFrame:
    """Rows with ids of a range."""
    made = spark.range(start, stop, 1, parts)
    return made.select("id", (sf.col("id") % 7).alias("g"), sf.concat(sf.lit("s"), sf.col("id")).alias("s"))


def ready(spark: SparkSession, executors: int = 2) -> int:
    """Wait for executors, and return how many there are."""
    tracker = spark.sparkContext._jsc.sc()
    for _ in range(600):
        # The driver counts as one.
        found = int(tracker.getExecutorMemoryStatus().size()) - 1
        if found >= executors:
            return found
        threading.Event().wait(0.1)
    return found


def write(
    spark: SparkSession, uri: str, start: int, stop: int, parts: int = 4, mode: str = "append", **options: Any
) -> None:
    """Write rows to a table."""
    rows(spark, start, stop, parts).write.format("lance").mode(mode).options(**options).save(uri)


def summed(spark: SparkSession, uri: str, filter: str | None = None, **options: Any) -> list[int]:
    """Count rows and add ids, in tasks."""
    frame = spark.read.format("lance").options(**options).load(uri)
    found = (frame if filter is None else frame.filter(filter)).agg(sf.count("id"), sf.sum("id")).first()
    return [found[0], found[1] or 0]


def sql(spark: SparkSession, query: str) -> list[list[Any]]:
    """Ask in SQL."""
    return [list(row) for row in spark.sql(query).collect()]


def job(spark: SparkSession, job: str, uri: str, **arguments: Any) -> dict[str, Any]:
    """Run a job; returns its report."""
    source = arguments.pop("rows", None)
    given = [] if source is None else [rows(spark, *source)]
    if job == "merge":
        return jobs.merge(spark, given[0].withColumn("s", sf.lit("merged")), uri, "id", **arguments).as_dict()
    if job == "ingest":
        return jobs.ingest(spark, given[0], uri, **arguments).as_dict()
    return getattr(jobs, job)(spark, uri, **arguments).as_dict()


def stream(spark: SparkSession, source: str, sink: str, checkpoint: str, limit: int, options: dict[str, Any]) -> None:
    """Copy a table by micro-batches, until all that is there has been copied."""
    incoming = spark.readStream.format("lance").options(maxFragmentsPerTrigger=limit, **options).load(source)
    query = (
        incoming.writeStream.format("lance")
        .options(checkpointLocation=checkpoint, path=sink, **options)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def pythons(spark: SparkSession) -> list[str]:
    """Return the interpreters of tasks."""

    def found(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.record_batch({"python": [sys.executable]})

    return sorted({row[0] for row in spark.range(0, 8, 1, 4).mapInArrow(found, "python string").collect()})


DOES: dict[str, Callable[..., Any]] = {
    "ready": ready, "write": write, "summed": summed, "sql": sql, "job": job, "stream": stream, "pythons": pythons,
}  # fmt: skip


def main() -> None:
    builder = SparkSession.builder
    for name, value in json.loads(sys.argv[1]).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    register(spark)
    for line in sys.stdin:
        told = json.loads(line)
        try:
            said: dict[str, Any] = {"value": DOES[told.pop("do")](spark, **told)}
        # The process that asked decides what an error means; others end this one.
        except (LanceError, PySparkException, Py4JError, OSError) as error:
            said = {"error": f"{type(error).__name__}: {error}"}
        print(_MARK + json.dumps(said), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
