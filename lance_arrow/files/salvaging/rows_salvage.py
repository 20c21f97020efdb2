"""`RowsSalvage`: the rows of one file or fragment that can be read, by all of its columns; `SavedRows` reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.errors import CorruptFileError, LanceError
from lance_arrow.files.salvaging.column_salvage import ColumnSalvage
from lance_arrow.files.salvaging.reports import LostRows
from lance_arrow.files.salvaging.row_runs import Run, as_mask, gaps, num_rows, shared, union
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.row_source import RowSource
from lance_arrow.scan.row_weights import check_expansion
from lance_arrow.scan.windows import Windows
from lance_arrow.spi.rows import RowRanges


class RowCount:
    """Counts rows while they are read for the first time.

    Parameters
    ----------
    total
        Rows there are; None if that is not known.
    on_rows
        Called with the rows read so far, and `total`.
    """

    def __init__(self, total: int | None = None, on_rows: Callable[[int, int | None], None] | None = None) -> None:
        self._done, self._total, self._on_rows = 0, total, on_rows

    def add(self, num_rows: int) -> None:
        """Count some rows more."""
        self._done += num_rows
        if self._on_rows is not None:
            self._on_rows(self._done, self._total)


class YieldsTables(Protocol):
    """What has surveyed damaged rows: `RowsSalvage`, or the same of all fragments of a table."""

    def tables(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the saved rows in order."""


