"""`LanceReader`: batch reads: the driver plans partitions of one version, tasks read them as Arrow batches."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.manifests.fragments import FragmentMeta, file_bytes, part_of, physical_counts
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.table_facts import TableFacts
from lance_arrow.manifests.versions import VersionChoice, open_version
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.predicates import as_expression, fitting
from lance_arrow.scan.projection import Projection
from lance_arrow.spark.fitting import BatchFitting
from lance_arrow.spark.options import ReadChoices
from lance_arrow.spark.planning import plan_splits
from lance_arrow.spark.same_version import SameVersion
from lance_arrow.spark.type_mapping import batch_schema, spark_schema
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import cut

if TYPE_CHECKING:
    from lance_arrow.scan.fragments.table_reader import TableReader

# The processes that make a schema and plan do without what reads rows.
# ruff: noqa: PLC0415

_ROW_ID = "_rowid"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Rows of one fragment.

    Parameters
    ----------
    fragment
        The fragment.
    starts, stops
        Half-open ranges of rows of its files, deleted ones among them; None for all rows.
    """

    fragment: FragmentMeta
    starts: tuple[int, ...] | None = None
    stops: tuple[int, ...] | None = None

    def rows(self) -> RowRanges:
        """Return the rows of the files to choose from."""
        if self.starts is None or self.stops is None:
            return RowRanges.one(0, np.iinfo(np.int64).max)
        return RowRanges(np.array(self.starts, np.int64), np.array(self.stops, np.int64))


