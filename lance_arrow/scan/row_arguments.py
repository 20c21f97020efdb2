"""Rows as callers name them: offsets for `take`, ranges for partial reads; what makes no sense is refused by value."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import joined_ranges

Rows: TypeAlias = slice | tuple[int, int] | Sequence[tuple[int, int]]
"""A slice as of a list, one ``(start, stop)``, or several, which ascend and do not overlap."""

_INT64 = np.iinfo(np.int64)


def as_offsets(indices: Any) -> NDArray[np.int64]:
    """Turn row offsets of any usual kind into ``(n,) int64``.

    Raises
    ------
    InvalidArgumentError
        Not one-dimensional integers, a null or boolean among them, or a value beyond 63 bits; it is named.
    """
    if type(indices) is np.ndarray and indices.dtype == np.int64 and indices.ndim == 1:
        return indices
    if isinstance(indices, (pa.Array, pa.ChunkedArray)):
        array = _from_arrow(indices)
    else:
        if isinstance(indices, (list, tuple)) and bool in set(map(type, indices)):
            raise _no_offset(next(value for value in indices if isinstance(value, bool)))
        try:
            array = np.asarray(indices)
        except ValueError as error:
            raise InvalidArgumentError(f"row offsets are not one-dimensional: {error}") from error
    if array.ndim != 1:
        raise InvalidArgumentError(f"row offsets are {array.dtype} of shape {array.shape}, expected (n,) integers")
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        # A list that mixes integers too large for one type comes as floats or objects: look at what the caller gave.
        given = indices if isinstance(indices, (list, tuple)) else array.tolist()
        wrong = [value for value in given if not _is_integer(value) or not _INT64.min <= int(value) <= _INT64.max]
        raise _no_offset(wrong[0]) if wrong else InvalidArgumentError(f"row offsets are {array.dtype}, not integers")
    if array.dtype.kind == "u" and array.max() > _INT64.max:
        raise _no_offset(int(array.max()))
    return array.astype(np.int64, copy=False)


def first_of(indices: Any) -> int:
    """Return the first row offset of a list or an array of integers; -1 where it is none of these."""
    if isinstance(indices, (list, np.ndarray)) and len(indices) and isinstance(indices[0], (int, np.integer)):
        return int(indices[0])
    return -1


def as_row_ids(ids: Any) -> NDArray[np.uint64]:
    """Turn row ids of any usual kind into ``(n,) uint64``; errors are those of `as_offsets`, also for negative ones."""
    offsets = as_offsets(ids)
    if len(offsets) and offsets.min() < 0:
        raise InvalidArgumentError(f"there is no row id {offsets.min()}", detail=int(offsets.min()))
    return offsets.astype(np.uint64)


def as_rows(rows: Rows | None, num_rows: int) -> RowRanges:
    """Turn row ranges into what reads select by; None means all rows.

    Raises
    ------
    InvalidArgumentError
        A range leaves the file, ends before it starts, or begins before the one before it ended; or it is none at all.
        Slices are cut at the ends of the file, as those of lists are, but have no step.
    """
    if rows is None:
        return RowRanges.one(0, num_rows)
    if isinstance(rows, slice):
        if rows.step not in (None, 1):
            raise InvalidArgumentError(f"rows are {rows!r}, expected a slice without a step", detail=rows.step)
        bounds = [bound for bound in (rows.start, rows.stop) if bound is not None]
        if not all(map(_is_integer, bounds)):
            raise InvalidArgumentError(f"rows are {rows!r}, expected a slice of integers", detail=rows)
        return RowRanges.one(*rows.indices(num_rows)[:2])
    if isinstance(rows, (str, bytes)) or not isinstance(rows, (Sequence, np.ndarray)):
        raise InvalidArgumentError(
            f"rows are {rows!r}, expected a slice, (start, stop) or several of these", detail=rows
        )
    is_one = isinstance(rows, tuple) and len(rows) == 2 and all(map(_is_integer, rows))
    pairs: list[Any] = [rows] if is_one else list(rows)
    end = 0
    for pair in pairs:
        if isinstance(pair, (str, bytes)) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise InvalidArgumentError(f"rows hold {pair!r}, expected (start, stop)", detail=pair)
        start, stop = pair
        if not (_is_integer(start) and _is_integer(stop)) or not 0 <= start <= stop <= num_rows:
            raise InvalidArgumentError(
                f"rows {start!r}..{stop!r} do not exist, expected 0 <= start <= stop <= {num_rows}", detail=pair
            )
        if start < end:
            raise InvalidArgumentError(
                f"rows {start}..{stop} begin before row {end}, where the range before them ended; "
                "ranges must ascend (`take` reads rows in any order)",
                detail=pair,
            )
        end = int(stop)
    borders = np.array([(int(start), int(stop)) for start, stop in pairs], np.int64).reshape(-1, 2)
    return joined_ranges(borders[:, 0], borders[:, 1])


def _from_arrow(indices: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    if indices.null_count:
        place = indices.is_null().index(True).as_py()
        raise InvalidArgumentError(f"row offsets hold a null, the first at place {place}", detail=None)
    if len(indices) == 0:
        return np.empty(0, np.int64)
    if not pa.types.is_integer(indices.type):
        raise _no_offset(indices[0].as_py())
    found: NDArray[Any] = (
        indices.to_numpy(zero_copy_only=False) if isinstance(indices, pa.Array) else indices.to_numpy()
    )
    return found


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def _no_offset(value: Any) -> InvalidArgumentError:
    if _is_integer(value):
        return InvalidArgumentError(f"row {value} does not exist", detail=value)
    return InvalidArgumentError(f"row offsets hold {value!r}, expected integers", detail=value)
