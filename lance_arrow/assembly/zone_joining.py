"""`joined_maps`: two zone maps of one leaf as one that knows what either does."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.assembly.zone_maps import ZoneMap

_UNKNOWABLE = ("null_count", "nan_count")


def joined_maps(first: ZoneMap, second: ZoneMap) -> ZoneMap:
    """Fill in what the map of shorter zones leaves open by what the other one says of the zones around.

    Parameters
    ----------
    first, second
        Maps of the same leaf outside lists.

    Returns
    -------
    ZoneMap
        Of the shorter zones. Where borders of the longer ones cut them, the map that leaves nothing open, else `first`.
    """
    fine, coarse = (first, second) if first.rows_per_zone <= second.rows_per_zone else (second, first)
    if not fine.is_partial:
        return fine
    if coarse.rows_per_zone % fine.rows_per_zone:
        return first if first.is_partial == second.is_partial or second.is_partial else second
    factor = coarse.rows_per_zone // fine.rows_per_zone
    around = coarse.zones.take(pa.array(np.arange(fine.num_zones) // factor))
    columns = dict(zip(fine.zones.schema.names, fine.zones.columns, strict=True))
    for name in ("min", "max"):
        columns[f"{name}_exact"] = pc.and_(columns[f"{name}_exact"], columns[name].is_valid())
        columns[name] = pc.coalesce(columns[name], around.column(name))
    for name in _UNKNOWABLE:
        # None in all of them is none in each; of some, nobody knows where they are.
        none = pc.if_else(pc.equal(around.column(name), 0), pa.scalar(0, pa.int64()), pa.scalar(None, pa.int64()))
        columns[name] = pc.coalesce(columns[name], around.column(name) if factor == 1 else none)
    zones = pa.RecordBatch.from_arrays(list(columns.values()), schema=fine.zones.schema)
    is_partial = coarse.is_partial or any(columns[name].null_count for name in _UNKNOWABLE)
    return ZoneMap(zones, fine.rows_per_zone, fine.is_repeated, is_partial=is_partial)
