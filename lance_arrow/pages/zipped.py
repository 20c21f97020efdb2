"""Zipped pages: entries one after the other, each with its levels and its value, for values too large for chunks.

buffer 0   entries: [control word: levels] [length, if widths vary] [value]
buffer 1   row index: offset of each row, if rows have no common width

A read cuts the stream at row borders. Entries are then split into levels and places of values, which the value
codec decodes in one call. Source: lance.encodings21.FullZipLayout, lance.encodings23.ZippedValues; spec 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.engine import NativePage
from lance_arrow.errors import CorruptFileError, CorruptPageError, InternalError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.pages.bound_pages import BoundEntries, EntryForm
from lance_arrow.pages.called_codecs import value_side
from lance_arrow.pages.loaded_values import LocatedPage
from lance_arrow.pages.native_pages import native_entries
from lance_arrow.spi.blocks import BlockSlice, FixedWidth, LayerKind, Levels
from lance_arrow.spi.chunks import ValueBatch
from lance_arrow.spi.codecs import BoundPerValueCodec
from lance_arrow.spi.keys import BufferRole
from lance_arrow.spi.layouts import BufferSlices, FetchedSlices, ManyPages, PageFacts, PageReadPlan
from lance_arrow.spi.rows import RowRanges
from lance_arrow.spi.scopes import BindScope
from lance_arrow.spi.scratch import Scratch

_LEVEL_BITS = 16
_BIT, _BYTE = FixedWidth(1), FixedWidth(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZippedForm:
    """Content of a page description of zipped entries.

    Parameters
    ----------
    layers
        Inner-most first.
    values
        ``CompressiveEncoding`` of single values.
    bits_rep, bits_def
        Widths inside the control word.
    value_bits, length_bits
        Width of every value, or of the length before each; exactly one is not None.
    num_entries, num_values
        Level entries and values; None if both equal the rows of the page.
    """

    layers: tuple[LayerKind, ...]
    values: Any
    bits_rep: int
    bits_def: int
    value_bits: int | None
    length_bits: int | None
    num_entries: int | None
    num_values: int | None


def bind_zipped(form: ZippedForm, scope: BindScope) -> ZippedPages:
    """Check the widths against the layers and the value codec.

    Raises
    ------
    CorruptFileError
        The description contradicts itself.
    UnsupportedError
        Entries have neither levels nor bytes, so the size of the page would not limit their number.
    """
    values = scope.value_codec(form.values)
    max_rep = sum(layer.is_list for layer in form.layers)
    max_def = sum(layer.num_def_levels for layer in form.layers)
    if form.bits_rep > _LEVEL_BITS or form.bits_def > _LEVEL_BITS:
        raise CorruptFileError(f"levels of {form.bits_rep} and {form.bits_def} bits, expected at most 16")
    if max_rep >> form.bits_rep or (form.bits_rep and not max_rep):
        raise CorruptFileError(f"repetition levels of {form.bits_rep} bits cannot count {max_rep} lists")
    if form.bits_def and not max_def:
        raise CorruptFileError("a page has definition levels, but no layer that uses them")
    if form.value_bits is None and form.length_bits is None:
        raise CorruptFileError("a zipped page declares neither the width of its values nor that of their lengths")
    if values.value_bits != form.value_bits:
        raise CorruptFileError(f"zipped values of {form.value_bits} bits, but their codec has {values.value_bits}")
    if form.value_bits is None and form.length_bits not in (32, 64):
        raise CorruptFileError(f"lengths of {form.length_bits} bits, expected 32 or 64")
    if form.value_bits == 0 and not form.bits_rep + form.bits_def:
        raise UnsupportedError("zipped entries without any bytes are not readable")
    if scope.leaf.shape == _BIT and values.shape == _BYTE:
        values = Booleans(values, scope.scratch, scope.limits.max_batch_bytes)
    return ZippedPages(
        layers=form.layers,
        max_rep=max_rep,
        max_def=max_def,
        entry=EntryForm(form.bits_rep, form.bits_def, form.value_bits, form.length_bits or 0),
        values=values,
        num_entries=form.num_entries,
        num_values=form.num_values,
        limits=scope.limits,
    )


@dataclass(frozen=True, slots=True)
class Booleans:
    """Booleans, one byte each in zipped pages: 0 is false, all other bytes are true, as in the reference."""

    stored: BoundPerValueCodec
    scratch: Scratch
    most_bytes: int
    shape: ClassVar[FixedWidth] = _BIT

    @property
    def value_bits(self) -> int | None:
        return self.stored.value_bits

    def native(self) -> object | None:
        return native_codecs.zipped_booleans(value_side(self.stored, self.most_bytes))

    def measure(self, values: ValueBatch) -> int:
        return 0

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        with self.scratch.block(_BYTE, values.num_values) as block:
            self.stored.decode(values, block)
            bits = np.packbits(block.values != 0, bitorder="little")
        everything = np.zeros(1, np.int64), np.array([values.num_values], np.int64)
        kernels.take_bit_runs(bits, 0, *everything, out.values, out.bit_offset)


@dataclass(frozen=True, slots=True, eq=False)
class RowIndex:
    """Offset of each row in the stream, then its end: ``(num_rows + 1,) int64``; None for rows of equal size."""

    row_starts: NDArray[np.int64] | None
    native: NativePage | None

    @property
    def nbytes(self) -> int:
        return 0 if self.row_starts is None else self.row_starts.nbytes


@dataclass(frozen=True, slots=True)
class ZippedPages(BoundEntries):
    """Zipped pages, read in the two rounds of layouts."""

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        roles = [BufferRole.DATA] if self.row_bytes is not None else [BufferRole.DATA, BufferRole.ROW_INDEX]
        if len(roles) != len(page.buffer_sizes):
            raise CorruptFileError(f"a page has {len(page.buffer_sizes)} buffers, expected {len(roles)}")
        num_entries, num_values = self.counts(page)
        if not self.max_rep and not page.num_rows == num_entries == num_values:
            raise CorruptFileError(f"a page has {page.num_rows} rows, {num_entries} entries and {num_values} values")
        if self.row_bytes is not None and page.num_rows * self.row_bytes != page.buffer_sizes[0]:
            raise CorruptFileError(
                f"{page.num_rows} rows of {self.row_bytes} bytes in a buffer of {page.buffer_sizes[0]}"
            )
        return tuple(roles)

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        roles = self.roles(page)
        return (BufferSlices.whole(page, 1),) if BufferRole.ROW_INDEX in roles else ()

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> RowIndex:
        if not fetched:
            return RowIndex(None, native_entries(self, page, None))
        index = fetched[0].one()
        if index.size < page.num_rows + 1:
            raise CorruptPageError(f"a row index of {index.size} bytes for {page.num_rows} rows")
        row_starts = np.empty(page.num_rows + 1, np.int64)
        kernels.read_row_index(index, page.num_rows, page.buffer_sizes[0], row_starts)
        return RowIndex(row_starts, native_entries(self, page, row_starts))

    def index_buffers(self, num_buffers: int) -> tuple[int, ...]:
        return ()

    def native_pages(self, pages: ManyPages) -> list[NativePage] | None:
        if self.row_bytes is None:
            return None
        found = []
        for num_rows, sizes in zip(pages.num_rows.tolist(), pages.sizes.tolist(), strict=True):
            facts = PageFacts(num_rows, tuple(sizes))
            self.roles(facts)
            made = native_entries(self, facts, None)
            if made is None:
                return None
            found.append(made)
        return found

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


ZippedPage = LocatedPage
"""Result of `ZippedPages.load`."""