class LancePartition(InputPartition):
    """What one task reads: rows of fragments, in order.

    Parameters
    ----------
    fragments
        As the manifest tells of them: they are made where they are read.
    ranges
        For some of them, by their place, half-open ranges of rows of its files, deleted ones among them: starts and
        stops. All rows of the others.
    """

    def __init__(
        self,
        fragments: Sequence[FragmentMeta] = (),
        ranges: Mapping[int, tuple[tuple[int, ...], tuple[int, ...]]] = MappingProxyType({}),
    ) -> None:
        super().__init__(None)
        self.fragments = fragments
        self.ranges = dict(ranges)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The rows to read of each fragment."""
        return tuple(
            Piece(fragment, *self.ranges.get(place, (None, None))) for place, fragment in enumerate(self.fragments)
        )

    def within(self) -> list[RowRanges] | None:
        """Return the rows of the files of each fragment to choose from; None for all."""
        return [piece.rows() for piece in self.pieces] if self.ranges else None

    def __repr__(self) -> str:
        return f"LancePartition({len(self.fragments)} fragments)"


class TableScan:
    """Columns and rows wanted of one version of a table; pickles without the list of its fragments.

    Parameters
    ----------
    choices
        What the options say.
    facts
        The version.
    columns
        Names, dotted paths among them; all when None.
    """

    def __init__(self, choices: ReadChoices, facts: TableFacts, columns: Sequence[str] | None) -> None:
        self.choices = choices
        self.facts = facts
        self.expression: pc.Expression | None = None
        self._names = None if columns is None else list(columns)
        self._columns = columns_of(choices, facts)
        schema = self._columns.schema
        if self._names is None and choices.with_row_id and _ROW_ID not in schema.names:
            self._names = [*schema.names, _ROW_ID]
        roots = self._columns.roots if self._names is None else self._columns.all_roots
        self.schema: pa.Schema = Projection.of(roots, schema.metadata, self._names).schema
        if choices.filter is not None:
            self.expression = as_expression(choices.filter, self.table_schema)
            # On the driver: it would fail in every task.
            with fitting("option filter does not fit the table", self.table_schema):
                self.table_schema.empty_table().filter(self.expression)

    @property
    def table_schema(self) -> pa.Schema:
        """All columns there are, virtual ones among them."""
        return self._columns.full_schema

    def left_of(self, fragments: Sequence[FragmentMeta]) -> list[RowRanges]:
        """Return the rows of each fragment that zone maps leave to the filter; opens files, several at once."""
        from lance_arrow.pruning.zone_pruning import zone_predicate
        from lance_arrow.scan.filters.bound_filters import installed_expressions

        reader = self._reader(fragments)
        predicate = None
        if self.expression is not None:
            predicate = zone_predicate(installed_expressions(), self.expression, self.table_schema)

        def left(number: int) -> RowRanges:
            fragment = reader.fragment(number)
            return fragment.prune(predicate, RowRanges.one(0, fragment.num_physical)).rows

        return list(default_runtime().map(left, range(len(fragments))))

    def num_physical(self, fragment: FragmentMeta) -> int:
        """Return the rows of a fragment's files."""
        if fragment.physical_rows is not None:
            return fragment.physical_rows
        return self._reader([fragment]).fragment(0).num_physical

    def batches(self, partition: LancePartition, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Read rows of fragments.

        Parameters
        ----------
        partition
            Which.
        schema
            Schema of the batches; the scan must read all its columns.

        Raises
        ------
        LanceError, OSError
            As `LanceTable.to_batches`, and as `BatchFitting.batch`.
        """
        reader = self._reader(partition.fragments)
        fitting = BatchFitting(schema, truncates_times=self.choices.truncates_times)
        within = partition.within()
        rows = self.choices.batch_rows
        # Arrow casts all items that a slice of lists lies on: so whole windows are cast, and cut then.
        for window in reader.batches(reader.projection(self._names), self.expression, None, within=within):
            fitted = fitting.batch(window)
            for start in range(0, fitted.num_rows, rows):
                yield fitted.slice(start, rows)

    def _reader(self, fragments: Sequence[FragmentMeta]) -> TableReader:
        from lance_arrow.scan.fragments.table_reader import TableReader
        from lance_arrow.scan.open_files import OpenFiles

        filesystem = self.choices.address.location().filesystem
        return TableReader(self._columns, fragments, filesystem, OpenFiles(self._columns.options))

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_columns"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._columns = columns_of(self.choices, self.facts)


def columns_of(choices: ReadChoices, facts: TableFacts) -> TableColumns:
    """Return the columns of a version, as Spark reads them."""
    options = ReadOptions(
        dictionaries="decode",
        blobs=choices.blobs,
        verify=choices.verify,
        allow_external_bases=choices.allow_external_bases,
    )
    return TableColumns(facts, options)


def open_manifest(choices: ReadChoices) -> ManifestMeta:
    """Read the manifest that the options mean; errors are those of `LanceTable.open`."""
    choice = VersionChoice(version=choices.version, tag=choices.tag, as_of=choices.as_of, branch=choices.branch)
    return open_version(choices.address.location(), choice, default_runtime().settings.limits)


def partitions_of(scan: TableScan, fragments: Sequence[FragmentMeta]) -> list[LancePartition]:
    """Cut the rows that a scan wants of some fragments into partitions.

    Parameters
    ----------
    scan
        Its filter prunes by zone maps where there are no more fragments than the options allow; tasks prune anyway.
    fragments
        In the order of rows.
    """
    choices = scan.choices
    physical = physical_counts(fragments).copy()
    for number in np.flatnonzero(physical < 0).tolist():
        physical[number] = scan.num_physical(fragments[number])
    sizes = file_bytes(fragments).astype(np.float64)
    left: list[RowRanges] | None = None
    counts = physical
    if scan.expression is not None and len(fragments) <= choices.max_pruned_fragments:
        left = scan.left_of(fragments)
        counts = np.array([rows.num_rows for rows in left], np.int64)
    shares = np.divide(counts, physical, out=np.zeros(len(counts)), where=physical > 0)
    plan = plan_splits(counts, sizes * shares, split_rows=choices.split_rows, split_bytes=choices.split_bytes)
    is_cut = plan.stops - plan.starts != physical[plan.fragments]
    made = []
    for first, stop in pairwise(plan.borders.tolist()):
        numbers = plan.fragments[first:stop]
        ranges = {}
        for place in np.flatnonzero(is_cut[first:stop]).tolist():
            start, end = plan.starts[first + place].item(), plan.stops[first + place].item()
            if left is None:
                ranges[place] = (start,), (end,)
            else:
                rows = cut(left[numbers[place].item()], start, end)
                ranges[place] = tuple(rows.starts.tolist()), tuple(rows.stops.tolist())
        made.append(LancePartition(part_of(fragments, numbers), ranges))
    _log.info(
        "table %s version %d: %d partitions of %d fragments; %d of %d rows left by zone maps",
        choices.address.location().name, scan.facts.version, len(made), len(fragments), counts.sum(), physical.sum(),
    )  # fmt: skip
    return made


class LanceReader(SameVersion, DataSourceReader):
    """Reads one version of a table.

    Parameters
    ----------
    choices
        What the options say.
    manifest
        The version.
    schema
        What Spark wants: columns of the table, or those that option ``columns`` names.

    Raises
    ------
    InvalidArgumentError
        The schema has a column that the table has not.
    UnsupportedError
        A column cannot be brought into the type that Spark wants.
    """

    def __init__(self, choices: ReadChoices, manifest: ManifestMeta, schema: StructType) -> None:
        self.scan = scan_of(choices, manifest.facts, schema)
        self._schema = batch_schema(schema)
        BatchFitting(self._schema).check(self.scan.schema)
        self._fragments: Sequence[FragmentMeta] = manifest.fragments

    def partitions(self) -> list[LancePartition]:  # type: ignore[override]
        """Plan, on the driver; at least one partition, as Spark wants it."""
        return partitions_of(self.scan, self._fragments) or [LancePartition()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one partition, in a task."""
        assert isinstance(partition, LancePartition)
        return self.scan.batches(partition, self._schema)

    def __getstate__(self) -> dict[str, Any]:
        # Tasks get their fragments with their partition.
        return {**self.__dict__, "_fragments": ()}


def scan_of(choices: ReadChoices, facts: TableFacts, schema: StructType) -> TableScan:
    """Make the scan that yields the columns of a schema of Spark."""
    scan = TableScan(choices, facts, choices.columns)
    if scan.schema.names == schema.names:
        return scan
    known = scan.schema.names if choices.columns is not None else scan.table_schema.names
    unknown = [name for name in schema.names if name not in known]
    if unknown:
        raise InvalidArgumentError(
            f"the schema given to Spark has the column {unknown[0]!r}, which the table has not; there are {known}",
            column=unknown[0],
        )
    return scan if choices.columns is not None else TableScan(choices, facts, schema.names)


def schema_of(choices: ReadChoices, manifest: ManifestMeta) -> StructType:
    """Return the schema that Spark sees of a version; errors are those of `spark_schema`."""
    return spark_schema(TableScan(choices, manifest.facts, choices.columns).schema)
