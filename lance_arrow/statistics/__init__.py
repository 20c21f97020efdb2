"""Zone maps, the bounds of runs of rows of a leaf: building, storing and checking them.

| Module | Open it for |
|---|---|
| `zone_maps` | `ZoneMap`, checked when it is read; start here |
| `zone_types` | leaves with zone maps, and the columns of zone maps |
| `zone_bounds`, `zone_builder` | bounds of values, and of the chunks of a written column |
| `zone_streams`, `plain_maps` | storage as Arrow IPC streams; fast encoding of simple maps from templates |
| `zone_sidecar` | zone maps beside a file without its own |
| `zone_joining` | two zone maps of a leaf as one |
| `legacy/v0_1_zones` | zone maps from the batch statistics of 0.1 files |

This package must not read values or use filters.
"""
