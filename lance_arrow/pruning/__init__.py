"""Which zones and files a filter leaves out: decided from statistics, no value is read.

In: a filter and zone maps. Out: for each zone no row, some rows, or every row satisfies it.

| Module | Open it for |
|---|---|
| `zone_pruning` | `prune_rows`: the rows of a file that a filter leaves, and those of which it is sure; start here |
| `zone_predicates` | a filter that judges zones |
| `zone_programs` | compiling it for native code, which judges (`engine/prune/zone_program.hpp`); a function to add |
| `zone_values` | casts that keep the order of values; zone maps that are cast |
| `described_file` | what pruning asks of an open file |
| `file_pruner` | small files that zone maps exclude, left out without Python (`engine/prune`) |

Forbidden here: decoding pages. Where bounds cannot tell, rows stay.
"""
