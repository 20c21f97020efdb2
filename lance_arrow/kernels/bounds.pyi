"""Smallest and greatest value of each of many runs ("zones") of values, with counts of nulls and NaN."""

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]

def bound_fixed(
    values: _Bytes,
    value_offset: int,
    kind: int,
    width: int,
    validity: _Bytes | None,
    bit_offset: int,
    zone_starts: _Positions,
    mins: _Bytes,
    maxs: _Bytes,
    counts: _Positions,
) -> None:
    """Bound fixed-width values.

    Parameters
    ----------
    values, value_offset
        Their bytes; value i is item ``value_offset + i`` (bit, for bits).
    kind, width
        0 signed integers (1, 2, 4, 8, 16, 32 bytes), 1 unsigned (1, 2, 4, 8), 2 floating (2, 4, 8), 3 bits (1),
        4 bytes in their own order (any width).
    validity, bit_offset
        Bitmap, bit ``bit_offset + i`` tells that value i is valid; all are when None.
    zone_starts
        ``(num_zones + 1,)`` first value of each zone, and where the last one stops.
    mins, maxs
        ``(num_zones * width,) uint8`` out: bounds; untouched for zones without values. NaN is passed over; a bound
        that is zero is ``-0.0`` in `mins` and ``+0.0`` in `maxs`. Bits are bytes 0 and 1.
    counts
        ``(3 * num_zones,)`` out: for all zones the values that are neither null nor NaN, then the nulls, then the NaNs.

    Raises
    ------
    InternalError
        The arguments contradict each other.
    """

def bound_variable(
    offsets: _Bytes,
    offset_bits: int,
    data: _Bytes,
    validity: _Bytes | None,
    bit_offset: int,
    zone_starts: _Positions,
    min_indices: _Positions,
    max_indices: _Positions,
    counts: _Positions,
) -> None:
    """Find the first smallest and first greatest value of each zone, in the order of their bytes.

    Parameters
    ----------
    offsets, offset_bits
        Bytes of 32- or 64-bit offsets, from that of value 0 on, one more than values.
    data
        What they point into.
    min_indices, max_indices
        ``(num_zones,)`` out: numbers of the values, -1 in zones without values.
    validity, bit_offset, zone_starts, counts
        As for `bound_fixed`; there are no NaNs.

    Raises
    ------
    InternalError
        The arguments contradict each other, or an offset of a valid value leaves the data.
    """
