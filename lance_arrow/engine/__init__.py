"""The native engine: C++ by stage, and one Cython module that calls it.

| Folder | Content |
|---|---|
| `common/` | outcomes, scratch memory, bits, offsets of variable width |
| `tables/` | metadata of files, pages and fragments: checksums, chunk tables, manifests; reads of many ranges |
| `bind/` | the C tables of the format's codecs |
| `plan/` | finding the bytes of rows in pages, and opening them, page by page |
| `decode/` | bytes to values |
| `arrays/` | levels and values to Arrow |
| `encode/` | Arrow to bytes: the kernels of writers; `encode/symbols/` trains and applies FSST |
| `prune/` | zones and files in which no row, or every row, satisfies a filter |
| `door/` | the parts of `_engine.pyx`: the Python interface of the C++ code; `door/encode/` those for writing |

A header declares the interface, a ``.cpp`` of the same name defines it. `lance_arrow.kernels` is the part for plugins;
everything else here is internal to the package.
"""

from __future__ import annotations

from lance_arrow.engine._engine import (
    CHECKSUM_FAULT,
    NUM_FACTS,
    NUM_FRAGMENT_FACTS,
    NUM_SCHEMA_FACTS,
    BlockChecks,
    BlockSums,
    ChunkTemplate,
    ColumnRecords,
    JsonTexts,
    LeafJob,
    LeafPages,
    LeafPlan,
    NamedFiles,
    NativeFilePruner,
    NativePage,
    NativeProgram,
    NativeZones,
    OpenPages,
    PagesWithRows,
    ReadForms,
    RowsInTheMaking,
    Segments,
    any_message,
    binary_page,
    chunk_template,
    chunked_page,
    constant_page,
    copy_sums,
    expand_values,
    flags_of_codes,
    flat_page,
    lay_out_blobs,
    open_file,
    open_small_files,
    places_page,
    read_blobs,
    read_column_metadata,
    read_column_of_files,
    read_file_head,
    read_files,
    read_fragments,
    read_ranges,
    read_schema_message,
    select_values,
    split_any,
    split_manifest,
    try_encoder,
    try_frame_encoder,
    use_pools,
    views_of_codes,
    views_of_values,
    zipped_page,
)

__all__ = [
    "CHECKSUM_FAULT",
    "NUM_FACTS",
    "NUM_FRAGMENT_FACTS",
    "NUM_SCHEMA_FACTS",
    "BlockChecks",
    "BlockSums",
    "ChunkTemplate",
    "ColumnRecords",
    "JsonTexts",
    "LeafJob",
    "LeafPages",
    "LeafPlan",
    "NamedFiles",
    "NativeFilePruner",
    "NativePage",
    "NativeProgram",
    "NativeZones",
    "OpenPages",
    "PagesWithRows",
    "ReadForms",
    "RowsInTheMaking",
    "Segments",
    "any_message",
    "binary_page",
    "chunk_template",
    "chunked_page",
    "constant_page",
    "copy_sums",
    "expand_values",
    "flags_of_codes",
    "flat_page",
    "lay_out_blobs",
    "open_file",
    "open_small_files",
    "places_page",
    "read_blobs",
    "read_column_metadata",
    "read_column_of_files",
    "read_file_head",
    "read_files",
    "read_fragments",
    "read_ranges",
    "read_schema_message",
    "select_values",
    "split_any",
    "split_manifest",
    "try_encoder",
    "try_frame_encoder",
    "use_pools",
    "views_of_codes",
    "views_of_values",
    "zipped_page",
]
