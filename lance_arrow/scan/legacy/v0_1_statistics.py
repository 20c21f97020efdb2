"""`V01Statistics`: statistics of batches in a 0.1 file, as zone maps of its leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.container.legacy.v0_1_statistics import BatchStatistics, batch_statistics
from lance_arrow.errors import LanceError, UnsupportedError, located
from lance_arrow.scan.open_file import row_reader
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.legacy.v0_1_zones import BatchBounds, zones_of_batches
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.statistics.zone_types import bounds_type, is_repeated, is_variable

_NAMES = ["null_count", "min_value", "max_value"]
_STAGE = "reading the statistics of batches"


class V01Statistics:
    """The statistics of one file, opened when first asked; safe to share between threads.

    Parameters
    ----------
    rows
        The file; those of later versions tell nothing here.
    """

    def __init__(self, rows: RowReader) -> None:
        self._rows = rows
        self._lock = Lock()
        self._is_open = False
        self._told: tuple[BatchStatistics, RowReader] | None = None

    def get(self, leaves: Sequence[LeafNode]) -> dict[int, ZoneMap]:
        """Return the zone maps of the leaves that have useful statistics, by physical column.

        Raises
        ------
        CorruptFileError
            The statistics are damaged; the column is named.
        UnknownEncodingError, TruncatedReadError, ResourceLimitError
            As reading goes.
        """
        legacy = self._rows.file.legacy
        if legacy is None or not leaves:
            return {}
        ids = {leaf.column: str(leaf.field_id) for leaf in self._rows.file.leaves}
        with _located({ids[leaf.column]: leaf.path for leaf in self._rows.file.leaves}):
            told = self._opened()
            if told is None:
                return {}
            file, rows = told
            of_fields = {root.field.name: root for root in rows.roots}
            covered = [leaf for leaf in leaves if _fits(of_fields.get(ids[leaf.column]), leaf)]
            bounds = _bounds(file, rows, [of_fields[ids[leaf.column]] for leaf in covered])
        found = {}
        for leaf, of_leaf in zip(covered, bounds, strict=True):
            with located(column=leaf.path, stage=_STAGE):
                zones = zones_of_batches(of_leaf, leaf, legacy.batch_starts())
            if zones is not None:
                found[leaf.column] = zones
        return found

    def _opened(self) -> tuple[BatchStatistics, RowReader] | None:
        with self._lock:
            if not self._is_open:
                try:
                    file = batch_statistics(self._rows.file)
                    self._told = None if file is None else (file, row_reader(file, self._rows.runtime))
                except UnsupportedError:
                    # Statistics of another writer, of types that are not known here.
                    self._told = None
                self._is_open = True
            return self._told


@contextmanager
def _located(paths: Mapping[str, str]) -> Iterator[None]:
    """Name the column that statistics are about: they are named by its field's id, as a column of their own."""
    with located(stage=_STAGE):
        try:
            yield
        except LanceError as error:
            error.column = paths.get((error.column or "").partition(".")[0])
            raise


def _fits(told: ColumnNode | None, leaf: LeafNode) -> bool:
    """Whether statistics have the form that writers give them, and are of the leaf's type."""
    if told is None:
        return False
    bounds = bounds_type(leaf)
    types = [child.field.type for child in told.children]
    is_known = [child.field.name for child in told.children] == _NAMES and types == [pa.int64(), bounds, bounds]
    return is_known and not is_repeated(leaf) and _is_covered(leaf.storage)


def _is_covered(type_: pa.DataType) -> bool:
    """Whether writers tell bounds of a type: of others nobody knows what they would mean."""
    types = pa.types
    return bool(
        types.is_integer(type_)
        or types.is_boolean(type_)
        or types.is_float32(type_)
        or types.is_float64(type_)
        or types.is_date(type_)
        or types.is_decimal128(type_)
        or is_variable(type_)
    )


def _bounds(file: BatchStatistics, rows: RowReader, nodes: Sequence[ColumnNode]) -> list[BatchBounds]:
    """Read what is told of fields."""
    if not nodes:
        return []
    try:
        file.hold([[leaf.column for leaf in node.leaves()] for node in nodes])
        batches, _ = rows.read(nodes, RowRanges.one(0, rows.num_rows))
    finally:
        file.let_go()
    table = pa.Table.from_batches(batches).combine_chunks()
    found = []
    for number in range(table.num_columns):
        counts, low, high = table.column(number).chunk(0).flatten()
        found.append(BatchBounds(counts.to_numpy(), low, high))
    return found
