"""Building blocks for layouts: pages of chunks, of zipped entries and of one scalar, for any description message.

Reading: input is a form (the content of a description) and the scope, output a `BoundLayout` or a `LoadedPage`. Open
`chunked.py` or `zipped.py` first. Writing: input is a `PageContent` and the scope, output the buffers and the
descriptions of their codecs. Open `chunk_writing.py` or `zip_writing.py` first. Layouts of the format and of third
parties share this package. They use `__all__` of it and of its areas, and nothing else. It must not use messages of
layouts, or hooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_arrow.late_names import late_names

if TYPE_CHECKING:
    from lance_arrow.engine import NativePage as NativePage
    from lance_arrow.pages import arrays as arrays
    from lance_arrow.pages import items as items
    from lance_arrow.pages import native_pages as native_pages
    from lance_arrow.pages import one_buffer as one_buffer
    from lance_arrow.pages import packed_rows as packed_rows
    from lance_arrow.pages import value_rows as value_rows
    from lance_arrow.pages.chunk_writing import ChunkedParts as ChunkedParts
    from lance_arrow.pages.chunk_writing import native_chunk_pages as native_chunk_pages
    from lance_arrow.pages.chunk_writing import rules_for_chunks as rules_for_chunks
    from lance_arrow.pages.chunk_writing import write_chunked as write_chunked
    from lance_arrow.pages.chunked import ChunkedForm as ChunkedForm
    from lance_arrow.pages.chunked import ChunkedPages as ChunkedPages
    from lance_arrow.pages.chunked import bind_chunked as bind_chunked
    from lance_arrow.pages.chunked import bind_levels as bind_levels
    from lance_arrow.pages.dictionary_writing import Dictionary as Dictionary
    from lance_arrow.pages.dictionary_writing import automatic_dictionary as automatic_dictionary
    from lance_arrow.pages.in_memory import Held as Held
    from lance_arrow.pages.in_memory import held_values as held_values
    from lance_arrow.pages.in_memory import index_in_memory as index_in_memory
    from lance_arrow.pages.in_memory import index_of as index_of
    from lance_arrow.pages.in_memory import index_slices_of as index_slices_of
    from lance_arrow.pages.level_writing import encode_stream as encode_stream
    from lance_arrow.pages.level_writing import null_inwards as null_inwards
    from lance_arrow.pages.level_writing import num_valid as num_valid
    from lance_arrow.pages.loaded_values import StructuredPage as StructuredPage
    from lance_arrow.pages.picked_values import values_at as values_at
    from lance_arrow.pages.scalar_writing import common_scalar as common_scalar
    from lance_arrow.pages.scalar_writing import fits as fits
    from lance_arrow.pages.scalar_writing import is_inline as is_inline
    from lance_arrow.pages.scalar_writing import scalar_buffer as scalar_buffer
    from lance_arrow.pages.value_policy import lacks_structs as lacks_structs
    from lance_arrow.pages.value_policy import prefers_chunks as prefers_chunks
    from lance_arrow.pages.zip_writing import ZippedParts as ZippedParts
    from lance_arrow.pages.zip_writing import write_zipped as write_zipped
    from lance_arrow.pages.zip_writing import zippable as zippable
    from lance_arrow.pages.zipped import ZippedForm as ZippedForm
    from lance_arrow.pages.zipped import ZippedPages as ZippedPages
    from lance_arrow.pages.zipped import bind_zipped as bind_zipped
else:
    __getattr__, __dir__, __all__ = late_names(
        __name__,
        {
            "lance_arrow.engine": ("NativePage",),
            "lance_arrow.pages.chunk_writing": (
                "ChunkedParts",
                "native_chunk_pages",
                "rules_for_chunks",
                "write_chunked",
            ),
            "lance_arrow.pages.chunked": (
                "ChunkedForm",
                "ChunkedPages",
                "bind_chunked",
                "bind_levels",
            ),
            "lance_arrow.pages.dictionary_writing": ("Dictionary", "automatic_dictionary"),
            "lance_arrow.pages.in_memory": (
                "Held",
                "held_values",
                "index_in_memory",
                "index_of",
                "index_slices_of",
            ),
            "lance_arrow.pages.level_writing": (
                "encode_stream",
                "null_inwards",
                "num_valid",
            ),
            "lance_arrow.pages.loaded_values": ("StructuredPage",),
            "lance_arrow.pages.picked_values": ("values_at",),
            "lance_arrow.pages.scalar_writing": (
                "common_scalar",
                "fits",
                "is_inline",
                "scalar_buffer",
            ),
            "lance_arrow.pages.value_policy": (
                "lacks_structs",
                "prefers_chunks",
            ),
            "lance_arrow.pages.zip_writing": (
                "ZippedParts",
                "write_zipped",
                "zippable",
            ),
            "lance_arrow.pages.zipped": (
                "ZippedForm",
                "ZippedPages",
                "bind_zipped",
            ),
        },
        moved={
            "lance_arrow.pages.arrays": (
                "ALL_NULL",
                "ALL_VALID",
                "ArrayIndices",
                "ArrayPages",
                "LoadedLists",
                "LoadedNulls",
                "NOTHING",
                "decode_integers",
                "fetched_parts",
                "joined_plan",
                "load_whole",
                "native_indexed",
                "native_lists",
                "native_strings",
                "native_values",
                "page_buffer",
                "plain_buffer",
                "require_width",
            ),
            "lance_arrow.pages.items": ("ItemsIndex",),
            "lance_arrow.pages.native_pages": (
                "native_by_index",
                "native_constant",
                "native_flattened",
                "native_in_memory",
                "native_places",
                "native_sparse",
                "native_spread",
            ),
            "lance_arrow.pages.one_buffer": (
                "OneBufferArray",
                "SelectedValues",
                "ValidValues",
            ),
            "lance_arrow.pages.packed_rows": (
                "packed_parts",
                "packed_widths",
            ),
            "lance_arrow.pages.value_rows": (
                "NO_VALUES",
                "has_rows_of_any_length",
                "list_parts",
                "row_bits",
                "row_parts",
                "struct_field_bytes",
                "value_bits",
            ),
        },
    )
