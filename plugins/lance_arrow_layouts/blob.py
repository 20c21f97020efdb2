"""Blob pages: the place of each value in the file, instead of the values; the inner layout stores the places.

    (position, size)   size > 0            bytes of the file
                       (0, 0)              an empty value
                       size 0, else        no value: position is (definition level << 16) | repetition level

The buffers are those of the inner layout. Its entries have no structure: the places mark nulls, with the layers of this
description. Source: lance.encodings21.BlobLayout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import spi
from lance_arrow.errors import CorruptFileError, PluginContractError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.pages import NativePage
from lance_arrow.pages.native_pages import native_places
from lance_arrow.proto.encodings_v21_pb2 import BlobLayout, PageLayout
from lance_arrow.spi import (
    NO_BYTES,
    BindScope,
    BlockSlice,
    Bytes,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    LeafType,
    PackedStruct,
    VariableWidth,
    hookimpl,
)
from lance_arrow.spi.layouts import BoundLayout, BufferRole, LayerKind, Levels, PageFacts

PLACES = PackedStruct((FixedWidth(64), FixedWidth(64)))
"""Position and size of a value, both unsigned."""
DESCRIPTORS = PackedStruct((FixedWidth(8), FixedWidth(64), FixedWidth(64), FixedWidth(32), VariableWidth(32)))
"""Second kind of blob: kind, position, size, number and place of another file; written as a plain page of structs."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Reads and writes `PageLayout.blob_layout`; also writes the pages of the second kind of blob."""

    key = EncodingKey("lance.encodings21.PageLayout", "blob_layout")
    message_type = PageLayout

    def bind(self, message: Any, scope: BindScope) -> BoundBlob:
        """Bind the inner layout, which holds the places."""
        layers = scope.layers(message.layers)
        if any(layer.is_list for layer in layers):
            raise UnsupportedError("blobs within lists: their pages do not store the list of a value")
        if scope.leaf.shape != PLACES:
            raise CorruptFileError(f"a page of blobs in a column of {scope.leaf.shape}")
        return BoundBlob(layers, scope.for_entries().layout(message.inner_layout))

    def score(self, page: spi.encoders.PageContent, scope: EncodeScope) -> float | None:
        """Return a score for every page of blobs that the file version supports, and None for others."""
        if not page.is_blob:
            return None
        if page.leaf.shape == DESCRIPTORS:
            return 0.0 if scope.file_version >= "2.2" else None
        is_first_kind = page.leaf.shape == PLACES and scope.file_version < "2.3"
        return 0.0 if is_first_kind and page.levels.rep is None else None

    def native_pages(self, leaf: spi.LeafType, scope: EncodeScope) -> object | None:
        """Return an encoder that fits no page: blobs are written in Python."""
        is_plain = isinstance(leaf.shape, spi.FixedWidth | spi.VariableWidth)
        return native_codecs.no_pages_encoder() if is_plain else None

    def encode(self, page: spi.encoders.PageContent, scope: EncodeScope) -> spi.encoders.PendingPage:
        """Return the values as bytes to be placed; the page is made from their places.

        Raises
        ------
        UnsupportedError
            The file version does not support the blobs, or blobs of the first kind are inside lists.
        """
        if self.score(page, scope) is None or page.values is None:
            raise UnsupportedError(f"{scope.file_version} files cannot hold a page of {page.leaf.shape} as blobs")
        values = page.values
        starts, sizes = _value_places(values)
        stored = np.flatnonzero(sizes)
        outside = tuple(
            values.values[start : start + size]
            for start, size in zip(starts[stored].tolist(), sizes[stored].tolist(), strict=True)
        )

        def complete(positions: NDArray[np.int64]) -> spi.encoders.EncodedPage:
            position = np.zeros(len(sizes), np.uint64)
            position[stored] = positions
            write = _write_descriptors if page.leaf.shape == DESCRIPTORS else _write_places
            return write(page, position, sizes.astype(np.uint64), scope)

        return spi.encoders.PendingPage(outside, complete)


def _value_places(values: BlockSlice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return start and size of each value in the block's bytes."""
    assert isinstance(values.shape, VariableWidth)
    offsets = values.offsets.view(f"<i{values.shape.offset_bits // 8}").astype(np.int64, copy=False)
    return offsets[:-1] - offsets[0], np.diff(offsets)


def _write_places(
    page: spi.encoders.PageContent, position: NDArray[np.uint64], size: NDArray[np.uint64], scope: EncodeScope
) -> spi.encoders.EncodedPage:
    """Return a page of places, which also mark nulls."""
    if page.levels.def_ is not None:
        null = page.levels.def_ != 0
        position[null] = page.levels.def_[null].astype(np.uint64) << np.uint64(16)
        size[null] = 0
    inner = spi.encoders.PageContent(
        num_rows=page.num_rows,
        levels=Levels((LayerKind.ALL_VALID_ITEM,), len(position)),
        values=_struct(PLACES, (position.view(np.uint8), size.view(np.uint8)), len(position)),
        leaf=LeafType(PLACES),
        num_nulls=0,
    )
    laid = _laid(inner, scope)
    message = BlobLayout(inner_layout=laid.description, layers=page.levels.layers)
    return spi.encoders.EncodedPage(PageLayout(blob_layout=message), laid.buffers)


def _write_descriptors(
    page: spi.encoders.PageContent, position: NDArray[np.uint64], size: NDArray[np.uint64], scope: EncodeScope
) -> spi.encoders.EncodedPage:
    """Return a page of structs: every value is in this file (kind 0), nulls are levels."""
    count = len(position)
    fields: tuple[Bytes, ...] = (
        np.zeros(count, np.uint8),
        position.view(np.uint8),
        size.view(np.uint8),
        np.zeros(4 * count, np.uint8),
        np.empty(0, np.uint8),
    )
    inner = spi.encoders.PageContent(
        num_rows=page.num_rows,
        levels=page.levels,
        values=_struct(DESCRIPTORS, fields, count),
        leaf=page.leaf,
        num_nulls=page.num_nulls,
        dimensions=page.dimensions,
    )
    return _laid(inner, scope)


def _struct(shape: PackedStruct, fields: tuple[Bytes, ...], count: int) -> BlockSlice:
    no_uris = np.zeros(4 * (count + 1), np.uint8)
    blocks = (
        BlockSlice(one, count, content, offsets=no_uris if isinstance(one, VariableWidth) else NO_BYTES)
        for one, content in zip(shape.fields, fields, strict=True)
    )
    return BlockSlice(shape, count, NO_BYTES, fields=tuple(blocks))


def _laid(inner: spi.encoders.PageContent, scope: EncodeScope) -> spi.encoders.EncodedPage:
    laid = scope.for_parts().layout(inner)
    if not isinstance(laid, spi.encoders.EncodedPage):
        raise PluginContractError(f"the layout of the places of blobs returned {type(laid).__name__}")
    return laid


@dataclass(frozen=True, slots=True)
class BoundBlob:
    """A validated description of places; the inner layout reads them."""

    layers: tuple[LayerKind, ...]
    inner: BoundLayout

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        return self.inner.roles(page)

    def native_page(self, page: PageFacts) -> NativePage | None:
        make = getattr(self.inner, "native_page", None)
        return None if make is None else native_places(make(page), self.layers)


@hookimpl
def lance_provide_layouts() -> list[Blob]:
    return [Blob()]
