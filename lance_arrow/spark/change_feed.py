"""`ChangeFeedReader`: what each version inserted, deleted and updated, as a stream of rows.

An offset ``{"snapshot": s, "version": v}``: the changes of all versions up to `v` are done. Version `s` counts as
having inserted all that is in it; 0 means that no version does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from lance_arrow.arrays.column_paths import parse_path
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.spark.fitting import BatchFitting
from lance_arrow.spark.options import ReadChoices
from lance_arrow.spark.reader import LancePartition, TableScan, partitions_of
from lance_arrow.spark.stream_offsets import Admission
from lance_arrow.spark.stream_reader import StreamChoices, StreamPartition, VersionStream
from lance_arrow.spark.type_mapping import spark_schema
from lance_arrow.table.changed_rows.changed_batches import CHANGE_TYPE, CHANGE_VERSION, ROW_ID
from lance_arrow.table.lance_table import LanceTable

_INSERT = "insert"
_KEYS = ("snapshot", "version")
_MOST_PARTITIONS = 64


@dataclass(frozen=True, slots=True, order=True)
class FeedOffset:
    """A place in the history of a table; see the module."""

    version: int
    snapshot: int = 0

    @classmethod
    def parse(cls, said: dict[str, int]) -> FeedOffset:
        """Read an offset as Spark keeps it.

        Raises
        ------
        InvalidArgumentError
            It is none: the checkpoint is of another source, or of a query without ``changes = feed``.
        """
        if sorted(said) != sorted(_KEYS) or not all(isinstance(said[key], int) for key in _KEYS):
            raise InvalidArgumentError(f"the checkpoint has the offset {said}, which is not an offset of a change feed")
        return cls(said["version"], said["snapshot"])

    def as_dict(self) -> dict[str, int]:
        """Return the offset as Spark keeps it."""
        return {"snapshot": self.snapshot, "version": self.version}


class FeedPartition(InputPartition):
    """Versions whose changes one task reads, in order."""

    def __init__(self, versions: Sequence[int]) -> None:
        super().__init__(None)
        self.versions = tuple(versions)

    def __repr__(self) -> str:
        return f"FeedPartition({list(self.versions)})"


class SnapshotPartition(StreamPartition):
    """Rows of a version that counts as having inserted them; `held` are their columns, None for those it lacks."""

    def __init__(self, planned: LancePartition, scan: TableScan, version: int, held: Sequence[str | None]) -> None:
        super().__init__(planned, scan)
        self.version = version
        self.held = tuple(held)


def feed_schema(choices: ReadChoices) -> StructType:
    """Return the schema that Spark sees of a change feed: columns that tell the change, then those of the table.

    Errors are those of `LanceTable.changes` and `spark_schema`.
    """
    table = _opened(choices)
    found = table.changes(table.version, columns=choices.columns).schema
    num_own = len(_own(found))
    numbers = [field.with_type(pa.int64()) if pa.types.is_uint64(field.type) else field for field in found][:num_own]
    # Deleted rows lack the columns that came later.
    return spark_schema(pa.schema([*numbers, *[field.with_nullable(True) for field in list(found)[num_own:]]]))


class ChangeFeedReader(VersionStream):
    """Reads the changes of each version.

    Parameters
    ----------
    choices, stream, schema
        As for `VersionStream`.

    Raises
    ------
    InvalidArgumentError
        An option makes no sense for a change feed, or the schema lacks a column that tells the change.
    """

    def __init__(self, choices: ReadChoices, stream: StreamChoices, schema: StructType) -> None:
        super().__init__(choices, stream, schema)
        if choices.filter is not None:
            raise InvalidArgumentError(
                "a change feed takes no filter: an update moves rows into it and out of it; filter the data frame"
            )
        if stream.admission != Admission() or choices.split_rows is not None or choices.split_bytes is not None:
            raise InvalidArgumentError(
                "a change feed takes whole versions: it has no maxRowsPerTrigger, maxBytesPerTrigger, "
                "maxFragmentsPerTrigger, splitRows and splitBytes"
            )
        expected = feed_schema(choices).names
        if schema.names != expected:
            raise InvalidArgumentError(f"a change feed has the columns {expected}, the schema given to Spark another")

    def initialOffset(self) -> dict[str, int]:
        """Return where a new query starts: with all rows of the newest version, unless options say otherwise."""
        first, newest = self._first(), self._newest()
        if self._stream.starts_latest:
            return FeedOffset(newest).as_dict()
        if first is None:
            return FeedOffset(newest - 1, newest).as_dict()
        return FeedOffset(first - 1, 1 if first == 1 else 0).as_dict()

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:
        """Return where the next batch ends: with the newest version."""
        begin = FeedOffset(0) if start is None else FeedOffset.parse(start)
        return FeedOffset(max(begin.version, self._newest()), begin.snapshot).as_dict()

    def reportLatestOffset(self) -> dict[str, int] | None:
        """Return the offset of the newest version, for Spark's progress."""
        newest = self._changes.newest()
        return FeedOffset(newest).as_dict() if newest else None

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:  # type: ignore[override]
        """Find the versions of a batch that changed rows, on the driver.

        Raises
        ------
        ChangesNotRecordedError, VersionNotFoundError
            As `LanceTable.changes`, before any row is read.
        """
        begin, stop = FeedOffset.parse(start), FeedOffset.parse(end)
        table = _opened(self._choices)
        versions = []
        for version in range(begin.version + 1, stop.version + 1):
            if version == begin.snapshot:
                continue
            found = table.diff(version - 1, version)
            if found.unknown is not None:
                raise found.unknown
            if found.rows_added or found.rows_deleted or found.rows_updated:
                versions.append(version)
        parts = np.array_split(np.array(versions, np.int64), min(len(versions), _MOST_PARTITIONS) or 1)
        planned: list[InputPartition] = [FeedPartition(part.tolist()) for part in parts if len(part)]
        if begin.version < begin.snapshot <= stop.version:
            planned += self._snapshot(table, begin.snapshot)
        return planned

    def _snapshot(self, newest: LanceTable, version: int) -> list[InputPartition]:
        table = newest.checkout(version)
        held = _names_in(table, newest, self._columns())
        ids = [ROW_ID] if ROW_ID in _own(self._schema) else []
        names = [*ids, *[name for name in held if name is not None]]
        manifest = table.manifest
        scan = TableScan(replace(self._choices, version=version, columns=None), manifest.facts, names)
        return [SnapshotPartition(one, scan, version, held) for one in partitions_of(scan, manifest.fragments)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one partition, in a task."""
        if isinstance(partition, SnapshotPartition):
            return self._inserted(partition)
        assert isinstance(partition, FeedPartition)
        return self._changed(partition.versions)

    def _changed(self, versions: Sequence[int]) -> Iterator[pa.RecordBatch]:
        newest, rows = _opened(self._choices), self._choices.batch_rows
        fitting = BatchFitting(self._schema, truncates_times=self._choices.truncates_times)
        num_own = len(_own(self._schema))
        for version in versions:
            table = newest.checkout(version)
            held = _names_in(table, newest, self._columns())
            for batch in table.changes(version - 1, columns=[name for name in held if name is not None]):
                columns = self._arrays(batch.columns[:num_own], batch.columns[num_own:], held)
                fitted = fitting.batch(pa.RecordBatch.from_arrays(columns, names=self._schema.names))
                # Arrow casts all items that a slice of lists lies on: so whole batches are cast, and cut then.
                for first in range(0, fitted.num_rows, rows):
                    yield fitted.slice(first, rows)

    def _inserted(self, partition: SnapshotPartition) -> Iterator[pa.RecordBatch]:
        num_own = len(_own(self._schema))
        held = [field for field, name in zip(list(self._schema)[num_own:], partition.held, strict=True) if name]
        fields = [*list(self._schema)[2:num_own], *held]
        named = [field.with_name(name) for field, name in zip(fields, partition.scan.schema.names, strict=True)]
        for batch in partition.scan.batches(partition, pa.schema(named)):
            kind = pa.repeat(_INSERT, batch.num_rows)
            when = pa.repeat(pa.scalar(partition.version, pa.int64()), batch.num_rows)
            own = [kind, when, *batch.columns[: num_own - 2]]
            columns = self._arrays(own, batch.columns[num_own - 2 :], partition.held)
            yield pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _arrays(self, own: Sequence[pa.Array], shown: Sequence[pa.Array], held: Sequence[str | None]) -> list[pa.Array]:
        """Put columns together, with nulls in place of those that the version lacks."""
        found, fields = iter(shown), list(self._schema)[len(own) :]
        columns = [
            pa.nulls(len(own[0]), field.type) if name is None else next(found)
            for name, field in zip(held, fields, strict=True)
        ]
        return [*own, *columns]

    def _columns(self) -> list[str]:
        """Paths of the columns of the table that are wanted, as the newest version has them."""
        if self._choices.columns is not None:
            return list(self._choices.columns)
        return self._schema.names[len(_own(self._schema)) :]


def _names_in(table: LanceTable, newest: LanceTable, paths: Sequence[str]) -> list[str | None]:
    """Return what columns of the newest version are called in an older one; None for those that it lacks."""
    numbers = {field.name: field.id for field in newest.manifest.fields}
    names = {field.id: field.name for field in table.manifest.fields}
    held: list[str | None] = []
    for path in paths:
        top = parse_path(path, newest.schema.names)[0]
        # Virtual columns have no number.
        name = names.get(numbers[top]) if top in numbers else top
        held.append(None if name is None else name + path[len(top) :])
    return held


def _own(schema: pa.Schema) -> list[str]:
    """Return the columns that tell the change: they come first."""
    return [name for name in schema.names[:3] if name in (CHANGE_TYPE, CHANGE_VERSION, ROW_ID)]


def _opened(choices: ReadChoices) -> LanceTable:
    place = choices.address.location()
    return LanceTable.open(
        place.path,
        branch=choices.branch,
        filesystem=place.given,
        dictionaries="decode",
        blobs=choices.blobs,
        allow_external_bases=choices.allow_external_bases,
        verify=choices.verify,
    )
