"""Zone maps: bounds of runs of rows, per leaf; how they are built, stored and checked.

| Module | Open it for |
|---|---|
| `zone_maps` | `ZoneMap`, checked when it is read; start here |
| `zone_types` | which leaves have zone maps, and the columns of these |
| `zone_bounds`, `zone_builder` | bounds of values, and of the chunks of a column as they are written |
| `zone_streams`, `plain_maps` | how maps are stored: Arrow IPC streams; those of values alone, from forms |
| `zone_sidecar` | maps beside a file that has none of its own |
| `zone_joining` | two maps of a leaf as one |
| `legacy/v0_1_zones` | maps out of what 0.1 files tell of their batches |

Forbidden here: reading values, filters.
"""
