"""Pages of chunks: validation of their descriptions, and their pages for the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.engine import ChunkTemplate, NativePage
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.pages.bound_pages import BoundChunks
from lance_arrow.pages.native_pages import chunk_template, like_template
from lance_arrow.spi.blocks import FixedWidth, LayerKind, PackedStruct
from lance_arrow.spi.codecs import BoundChunkCodec, tables_of, with_tables
from lance_arrow.spi.keys import BufferRole, DecodeContext
from lance_arrow.spi.layouts import PageFacts
from lance_arrow.spi.scopes import BindScope

_LEVEL = FixedWidth(16)
_INDEX_BITS = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkedForm:
    """Content of a page description of chunks; codecs are ``CompressiveEncoding`` messages, None if absent.

    Parameters
    ----------
    layers
        Inner-most first.
    values, rep, def_, items
        Codecs of values (or indices), levels and dictionary items.
    num_items
        Items of the dictionary.
    num_buffers
        Value buffers per chunk.
    index_depth
        Depth of the repetition index.
    num_values
        Values of the page; None if they equal its rows.
    large
        Whether chunk words and value sizes are 32 bits wide.
    """

    layers: tuple[LayerKind, ...]
    values: Any
    rep: Any = None
    def_: Any = None
    items: Any = None
    num_items: int = 0
    num_buffers: int
    index_depth: int = 0
    num_values: int | None
    large: bool


def bind_chunked(form: ChunkedForm, scope: BindScope) -> ChunkedPages:
    """Validate a description of chunks and bind its codecs.

    Raises
    ------
    CorruptFileError
        The description contradicts itself or the schema.
    """
    if form.num_values is not None and form.num_values >> 63:
        raise CorruptFileError(f"a page has {form.num_values} values, more than 63 bits hold")
    values = scope.chunk_codec(form.values, DecodeContext.MINI_BLOCK)
    if values.num_buffers != form.num_buffers:
        raise CorruptFileError(f"a page declares {form.num_buffers} buffers per chunk, its codec {values.num_buffers}")
    has_lists = any(layer.is_list for layer in form.layers)
    if (form.rep is not None) != has_lists:
        raise CorruptFileError("a page must have repetition levels if and only if it has lists")
    if form.index_depth != int(has_lists):
        raise CorruptFileError(f"a repetition index of depth {form.index_depth} does not exist")
    if form.def_ is not None and not any(layer.num_def_levels for layer in form.layers):
        raise CorruptFileError("a page has definition levels, but no layer that uses them")
    items = _items(form, values, scope)
    if scope.leaf.items is not None and items is None:
        raise CorruptFileError("a page of a dictionary column has no dictionary")
    return ChunkedPages(
        layers=form.layers,
        rep=bind_levels(form.rep, scope),
        def_=bind_levels(form.def_, scope),
        values=values,
        items=items,
        num_items=form.num_items if items is not None else 0,
        keeps_items=scope.leaf.items is not None,
        num_values=form.num_values,
        large=form.large,
        limits=scope.limits,
    )


def bind_levels(message: Any, scope: BindScope) -> BoundChunkCodec | None:
    """Bind the block codec of a level stream; None if the page has no such stream, or stores it raw.

    Raises
    ------
    CorruptFileError
        It does not decode to 16-bit levels.
    """
    if message is None:
        return None
    codec = scope.chunk_codec(message, DecodeContext.BLOCK)
    if codec.shape != _LEVEL:
        raise CorruptFileError(f"levels are {codec.shape}, expected 16 bits")
    return codec


def _items(form: ChunkedForm, values: BoundChunkCodec, scope: BindScope) -> BoundChunkCodec | None:
    if form.items is None:
        return None
    if not (isinstance(values.shape, FixedWidth) and values.shape.bits in _INDEX_BITS):
        raise CorruptFileError(f"indices into a dictionary are {values.shape}, expected whole numbers")
    scope.limits.check("max_dictionary_bytes", form.num_items)
    items = scope.chunk_codec(form.items, DecodeContext.BLOCK)
    if isinstance(items.shape, PackedStruct):
        raise UnsupportedError("dictionaries of packed structs are not readable")
    return items


@dataclass(frozen=True, slots=True)
class ChunkedPages(BoundChunks):
    """Pages of chunks, which read their index by themselves."""

    _kept: list[ChunkTemplate | None] = field(init=False, default_factory=list, compare=False, repr=False)
    """Common data of pages that read their own index, built at the first use."""

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        self._check(page)
        roles = [BufferRole.CHUNK_TABLE, BufferRole.DATA]
        if self.items is not None:
            roles.append(BufferRole.DICTIONARY)
        if self.rep is not None:
            roles.append(BufferRole.ROW_INDEX)
        return tuple(roles)

    def _check(self, page: PageFacts) -> None:
        expected = 2 + (self.items is not None) + (self.rep is not None)
        if expected != len(page.buffer_sizes):
            raise CorruptFileError(f"a page has {len(page.buffer_sizes)} buffers, expected {expected}")
        if self.rep is None and page.num_rows != self._values_of(page):
            raise CorruptFileError(f"a page has {page.num_rows} rows, but {self._values_of(page)} values")

    def _values_of(self, page: PageFacts) -> int:
        return page.num_rows if self.num_values is None else self.num_values

    @property
    def parameters(self) -> Mapping[str, int | bytes]:
        counts = {} if self.num_values is None else {"num_values": self.num_values}
        if self.items is not None:
            counts["num_items"] = self.num_items
        return counts | tables_of(self.values, "values") | tables_of(self.items, "items")

    def with_parameters(self, parameters: Mapping[str, Any]) -> ChunkedPages:
        num_items = self.limits.check("max_dictionary_bytes", parameters.get("num_items", self.num_items))
        values, items = with_tables(self.values, "values", parameters), with_tables(self.items, "items", parameters)
        # `replace` takes twice as long as the constructor.
        made = ChunkedPages(
            layers=self.layers,
            rep=self.rep,
            def_=self.def_,
            values=values,
            items=items,
            num_items=num_items,
            keeps_items=self.keeps_items,
            num_values=parameters.get("num_values", self.num_values),
            large=self.large,
            limits=self.limits,
        )
        template = self._template()
        if template is not None:
            made._kept.append(like_template(template, self, made))
        return made

    def native_page(self, page: PageFacts) -> NativePage | None:
        template = self._template()
        try:
            self._check(page)
        except CorruptFileError:
            return None  # `roles` raises the error with its place
        return None if template is None else template.page(page.num_rows, self._values_of(page))

    def native_pages(self, num_rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[NativePage] | None:
        template = self._template()
        if template is None or not len(num_rows):
            return None
        self._check(PageFacts(int(num_rows[0]), tuple(sizes[0].tolist())))
        if self.rep is None and self.num_values is not None and (num_rows != self.num_values).any():
            raise CorruptFileError(
                f"the numbers of rows of pages differ from their number of values, {self.num_values}"
            )
        return template.pages(num_rows, -1 if self.num_values is None else self.num_values)

    def _template(self) -> ChunkTemplate | None:
        if not self._kept:
            self._kept.append(chunk_template(self))
        return self._kept[0]
