"""Zipped pages, read in the two rounds of layouts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError, InternalError
from lance_arrow.pages import ZippedPages
from lance_arrow.pages.bound_pages import BoundEntries
from lance_arrow.spi import ValueBatch
from lance_arrow.spi.layouts import BufferRole, BufferSlices, FetchedSlices, Levels, PageFacts, PageReadPlan, RowRanges
from second_reader import kernels
from second_reader.fields import copied
from second_reader.loaded_values import LocatedPage


@dataclass(frozen=True, slots=True, eq=False)
class RowIndex:
    """Offset of each row in the stream, then its end: ``(num_rows + 1,) int64``; None for rows of equal size."""

    row_starts: NDArray[np.int64] | None

    @property
    def nbytes(self) -> int:
        return 0 if self.row_starts is None else self.row_starts.nbytes


@dataclass(frozen=True, slots=True)
class ReadZipped(BoundEntries):
    """Zipped pages."""

    @classmethod
    def of(cls, pages: BoundEntries) -> ReadZipped:
        """Return the same pages."""
        return copied(pages, cls)

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        return copied(self, ZippedPages).roles(page)

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        roles = self.roles(page)
        return (BufferSlices.whole(page, 1),) if BufferRole.ROW_INDEX in roles else ()

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> RowIndex:
        if not fetched:
            return RowIndex(None)
        index = fetched[0].one()
        if index.size < page.num_rows + 1:
            raise CorruptPageError(f"a row index of {index.size} bytes for {page.num_rows} rows")
        row_starts = np.empty(page.num_rows + 1, np.int64)
        kernels.read_row_index(index, page.num_rows, page.buffer_sizes[0], row_starts)
        return RowIndex(row_starts)

    def plan(self, page: PageFacts, index: RowIndex | None, rows: RowRanges) -> PageReadPlan:
        if index is not None and index.row_starts is not None:
            slices = BufferSlices(0, index.row_starts[rows.starts], index.row_starts[rows.stops])
        elif self.row_bytes is not None:
            slices = BufferSlices(0, rows.starts * self.row_bytes, rows.stops * self.row_bytes)
        else:
            raise InternalError("a zipped page whose rows differ in width is planned without its index")
        return PageReadPlan((slices,), rows)

    def load(
        self, page: PageFacts, index: RowIndex | None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LocatedPage:
        rows: RowRanges = plan.notes
        stream = fetched[0]
        if index is not None and index.row_starts is not None and not self.max_rep and len(rows) == 1:
            found = self._unzip_run(stream, index.row_starts, rows)
            if found is not None:
                levels, values = found
                return LocatedPage.of(levels, self.values, values)
        num_entries, num_values, borders = self._count(stream, rows)
        if rows.covers(0, page.num_rows) and (num_entries, num_values) != self.counts(page):
            raise CorruptPageError(
                f"a page holds {num_entries} entries and {num_values} values, "
                "its description declares {} and {}".format(*self.counts(page))
            )
        levels, values = self._unzip(stream, num_entries, num_values)
        if levels.rep is not None:
            _check_rows(levels.rep, self.max_rep, borders, rows)
        return LocatedPage.of(levels, self.values, values)

    def _unzip_run(
        self, stream: FetchedSlices, row_starts: NDArray[np.int64], rows: RowRanges
    ) -> tuple[Levels, ValueBatch] | None:
        """Split a run of rows at the index's borders; None if the entries disagree, for a walk that finds the error."""
        borders = row_starts[int(rows.starts[0]) : int(rows.stops[0]) + 1]
        num_rows = len(borders) - 1
        def_ = np.empty(num_rows, np.uint16) if self.entry.bits_def else None
        starts, sizes = np.empty((2, num_rows), np.int64)
        places = borders + (int(stream.starts[0]) - int(borders[0]))
        if not kernels.unzip_rows(
            stream.data, places, self.entry.bits_def, self.entry.length_bits, def_, starts, sizes
        ):
            return None
        if def_ is not None:
            kernels.check_levels(None, def_, 0, self.max_def)
        return Levels(self.layers, num_rows, None, def_), ValueBatch(stream.data, starts, sizes)

    def _count(self, stream: FetchedSlices, rows: RowRanges) -> tuple[int, int, NDArray[np.int64]]:
        """Count entries and values, and find the first entry of each run of rows."""
        borders = np.zeros(len(rows) + 1, np.int64)
        if self.row_bytes is not None:
            np.cumsum(rows.stops - rows.starts, out=borders[1:])
            return int(borders[-1]), int(borders[-1]), borders
        run_entries = np.empty(len(rows), np.int64)
        num_entries, num_values = kernels.count_entries(
            stream.data,
            stream.starts,
            stream.starts + stream.sizes,
            self.entry.bits_rep,
            self.entry.bits_def,
            self.entry.value_bytes,
            self.entry.length_bits,
            self.max_visible,
            run_entries,
        )
        wrong = run_entries < rows.stops - rows.starts if self.max_rep else run_entries != rows.stops - rows.starts
        if wrong.any():
            raise CorruptPageError(
                "the row index and the entries of a page disagree", detail=int(rows.starts[np.argmax(wrong)])
            )
        np.cumsum(run_entries, out=borders[1:])
        return num_entries, num_values, borders

    def _unzip(self, stream: FetchedSlices, num_entries: int, num_values: int) -> tuple[Levels, ValueBatch]:
        rep = np.empty(num_entries, np.uint16) if self.entry.bits_rep else None
        def_ = np.empty(num_entries, np.uint16) if self.entry.bits_def else None
        value_starts = np.empty(num_values, np.int64)
        regions = (stream.data, stream.starts, stream.starts + stream.sizes, self.entry.bits_rep, self.entry.bits_def)
        if self.entry.value_bits is None:
            value_sizes = np.empty(num_values, np.int64)
            kernels.unzip_variable(
                *regions, self.entry.length_bits, self.max_visible, rep, def_, value_starts, value_sizes
            )
        else:
            value_sizes = np.full(num_values, self.entry.value_bytes, np.int64)
            kernels.unzip_fixed(*regions, self.entry.value_bytes, self.max_visible, rep, def_, value_starts)
        if rep is not None or def_ is not None:
            kernels.check_levels(rep, def_, self.max_rep, self.max_def)
        return Levels(self.layers, num_entries, rep, def_), ValueBatch(stream.data, value_starts, value_sizes)


def _check_rows(rep: NDArray[np.uint16], max_rep: int, borders: NDArray[np.int64], rows: RowRanges) -> None:
    """Raise unless each run begins with a row and has the number of rows in the index."""
    starts = rep == max_rep
    found = np.add.reduceat(starts, borders[:-1], dtype=np.int64)
    wrong = ~starts[borders[:-1]] | (found != rows.stops - rows.starts)
    if wrong.any():
        raise CorruptPageError(
            "the row index and the repetition levels of a page disagree", detail=int(rows.starts[np.argmax(wrong)])
        )
