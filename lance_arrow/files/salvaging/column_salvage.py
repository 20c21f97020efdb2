"""`ColumnSalvage`: which rows of one column can be read, found by reading them.

Errors of reads say where the damage is. In a file with checksums, rows beside the damage are proven: each block that
they touch fits its checksum. So only the rows that touch damage are lost, and are found by halving. Without checksums,
a page with damage is not believed anywhere, and all of its rows are lost.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.errors import CorruptPageError, InternalError, InvalidArgumentError, LanceError
from lance_arrow.files.salvaging.reports import LostRows
from lance_arrow.files.salvaging.row_runs import Run, gaps, union
from lance_arrow.scan.file_batches import FileBatches
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.row_taking import as_table
from lance_arrow.spi import RowRanges


class ColumnSalvage:
    """One top-level column of a damaged file.

    Parameters
    ----------
    file
        The file.
    node
        The column.
    is_proven
        Whether reads compare what they touch with checksums.

    Attributes
    ----------
    lost
        Runs of rows that cannot be read, as far as rows were read.
    causes
        Why, in the order in which they were found.
    """

    def __init__(self, file: OpenFile, node: ColumnNode, *, is_proven: bool) -> None:
        self.node = node
        self._file = file
        self._is_proven = is_proven
        self._projection = Projection.of([node], file.rows.metadata, None)
        self._batches = FileBatches(file)
        self.lost: list[Run] = []
        self.causes: list[LostRows] = []

    @property
    def field(self) -> pa.Field:
        """The column in results."""
        return self._projection.schema.field(0)

    def read(self, rows: Run) -> Iterator[tuple[Run, pa.ChunkedArray]]:
        """Yield the runs that can be read of some rows, in order, each with its values; note the others as lost.

        Raises
        ------
        InternalError
            A bug of this package; it is not taken for damage.
        """
        todo = [rows]
        while todo:
            run = todo.pop()
            sound = gaps(self.lost, run)
            if sound != [run]:
                todo += reversed(sound)
                continue
            found = self._try(run)
            if isinstance(found, pa.ChunkedArray):
                yield run, found
                continue
            lost, cause = self._lost_by(found, run)
            self.lost = union([*self.lost, lost])
            self.causes.append(LostRows.of(cause, self.node.path, lost))
            todo.append(run)

    def give_up(self, error: LanceError, num_rows: int) -> None:
        """Note that no row can be read."""
        self.lost = union([(0, num_rows)])
        self.causes = [LostRows.of(error, self.node.path, (0, num_rows))]

    def _try(self, run: Run) -> pa.ChunkedArray | LanceError:
        """Return the values of rows, or the error of reading them."""
        try:
            batches = self._batches.at_once(self._projection, None, RowRanges.one(*run))
            column = as_table(batches, self._projection.schema).column(0)
            if not self._is_proven:
                _check_values(column, self.node.path)
        except (InternalError, InvalidArgumentError):
            raise
        except LanceError as error:
            return error
        return column

    def _lost_by(self, error: LanceError, run: Run) -> tuple[Run, LanceError]:
        """Return the first rows of `run` that are lost by its error, and the error of these rows."""
        page = None if self._is_proven else self._page_rows(error)
        if page is not None and page[0] < run[1] and run[0] < page[1]:
            return page, error
        lost = self._refused_run(run)
        # The whole run may have met other damage first.
        found = self._try((lost[0], lost[0] + 1))
        return lost, found if isinstance(found, LanceError) else error

    def _page_rows(self, error: LanceError) -> Run | None:
        """Return the rows of the page that an error names; None where the file does not tell them exactly."""
        if error.page is None:
            return None
        for leaf in self.node.leaves():
            if leaf.path == error.column and not any(leaf.list_columns):
                (meta,) = self._file.rows.metas([leaf])
                starts = self._file.rows.page_rows(leaf, meta)
                return int(starts[error.page]), int(starts[error.page + 1])
        return None

    def _refused_run(self, run: Run) -> Run:
        """Find the first rows that are refused: halve to the first, then search for the next that can be read."""
        first, stop = run
        refused = stop
        while refused - first > 1:
            middle = (first + refused) // 2
            if self._can_read((first, middle)):
                first = middle
            else:
                refused = middle
        last, step = first, 1
        while last + 1 < stop:
            probe = min(last + step, stop - 1)
            if self._can_read((probe, probe + 1)):
                return first, self._first_sound(last, probe)
            last, step = probe, step * 2
        return first, stop

    def _first_sound(self, refused: int, sound: int) -> int:
        """Return the first row that can be read between a row that cannot, and one that can."""
        while sound - refused > 1:
            middle = (refused + sound) // 2
            if self._can_read((middle, middle + 1)):
                sound = middle
            else:
                refused = middle
        return sound

    def _can_read(self, run: Run) -> bool:
        return isinstance(self._try(run), pa.ChunkedArray)


def open_pages(file: OpenFile, node: ColumnNode) -> None:
    """Read the metadata of a column.

    Raises
    ------
    LanceError
        It is damaged, or its pages cannot be read by this installation.
    """
    numbers: set[int] = set()
    for leaf in node.leaves():
        numbers.add(leaf.column)
        numbers.update(_list_columns(leaf))
    file.rows.file.columns(sorted(numbers))


def _list_columns(leaf: LeafNode) -> Iterator[int]:
    return (column.column for column in leaf.list_columns if column is not None)


def _check_values(column: pa.ChunkedArray, path: str) -> None:
    """Refuse values outside the range of their type, which bytes without checksums may decode to."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        raise CorruptPageError(f"values contradict their type: {error}", column=path) from error


def nulls_of(field: pa.Field, count: int) -> pa.Array:
    """Return null values of a field."""
    type_ = field.type
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, pa.nulls(count, type_.storage_type))
    return pa.nulls(count, type_)


def chunked(field: pa.Field, parts: list[tuple[Run, pa.ChunkedArray]], rows: Run, kept: np.ndarray) -> pa.ChunkedArray:
    """Join the values of the kept rows of a window, with nulls where a kept row has none.

    Parameters
    ----------
    field
        The column.
    parts
        Runs with values, in order.
    rows
        The window.
    kept
        ``(n,) bool``: which of its rows are wanted.
    """
    chunks: list[pa.Array] = []
    at = rows[0]
    for (start, stop), values in [*parts, ((rows[1], rows[1]), pa.chunked_array([], field.type))]:
        missing = int(np.count_nonzero(kept[at - rows[0] : start - rows[0]]))
        if missing:
            chunks.append(nulls_of(field, missing))
        wanted = kept[start - rows[0] : stop - rows[0]]
        chunks += (values if wanted.all() else values.filter(pa.array(wanted))).chunks
        at = stop
    return pa.chunked_array(chunks, field.type)
