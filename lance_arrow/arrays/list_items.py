"""`list_items`: the items of lists of any kind, row by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def list_items(array: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return the items of lists one after another, without items under null lists.

    Parameters
    ----------
    array
        Lists of any kind that Lance supports: list, large_list, map, fixed_size_list; also slices.

    Returns
    -------
    items
        Array of items; for maps, their entries.
    counts
        ``(len(array),) int64``: number of items of each list, 0 for a null.
    """
    # Arrow's own flatten fails for some null fixed-size lists in slices; its cast of maps may abort.
    if isinstance(array, pa.FixedSizeListArray):
        size = array.type.list_size
        starts = np.arange(array.offset, array.offset + len(array), dtype=np.int64) * size
        counts = np.full(len(array), size, np.int64)
    else:
        offsets = array.offsets.to_numpy().astype(np.int64)
        starts, counts = offsets[:-1], np.diff(offsets)
    is_null = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    first, stop = (int(starts[0]), int(starts[-1] + counts[-1])) if len(starts) else (0, 0)
    if is_null is None or not counts[is_null].any():
        return array.values.slice(first, stop - first), counts
    counts[is_null] = 0
    before = np.cumsum(counts) - counts
    places = np.repeat(starts - before, counts) + np.arange(int(counts.sum()))
    return array.values.take(pa.array(places)), counts
