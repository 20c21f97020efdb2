"""`spread`: a function over items, in tasks of Spark; errors of this package come back as they are."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from lance_arrow.errors import LanceError
from lance_arrow.spark.same_version import check_version, own_version

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_TASKS = 10_000
JOB_BYTES = 16 << 20
"""Of pickled items of one job; each task unpickles the list of them."""


def spread(
    spark: SparkSession, function: Callable[[Item], Result], items: Sequence[Item], *, num_tasks: int | None = None
) -> list[Result]:
    """Apply a function to items.

    Parameters
    ----------
    spark
        The session; Spark Connect will do.
    function
        Of a module that executors can import, or a `functools.partial` of one.
    items
        What pickles. A job of Spark sends all its items to each task, so there is one job for each 16 MiB of them.
    num_tasks
        How many tasks of each job; one for each item when None, but 10,000 at most.

    Returns
    -------
    list
        Results, in the order of items; held by the driver.

    Raises
    ------
    LanceError
        Of the first item whose function raised one: it is not tried again.
    pyspark.errors.PySparkException
        Other errors of a task, after Spark tried it again.
    """
    # Pickled here, so that a task compares versions first.
    version, called = own_version(), pickle.dumps(function)
    found: list[Result] = []
    for sent in _shares(items):
        tasks = min(len(sent), MAX_TASKS if num_tasks is None else max(1, num_tasks))
        found += _in_tasks(spark, version, called, sent, tasks)
    return found


def _shares(items: Sequence[Item]) -> Iterator[list[bytes]]:
    """Pickle items, and yield those of one job at a time."""
    share: list[bytes] = []
    num_bytes = 0
    for item in items:
        share.append(pickle.dumps(item))
        num_bytes += len(share[-1])
        if num_bytes >= JOB_BYTES:
            yield share
            share, num_bytes = [], 0
    if share:
        yield share


def _in_tasks(spark: SparkSession, version: str, called: bytes, sent: list[bytes], num_tasks: int) -> list[Any]:
    """Return what a pickled function returns for pickled items, in their order."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        check_version(version)
        applied = pickle.loads(called)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield pa.record_batch({"number": [number], "result": [_result(applied, sent[number])]})

    rows = spark.range(0, len(sent), 1, num_tasks).mapInArrow(run, "number long, result binary").collect()
    found = []
    for row in sorted(rows, key=lambda one: one["number"]):
        error, result = pickle.loads(row["result"])
        if error is not None:
            raise error
        found.append(result)
    return found


def _result(function: Callable[[Item], Result], item: bytes) -> bytes:
    try:
        return pickle.dumps((None, function(pickle.loads(item))))
    except LanceError as error:
        return pickle.dumps((error, None))
