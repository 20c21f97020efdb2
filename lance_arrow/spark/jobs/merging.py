"""`merge`: rows of a source matched by keys with those of a table, joined by Spark; one version.

source ⟕ keys and addresses of the table ─► matched: written anew, old rows deleted     not matched: inserted
keys and addresses of the table that the source has not ─► deleted, if wanted
"""

from __future__ import annotations

import functools
import pickle
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from lance_arrow.choices import Matched, NotMatched, NotMatchedBySource
from lance_arrow.container.schema import arrow_schema
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.io import Location
from lance_arrow.manifests.base_paths import DATA
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.row_id_writing import keep_rows
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.spark.fitting import BatchFitting
from lance_arrow.spark.jobs.frames import read_options
from lance_arrow.spark.jobs.report import JobReport, OnProgress, Stopwatch
from lance_arrow.spark.jobs.snapshots import opened, reader_of
from lance_arrow.spark.options import TableAddress
from lance_arrow.spark.task_files import write_task
from lance_arrow.spark.type_mapping import batch_schema
from lance_arrow.spark.write_planning import columns_of
from lance_arrow.spark.write_plans import FilePlan
from lance_arrow.spark.writer import task_name
from lance_arrow.table.data_files import DEFAULT_ROWS_PER_FILE
from lance_arrow.table.operations.rows import Update
from lance_arrow.table.row_addresses import RowAddresses
from lance_arrow.table.row_deletion import write_deleted
from lance_arrow.table.table_handle import PLAIN
from lance_arrow.table.writable_branch import checked_message, writable_version
from lance_arrow.table.written_files import WrittenFiles

_ADDRESS, _ID, _CREATED = "_rowaddr", "_rowid", "_row_created_at_version"
_MARK = "_lance_arrow_target"
_COUNTS = ("rows_updated", "rows_inserted", "rows_deleted", "files_written", "bytes_written")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRules:
    """What becomes of rows.

    Parameters
    ----------
    on
        Key columns.
    matched
        ``"update"``, ``"delete"`` or ``"keep"`` rows of the table whose key the source has.
    not_matched
        ``"insert"`` or ``"ignore"`` rows of the source whose key the table has not.
    not_matched_by_source
        ``"keep"`` or ``"delete"`` rows of the table whose key the source has not.
    """

    on: tuple[str, ...]
    matched: Matched
    not_matched: NotMatched
    not_matched_by_source: NotMatchedBySource

    def __post_init__(self) -> None:
        for name, known in (
            ("matched", ("update", "delete", "keep")),
            ("not_matched", ("insert", "ignore")),
            ("not_matched_by_source", ("keep", "delete")),
        ):
            if getattr(self, name) not in known:
                raise InvalidArgumentError(f"{name} is {getattr(self, name)!r}, expected one of {', '.join(known)}")
        if not self.on or len(set(self.on)) != len(self.on):
            raise InvalidArgumentError(f"on is {list(self.on)}, expected names of key columns")
        if (self.matched, self.not_matched, self.not_matched_by_source) == ("keep", "ignore", "keep"):
            raise InvalidArgumentError("this merge would never change anything: say what is to be done with rows")


