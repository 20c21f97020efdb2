"""A page as a plan: descriptions bound to runnable layouts, selected rows cut at page borders, two rounds of reading.

In: page descriptions and row selections. Out: opened pages for arrays, descriptions as trees for the inspector.

| Module | Open it for |
|---|---|
| `binder` | description bytes to `BoundLayout`, through the encoding table, memoised |
| `page_scan` | running many pages: one fetch for all indices, one for all data; start here |
| `row_selection` | the only place with row arithmetic |
| `index_cache` | chunk tables and row indices kept under a byte budget |
| `description` | encoding trees for eyes, also where no plugin can bind them |

Forbidden here: pyarrow, plugins by name, anything per chunk or per value.
"""
