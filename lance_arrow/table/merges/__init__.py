"""Merges: rows of a source matched by keys with those of a table.

In: a handle that can be written, rows, clauses. Out: new files, and which rows are gone, for one commit.

| Module | Open it for |
|---|---|
| `merging` | `TableMerge`, `TableMergeInsert`, `MergeClauses`: a merge as it is described |
| `merge_rows` | the merge as it is done, part by part of its source: start here |
| `merge_pass` | one pass over the table for one part |
| `key_matching` | which row of a source has the key of a row of the table |
"""
