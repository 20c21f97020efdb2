"""The factory and the bound layout: what a description allows, and which slices a read wants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.errors import CorruptFileError
from lance_arrow.proto.encodings_v21_pb2 import PageLayout
from lance_arrow.spi import (
    BindScope,
    BlockShape,
    BoundChunkCodec,
    BufferRole,
    BufferSlices,
    DecodeContext,
    EncodingKey,
    FetchedSlices,
    FixedWidth,
    LayerKind,
    Limits,
    LoadedPage,
    PageFacts,
    PageReadPlan,
    RowRanges,
    Scratch,
    VariableWidth,
)
from lance_arrow_layouts.mini_block.chunks import OpenChunks
from lance_arrow_layouts.mini_block.index import ChunkSelection, MiniBlockIndex, chunk_table, row_table
from lance_arrow_layouts.mini_block.pages import DictionaryPage, IndexPage, ValuePage, decode_items, with_empty_item

_LEVEL = FixedWidth(16)
_INDEX_BITS = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class MiniBlock:
    """Reads `PageLayout.mini_block_layout`."""

    key = EncodingKey("lance.encodings21.PageLayout", "mini_block_layout")
    message_type = PageLayout

    def bind(self, message: Any, scope: BindScope) -> BoundMiniBlock:
        layers = scope.layers(message.layers)
        values = scope.chunk_codec(message.value_compression, DecodeContext.MINI_BLOCK)
        if values.num_buffers != message.num_buffers:
            raise CorruptFileError(
                f"a page says {message.num_buffers} buffers per chunk, its codec {values.num_buffers}"
            )
        has_lists = any(layer.is_list for layer in layers)
        if message.HasField("rep_compression") != has_lists:
            raise CorruptFileError("a page has repetition levels exactly when it has lists, this one differs")
        if message.repetition_index_depth != int(has_lists):
            raise CorruptFileError(f"a repetition index of depth {message.repetition_index_depth} does not exist")
        if message.HasField("def_compression") and not any(layer.num_def_levels for layer in layers):
            raise CorruptFileError("a page has definition levels, but no layer that uses them")
        items = _items(message, values, scope)
        if scope.leaf.items is not None and items is None:
            raise CorruptFileError("a page of a dictionary column has no dictionary")
        return BoundMiniBlock(
            layers=layers,
            rep=_level_codec(message, "rep_compression", scope),
            def_=_level_codec(message, "def_compression", scope),
            values=values,
            items=items,
            num_items=message.num_dictionary_items if items is not None else 0,
            keeps_items=scope.leaf.items is not None,
            num_values=message.num_items,
            large=message.has_large_chunk,
            limits=scope.limits,
            scratch=scope.scratch,
        )


def _level_codec(message: Any, name: str, scope: BindScope) -> BoundChunkCodec | None:
    if not message.HasField(name):
        return None
    codec = scope.chunk_codec(getattr(message, name), DecodeContext.BLOCK)
    if codec.shape != _LEVEL:
        raise CorruptFileError(f"levels are {codec.shape}, expected 16 bits")
    return codec


def _items(message: Any, values: BoundChunkCodec, scope: BindScope) -> BoundChunkCodec | None:
    if not message.HasField("dictionary"):
        return None
    if not (isinstance(values.shape, FixedWidth) and values.shape.bits in _INDEX_BITS):
        raise CorruptFileError(f"indices into a dictionary are {values.shape}, expected whole numbers")
    scope.limits.check("max_dictionary_bytes", message.num_dictionary_items)
    return scope.chunk_codec(message.dictionary, DecodeContext.BLOCK)


@dataclass(frozen=True, slots=True)
class BoundMiniBlock:
    """A validated mini-block description; counts are the page's own."""

    layers: tuple[LayerKind, ...]
    rep: BoundChunkCodec | None
    def_: BoundChunkCodec | None
    values: BoundChunkCodec
    items: BoundChunkCodec | None
    num_items: int
    keeps_items: bool
    num_values: int
    large: bool
    limits: Limits
    scratch: Scratch

    @property
    def shape(self) -> BlockShape:
        """What pages decode to: indices only where the leaf keeps its dictionary."""
        return self.values.shape if self.items is None or self.keeps_items else self.items.shape

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        roles = [BufferRole.CHUNK_TABLE, BufferRole.DATA]
        if self.items is not None:
            roles.append(BufferRole.DICTIONARY)
        if self.rep is not None:
            roles.append(BufferRole.ROW_INDEX)
        if len(roles) != len(page.buffer_sizes):
            raise CorruptFileError(f"a page has {len(page.buffer_sizes)} buffers, expected {len(roles)}")
        if self.rep is None and page.num_rows != self.num_values:
            raise CorruptFileError(f"a page has {page.num_rows} rows, but {self.num_values} values")
        return tuple(roles)

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        roles = self.roles(page)
        return tuple(BufferSlices.whole(page, n) for n, role in enumerate(roles) if role is not BufferRole.DATA)

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> MiniBlockIndex:
        data_bytes = page.buffer_sizes[1]
        chunk_starts, value_starts = chunk_table(fetched[0].one(), self.large, self.num_values, data_bytes)
        rows = None
        if self.rep is not None:
            rows = row_table(fetched[-1].one(), len(chunk_starts) - 1, page.num_rows)
        items = None
        if self.items is not None:
            items = decode_items(self.items, fetched[1].one(), self.num_items, self.limits)
            if self._adds_empty_item:
                items = with_empty_item(items)
        return MiniBlockIndex(chunk_starts, value_starts, rows, items)

    def plan(self, page: PageFacts, index: MiniBlockIndex, rows: RowRanges) -> PageReadPlan:
        selection = index.select(rows)
        starts, stops = selection.byte_runs(index)
        return PageReadPlan((BufferSlices(1, starts, stops),), selection)

    def load(
        self, page: PageFacts, index: MiniBlockIndex, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedPage:
        selection: ChunkSelection = plan.notes
        chunks = OpenChunks.of(self, index, selection, fetched[0])
        levels, runs = chunks.levels(self, index, selection)
        if index.items is None:
            return ValuePage.of(self.values, chunks.values, levels, runs, self.scratch)
        indices = chunks.indices(
            self.values, levels, runs, self.num_items, self.num_items if self._adds_empty_item else 0
        )
        if self.keeps_items:
            return IndexPage(levels, indices, index.items)
        return DictionaryPage.of(levels, indices, index.items)

    @property
    def _adds_empty_item(self) -> bool:
        """Whether null slots expand to an empty item behind the dictionary.

        Expanded from item 0, nulls would take its bytes: a gigabyte for 30,000 nulls beside one long text.
        """
        if self.items is None or self.keeps_items or not isinstance(self.items.shape, VariableWidth):
            return False
        return self.num_items < 1 << min(self.values.shape.bits, 32)
