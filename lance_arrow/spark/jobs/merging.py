"""`merge`: rows of a source matched by keys with those of a table, joined by Spark; one version.

source, joined with keys and addresses of the table ─► tasks ─► both: written anew, the old row is deleted
                                                             ├─► source alone: inserted
                                                             └─► table alone: deleted, if wanted

Each row of the join is seen by one task once: nothing is kept between two jobs of Spark, or computed twice.
"""

from __future__ import annotations

import functools
import pickle
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from lance_arrow.choices import Matched, NotMatched, NotMatchedBySource
from lance_arrow.container.schema import arrow_schema
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.spark.fitting import BatchFitting
from lance_arrow.spark.jobs.frames import read_options
from lance_arrow.spark.jobs.merge_tasks import ADDRESS, CREATED, GIVEN, ID, MARK, MergeOutcome, merge_rows
from lance_arrow.spark.jobs.report import JobReport, OnProgress, Stopwatch
from lance_arrow.spark.jobs.snapshots import TableSnapshot, data_files, opened
from lance_arrow.spark.options import TableAddress
from lance_arrow.spark.type_mapping import batch_schema
from lance_arrow.spark.write_planning import columns_of
from lance_arrow.spark.write_plans import FilePlan
from lance_arrow.table.method_arguments import DEFAULT_ROWS_PER_FILE, checked_message
from lance_arrow.table.operations.rows import Update
from lance_arrow.table.row_deletion import write_deleted
from lance_arrow.table.table_handle import PLAIN
from lance_arrow.table.writable_branch import refuse_blob_structs, writable_version
from lance_arrow.table.written_files import WrittenFiles

# By whether rows of the source, and of the table, are wanted that match nothing.
_JOINS = {(True, True): "full", (True, False): "left", (False, True): "right", (False, False): "inner"}


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

    @property
    def inserts(self) -> bool:
        """Whether rows of the source are inserted that match nothing."""
        return self.not_matched == "insert"

    @property
    def deletes(self) -> bool:
        """Whether rows of the table are deleted that match nothing."""
        return self.not_matched_by_source == "delete"


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
        are updated, and are null where they are inserted. It is read once, and again where others committed first.
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
    more for each row that it updates of a table with stable row ids. If an executor is lost, Spark computes parts of
    the source again, as in all of its jobs. The source must then return the same rows.
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
        run = _Merge(spark, source, address, base, rules, max_rows_per_file)
        counts["retries"] = watch.attempt()
        watch.step("joining and writing rows")
        with watch.shown(spark, target.root.name):
            done = run.done()
        for place in data_files(target.root, done.fragments):
            files.add(place)
        if len(done.updated) != done.num_updated:
            raise InvalidArgumentError("several rows of the source have the key of one row of the table")
        counts.update(
            rows_updated=done.num_updated,
            rows_inserted=done.num_inserted,
            rows_deleted=len(done.deleted),
            files_written=len(done.fragments),
            bytes_written=sum(file.file_size_bytes for fragment in done.fragments for file in fragment.files),
        )
        done.deleted.update(done.updated)
        reader = TableSnapshot(address, base.facts).reader(base.fragments)
        updated, removed = write_deleted(target.line, base, reader, done.deleted, files)
        names = source.columns
        return Update(
            updated=updated,
            removed=removed,
            added=done.fragments,
            fields=[field.id for top in base.fields if top.name in names for field in top.walk()],
            depends_on_keys=rules.inserts or rules.deletes,
        )

    after = target.retried(base, attempt, checked_message(message))
    return watch.report(target.root.name, base.version, after.version, counts)


class _Merge:
    """One attempt on one version.

    Parameters
    ----------
    spark, source
        The session, and the rows.
    address, base
        The table, and the version.
    rules
        What becomes of rows.
    max_rows_per_file
        As for `merge`.
    """

    def __init__(
        self,
        spark: SparkSession,
        source: DataFrame,
        address: TableAddress,
        base: ManifestMeta,
        rules: MergeRules,
        max_rows_per_file: int,
    ) -> None:
        given, fields = columns_of(base, source.schema)
        for name in rules.on:
            if name not in source.columns:
                raise InvalidArgumentError(f"the key column {name!r} is not in the source", column=name)
        BatchFitting(given).check(batch_schema(source.schema))
        stable = base.facts.has_stable_row_ids
        updates = rules.matched == "update"
        if updates:
            given, fields = arrow_schema(base.fields, base.facts.schema_metadata), list(base.fields)
            refuse_blob_structs(fields)
        own = {one.name for one in base.fields} & {ADDRESS, ID, CREATED}
        if own:
            raise UnsupportedError(f"the table has a column {own.pop()!r}, which hides the virtual column")
        self._plan = FilePlan(
            address=address, job=str(uuid.uuid4()), schema=given, fields=tuple(fields),
            options=PLAIN.of(writable_version(base)), max_rows_per_file=max_rows_per_file,
        )  # fmt: skip
        self._rules = rules
        kept = [name for name in given.names if name not in source.columns]
        marks = [ADDRESS, *([ID, CREATED] if stable and updates else [])]
        table = spark.read.format("lance").options(**read_options(address)).options(
            version=str(base.version), columns=",".join([*rules.on, *kept, *marks])
        ).load(address.uri)  # fmt: skip
        targets = table.select(*[sf.col(f"`{name}`").alias(f"{MARK}{name}") for name in table.columns])
        keys = [source[name] == targets[f"{MARK}{name}"] for name in rules.on]
        joined = source.withColumn(GIVEN, sf.lit(True)).join(
            targets, functools.reduce(lambda left, right: left & right, keys), _JOINS[rules.inserts, rules.deletes]
        )
        address_column = sf.col(f"{MARK}{ADDRESS}")
        if rules.matched == "keep":
            joined = joined.filter(address_column.isNull() | sf.col(GIVEN).isNull())
        if len(marks) > 1:
            # Rows that keep their ids come first in files.
            joined = joined.sortWithinPartitions(address_column.isNull())
        values = [
            sf.col(f"`{MARK}{name}`").alias(name) if name in kept else sf.col(f"`{name}`") for name in given.names
        ]
        wanted = values if updates or rules.inserts else []
        self._rows = joined.select(*wanted, *[sf.col(f"{MARK}{name}") for name in marks], sf.col(GIVEN))

    def done(self) -> MergeOutcome:
        """Write rows in tasks, and return what they did."""
        plan, updates = self._plan, self._rules.matched == "update"

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            result = pickle.dumps(merge_rows(plan, batches, updates=updates))
            yield pa.record_batch({"result": pa.array([result], pa.binary())})

        done = MergeOutcome()
        for row in self._rows.mapInArrow(run, "result binary").collect():
            done.add(pickle.loads(row["result"]))
        return done
