"""Pages of chunks: validation of their descriptions, and the slices that a read needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.engine import ChunkTemplate, NativePage
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.pages.bound_pages import BoundChunks
from lance_arrow.pages.chunk_index import ChunkIndex, ChunkSelection, chunk_table, row_table
from lance_arrow.pages.native_pages import chunk_template, native_chunks
from lance_arrow.spi.blocks import FixedWidth, LayerKind, PackedStruct, VariableWidth
from lance_arrow.spi.codecs import BoundChunkCodec
from lance_arrow.spi.keys import BufferRole, DecodeContext
from lance_arrow.spi.layouts import BufferSlices, FetchedSlices, LoadedPage, ManyPages, PageFacts, PageReadPlan
from lance_arrow.spi.rows import RowRanges
from lance_arrow.spi.scopes import BindScope

if TYPE_CHECKING:
    from lance_arrow.pages.open_chunks import OpenChunks

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
        scratch=scope.scratch,
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
    """Pages of chunks, read in the two rounds of layouts."""

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

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        roles = self.roles(page)
        return tuple(BufferSlices.whole(page, n) for n, role in enumerate(roles) if role is not BufferRole.DATA)

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> ChunkIndex:
        data_bytes = page.buffer_sizes[1]
        chunk_starts, value_starts = chunk_table(fetched[0].one(), self.large, self._values_of(page), data_bytes)
        rows = None
        if self.rep is not None:
            rows = row_table(fetched[-1].one(), len(chunk_starts) - 1, page.num_rows)
        items = None
        if self.items is not None:
            from lance_arrow.pages.loaded_chunks import decode_items, with_empty_item  # noqa: PLC0415

            items = decode_items(self.items, fetched[1].one(), self.num_items, self.limits)
            if self._adds_empty_item:
                items = with_empty_item(items)
        made = native_chunks(self, page, chunk_starts, value_starts, rows, items)
        return ChunkIndex(chunk_starts, value_starts, rows, items, made)

    def native_page(self, page: PageFacts) -> NativePage | None:
        template = self._template()
        try:
            self._check(page)
        except CorruptFileError:
            return None  # `index_slices` raises the error with its place
        return None if template is None else template.page(page.num_rows, self._values_of(page))

    def index_buffers(self, num_buffers: int) -> tuple[int, ...]:
        return ()  # pages read their index themselves

    def native_pages(self, pages: ManyPages) -> list[NativePage] | None:
        template = self._template()
        if template is None or not len(pages.num_rows):
            return None
        self._check(PageFacts(int(pages.num_rows[0]), tuple(pages.sizes[0].tolist())))
        if self.rep is None and self.num_values is not None and (pages.num_rows != self.num_values).any():
            raise CorruptFileError(
                f"the numbers of rows of pages differ from their number of values, {self.num_values}"
            )
        return template.pages(pages.num_rows, -1 if self.num_values is None else self.num_values)

    def _template(self) -> ChunkTemplate | None:
        if not self._kept:
            self._kept.append(chunk_template(self))
        return self._kept[0]

    def plan(self, page: PageFacts, index: ChunkIndex, rows: RowRanges) -> PageReadPlan:
        selection = index.select(rows)
        starts, stops = selection.byte_runs(index)
        return PageReadPlan((BufferSlices(1, starts, stops),), selection)

    def load(
        self, page: PageFacts, index: ChunkIndex, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedPage:
        return self.load_slots(index, plan, fetched, None)

    def load_slots(
        self,
        index: ChunkIndex,
        plan: PageReadPlan,
        fetched: tuple[FetchedSlices, ...],
        slot_levels: NDArray[np.uint16] | None,
    ) -> LoadedPage:
        """Open the bytes; `slot_levels` above 0 mark null slots of a structure that is stored elsewhere."""
        # For pages that native code does not read.
        from lance_arrow.pages.loaded_chunks import DictionaryPage, IndexPage, ValuePage  # noqa: PLC0415
        from lance_arrow.pages.open_chunks import visible_levels  # noqa: PLC0415

        selection: ChunkSelection = plan.notes
        chunks = self.open(index, selection, fetched[0])
        levels, runs = chunks.levels(self, index, selection)
        if index.items is None:
            return ValuePage.of(self.values, chunks.values, levels, runs, self.scratch)
        if slot_levels is None:
            slot_levels = visible_levels(levels)
        null_index = self.num_items if self._adds_empty_item else 0
        indices = chunks.indices(self.values, slot_levels, runs, self.num_items, null_index, self.scratch)
        if self.keeps_items:
            return IndexPage(levels, indices, index.items)
        return DictionaryPage.of(levels, indices, index.items)

    def open(self, index: ChunkIndex, selection: ChunkSelection, fetched: FetchedSlices) -> OpenChunks:
        """Locate the parts of the selected chunks; layouts with other chunk headers override it."""
        from lance_arrow.pages.open_chunks import OpenChunks  # noqa: PLC0415

        return OpenChunks.of(self, index, selection, fetched)

    @property
    def _adds_empty_item(self) -> bool:
        """Return whether null slots expand to an empty item behind the dictionary.

        Nulls that expand to item 0 would take its bytes: a gigabyte for 30,000 nulls and one long text.
        """
        if self.items is None or self.keeps_items or not isinstance(self.items.shape, VariableWidth):
            return False
        assert isinstance(self.values.shape, FixedWidth)
        return self.num_items < 1 << min(self.values.shape.bits, 32)
