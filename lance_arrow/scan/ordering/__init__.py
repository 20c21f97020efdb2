"""Rows in the order of columns, and how many of them: what `order_by`, `limit` and `offset` do.

In: sources of rows and their zone maps. Out: positions of the first rows in order; wanted columns are taken afterwards.

| Module | Open it for |
|---|---|
| `sort_keys` | what callers name: columns, directions, nulls; values in a form that Arrow sorts |
| `zone_ranks` | zones in the order of the best row that each may hold, and a bound before anything is read |
| `top_rows` | the first rows in order of those seen so far |
| `ordered_scan` | which zones are read, until no other zone can hold a better row |
| `ordered_table` | rows of a table in order, or some of them without an order |
| `growing_parts` | rows that satisfy a filter, for a caller that wants few of them |
| `row_limits` | `limit` and `offset` |

Forbidden here: pyarrow's dataset classes, comparisons that are not Arrow's.
"""
