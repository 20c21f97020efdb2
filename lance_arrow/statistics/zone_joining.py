"""`joined_maps`: combine the knowledge of two zone maps of one leaf."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_arrow.late_arrow import pc
from lance_arrow.statistics.zone_maps import ZoneMap

_UNKNOWABLE = ("null_count", "nan_count")


def joined_maps(first: ZoneMap, second: ZoneMap) -> ZoneMap:
    """Return the map of the shorter zones, with unknown values filled in from the longer zones around them.

    Parameters
    ----------
    first, second
        Maps of the same leaf outside lists.

    Returns
    -------
    ZoneMap
        A map of the shorter zones.
    """
    fine, coarse = (first, second) if first.rows_per_zone <= second.rows_per_zone else (second, first)
    if not fine.is_partial:
        return fine
    starts = np.arange(fine.num_zones, dtype=np.int64) * fine.rows_per_zone
    lasts = starts + fine.counts("row_count") - 1
    # A zone lies inside one or two of the longer zones.
    left, right = (coarse.zones.take(pa.array(rows // coarse.rows_per_zone)) for rows in (starts, lasts))
    columns = dict(zip(fine.zones.schema.names, fine.zones.columns, strict=True))
    for name, comes_first in (("min", pc.less), ("max", pc.greater)):
        one, other = left.column(name), right.column(name)
        around = pc.if_else(comes_first(one, other), one, other)
        columns[f"{name}_exact"] = pc.and_(columns[f"{name}_exact"], columns[name].is_valid())
        columns[name] = pc.coalesce(columns[name], around)
    for name in _UNKNOWABLE:
        # A count of 0 holds for each part; other counts do not show which part has the items.
        has_none = pc.equal(pc.add(left.column(name), right.column(name)), 0)
        none = pc.if_else(has_none, pa.scalar(0, pa.int64()), pa.scalar(None, pa.int64()))
        is_same = coarse.rows_per_zone == fine.rows_per_zone
        columns[name] = pc.coalesce(columns[name], left.column(name) if is_same else none)
    zones = pa.RecordBatch.from_arrays(list(columns.values()), schema=fine.zones.schema)
    is_partial = coarse.is_partial or any(columns[name].null_count for name in _UNKNOWABLE)
    return ZoneMap(zones, fine.rows_per_zone, fine.is_repeated, is_partial=is_partial)
