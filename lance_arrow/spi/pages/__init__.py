"""Building blocks for layouts: pages of chunks, of zipped entries, of one scalar, whatever message describes them.

Reading: in a form (what a description says) and the scope, out a `BoundLayout` or a `LoadedPage`; open `chunked.py` or
`zipped.py` first. Writing: in a `PageContent` and the scope, out buffers and the descriptions of their codecs; open
`chunk_writing.py` or `zip_writing.py` first. Layouts of the format share these, and a third party's may. Forbidden
here: messages of layouts, hooks.
"""

from lance_arrow.spi.pages.arrays import (
    NOTHING,
    ArrayIndices,
    ArrayPages,
    LoadedLists,
    LoadedNulls,
    decode_integers,
    fetched_parts,
    few_borders,
    few_slices,
    joined_plan,
    load_whole,
    native_strings,
    native_values,
    page_buffer,
    require_width,
)
from lance_arrow.spi.pages.chunk_index import ChunkIndex, ChunkSelection
from lance_arrow.spi.pages.chunk_writing import ChunkedParts, rules_for_chunks, write_chunked
from lance_arrow.spi.pages.chunked import ChunkedForm, ChunkedPages, bind_chunked, bind_levels
from lance_arrow.spi.pages.dictionary_writing import Dictionary, automatic_dictionary
from lance_arrow.spi.pages.items import ItemsIndex, LoadedIndices
from lance_arrow.spi.pages.level_writing import encode_stream, null_inwards, num_valid
from lance_arrow.spi.pages.loaded_chunks import DictionaryPage, IndexPage
from lance_arrow.spi.pages.native_pages import native_places, struct_field_bytes, value_bits
from lance_arrow.spi.pages.open_chunks import OpenChunks
from lance_arrow.spi.pages.picked_values import values_at
from lance_arrow.spi.pages.repeated import RepeatedPage, fits
from lance_arrow.spi.pages.scalar_writing import common_scalar, is_inline, scalar_buffer
from lance_arrow.spi.pages.value_policy import ZIPPED_FROM_BYTES, lacks_structs, prefers_chunks
from lance_arrow.spi.pages.zip_writing import ZippedParts, write_zipped, zippable
from lance_arrow.spi.pages.zipped import RowIndex, ZippedForm, ZippedPage, ZippedPages, bind_zipped

__all__ = [
    "NOTHING",
    "ZIPPED_FROM_BYTES",
    "ArrayIndices",
    "ArrayPages",
    "ChunkIndex",
    "ChunkSelection",
    "ChunkedForm",
    "ChunkedPages",
    "ChunkedParts",
    "Dictionary",
    "DictionaryPage",
    "IndexPage",
    "ItemsIndex",
    "LoadedIndices",
    "LoadedLists",
    "LoadedNulls",
    "OpenChunks",
    "RepeatedPage",
    "RowIndex",
    "ZippedForm",
    "ZippedPage",
    "ZippedPages",
    "ZippedParts",
    "automatic_dictionary",
    "bind_chunked",
    "bind_levels",
    "bind_zipped",
    "common_scalar",
    "decode_integers",
    "encode_stream",
    "fetched_parts",
    "few_borders",
    "few_slices",
    "fits",
    "is_inline",
    "joined_plan",
    "lacks_structs",
    "load_whole",
    "native_places",
    "native_strings",
    "native_values",
    "null_inwards",
    "num_valid",
    "page_buffer",
    "prefers_chunks",
    "require_width",
    "rules_for_chunks",
    "scalar_buffer",
    "struct_field_bytes",
    "value_bits",
    "values_at",
    "write_chunked",
    "write_zipped",
    "zippable",
]
