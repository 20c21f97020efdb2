"""Decoded pages to Arrow arrays, filled page by page and never concatenated; and arrays to the content of pages.

In: opened pages (levels, and values that wait to be decoded) of the wanted rows. Out: arrays whose memory is Arrow's
own. The other way round, in: chunks of a column; out: `PageContent` of each of its leaves.

| Module | Open it for |
|---|---|
| `column_tree` | the schema as a tree whose leaves know their physical column; start here |
| `schema_cache` | that tree, one for all files of a schema |
| `column_paths` | paths that callers name, through structs, lists and maps; the tree cut down to them |
| `read_options` | how a file is read, where callers have a choice |
| `column_destination` | allocating for a batch of pages at once, handing slices to pages |
| `unravel` | levels to offsets and validity, one native pass per page |
| `arrow_arrays` | buffers and structure to arrays, without a copy |
| `dictionaries` | pages that keep their dictionary |
| `blob_fields` | what a blob column holds in the file, and what its readers are shown |
| `shred` | rows to levels and visible values, the inverse of `unravel` |
| `leaf_path`, `leaf_blocks`, `leaf_dictionaries` | from a column to a leaf, to its visible values, to its dictionary |
| `list_items` | what lists of any kind hold |
| `page_split` | where pages of a leaf end |
| `readable_items` | what old releases of the reference want of items of lists |

Forbidden here: byte ranges, encodings, Python-owned memory in what goes out (arrays of takes hold buffers of Arrow's
pool through Python objects: decision 0014).
"""
