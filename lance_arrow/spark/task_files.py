"""The write of one task: data files named after the job, and a message that lists them.

batches ─► Spark's types as stored ones ─► runs of at most a file's rows, sorted ─► files, one per partition value
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from lance_arrow.errors import ResourceLimitError
from lance_arrow.spark.fitting import BatchFitting
from lance_arrow.spark.write_plans import FilePlan, TaskMessage
from lance_arrow.table.data_files import write_fragments
from lance_arrow.table.written_files import WrittenFiles

MOST_VALUES = 1024
_log = logging.getLogger(__name__)
_SORTED_BYTES = 1 << 30


def write_task(
    plan: FilePlan, batches: Iterable[pa.RecordBatch], *, task: str, query_id: str | None = None
) -> TaskMessage:
    """Write the rows of one task; when it fails, its files are removed again.

    Parameters
    ----------
    plan
        How.
    batches
        Rows as Spark hands them over; columns are found by name.
    task
        Name of the attempt, unique in the job.
    query_id
        Passed on.

    Raises
    ------
    LanceError, OSError
        As `LanceTable.append`; a value cannot be stored exactly.
    """
    fitting = BatchFitting(plan.schema, truncates_times=plan.truncates_times)
    rows = (fitting.batch(batch) for batch in batches)
    line = plan.address.location()
    fragments = []
    with WrittenFiles() as files:
        for run in _runs(rows, plan):
            fragments += write_fragments(
                line,
                plan.schema,
                plan.fields,
                run,
                files,
                options=plan.options,
                max_rows_per_file=plan.max_rows_per_file,
                prefix=f"{plan.job}-{task}-",
            )
    message = TaskMessage(
        job=plan.job,
        fragments=tuple(one.SerializeToString() for one in fragments),
        num_rows=sum(one.physical_rows for one in fragments),
        num_bytes=sum(file.file_size_bytes for one in fragments for file in one.files),
        query_id=query_id,
    )
    _log.info(
        "table %s, job %s, task %s: wrote %d rows, %d files, %d bytes",
        line.name, plan.job, task, message.num_rows, len(fragments), message.num_bytes,
    )  # fmt: skip
    return message


def _runs(rows: Iterator[pa.RecordBatch], plan: FilePlan) -> Iterator[Iterator[pa.RecordBatch | pa.Table]]:
    """Yield rows in the order of files, in runs that begin a file each."""
    keys = [*plan.partition_by, *plan.cluster_by]
    if not keys:
        yield rows
        return
    for table in _collected(rows, plan.max_rows_per_file, plan.schema):
        ordered = table.sort_by([(key, "ascending") for key in keys])
        for part in _by_value(ordered, plan.partition_by):
            yield iter([part])


def _collected(rows: Iterator[pa.RecordBatch], max_rows: int, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield tables of at most a file's rows, and of bounded bytes."""
    held: list[pa.RecordBatch] = []
    num_rows = num_bytes = 0
    for batch in rows:
        left = batch
        while left.num_rows:
            piece = left.slice(0, max_rows - num_rows)
            left = left.slice(piece.num_rows)
            held.append(piece)
            num_rows += piece.num_rows
            num_bytes += piece.nbytes
            if num_rows == max_rows or num_bytes >= _SORTED_BYTES:
                yield pa.Table.from_batches(held, schema)
                held, num_rows, num_bytes = [], 0, 0
    if held:
        yield pa.Table.from_batches(held, schema)


def _by_value(table: pa.Table, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Cut sorted rows where the values of some columns change."""
    if not columns:
        yield table
        return
    groups = table.select(columns).group_by(list(columns), use_threads=False).aggregate([([], "count_all")])
    counts = groups["count_all"].to_pylist()
    if len(counts) > MOST_VALUES:
        raise ResourceLimitError(
            f"partitionBy {', '.join(columns)} has more than {MOST_VALUES} combinations of values in the rows of one "
            "file: repartition the data frame by these columns first, or use clusterBy"
        )
    ordered = groups.append_column("_count", pa.array(counts)).sort_by([(name, "ascending") for name in columns])
    start = 0
    for count in ordered["_count"].to_pylist():
        yield table.slice(start, count)
        start += count
