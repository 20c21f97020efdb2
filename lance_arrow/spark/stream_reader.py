"""`LanceStreamReader`: new versions of a table, a micro-batch at a time."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from lance_arrow.errors import InvalidArgumentError, TableNotFoundError, UnsupportedError
from lance_arrow.spark.fitting import BatchFitting
from lance_arrow.spark.options import ReadChoices, SourceOptions
from lance_arrow.spark.reader import LancePartition, TableScan, open_manifest, partitions_of, scan_of
from lance_arrow.spark.same_version import SameVersion
from lance_arrow.spark.stream_offsets import Admission, StreamOffset, TableChanges
from lance_arrow.spark.type_mapping import batch_schema

try:
    # Since 4.2.
    _limits: Any = importlib.import_module("pyspark.sql.streaming.datasource")
    _AvailableNow: Any = _limits.SupportsTriggerAvailableNow
except ImportError:
    _limits, _AvailableNow = None, object


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamChoices:
    """Options of streams: where to start, what to do about changes, and how much a batch may take."""

    starting_version: int | None = None
    starts_latest: bool = False
    changes: str = "fail"
    admission: Admission = field(default_factory=Admission)

    @classmethod
    def of(cls, options: SourceOptions) -> StreamChoices:
        """Take the choices from options."""
        is_latest = options.text("startingVersion") == "latest"
        return cls(
            starting_version=None if is_latest else options.number("startingVersion"),
            starts_latest=is_latest,
            changes=options.choice("changes", ("fail", "skip", "added", "feed")),
            admission=Admission(
                max_rows=options.number("maxRowsPerTrigger"),
                max_bytes=options.number("maxBytesPerTrigger"),
                max_fragments=options.number("maxFragmentsPerTrigger"),
            ),
        )


class StreamPartition(LancePartition):
    """The rows that one task reads, and the version that added them."""

    def __init__(self, planned: LancePartition, scan: TableScan) -> None:
        super().__init__(planned.fragments, planned.ranges)
        self.scan = scan


class VersionStream(SameVersion, DataSourceStreamReader, _AvailableNow):
    """A stream over the versions of a table.

    Parameters
    ----------
    choices, stream
        What the options say.
    schema
        What Spark wants.

    Raises
    ------
    InvalidArgumentError
        The options choose a single version.
    """

    def __init__(self, choices: ReadChoices, stream: StreamChoices, schema: StructType) -> None:
        if choices.version is not None or choices.tag is not None or choices.as_of is not None:
            raise InvalidArgumentError(
                "a stream reads many versions: give startingVersion instead of version, tag, asOf"
            )
        self._choices = choices
        self._stream = stream
        self._spark_schema = schema
        self._schema = batch_schema(schema)
        self._changes = TableChanges(choices.address.location(), choices.branch, stream.changes)
        self._target: int | None = None

    def prepareForTriggerAvailableNow(self) -> None:
        """Take the newest version for the last one."""
        self._target = self._changes.newest()

    def _newest(self) -> int:
        newest = self._changes.newest() if self._target is None else self._target
        if not newest:
            raise TableNotFoundError("there is no table here: no manifest in _versions", path=self._choices.address.uri)
        return newest

    def _first(self) -> int | None:
        """Return the version that the options start with; it must be there."""
        first, newest = self._stream.starting_version, self._newest()
        if first is not None and first > newest:
            raise InvalidArgumentError(f"startingVersion is {first}, the newest one is {newest}")
        return first


class LanceStreamReader(VersionStream):
    """Reads the rows that versions add.

    Parameters
    ----------
    choices, stream, schema
        As for `VersionStream`.

    Raises
    ------
    InvalidArgumentError
        An option makes no sense for a stream.
    UnsupportedError
        An option needs a newer PySpark.
    """

    def __init__(self, choices: ReadChoices, stream: StreamChoices, schema: StructType) -> None:
        super().__init__(choices, stream, schema)
        if _limits is None and stream.admission != Admission():
            raise UnsupportedError(
                "a micro-batch takes all new rows: maxRowsPerTrigger, maxBytesPerTrigger and "
                "maxFragmentsPerTrigger need PySpark 4.2 or newer"
            )
        BatchFitting(self._schema).check(scan_of(choices, open_manifest(choices).facts, schema).schema)

    def initialOffset(self) -> dict[str, int]:
        """Return where a new query starts."""
        first, newest = self._first(), self._newest()
        if first is not None:
            return StreamOffset(first, 0).as_dict()
        start = StreamOffset(newest, 0, newest)
        if not self._stream.starts_latest:
            return start.as_dict()
        (addition,) = self._changes.between(start, newest)
        return StreamOffset(newest, len(addition.fragments), newest).as_dict()

    def getDefaultReadLimit(self) -> Any:
        """Return the limits that the options say, as Spark asks for one; all of them are kept in `latestOffset`."""
        admission = self._stream.admission
        if admission.max_rows is not None:
            return _limits.ReadMaxRows(admission.max_rows)
        if admission.max_bytes is not None:
            return _limits.ReadMaxBytes(admission.max_bytes)
        if admission.max_fragments is not None:
            return _limits.ReadMaxFiles(admission.max_fragments)
        return _limits.ReadAllAvailable()

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:
        """Return where the next batch ends.

        Parameters
        ----------
        start
            Where it begins; None before PySpark 4.2, which takes all there is.
        limit
            How much it may take; `ReadAllAvailable` lifts what the options say.
        """
        if start is None:
            newest = self._newest()
            # What earlier versions added does not matter for the end, and they may be gone.
            begin = StreamOffset(newest, 0, newest)
        else:
            begin = StreamOffset.parse(start)
        additions = self._changes.between(begin, max(begin.version, self._newest()))
        is_all = start is None or _limits is None or isinstance(limit, _limits.ReadAllAvailable)
        admission = Admission() if is_all else self._stream.admission
        return admission.admit(begin, additions).as_dict()

    def reportLatestOffset(self) -> dict[str, int] | None:
        """Return the offset of the newest version, for Spark's progress."""
        newest = self._changes.newest()
        return StreamOffset(newest, 0).as_dict() if newest else None

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:  # type: ignore[override]
        """Plan a batch, on the driver."""
        begin, stop = StreamOffset.parse(start), StreamOffset.parse(end)
        planned: list[InputPartition] = []
        for addition in self._changes.between(begin, stop.version):
            version = addition.manifest.version
            first = begin.index if version == begin.version else 0
            last = stop.index if version == stop.version else len(addition.fragments)
            fragments = list(addition.fragments[first:last])
            if fragments:
                scan = scan_of(replace(self._choices, version=version), addition.manifest.facts, self._spark_schema)
                planned += [StreamPartition(one, scan) for one in partitions_of(scan, fragments)]
        return planned

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one partition, in a task."""
        assert isinstance(partition, StreamPartition)
        return partition.scan.batches(partition, self._schema)
