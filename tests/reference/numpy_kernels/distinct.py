"""Distinct values by a dictionary: the meaning of ``engine/door/encode/distinct.pxi``."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import InternalError

PROBE_VALUES = 8192


def index_fixed(
    data: NDArray[np.uint8],
    bytes_per_value: int,
    nulls: NDArray[np.uint16] | None,
    out_indices: NDArray[np.uint32],
    out_firsts: NDArray[np.int64],
) -> int | None:
    """Number the distinct values of a fixed-width block."""
    _check_nulls(nulls, out_indices)
    if bytes_per_value < 1 or bytes_per_value * len(out_indices) != len(data):
        raise InternalError("values and indices differ in number")
    starts = range(0, len(data), bytes_per_value)
    values = [data[start : start + bytes_per_value].tobytes() for start in starts]
    return _index(values, nulls, out_indices, out_firsts)


def index_variable(
    offsets: NDArray[np.uint8],
    offset_bits: int,
    data: NDArray[np.uint8],
    nulls: NDArray[np.uint16] | None,
    out_indices: NDArray[np.uint32],
    out_firsts: NDArray[np.int64],
) -> int | None:
    """Number the distinct values of a variable-width block."""
    _check_nulls(nulls, out_indices)
    if offset_bits not in (32, 64):
        raise InternalError("offsets have 32 or 64 bits")
    if (len(out_indices) + 1) * (offset_bits // 8) != len(offsets):
        raise InternalError("values and indices differ in number")
    places = offsets.view(f"<i{offset_bits // 8}").tolist()
    for value, (start, stop) in enumerate(pairwise(places)):
        if stop < start:
            raise InternalError("offsets descend", detail=value)
    if places[-1] - places[0] > len(data):
        raise InternalError("offsets leave the data", detail=len(out_indices) - 1)
    values = [data[start - places[0] : stop - places[0]].tobytes() for start, stop in pairwise(places)]
    return _index(values, nulls, out_indices, out_firsts)


def _check_nulls(nulls: NDArray[np.uint16] | None, out_indices: NDArray[np.uint32]) -> None:
    if nulls is not None and len(nulls) != len(out_indices):
        raise InternalError("null levels and values differ in number")


def _index(
    values: list[bytes],
    nulls: NDArray[np.uint16] | None,
    out_indices: NDArray[np.uint32],
    out_firsts: NDArray[np.int64],
) -> int | None:
    items: dict[bytes, int] = {}
    seen = 0
    for number, value in enumerate(values):
        if nulls is not None and nulls[number]:
            out_indices[number] = 0
            continue
        if value not in items:
            if len(items) == len(out_firsts):
                return None
            out_firsts[len(items)] = number
            items[value] = len(items)
        out_indices[number] = items[value]
        seen += 1
        surely_too_many = (seen - len(items)) * 4 * len(out_firsts) < seen * seen
        if seen == PROBE_VALUES and len(values) > 2 * PROBE_VALUES and surely_too_many:
            return None
    return len(items)
