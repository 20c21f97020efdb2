"""Decoded pages to Arrow arrays, filled page by page and never concatenated; and arrays to the content of pages.

In: opened pages (levels, and values that wait to be decoded) of the wanted rows. Out: record batches whose memory is
Arrow's own. The other way round, in: chunks of a column; out: `PageContent` of each of its leaves.

| Module | Open it for |
|---|---|
| `row_reader` | `RowReader`: rows of columns of one file, from plan to batch; start here |
| `headed_reader`, `headed_writer` | the same for 2.0 (and 0.1), whose structs and lists have columns of their own |
| `joined_rows` | the same for many small files read as one |
| `readers`, `writers` | which of both fits a file |
| `column_tree` | the schema as a tree whose leaves know their physical column |
| `shared_trees` | that tree, one for all files of a schema |
| `zone_maps`, `zone_streams` | bounds of runs of rows; how they are stored, and where in streams that are alike |
| `told_bounds`, `batch_zones` | the same out of what files of 0.1 tell of their batches |
| `zone_joining` | two maps of a leaf as one |
| `pruning` | paths that callers name, through structs, lists and maps; the tree cut down to them |
| `column_destination` | allocating for a batch of pages at once, handing slices to pages |
| `unravel` | levels to offsets and validity, one native pass per page |
| `dictionaries` | pages that keep their dictionary |
| `short_runs` | rows in many short runs: whether to find each, or to decode what lies between, too |
| `native_take`, `take_set` | few rows of plain columns through the native engine; their arrays in one import |
| `arrays` | buffers and structure to arrays, without a copy |
| `page_split` | where pages of a leaf end |
| `readable_items` | what old releases of the reference want of items of lists |
| `shred` | rows to levels and visible values, the inverse of `unravel` |
| `leaf_path` | the arrays between a column and its leaf |
| `leaf_blocks` | visible values as one block, without what nulls hide |
| `leaf_dictionaries` | indices and items of dictionary columns |

Forbidden here: byte ranges, encodings, Python-owned memory in what goes out (arrays of takes hold buffers of Arrow's
pool through Python objects: decision 0014).
"""
