"""Zone pruning: finds zones and files that a filter excludes, from statistics and without reading values.

Input: a filter and zone maps. Output for each zone: no row, some rows, or every row satisfies the filter.

| Module | Open it for |
|---|---|
| `zone_pruning` | `prune_rows`: candidate rows of a file, and rows that certainly satisfy the filter; start here |
| `zone_predicates` | filters that judge zones |
| `zone_programs` | compiling filters for native code (`engine/prune/zone_program.hpp`); adding a function |
| `zone_values` | casts that keep the order of values; casts of zone maps |
| `described_file` | the interface of an open file for pruning |
| `file_pruner` | excluding small files by zone maps, without Python (`engine/prune`) |

This package must not decode pages. If bounds cannot decide, rows are kept.
"""
