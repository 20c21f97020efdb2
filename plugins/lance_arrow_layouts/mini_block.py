"""Mini-block pages: values in chunks of a few KiB, each with its own levels; reads fetch whole chunks, not whole pages.

    buffer 0   chunk table: one word per chunk (bytes, number of values)
    buffer 1   chunks: [levels | sizes | rep | def | value buffers], each part padded to 8 bytes
    buffer 2   dictionary items, if the chunks hold indices
    last       repetition index, if there are lists: rows that finish in each chunk, levels left over

This module has only the description; `lance_arrow.pages` reads and writes the chunks. Source:
lance.encodings21.MiniBlockLayout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from lance_arrow import pages, spi
from lance_arrow.errors import UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.pages import ChunkedForm, ChunkedPages, bind_chunked
from lance_arrow.proto.encodings_v21_pb2 import MiniBlockLayout, PageLayout
from lance_arrow.spi import BindScope, DecodeContext, EncodeScope, EncodingKey, hookimpl

_LARGE_VALUES_PENALTY = 4.0
"""Additional cost of reading a row from a chunk of few large values."""


@dataclass(frozen=True, slots=True)
class MiniBlock:
    """Reads and writes `PageLayout.mini_block_layout`."""

    key = EncodingKey("lance.encodings21.PageLayout", "mini_block_layout")
    message_type = PageLayout
    counts = (("num_values", ("num_items",)), ("num_items", ("num_dictionary_items",)))

    def bind(self, message: Any, scope: BindScope) -> ChunkedPages:
        """Read the form from the message."""
        form = ChunkedForm(
            layers=scope.layers(message.layers),
            values=message.value_compression,
            rep=message.rep_compression if message.HasField("rep_compression") else None,
            def_=message.def_compression if message.HasField("def_compression") else None,
            items=message.dictionary if message.HasField("dictionary") else None,
            num_items=message.num_dictionary_items,
            num_buffers=message.num_buffers,
            index_depth=message.repetition_index_depth,
            num_values=message.num_items,
            large=message.has_large_chunk,
        )
        return bind_chunked(form, scope)

    def score(self, page: spi.encoders.PageContent, scope: EncodeScope) -> float | None:
        """Return the bytes of the values, more for large ones; None if chunks cannot hold them."""
        if scope.file_version >= "2.3":
            return None
        if page.values is None or page.num_values == 0 or page.is_blob:
            return None
        rules, dictionary = _plan(page, page.values, scope)
        if rules is None:
            return None
        summary = scope.summary(page.values)
        if dictionary is None:
            plain = scope.for_values().with_rules(rules)
            if plain.estimate_child(page.values, DecodeContext.MINI_BLOCK) is None:
                return None
        preferred = page.items is not None or pages.prefers_chunks(page, scope)
        num_bytes = summary.raw_bytes * (1.0 if preferred else _LARGE_VALUES_PENALTY)
        found = scope.options.layout_cost("mini_block", num_bytes)
        # A dictionary has priority over a preferred layout.
        return found if found is None or dictionary is None else 0.0

    def native_pages(self, leaf: spi.LeafType, scope: EncodeScope) -> object | None:
        """Return the C side of the encoder, for values of one width and byte strings."""
        if scope.file_version >= "2.3":
            return native_codecs.no_pages_encoder()
        return pages.native_chunk_pages(leaf, scope)

    def encode(self, page: spi.encoders.PageContent, scope: EncodeScope) -> spi.encoders.EncodedPage:
        """Write chunks, with a dictionary if it saves bytes.

        Raises
        ------
        UnsupportedError
            A page without values, or with too many levels for a chunk.
        """
        rules, dictionary = (None, None) if page.values is None else _plan(page, page.values, scope)
        if rules is None:
            raise UnsupportedError("chunks cannot hold a page without values, or with too many entries between them")
        parts = pages.write_chunked(page, page.levels, rules, scope, dictionary)
        message = MiniBlockLayout(
            rep_compression=parts.rep,
            def_compression=parts.def_,
            value_compression=parts.values,
            dictionary=parts.items,
            num_dictionary_items=parts.num_items,
            layers=page.levels.layers,
            num_buffers=parts.num_buffers,
            repetition_index_depth=parts.index_depth,
            num_items=page.num_values,
            has_large_chunk=scope.file_version >= "2.2",
        )
        return spi.encoders.EncodedPage(PageLayout(mini_block_layout=message), parts.buffers)


_Plan: TypeAlias = "tuple[spi.ChunkRules | None, pages.Dictionary | None]"


def _plan(page: spi.encoders.PageContent, values: spi.BlockSlice, scope: EncodeScope) -> _Plan:
    """Return rules for the chunks, and the dictionary if they hold indices; computed once per page."""
    # A wrapper may encode the same values without their structure: each structure has its plan.
    plans: dict[int, tuple[spi.layouts.Levels, _Plan]] = scope.summary(values).remember("mini-block", dict)
    levels = page.levels
    if id(levels) not in plans:
        # The levels are kept so that their identity is not reused.
        plans[id(levels)] = levels, _find_plan(page, values, scope)
    return plans[id(levels)][1]


def _find_plan(page: spi.encoders.PageContent, values: spi.BlockSlice, scope: EncodeScope) -> _Plan:
    dictionary = pages.automatic_dictionary(page, scope)
    stored = values if dictionary is None else dictionary.indices
    # If the caller demands chunks or the leaf keeps its dictionary, no other layout is possible.
    options = scope.options
    wants_chunks = "mini_block" in (options.layout, options.preferred_layout) or options.codec == "dictionary"
    is_forced = wants_chunks or page.items is not None
    if is_forced:
        return pages.rules_for_chunks(page.levels, stored, scope, least=2), dictionary
    return pages.rules_for_chunks(page.levels, stored, scope), dictionary


@hookimpl
def lance_provide_layouts() -> list[MiniBlock]:
    return [MiniBlock()]
