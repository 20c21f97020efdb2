"""Constant pages, read in the two rounds of layouts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError
from lance_arrow.pages import fits
from lance_arrow.settings import Limits
from lance_arrow.spi import BlockShape, BoundChunkCodec, Bytes, ChunkBatch, FixedWidth, VariableWidth, new_block
from lance_arrow.spi.blocks import max_visible_def
from lance_arrow.spi.layouts import (
    BufferRole,
    BufferSlices,
    FetchedSlices,
    LayerKind,
    Levels,
    LoadedPage,
    PageFacts,
    PageIndex,
    PageReadPlan,
    RowRanges,
)
from lance_arrow_layouts.constant import BoundConstant
from lance_arrow_layouts.planar.dense import DenseRepeated
from second_reader import kernels
from second_reader.fields import copied
from second_reader.repeated import RepeatedPage

_LEVEL = FixedWidth(16)


@dataclass(frozen=True, slots=True, eq=False)
class ConstantIndex:
    """Levels and scalar of a page, kept between reads.

    `row_starts` is ``(num_rows + 1,) int64``: entries at which rows start, None without lists. `scalar` has the value's
    bytes, or is None.
    """

    rep: NDArray[np.uint16] | None
    def_: NDArray[np.uint16] | None
    row_starts: NDArray[np.int64] | None
    scalar: bytes | None

    @property
    def nbytes(self) -> int:
        arrays = (self.rep, self.def_, self.row_starts)
        return sum(array.nbytes for array in arrays if array is not None) + len(self.scalar or b"")


@dataclass(frozen=True, slots=True)
class ReadConstant:
    """Pages of a constant."""

    layers: tuple[LayerKind, ...]
    shape: BlockShape | None
    scalar: bytes | None
    rep: BoundChunkCodec | None
    def_: BoundChunkCodec | None
    num_rep: int
    num_def: int
    limits: Limits

    @classmethod
    def of(cls, layout: BoundConstant) -> ReadConstant:
        """Return the same pages."""
        return copied(layout, cls)

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        return copied(self, BoundConstant).roles(page)

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        return tuple(BufferSlices.whole(page, n) for n in range(len(self.roles(page))))

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> ConstantIndex:
        buffers = dict(zip(self.roles(page), (slices.one() for slices in fetched), strict=True))
        rep = _levels(buffers.get(BufferRole.REPETITION), self.rep, self.num_rep, self.limits)
        def_ = _levels(buffers.get(BufferRole.DEFINITION), self.def_, self.num_def, self.limits)
        max_rep = sum(layer.is_list for layer in self.layers)
        if (rep is not None) != (max_rep > 0):
            raise CorruptPageError("a constant page must have repetition levels if and only if it has lists")
        if rep is not None and def_ is not None and len(rep) != len(def_):
            raise CorruptPageError(f"{len(rep)} repetition levels, but {len(def_)} definition levels")
        if rep is not None or def_ is not None:
            kernels.check_levels(rep, def_, max_rep, sum(layer.num_def_levels for layer in self.layers))
        scalar = self.scalar
        if BufferRole.SCALAR in buffers:
            scalar = _scalar(buffers[BufferRole.SCALAR], self.shape)
        return ConstantIndex(rep, def_, self._row_starts(page, rep, def_, max_rep), scalar)

    def _row_starts(
        self,
        page: PageFacts,
        rep: NDArray[np.uint16] | None,
        def_: NDArray[np.uint16] | None,
        max_rep: int,
    ) -> NDArray[np.int64] | None:
        if rep is None:
            if def_ is not None and len(def_) != page.num_rows:
                raise CorruptPageError(f"{len(def_)} definition levels for {page.num_rows} rows")
            return None
        starts = np.flatnonzero(rep == max_rep)
        if len(starts) != page.num_rows or (len(starts) and starts[0] != 0):
            raise CorruptPageError(f"repetition levels start {len(starts)} rows, the page has {page.num_rows}")
        return np.append(starts, len(rep)).astype(np.int64, copy=False)

    def plan(self, page: PageFacts, index: ConstantIndex, rows: RowRanges) -> PageReadPlan:
        return PageReadPlan((), rows)

    def load(
        self, page: PageFacts, index: ConstantIndex, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedPage:
        rows: RowRanges = plan.notes
        starts, stops = rows.starts, rows.stops
        if index.row_starts is not None:
            starts, stops = index.row_starts[starts], index.row_starts[stops]
        num_entries = int((stops - starts).sum())
        rep, def_ = _kept(index.rep, starts, stops), _kept(index.def_, starts, stops)
        if self._is_all_null(index):
            # Without levels and without a scalar every row is null; this level marks them.
            def_ = np.ones(num_entries, np.uint16)
        levels = Levels(self.layers, num_entries, rep, def_)
        num_values = num_entries
        if rep is not None and def_ is not None:
            num_values = int(np.count_nonzero(def_ <= max_visible_def(self.layers)))
        if index.scalar is None and self.shape is not None and num_values:
            self._check_no_valid(def_)
        return RepeatedPage(levels, self.shape, num_values, index.scalar)

    def _is_all_null(self, index: ConstantIndex) -> bool:
        # A struct without fields is written as if it were all null, and read as all valid.
        has_levels = index.rep is not None or index.def_ is not None or self.shape is None
        return not has_levels and index.scalar is None and self.layers[0] is LayerKind.NULLABLE_ITEM

    def _check_no_valid(self, def_: NDArray[np.uint16] | None) -> None:
        if def_ is None or not def_.all():
            raise CorruptPageError("a constant page without a scalar has valid values")


@dataclass(frozen=True, slots=True)
class ReadRepeated:
    """Pages of 2.3 of one scalar, or of nulls, without levels."""

    layers: tuple[LayerKind, ...]
    shape: BlockShape | None
    scalar: bytes | None

    @classmethod
    def of(cls, layout: DenseRepeated) -> ReadRepeated:
        """Return the same pages."""
        return copied(layout, cls)

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        return copied(self, DenseRepeated).roles(page)

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        self.roles(page)
        return ()

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> None:
        return None

    def plan(self, page: PageFacts, index: PageIndex | None, rows: RowRanges) -> PageReadPlan:
        return PageReadPlan((), rows.num_rows)

    def load(
        self, page: PageFacts, index: PageIndex | None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> RepeatedPage:
        num_rows: int = plan.notes
        is_null = self.scalar is None and self.shape is not None
        def_ = np.ones(num_rows, np.uint16) if is_null else None
        return RepeatedPage(Levels(self.layers, num_rows, def_=def_), self.shape, num_rows, self.scalar)


def _levels(
    buffer: Bytes | None, codec: BoundChunkCodec | None, num_levels: int, limits: Limits
) -> NDArray[np.uint16] | None:
    """Decode one level stream: raw 16-bit words without a codec; None if the stream is absent."""
    if buffer is None or (buffer.size == 0 and codec is None):
        return None
    if codec is None:
        if buffer.size % 2 or num_levels not in (0, buffer.size // 2):
            raise CorruptPageError(f"raw levels have {buffer.size} bytes, {num_levels} levels are declared")
        return np.frombuffer(buffer.tobytes(), "<u2")
    if buffer.size == 0:
        if num_levels:
            raise CorruptPageError(f"{num_levels} levels are declared, none are stored")
        return None
    # Packed to 0 bits, any number of levels takes no bytes.
    limits.check("max_batch_bytes", num_levels * 2)
    places = np.zeros((1, 1), np.int64), np.array([[buffer.size]], np.int64)
    block = new_block(_LEVEL, num_levels)
    codec.decode(ChunkBatch(buffer, *places, np.array([0, num_levels], np.int64)), block)
    return block.values.view(np.uint16)


def _scalar(buffer: Bytes, shape: BlockShape | None) -> bytes:
    """Read a value buffer: u32 number of Arrow buffers, u32 size of each, then their bytes."""
    data = buffer.tobytes()
    count = int.from_bytes(data[:4], "little") if len(data) >= 4 else 0
    header = 4 + 4 * count
    if count not in (1, 2) or len(data) < header:
        raise CorruptPageError(f"a scalar has {count} buffers in {len(data)} bytes, expected 1 or 2")
    sizes = [int.from_bytes(data[4 + 4 * n : 8 + 4 * n], "little") for n in range(count)]
    if header + sum(sizes) != len(data):
        raise CorruptPageError(f"a scalar's buffers of {sizes} bytes do not fill {len(data) - header}")
    if isinstance(shape, FixedWidth):
        if count != 1 or not fits(data[header:], shape):
            raise CorruptPageError(f"a scalar of {sizes} bytes for values of {shape.bits} bits")
        return data[header:]
    if not isinstance(shape, VariableWidth) or count != 2 or sizes[0] != shape.offset_bits // 4:
        raise CorruptPageError(f"a scalar of {sizes} bytes for values of {shape}")
    first, last = np.frombuffer(data[header : header + sizes[0]], f"<i{shape.offset_bits // 8}").tolist()
    if first != 0 or last != sizes[1]:
        raise CorruptPageError(f"a scalar's offsets {first} and {last} do not span its {sizes[1]} bytes")
    return data[header + sizes[0] :]


def _kept(
    levels: NDArray[np.uint16] | None, starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.uint16] | None:
    if levels is None:
        return None
    kept = np.empty(int((stops - starts).sum()), np.uint16)
    kernels.take_runs_fixed(levels.view(np.uint8), 2, starts, stops, kept.view(np.uint8))
    return kept
