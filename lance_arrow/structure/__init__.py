"""Reading and encoding of pages: bind descriptions to layouts, cut rows at page borders, read in two rounds.

Input: page descriptions and row selections. Output: opened pages for arrays, and descriptions as trees for the
inspector.

| Module | Open it for |
|---|---|
| `binder` | description bytes to `BoundLayout`, by the encoding table, cached |
| `templates` | layouts for descriptions that differ in counts and tables from one that was bound |
| `page_scan` | reading many pages: one fetch for all indices, one for all data; start here |
| `row_selection` | the only place with row arithmetic |
| `index_cache` | chunk tables and row indices kept under a byte budget |
| `description` | printable encoding trees, also if no plugin can bind them |

This package must not use pyarrow, import plugins by name, or run code per chunk or per value.
"""