class SavedRows:
    """Rows that can be read of something damaged.

    Attributes
    ----------
    schema
        Their schema.
    """

    schema: pa.Schema
    _saved: YieldsTables

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows in order, some MiB at a time.

        Raises
        ------
        CorruptFileError
            A row that could be read before cannot be read any more: a file changes.
        """
        return self._saved.tables(self.schema)

    def read(self) -> pa.Table:
        """Return the rows.

        Raises
        ------
        CorruptFileError
            As `tables`.
        """
        return pa.concat_tables([self.schema.empty_table(), *self.tables()])


class RowsSalvage:
    """Rows of one source. `survey` comes first, then `decide`, then `tables`.

    Parameters
    ----------
    source
        The file or fragment; all of its rows are live.
    columns
        The wanted columns, one for each projection.
    unwanted
        Runs of rows that are neither returned nor lost, such as deleted ones.

    Attributes
    ----------
    columns
        What is known of each column.
    live
        Runs of the other rows.
    left_out
        Runs of live rows that are not returned.
    """

    def __init__(self, source: RowSource, columns: Sequence[Projection], unwanted: Sequence[Run] = ()) -> None:
        self._source = source
        self._num_rows = source.num_physical
        self.columns = [ColumnSalvage(source, projection) for projection in columns]
        self._alive: list[ColumnSalvage] = []
        self.live = gaps(unwanted, (0, self._num_rows))
        self.left_out: list[Run] = []
        self._kept: list[ColumnSalvage] = []

    def survey(self, count: RowCount) -> None:
        """Read everything once, to find what is lost, and count the rows.

        Raises
        ------
        InvalidArgumentError
            Files have no checksums, and that is not allowed.
        """
        self._alive = [column for column in self.columns if self._opens(column)]
        known, is_first = -1, True
        # Again while more is lost: a lost page takes rows out of what was read before.
        while known < (known := sum(len(column.causes) for column in self._alive)):
            for window in self._windows():
                for column in self._alive:
                    for _ in column.read(window):
                        pass
                if is_first:
                    count.add(window[1] - window[0])
            if self.is_proven:
                return
            is_first = False

    @property
    def is_proven(self) -> bool:
        """Whether all values that can be read were compared with checksums."""
        return all(column.is_proven for column in self._alive)

    @property
    def causes(self) -> list[LostRows]:
        """What is lost of live rows, and why."""
        return [cause for column in self.columns for cause in column.causes if shared([cause.rows], self.live)]

    def is_gone(self, number: int) -> bool:
        """Return whether nothing of a column can be read, though there are live rows."""
        return bool(self.live) and shared(self.columns[number].lost, self.live) == self.live

    def decide(self, kept: Sequence[int], nullable: Sequence[int]) -> None:
        """Decide which rows are left out.

        Parameters
        ----------
        kept
            Numbers of the columns of the result.
        nullable
            Numbers of those whose lost values become null.
        """
        self._kept = [self.columns[number] for number in kept]
        nothing_left = self.live
        for column in self.columns:
            nothing_left = shared(nothing_left, column.lost)
        required = [run for number in kept if number not in nullable for run in self.columns[number].lost]
        self.left_out = shared(union([*nothing_left, *required]), self.live)

    @property
    def saved(self) -> list[Run]:
        """Runs of rows that are returned."""
        return [run for live in self.live for run in gaps(self.left_out, live)]

    @property
    def num_with_nulls(self) -> int:
        """Returned rows with null in place of a lost value."""
        saved = self.saved
        return num_rows(union(run for column in self._kept for run in shared(column.lost, saved)))

    def tables(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the returned rows in order, some MiB at a time.

        Raises
        ------
        CorruptFileError
            A row that could be read before cannot be read any more: the file changes.
        """
        for window in self._windows():
            kept = as_mask(self.saved, window)
            if kept.any():
                yield pa.table([self._values(column, window, kept) for column in self._kept], schema=schema)

    def release(self) -> None:
        """Let go of open files; `tables` opens them again."""
        for column in self.columns:
            column.release()

    def _values(self, column: ColumnSalvage, window: Run, kept: NDArray[np.bool_]) -> pa.ChunkedArray:
        before = len(column.causes)
        parts = list(column.read(window))
        if len(column.causes) > before:
            raise CorruptFileError(f"the file changes: {column.causes[-1]}", path=self._source.name)
        return _joined(column.field, parts, window, kept)

    def _opens(self, column: ColumnSalvage) -> bool:
        """Whether the metadata of a column can be read, and its size be believed."""
        try:
            reading = column.open()
            limits = self._source.runtime.settings.limits
            check_expansion([column.node], self._num_rows, max(reading.file_bytes, 1), limits)
        except LanceError as error:
            column.give_up(error, self._num_rows)
            return False
        return True

    def _windows(self) -> Iterator[Run]:
        """Cut the rows of the readable columns."""
        if not self._alive or not self.live:
            return
        reading = self._source.reading([column.node for column in self._alive])
        windows = Windows(
            RowRanges.one(self.live[0][0], self.live[-1][1]),
            None,
            weights=reading.weights(),
            max_bytes=self._source.runtime.settings.window_bytes(2),
        )
        for window in windows:
            yield int(window.rows.starts[0]), int(window.rows.stops[-1])


def whole_columns(roots: Sequence[ColumnNode]) -> list[Projection]:
    """Return a projection for each column."""
    return [Projection.of([root], None, None) for root in roots]


def _nulls(field: pa.Field, count: int) -> pa.Array:
    type_ = field.type
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, pa.nulls(count, type_.storage_type))
    return pa.nulls(count, type_)


def _joined(
    field: pa.Field, parts: list[tuple[Run, pa.ChunkedArray]], window: Run, kept: NDArray[np.bool_]
) -> pa.ChunkedArray:
    """Join the values of the kept rows of a window, with nulls where a kept row has none."""
    chunks: list[pa.Array] = []
    at = window[0]
    for (start, stop), values in [*parts, ((window[1], window[1]), pa.chunked_array([], field.type))]:
        missing = int(np.count_nonzero(kept[at - window[0] : start - window[0]]))
        if missing:
            chunks.append(_nulls(field, missing))
        wanted = kept[start - window[0] : stop - window[0]]
        chunks += (values if wanted.all() else values.filter(pa.array(wanted))).chunks
        at = stop
    return pa.chunked_array(chunks, field.type)
