"""The native engine: C++ by stage, and one Cython module that calls it.

| Folder | What it holds |
|---|---|
| `common/` | outcomes, scratch memory, bits, offsets of variable width |
| `tables/` | what describes files, pages and fragments: checksums, chunk tables, manifests; reads of many ranges |
| `bind/` | the C tables of the format's codecs |
| `plan/` | which bytes of a page hold rows, and opening them, page by page |
| `decode/` | bytes to values |
| `arrays/` | levels and values to Arrow |
| `encode/` | Arrow to bytes: the loops of writers |
| `prune/` | zones and files that a filter leaves nothing of, or all |
| `door/` | the pieces of `_engine.pyx`: C++ as Python calls it |

A header declares what others call, a ``.cpp`` of the same name defines it. `lance_arrow.kernels` is the part that
plugins use; what is listed here serves the package alone.
"""

from __future__ import annotations

from lance_arrow.engine._engine import (
    NUM_FACTS,
    NUM_FRAGMENT_FACTS,
    BlockChecks,
    ChunkTemplate,
    ColumnForms,
    NativeFilePruner,
    NativePage,
    NativeProgram,
    NativeZones,
    binary_page,
    chunk_template,
    chunked_page,
    copy_sums,
    expand_values,
    finish_leaves,
    flat_page,
    lay_out_blobs,
    open_file,
    open_small_files,
    places_page,
    prepare_leaves,
    read_blobs,
    read_column_metadata,
    read_column_of_files,
    read_file_head,
    read_files,
    read_fragments,
    read_leaves,
    read_ranges,
    run_leaves,
    select_values,
    split_any,
    split_manifest,
    zipped_page,
)

__all__ = [
    "NUM_FACTS",
    "NUM_FRAGMENT_FACTS",
    "BlockChecks",
    "ChunkTemplate",
    "ColumnForms",
    "NativeFilePruner",
    "NativePage",
    "NativeProgram",
    "NativeZones",
    "binary_page",
    "chunk_template",
    "chunked_page",
    "copy_sums",
    "expand_values",
    "finish_leaves",
    "flat_page",
    "lay_out_blobs",
    "open_file",
    "open_small_files",
    "places_page",
    "prepare_leaves",
    "read_blobs",
    "read_column_metadata",
    "read_column_of_files",
    "read_file_head",
    "read_files",
    "read_fragments",
    "read_leaves",
    "read_ranges",
    "run_leaves",
    "select_values",
    "split_any",
    "split_manifest",
    "zipped_page",
]
