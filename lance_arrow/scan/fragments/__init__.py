"""Rows of the fragments of one version of a table.

| Module | Open it for |
|---|---|
| `table_reader` | `TableReader`: rows of a version, streamed, filtered, counted; start here |
| `table_columns`, `field_sources` | the version's columns, and which file of a fragment each comes from |
| `fragment_rows`, `fragment_reading` | live rows of one fragment: zones, deletions, its files side by side |
| `table_zones` | what bounds the rows of a fragment |
| `fragment_groups` | which fragments are read together; see `groups/` |
| `fragment_pruner` | fragments that zone maps leave out before they are opened |
| `table_taking`, `joined_fragments` | rows of many fragments at once; fragments of small files read together |
"""
