"""Constant pages: one scalar for every valid value, or no valid values; levels store the structure.

    buffers 0          every row equal to the inline scalar, or every row null
            1          the same, scalar in a value buffer
            2          repetition levels, definition levels (a size of 0 means the stream is absent)
            3          value buffer, repetition levels, definition levels

A page without bytes may have many rows, so memory is allocated only for selected rows.

Source: lance.encodings21.ConstantLayout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels, pages, spi
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.pages import RepeatedPage, bind_levels, fits
from lance_arrow.proto.encodings_v21_pb2 import ConstantLayout, PageLayout
from lance_arrow.spi import (
    BindScope,
    BlockShape,
    BoundChunkCodec,
    BufferRole,
    BufferSlices,
    Bytes,
    ChunkBatch,
    EncodeScope,
    EncodingKey,
    FetchedSlices,
    FixedWidth,
    LayerKind,
    LeafType,
    Levels,
    Limits,
    LoadedPage,
    NodeKind,
    PageFacts,
    PageReadPlan,
    RowRanges,
    VariableWidth,
    hookimpl,
    max_visible_def,
    new_block,
)

_LEVEL = FixedWidth(16)
_ROLES = {
    0: (),
    1: (BufferRole.SCALAR,),
    2: (BufferRole.REPETITION, BufferRole.DEFINITION),
    3: (BufferRole.SCALAR, BufferRole.REPETITION, BufferRole.DEFINITION),
}
_MAX_INLINE_BYTES = 32


@dataclass(frozen=True, slots=True)
class Constant:
    """Reads and writes `PageLayout.constant_layout`."""

    key = EncodingKey("lance.encodings21.PageLayout", "constant_layout")
    message_type = PageLayout

    def bind(self, message: Any, scope: BindScope) -> BoundConstant:
        layers = scope.layers(_all_layers(message.layers, scope.leaf))
        scalar = message.inline_value if message.HasField("inline_value") else None
        shape = scope.leaf.shape
        if scalar is not None:
            if not isinstance(shape, FixedWidth) or len(scalar) > _MAX_INLINE_BYTES:
                raise CorruptFileError(f"an inline scalar of {len(scalar)} bytes for values of {shape}")
            if not fits(scalar, shape):
                raise CorruptFileError(f"an inline scalar {scalar.hex()} for values of {shape.bits} bits")
        return BoundConstant(
            layers=layers,
            shape=shape,
            scalar=scalar,
            rep=bind_levels(message.rep_compression if message.HasField("rep_compression") else None, scope),
            def_=bind_levels(message.def_compression if message.HasField("def_compression") else None, scope),
            num_rep=message.num_rep_values,
            num_def=message.num_def_values,
            limits=scope.limits,
        )

    def score(self, page: spi.PageContent, scope: EncodeScope) -> float | None:
        """Return almost 0 if one scalar, or none, represents all values, so that no other layout is chosen."""
        if scope.file_version >= "2.3" or page.is_blob:
            return None
        return 0.0 if _is_constant_page(page, scope) else None

    def native_pages(self, leaf: LeafType, scope: EncodeScope) -> object | None:
        """Return the C side of the encoder."""
        if scope.file_version >= "2.3":
            return native_codecs.no_pages_encoder()
        return native_codecs.constant_pages_encoder(scope.file_version >= "2.2")

    def encode(self, page: spi.PageContent, scope: EncodeScope) -> spi.EncodedPage:
        """Write the scalar, and levels if they are needed.

        Raises
        ------
        UnsupportedError
            Valid values differ, or the file version has no scalars.
        """
        if not _is_constant_page(page, scope):
            raise UnsupportedError("a page with different values, or with a scalar that 2.1 cannot hold")
        if page.values is None and page.levels.def_ is None and page.levels.rep is None:
            # A struct without fields: written as if it were all null, and alone, inside valid structs.
            return spi.EncodedPage(PageLayout(constant_layout=ConstantLayout(layers=[LayerKind.NULLABLE_ITEM])), ())
        scalar = pages.common_scalar(page)
        if scalar is None:
            levels = pages.null_inwards(page.levels)
            message = ConstantLayout(layers=levels.layers)
            written = _write_nulls(levels, message, scope)
            return spi.EncodedPage(PageLayout(constant_layout=message), written)
        message = ConstantLayout(layers=page.levels.layers)
        buffers: tuple[Bytes, ...] = ()
        if page.levels.rep is not None or page.levels.def_ is not None:
            buffers = (_raw(page.levels.rep), _raw(page.levels.def_))
        if page.values is not None and pages.is_inline(page.values, scalar):
            message.inline_value = scalar
        elif page.values is not None:
            buffers = (pages.scalar_buffer(page.values, scalar), *buffers)
        return spi.EncodedPage(PageLayout(constant_layout=message), buffers)


def _is_constant_page(page: spi.PageContent, scope: EncodeScope) -> bool:
    if page.values is None or not pages.num_valid(page.levels):
        return True
    return scope.file_version >= "2.2" and page.items is None and pages.common_scalar(page) is not None


def _write_nulls(levels: Levels, message: Any, scope: EncodeScope) -> tuple[Bytes, ...]:
    """Write the levels of a page without valid values to buffers, and their codecs to the message."""
    if levels.layers == (LayerKind.NULLABLE_ITEM,):
        return ()
    if scope.file_version == "2.1":
        return _raw(levels.rep), _raw(levels.def_)
    rep, rep_buffer = pages.encode_stream(levels.rep, scope)
    def_, def_buffer = pages.encode_stream(levels.def_, scope)
    if rep is not None:
        message.rep_compression.CopyFrom(rep)
        message.num_rep_values = levels.num_entries
    if def_ is not None:
        message.def_compression.CopyFrom(def_)
        message.num_def_values = levels.num_entries
    return rep_buffer, def_buffer


def _raw(levels: NDArray[np.uint16] | None) -> Bytes:
    return np.empty(0, np.uint8) if levels is None else np.ascontiguousarray(levels, "<u2").view(np.uint8)


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
class BoundConstant:
    """A validated constant description."""

    layers: tuple[LayerKind, ...]
    shape: BlockShape | None
    scalar: bytes | None
    rep: BoundChunkCodec | None
    def_: BoundChunkCodec | None
    num_rep: int
    num_def: int
    limits: Limits

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        roles = _ROLES.get(len(page.buffer_sizes))
        if roles is None:
            raise CorruptFileError(f"a constant page has {len(page.buffer_sizes)} buffers, expected at most 3")
        if BufferRole.SCALAR in roles and self.scalar is not None:
            raise CorruptFileError("a constant page has two scalars, one inline and one in a buffer")
        return roles

    def native_page(self, page: PageFacts) -> object | None:
        """Return the page for the native engine, which reads scalar and levels by itself."""
        roles = _ROLES.get(len(page.buffer_sizes))
        if roles is None or (BufferRole.SCALAR in roles and self.scalar is not None):
            return None
        levels, counts = (self.rep, self.def_), (self.num_rep, self.num_def)
        most_bytes = self.limits.max_batch_bytes
        return pages.native_constant(page, self.layers, self.shape, self.scalar, levels, counts, most_bytes)

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


def _all_layers(layers: Sequence[int], leaf: LeafType) -> list[int]:
    """Complete the layers of a struct without fields: before 2.3 only its own is stored, inside valid structs."""
    missing = leaf.nodes[1:]
    if leaf.shape is None and len(layers) == 1 and all(node is NodeKind.ITEM for node in missing):
        return [*layers, *(LayerKind.ALL_VALID_ITEM for _ in missing)]
    return list(layers)


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


@hookimpl
def lance_provide_layouts():
    return [Constant()]
