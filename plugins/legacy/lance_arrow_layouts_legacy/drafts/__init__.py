"""Pages of the drafts of 2.1, which releases 0.19 to 0.32 of the reference wrote and no later one reads.

    wire          the raw description, because field numbers changed their meaning
    dialects      finds the release of its field numbers, and reads it
    restated      converts its encodings to those of 2.1, whose codecs read the same bytes
    early_chunks  chunks before 0.26
    dictionaries  headers of dictionaries
    flattened     fixed-size lists of 0.22 to 0.25, which are stored item by item
    uncounted     zipped lists of 0.22, without counts of their entries

Input: descriptions and buffers of those releases. Output: results of a page of 2.1. The scope binds the layouts of 2.1,
like any inner encoding. Drafts are never written. Source: lance.encodings.PageLayout; docs/format/draft_2_1.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.errors import UnsupportedError
from lance_arrow.pages import ChunkedForm, ChunkedPages, ZippedForm, bind_chunked, bind_zipped
from lance_arrow.proto import encodings_v20_pb2 as last
from lance_arrow.proto.encodings_v21_pb2 import ConstantLayout, FullZipLayout, MiniBlockLayout, PageLayout
from lance_arrow.proto.reading import parse
from lance_arrow.spi import BindScope, EncodingKey, hookimpl
from lance_arrow.spi.layouts import BoundLayout, LayerKind, NodeKind
from lance_arrow_layouts_legacy.drafts.dialects import (
    SaidOfChunks,
    SaidOfZipped,
    is_counted_in_items,
    item_shape,
    layers_of_items,
    said_of_chunks,
    said_of_zipped,
    untold_layers,
)
from lance_arrow_layouts_legacy.drafts.dictionaries import DraftDictionaryPages
from lance_arrow_layouts_legacy.drafts.early_chunks import EarlyChunks
from lance_arrow_layouts_legacy.drafts.flattened import FlattenedLists
from lance_arrow_layouts_legacy.drafts.uncounted import UncountedPages
from lance_arrow_layouts_legacy.drafts.wire import PAGE_LAYOUT, UnopenedPageLayout, refuse_unknown


@dataclass(frozen=True, slots=True)
class DraftMiniBlock:
    """Reads chunks."""

    key = EncodingKey(PAGE_LAYOUT, "mini_block_layout")
    message_type = UnopenedPageLayout

    def bind(self, message: Any, scope: BindScope) -> BoundLayout:
        """Bind as a page of 2.1 if the chunks have its form, otherwise with the older header."""
        said = said_of_chunks(message)
        if not said.is_early:
            pages = scope.layout(PageLayout(mini_block_layout=_chunks_of_2_1(said)))
            if said.items is None or said.items.WhichOneof("compression") != "variable":
                return pages
            # Another plugin may provide 2.1 with its own index, which would not accept the items.
            if not isinstance(pages, ChunkedPages):
                raise UnsupportedError(f"the plugin for chunks of 2.1 returns {type(pages).__name__}")
            return DraftDictionaryPages(pages, said.num_items)
        return _bind_early(said, scope)


@dataclass(frozen=True, slots=True)
class DraftFullZip:
    """Reads zipped entries."""

    key = EncodingKey(PAGE_LAYOUT, "full_zip_layout")
    message_type = UnopenedPageLayout

    def bind(self, message: Any, scope: BindScope) -> BoundLayout:
        """Bind as a page of 2.1 if counts are stored, otherwise by the rows of the page."""
        said = said_of_zipped(message, scope.leaf)
        if is_counted_in_items(said.layers, said.values, scope.leaf):
            assert said.layers is not None
            layers = layers_of_items(said.layers, scope.leaf)
            items = bind_zipped(_zipped_form(said, layers), scope.for_shape(item_shape(scope.leaf)))
            return FlattenedLists(items, scope.leaf.shape, layers)  # type: ignore[arg-type]
        if said.num_entries is not None:
            return scope.layout(PageLayout(full_zip_layout=_zipped_of_2_1(said)))
        pages = bind_zipped(_zipped_form(said, _layers(said.layers, bool(said.bits_def), scope)), scope)
        return UncountedPages.of(pages) if pages.max_rep else pages


@dataclass(frozen=True, slots=True)
class DraftAllNull:
    """Reads pages without values, which 2.1 has in the same form."""

    key = EncodingKey(PAGE_LAYOUT, "all_null_layout")
    message_type = UnopenedPageLayout

    def bind(self, message: Any, scope: BindScope) -> BoundLayout:
        """Bind as a constant page of 2.1; until 0.20 layers were not stored, because there was only one."""
        parsed = parse(last.AllNullLayout, message.SerializeToString(), what="a draft of all nulls")
        refuse_unknown(parsed, "a draft of all nulls")
        layers = list(parsed.layers)
        if not layers:
            if scope.leaf.nodes != (NodeKind.ITEM,):
                raise UnsupportedError("a draft page of nulls in a struct or list does not store its layers")
            layers = [LayerKind.NULLABLE_ITEM]
        return scope.layout(PageLayout(constant_layout=ConstantLayout(layers=layers)))


def _bind_early(said: SaidOfChunks, scope: BindScope) -> BoundLayout:
    leaf = scope.leaf
    if is_counted_in_items(said.layers, said.values, leaf):
        assert said.layers is not None
        layers = layers_of_items(said.layers, leaf)
        return FlattenedLists(_early_pages(said, layers, scope.for_shape(item_shape(leaf))), leaf.shape, layers)  # type: ignore[arg-type]
    return _early_pages(said, _layers(said.layers, said.def_ is not None, scope), scope)


def _early_pages(said: SaidOfChunks, layers: tuple[LayerKind, ...], scope: BindScope) -> BoundLayout:
    form = ChunkedForm(
        layers=layers,
        values=said.values,
        rep=said.rep,
        def_=said.def_,
        items=said.items,
        num_buffers=said.num_buffers,
        index_depth=said.index_depth,
        num_values=said.num_values,
        large=True,
    )
    return EarlyChunks(bind_chunked(form, scope))


def _layers(told: tuple[int, ...] | None, has_def: bool, scope: BindScope) -> tuple[LayerKind, ...]:
    return scope.layers(told) if told is not None else untold_layers(has_def, scope.leaf)


def _chunks_of_2_1(said: SaidOfChunks) -> MiniBlockLayout:
    return MiniBlockLayout(
        rep_compression=said.rep,
        def_compression=said.def_,
        value_compression=said.values,
        dictionary=said.items,
        num_dictionary_items=said.num_items or 0,
        layers=said.layers,
        num_buffers=said.num_buffers,
        repetition_index_depth=said.index_depth,
        num_items=said.num_values or 0,
    )


def _zipped_form(said: SaidOfZipped, layers: tuple[LayerKind, ...]) -> ZippedForm:
    return ZippedForm(
        layers=layers,
        values=said.values,
        bits_rep=said.bits_rep,
        bits_def=said.bits_def,
        value_bits=said.value_bits,
        length_bits=said.length_bits,
        num_entries=said.num_entries,
        num_values=said.num_values,
    )


def _zipped_of_2_1(said: SaidOfZipped) -> FullZipLayout:
    return FullZipLayout(
        bits_rep=said.bits_rep,
        bits_def=said.bits_def,
        bits_per_value=said.value_bits,
        bits_per_offset=said.length_bits,
        num_items=said.num_entries or 0,
        num_visible_items=said.num_values or 0,
        value_compression=said.values,
        layers=said.layers,
    )


@hookimpl
def lance_provide_layouts() -> list[DraftMiniBlock | DraftFullZip | DraftAllNull]:
    return [DraftMiniBlock(), DraftFullZip(), DraftAllNull()]
