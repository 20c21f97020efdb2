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

from lance_arrow import pages, spi
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.pages import bind_levels, fits
from lance_arrow.proto.encodings_v21_pb2 import ConstantLayout, PageLayout
from lance_arrow.spi import (
    BindScope,
    BlockShape,
    BoundChunkCodec,
    Bytes,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    LeafType,
    Limits,
    VariableWidth,
    hookimpl,
)
from lance_arrow.spi.layouts import BufferRole, LayerKind, Levels, NodeKind, PageFacts

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
        for count in (message.num_rep_values, message.num_def_values):
            if count >> 63:
                raise CorruptFileError(f"a page has {count} levels, more than 63 bits hold")
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

    def score(self, page: spi.encoders.PageContent, scope: EncodeScope) -> float | None:
        """Return almost 0 if one scalar, or none, represents all values, so that no other layout is chosen."""
        if scope.file_version >= "2.3" or page.is_blob:
            return None
        return 0.0 if _is_constant_page(page, scope) else None

    def native_pages(self, leaf: LeafType, scope: EncodeScope) -> object | None:
        """Return the C side of the encoder."""
        if scope.file_version >= "2.3":
            return native_codecs.no_pages_encoder()
        return native_codecs.constant_pages_encoder(scope.file_version >= "2.2")

    def encode(self, page: spi.encoders.PageContent, scope: EncodeScope) -> spi.encoders.EncodedPage:
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
            return spi.encoders.EncodedPage(
                PageLayout(constant_layout=ConstantLayout(layers=[LayerKind.NULLABLE_ITEM])), ()
            )
        scalar = pages.common_scalar(page)
        if scalar is None:
            levels = pages.null_inwards(page.levels)
            message = ConstantLayout(layers=levels.layers)
            written = _write_nulls(levels, message, scope)
            return spi.encoders.EncodedPage(PageLayout(constant_layout=message), written)
        message = ConstantLayout(layers=page.levels.layers)
        buffers: tuple[Bytes, ...] = ()
        if page.levels.rep is not None or page.levels.def_ is not None:
            buffers = (_raw(page.levels.rep), _raw(page.levels.def_))
        if page.values is not None and pages.is_inline(page.values, scalar):
            message.inline_value = scalar
        elif page.values is not None:
            buffers = (pages.scalar_buffer(page.values, scalar), *buffers)
        return spi.encoders.EncodedPage(PageLayout(constant_layout=message), buffers)


def _is_constant_page(page: spi.encoders.PageContent, scope: EncodeScope) -> bool:
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
        if BufferRole.SCALAR in roles and not isinstance(self.shape, FixedWidth | VariableWidth):
            raise CorruptFileError(f"a constant page stores a scalar for values of {self.shape}")
        return roles

    def native_page(self, page: PageFacts) -> object | None:
        """Return the page for the native engine, which reads scalar and levels by itself."""
        try:
            self.roles(page)
        except CorruptFileError:
            return None  # `roles` raises the error with its place
        levels, counts = (self.rep, self.def_), (self.num_rep, self.num_def)
        most_bytes = self.limits.max_batch_bytes
        return pages.native_pages.native_constant(
            page, self.layers, self.shape, self.scalar, levels, counts, most_bytes
        )


def _all_layers(layers: Sequence[int], leaf: LeafType) -> list[int]:
    """Complete the layers of a struct without fields: before 2.3 only its own is stored, inside valid structs."""
    missing = leaf.nodes[1:]
    if leaf.shape is None and len(layers) == 1 and all(node is NodeKind.ITEM for node in missing):
        return [*layers, *(LayerKind.ALL_VALID_ITEM for _ in missing)]
    return list(layers)


@hookimpl
def lance_provide_layouts():
    return [Constant()]
