"""Convert decoded pages to Arrow arrays, filled page by page without concatenation; and arrays to page content.

Reading: input is opened pages of the selected rows (levels, and values to be decoded), output arrays in Arrow's memory.
Writing: input is chunks of a column, output a `PageContent` for each of its leaves.

| Module | Open it for |
|---|---|
| `column_tree` | the schema as a tree whose leaves have their physical column; start here |
| `schema_cache` | that tree, shared by all files of a schema |
| `column_paths` | paths that callers name, through structs, lists and maps; the tree pruned to them |
| `read_options` | options of reading a file |
| `column_destination` | allocating memory for a batch of pages, with slices for each page |
| `unravel` | levels to offsets and validity, one native pass per page |
| `arrow_arrays` | buffers and structure to arrays, without a copy |
| `dictionaries` | pages that keep their dictionary |
| `blob_fields` | fields of a blob column in the file, and in results |
| `shred` | rows to levels and visible values, the inverse of `unravel` |
| `leaf_path`, `leaf_blocks`, `leaf_dictionaries` | from a column to a leaf, its visible values, its dictionary |
| `list_items` | what lists of any kind hold |
| `page_split` | the ends of pages of a leaf |
| `readable_items` | nullable list items for old releases of the reference |

This package must not use byte ranges or encodings, or return Python-owned memory. (Arrays of takes hold buffers of
Arrow's pool through Python objects: decision 0014.)
"""