def merge(
    spark: SparkSession,
    source: DataFrame,
    uri: str,
    on: str | Sequence[str],
    *,
    matched: Matched = "update",
    not_matched: NotMatched = "insert",
    not_matched_by_source: NotMatchedBySource = "keep",
    max_rows_per_file: int = DEFAULT_ROWS_PER_FILE,
    message: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    unsafe_single_writer: bool = False,
    on_progress: OnProgress | None = None,
) -> JobReport:
    """Merge a data frame into a table, as `LanceTable.merge` does with a source that fits in memory.

    Parameters
    ----------
    spark
        The session.
    source
        Rows: some of the table's columns, the keys among them. Columns that are left out keep their values where rows
        are updated, and are null where they are inserted. It is read once, and kept on the disks of executors.
    uri, storage_options, unsafe_single_writer
        The table, as for `LanceTable.open`.
    on, matched, not_matched, not_matched_by_source
        As for `MergeRules`. Nulls match nothing.
    max_rows_per_file, message
        As for `LanceTable.create`.
    on_progress
        Told of each step.

    Raises
    ------
    InvalidArgumentError
        The rules make no sense, columns do not fit, or several rows of the source have the key of one of the table.
    CommitConflictError
        Another writer replaced the table. Where others changed the same fragments, or added rows, all is done again.

    Notes
    -----
    The driver holds one bit to two bytes for each row of the table that is updated or deleted. A task holds 16 bytes
    more for each row that it updates of a table with stable row ids.
    """
    watch = Stopwatch("merge", on_progress)
    rules = MergeRules(
        on=(on,) if isinstance(on, str) else tuple(on),
        matched=matched,
        not_matched=not_matched,
        not_matched_by_source=not_matched_by_source,
    )
    address, base, target = opened(uri, storage_options, unsafe_single_writer=unsafe_single_writer)
    counts: dict[str, int] = {}

    def attempt(base: ManifestMeta, files: WrittenFiles) -> Update:
        run = _Merge(spark, source, address, base, rules, max_rows_per_file, watch)
        with run:
            added, gone = run.written(files)
        counts["retries"] = watch.attempt()
        updated, removed = write_deleted(target.line, base, reader_of(address, base.facts, base.fragments), gone, files)
        counts.update(run.counts)
        names = source.columns
        return Update(
            updated=updated,
            removed=removed,
            added=added,
            fields=[field.id for top in base.fields if top.name in names for field in top.walk()],
            depends_on_keys=rules.not_matched == "insert" or rules.not_matched_by_source == "delete",
        )

    after = target.retried(base, attempt, checked_message(message))
    return watch.report(target.root.name, base.version, after.version, counts)


@dataclass(frozen=True, slots=True)
class _Written:
    """What one task wrote, and of which rows."""

    fragments: tuple[bytes, ...]
    num_rows: int
    num_bytes: int
    addresses: RowAddresses


