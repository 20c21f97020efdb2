"""Building blocks for layouts: pages of chunks, of zipped entries and of one scalar, for any description message.

Reading: input is a form (the content of a description) and the scope, output a `BoundLayout` or a `LoadedPage`. Open
`chunked.py` or `zipped.py` first. Writing: input is a `PageContent` and the scope, output the buffers and the
descriptions of their codecs. Open `chunk_writing.py` or `zip_writing.py` first. Layouts of the format and of third
parties share this package. It must not use messages of layouts, or hooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_arrow.late_names import late_names

if TYPE_CHECKING:
    from lance_arrow.engine import NativePage as NativePage
    from lance_arrow.pages.arrays import ALL_NULL as ALL_NULL
    from lance_arrow.pages.arrays import ALL_VALID as ALL_VALID
    from lance_arrow.pages.arrays import NOTHING as NOTHING
    from lance_arrow.pages.arrays import ArrayIndices as ArrayIndices
    from lance_arrow.pages.arrays import ArrayPages as ArrayPages
    from lance_arrow.pages.arrays import LoadedLists as LoadedLists
    from lance_arrow.pages.arrays import LoadedNulls as LoadedNulls
    from lance_arrow.pages.arrays import decode_integers as decode_integers
    from lance_arrow.pages.arrays import fetched_parts as fetched_parts
    from lance_arrow.pages.arrays import joined_plan as joined_plan
    from lance_arrow.pages.arrays import load_whole as load_whole
    from lance_arrow.pages.arrays import native_indexed as native_indexed
    from lance_arrow.pages.arrays import native_lists as native_lists
    from lance_arrow.pages.arrays import native_strings as native_strings
    from lance_arrow.pages.arrays import native_values as native_values
    from lance_arrow.pages.arrays import page_buffer as page_buffer
    from lance_arrow.pages.arrays import plain_buffer as plain_buffer
    from lance_arrow.pages.arrays import require_width as require_width
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
    from lance_arrow.pages.in_memory import error_of_bytes as error_of_bytes
    from lance_arrow.pages.in_memory import held_values as held_values
    from lance_arrow.pages.in_memory import index_in_memory as index_in_memory
    from lance_arrow.pages.in_memory import index_of as index_of
    from lance_arrow.pages.in_memory import index_slices_of as index_slices_of
    from lance_arrow.pages.in_memory import prove_rows as prove_rows
    from lance_arrow.pages.items import ItemsIndex as ItemsIndex
    from lance_arrow.pages.items import LoadedIndices as LoadedIndices
    from lance_arrow.pages.level_writing import encode_stream as encode_stream
    from lance_arrow.pages.level_writing import null_inwards as null_inwards
    from lance_arrow.pages.level_writing import num_valid as num_valid
    from lance_arrow.pages.loaded_values import StructuredPage as StructuredPage
    from lance_arrow.pages.native_pages import native_by_index as native_by_index
    from lance_arrow.pages.native_pages import native_constant as native_constant
    from lance_arrow.pages.native_pages import native_flattened as native_flattened
    from lance_arrow.pages.native_pages import native_in_memory as native_in_memory
    from lance_arrow.pages.native_pages import native_places as native_places
    from lance_arrow.pages.native_pages import native_sparse as native_sparse
    from lance_arrow.pages.native_pages import native_spread as native_spread
    from lance_arrow.pages.one_buffer import OneBufferArray as OneBufferArray
    from lance_arrow.pages.one_buffer import SelectedValues as SelectedValues
    from lance_arrow.pages.one_buffer import ValidValues as ValidValues
    from lance_arrow.pages.packed_rows import packed_parts as packed_parts
    from lance_arrow.pages.packed_rows import packed_widths as packed_widths
    from lance_arrow.pages.picked_values import values_at as values_at
    from lance_arrow.pages.scalar_writing import common_scalar as common_scalar
    from lance_arrow.pages.scalar_writing import fits as fits
    from lance_arrow.pages.scalar_writing import is_inline as is_inline
    from lance_arrow.pages.scalar_writing import scalar_buffer as scalar_buffer
    from lance_arrow.pages.value_policy import ZIPPED_FROM_BYTES as ZIPPED_FROM_BYTES
    from lance_arrow.pages.value_policy import lacks_structs as lacks_structs
    from lance_arrow.pages.value_policy import prefers_chunks as prefers_chunks
    from lance_arrow.pages.value_rows import NO_VALUES as NO_VALUES
    from lance_arrow.pages.value_rows import has_rows_of_any_length as has_rows_of_any_length
    from lance_arrow.pages.value_rows import list_parts as list_parts
    from lance_arrow.pages.value_rows import row_bits as row_bits
    from lance_arrow.pages.value_rows import row_parts as row_parts
    from lance_arrow.pages.value_rows import struct_field_bytes as struct_field_bytes
    from lance_arrow.pages.value_rows import value_bits as value_bits
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
            "lance_arrow.pages.arrays": (
                "ALL_NULL",
                "ALL_VALID",
                "NOTHING",
                "ArrayIndices",
                "ArrayPages",
                "LoadedLists",
                "LoadedNulls",
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
            "lance_arrow.pages.chunk_writing": (
                "ChunkedParts",
                "native_chunk_pages",
                "rules_for_chunks",
                "write_chunked",
            ),
            "lance_arrow.pages.chunked": ("ChunkedForm", "ChunkedPages", "bind_chunked", "bind_levels"),
            "lance_arrow.pages.dictionary_writing": ("Dictionary", "automatic_dictionary"),
            "lance_arrow.pages.items": ("ItemsIndex", "LoadedIndices"),
            "lance_arrow.pages.level_writing": ("encode_stream", "null_inwards", "num_valid"),
            "lance_arrow.pages.loaded_values": ("StructuredPage",),
            "lance_arrow.pages.in_memory": (
                "Held",
                "error_of_bytes",
                "held_values",
                "index_in_memory",
                "index_of",
                "index_slices_of",
                "prove_rows",
            ),
            "lance_arrow.pages.native_pages": (
                "native_by_index",
                "native_constant",
                "native_flattened",
                "native_in_memory",
                "native_places",
                "native_sparse",
                "native_spread",
            ),
            "lance_arrow.pages.one_buffer": ("OneBufferArray", "SelectedValues", "ValidValues"),
            "lance_arrow.pages.packed_rows": ("packed_parts", "packed_widths"),
            "lance_arrow.pages.picked_values": ("values_at",),
            "lance_arrow.pages.scalar_writing": ("common_scalar", "fits", "is_inline", "scalar_buffer"),
            "lance_arrow.pages.value_policy": ("ZIPPED_FROM_BYTES", "lacks_structs", "prefers_chunks"),
            "lance_arrow.pages.value_rows": (
                "NO_VALUES",
                "has_rows_of_any_length",
                "list_parts",
                "row_bits",
                "row_parts",
                "struct_field_bytes",
                "value_bits",
            ),
            "lance_arrow.pages.zip_writing": ("ZippedParts", "write_zipped", "zippable"),
            "lance_arrow.pages.zipped": ("ZippedForm", "ZippedPages", "bind_zipped"),
        },
    )
