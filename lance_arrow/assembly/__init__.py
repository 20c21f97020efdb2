"""Decoded pages to Arrow arrays: one destination per column, filled page by page, never concatenated.

In: opened pages (levels, and values that wait to be decoded) of the wanted rows. Out: record batches whose memory is
Arrow's own.

| Module | Open it for |
|---|---|
| `row_reader` | `RowReader`: rows of columns of one file, from plan to batch; start here |
| `column_tree` | the schema as a tree whose leaves know their physical column |
| `pruning` | paths that callers name, through structs, lists and maps; the tree cut down to them |
| `column_destination` | allocating for a batch of pages at once, handing slices to pages |
| `unravel` | levels to offsets and validity, one native pass per page |
| `dictionaries` | pages that keep their dictionary |
| `arrays` | buffers and structure to arrays, without a copy |

Forbidden here: byte ranges, encodings, Python-owned memory in what goes out.
"""
