"""`ColumnSalvage`: which rows of one column can be read, found by reading them.

Errors of reads say where the damage is. In a file with checksums, rows beside the damage are proven: each block that
they touch fits its checksum. So only the rows that touch damage are lost, and are found by halving. Without checksums,
a page with damage is not believed anywhere, and all of its rows are lost.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

import pyarrow as pa

from lance_arrow.errors import CorruptPageError, InternalError, InvalidArgumentError, LanceError, TruncatedReadError
from lance_arrow.files.salvaging.reports import LostRows
from lance_arrow.files.salvaging.row_runs import Run, gaps, union
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.row_source import ColumnReading, RowSource
from lance_arrow.scan.row_stream import RowStream
from lance_arrow.scan.row_taking import as_table
from lance_arrow.spi.rows import RowRanges


class ColumnSalvage:
    """One top-level column of a damaged file, or of a fragment with damaged files.

    Parameters
    ----------
    source
        The file or fragment; all of its rows are live.
    projection
        The column, or a part of it: the only output.

    Attributes
    ----------
    lost
        Runs of rows that cannot be read, as far as rows were read.
    causes
        Why, in the order in which they were found.
    """

    def __init__(self, source: RowSource, projection: Projection) -> None:
        (self.node,) = projection.nodes
        self._source = source
        self._projection = projection
        self._files: tuple[OpenFile, ...] = ()
        self.is_proven = True
        self.lost: list[Run] = []
        self.causes: list[LostRows] = []

    @property
    def field(self) -> pa.Field:
        """The column in results."""
        return self._projection.schema.field(0)

    def open(self) -> ColumnReading:
        """Read the metadata of the column.

        Raises
        ------
        LanceError
            It is damaged, or a file is missing, or the column cannot be read by this installation.
        """
        reading = self._source.reading(self._projection.nodes)
        self._files = tuple(reading.opened)
        # Reads compare what they touch with the checksums that there are.
        self.is_proven = all(file.rows.file.checks is not None for file in self._files)
        reading.weights()
        return reading

    def read(self, rows: Run) -> Iterator[tuple[Run, pa.ChunkedArray]]:
        """Yield the runs that can be read of some rows, in order, each with its values; note the others as lost.

        Raises
        ------
        InternalError, InvalidArgumentError
            A bug of this package; it is not taken for damage.
        OSError
            As the filesystem says, except that it cannot read a range (EIO): its rows are lost.
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
            if cause is None:
                # These rows can be read apart, but not together: a limit is met, or codes are too small.
                middle = (run[0] + run[1]) // 2
                todo += ((middle, run[1]), (run[0], middle))
                continue
            self.lost = union([*self.lost, lost])
            self.causes.append(LostRows.of(cause, self.node.path, lost))
            todo.append(run)

    def release(self) -> None:
        """Let go of open files."""
        self._files = ()

    def give_up(self, error: LanceError, num_rows: int) -> None:
        """Note that no row can be read."""
        self.lost = union([(0, num_rows)])
        self.causes = [LostRows.of(error, self.node.path, (0, num_rows))]

    def _try(self, run: Run) -> pa.ChunkedArray | LanceError:
        """Return the values of rows, or the error of reading them."""
        try:
            reading = FilteredReading(self._source, self._projection.nodes, within=RowRanges.one(*run))
            stream = RowStream(self._source.runtime, None, self._projection, is_held=True)
            batches = list(stream.batches((reading,), is_one=True))
            column = as_table(batches, self._projection.schema).column(0)
            if not self.is_proven:
                _check_values(column, self.node.path)
        except (InternalError, InvalidArgumentError):
            raise
        except LanceError as error:
            return error
        except OSError as error:
            # A sector that the disk cannot read; other errors of the system are not about a range of bytes.
            if error.errno != errno.EIO:
                raise
            return TruncatedReadError(
                f"the system cannot read the bytes: {error.strerror}", path=self._source.name, column=self.node.path
            )
        return column

    def _lost_by(self, error: LanceError, run: Run) -> tuple[Run, LanceError | None]:
        """Return the first rows of `run` that are lost by its error, and their own error; None if they have none."""
        page = None if self.is_proven else self._page_rows(error)
        if page is not None and page[0] < run[1] and run[0] < page[1]:
            return page, error
        lost = self._refused_run(run)
        # The whole run may have met other damage first.
        found = self._try((lost[0], lost[0] + 1))
        return lost, found if isinstance(found, LanceError) else None

    def _page_rows(self, error: LanceError) -> Run | None:
        """Return the rows of the page that an error names; None where the file does not tell them exactly."""
        if error.page is None:
            return None
        for file in self._files:
            for root in file.roots:
                for leaf in root.leaves():
                    is_named = leaf.path == error.column and error.path in {None, file.name}
                    if is_named and not any(leaf.list_columns):
                        (meta,) = file.rows.metas([leaf])
                        starts = file.rows.page_rows(leaf, meta)
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


def _check_values(column: pa.ChunkedArray, path: str) -> None:
    """Refuse values outside the range of their type, which bytes without checksums may decode to."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        raise CorruptPageError(f"values contradict their type: {error}", column=path) from error