class _Merge:
    """One attempt on one version; a context manager that lets go of the joined rows."""

    def __init__(
        self,
        spark: SparkSession,
        source: DataFrame,
        address: TableAddress,
        base: ManifestMeta,
        rules: MergeRules,
        max_rows_per_file: int,
        watch: Stopwatch,
    ) -> None:
        self._address, self._base, self._rules, self._watch = address, base, rules, watch
        given, fields = columns_of(base, source.schema)
        for name in rules.on:
            if name not in source.columns:
                raise InvalidArgumentError(f"the key column {name!r} is not in the source", column=name)
        BatchFitting(given).check(batch_schema(source.schema))
        options = PLAIN.of(writable_version(base))
        whole = arrow_schema(base.fields, base.facts.schema_metadata)
        own = set(whole.names) & {_ADDRESS, _ID, _CREATED}
        if own:
            raise UnsupportedError(f"the table has a column {own.pop()!r}, which hides what rows are")
        self._kept = [name for name in whole.names if name not in source.columns]
        self._marks = [_ADDRESS, *([_ID, _CREATED] if base.facts.has_stable_row_ids else [])]
        job = str(uuid.uuid4())
        self._inserts = FilePlan(
            address=address, job=job, schema=given, fields=tuple(fields), options=options,
            max_rows_per_file=max_rows_per_file,
        )  # fmt: skip
        self._updates = FilePlan(
            address=address, job=job, schema=whole, fields=tuple(base.fields), options=options,
            max_rows_per_file=max_rows_per_file,
        )  # fmt: skip
        kept = self._kept if rules.matched == "update" else []
        columns = ",".join([*rules.on, *kept, *self._marks])
        self._table = spark.read.format("lance").options(**read_options(address)).options(
            version=str(base.version), columns=columns
        ).load(address.uri)  # fmt: skip
        renamed = [sf.col(f"`{name}`").alias(f"{_MARK}{name}") for name in self._table.columns]
        targets = self._table.select(*renamed)
        keys = [source[name] == targets[f"{_MARK}{name}"] for name in rules.on]
        self._source = source
        self._joined = source.join(targets, functools.reduce(lambda left, right: left & right, keys), "left")
        self.counts = {name: 0 for name in _COUNTS}

    def __enter__(self) -> None:
        self._joined = self._joined.persist(StorageLevel.DISK_ONLY)

    def __exit__(self, *error: object) -> None:
        self._joined.unpersist()

    def written(self, files: WrittenFiles) -> tuple[list[DataFragment], RowAddresses]:
        """Write rows, and return the new fragments and the addresses of rows that go."""
        rules, mark = self._rules, sf.col(f"{_MARK}{_ADDRESS}")
        gone = RowAddresses()
        added: list[bytes] = []
        matched = self._joined.filter(mark.isNotNull())
        if rules.matched == "update":
            self._watch.step("updating rows")
            names = [
                sf.col(f"`{name}`") if name not in self._kept else sf.col(f"`{_MARK}{name}`").alias(name)
                for name in self._updates.schema.names
            ]
            marks = [sf.col(f"{_MARK}{name}").alias(name) for name in self._marks]
            wrote = self._run(matched.select(*names, *marks), self._updates, len(self._marks), files)
            for one in wrote:
                gone.update(one.addresses)
            self.counts["rows_updated"] = sum(one.num_rows for one in wrote)
            if len(gone) != self.counts["rows_updated"]:
                raise InvalidArgumentError("several rows of the source have the key of one row of the table")
            added += [fragment for one in wrote for fragment in one.fragments]
        elif rules.matched == "delete":
            gone = _addresses(matched.select(mark))
            self.counts["rows_deleted"] += len(gone)
        if rules.not_matched == "insert":
            self._watch.step("inserting rows")
            fresh = self._joined.filter(mark.isNull()).select(*[sf.col(f"`{name}`") for name in self._source.columns])
            wrote = self._run(fresh, self._inserts, 0, files)
            self.counts["rows_inserted"] = sum(one.num_rows for one in wrote)
            added += [fragment for one in wrote for fragment in one.fragments]
        if rules.not_matched_by_source == "delete":
            self._watch.step("deleting rows that the source has not")
            # Of the rows that were kept: the source may give others the next time.
            keys = self._joined.select(*[sf.col(f"`{name}`") for name in rules.on]).distinct()
            left = self._table.join(keys, list(rules.on), "left_anti")
            others = _addresses(left.select(_ADDRESS))
            self.counts["rows_deleted"] += len(others)
            gone.update(others)
        return [DataFragment.FromString(one) for one in added], gone

    def _run(self, rows: DataFrame, plan: FilePlan, num_marks: int, files: WrittenFiles) -> list[_Written]:
        """Write rows in tasks; the last columns say where they lie and what they are."""

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            result = pickle.dumps(_write(plan, num_marks, batches))
            yield pa.record_batch({"result": pa.array([result], pa.binary())})

        root = self._address.location()
        with self._watch.shown(rows.sparkSession, root.name):
            results = rows.mapInArrow(run, "result binary").collect()
        found: list[_Written] = [pickle.loads(row["result"]) for row in results]
        self.counts["files_written"] += sum(len(one.fragments) for one in found)
        self.counts["bytes_written"] += sum(one.num_bytes for one in found)
        for one in found:
            for fragment in one.fragments:
                for file in DataFragment.FromString(fragment).files:
                    files.add(Location(root.filesystem, f"{root.path}/{DATA}/{file.path}"))
        return found


def _write(plan: FilePlan, num_marks: int, batches: Iterator[pa.RecordBatch]) -> _Written:
    """Write the rows of one task."""
    addresses = RowAddresses()
    kept: list[list[NDArray[np.uint64]]] = [[] for _ in range(1, num_marks)]

    def rows() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            first = batch.num_columns - num_marks
            marks = [column.to_numpy(zero_copy_only=False).astype(np.uint64) for column in batch.columns[first:]]
            if marks:
                addresses.add(marks[0])
            for held, mark in zip(kept, marks[1:], strict=False):
                held.append(mark)
            yield batch.select(range(first))

    message = write_task(plan, rows(), task=task_name())
    fragments = [DataFragment.FromString(one) for one in message.fragments]
    if kept and kept[0]:
        keep_rows(fragments, *map(np.concatenate, kept))
    return _Written(tuple(one.SerializeToString() for one in fragments), message.num_rows, message.num_bytes, addresses)


def _addresses(frame: DataFrame) -> RowAddresses:
    """Return the addresses in the only column; tasks join theirs before they send them."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = RowAddresses()
        for batch in batches:
            found.add(batch.column(0).to_numpy(zero_copy_only=False).astype(np.uint64))
        yield pa.record_batch({"result": pa.array([pickle.dumps(found)], pa.binary())})

    rows = RowAddresses()
    for row in frame.mapInArrow(run, "result binary").collect():
        rows.update(pickle.loads(row["result"]))
    return rows
