"""`FragmentZones`: the zones of one fragment with their bounds, as row groups are listed of a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.errors import InvalidArgumentError, NotPicklableError
from lance_arrow.libarrow.expressions import native_expressions
from lance_arrow.pruning.zone_predicates import ZonePredicate
from lance_arrow.pruning.zone_pruning import prune_rows
from lance_arrow.pruning.zone_values import UNCOMPARABLE
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.predicates import Predicate, as_expression, misfit
from lance_arrow.scan.row_arguments import as_offsets
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.structure.row_selection import cut, intersection, joined_ranges, rows_before


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneStatistics:
    """Bounds of one leaf in one zone.

    Parameters
    ----------
    min, max
        Python values that no value of the zone is below or above; None where there is no value, or no bound. Of
        times that Python's types cannot hold, pyarrow scalars.
    min_exact, max_exact
        Whether the bound is a value of the zone.
    null_count, nan_count
        As docs/format/zone_maps.md counts them. If zones of several columns differ in length, the counts are those of
        the column's own zone, which may be longer. None if they are not known (files of 0.1).
    """

    min: Any
    max: Any
    min_exact: bool
    max_exact: bool
    null_count: int | None
    nan_count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneInfo:
    """One zone.

    Parameters
    ----------
    id
        Its number in the file.
    first_row
        Of the file.
    num_rows
        Rows of it that the fragment has.
    statistics
        By dotted path of a leaf, for those that have a zone map.
    """

    id: int
    first_row: int
    num_rows: int
    statistics: Mapping[str, ZoneStatistics]


class FragmentZones(Sequence[ZoneInfo]):
    """Zones of a fragment, each looked up when it is asked for.

    Zones end where a zone of any of the columns ends; without zone maps, the file is one zone.

    Parameters
    ----------
    borders
        ``(num_zones_of_the_file + 1,) int64`` first rows of all zones of the file, and the number of rows.
    maps
        Zone maps by dotted path.
    held
        Rows of the fragment.
    """

    def __init__(self, borders: NDArray[np.int64], maps: Mapping[str, ZoneMap], held: RowRanges) -> None:
        self.borders = borders
        self._maps = maps
        self._held = held
        self._counts = np.diff(rows_before(held, borders))
        self.ids: NDArray[np.int64] = np.flatnonzero(self._counts)
        """``(num_zones,) int64`` numbers of the zones in the file."""

    @classmethod
    def of(cls, file: OpenFile, held: RowRanges, leaves: Sequence[LeafNode] | None = None) -> FragmentZones:
        """Read the zone maps of some leaves of a file, or of all its columns."""
        if leaves is None:
            leaves = [leaf for root in file.rows.roots for leaf in root.leaves() if leaf.refusal is None]
        found = zip(leaves, file.zones.get(leaves), strict=True)
        maps = {leaf.path: one for leaf, one in found if one is not None and one.num_zones}
        num_rows = file.rows.num_rows
        steps = {one.rows_per_zone for one in maps.values()} or {max(1, num_rows)}
        borders = np.unique(np.concatenate([[num_rows], *(np.arange(0, num_rows, step) for step in steps)]))
        return cls(borders.astype(np.int64), maps, held)

    @property
    def columns(self) -> tuple[str, ...]:
        """Leaves that have a zone map."""
        return tuple(self._maps)

    @property
    def num_rows(self) -> NDArray[np.int64]:
        """Rows of each zone that the fragment has, ``(num_zones,) int64``."""
        found: NDArray[np.int64] = self._counts[self.ids]
        return found

    def rows_of(self, numbers: Sequence[int]) -> RowRanges:
        """Return the fragment's rows in some zones.

        Raises
        ------
        InvalidArgumentError
            The fragment has no such zone; it is named.
        """
        wanted = np.unique(as_offsets(numbers))
        missing = wanted[~np.isin(wanted, self.ids)]
        if len(missing):
            raise InvalidArgumentError(
                f"there is no zone {missing[0]} in this fragment, which has {len(self)}", detail=int(missing[0])
            )
        return intersection(self._held, joined_ranges(self.borders[wanted], self.borders[wanted + 1]))

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> ZoneInfo: ...

    @overload
    def __getitem__(self, index: slice) -> list[ZoneInfo]: ...

    def __getitem__(self, index: int | slice) -> ZoneInfo | list[ZoneInfo]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        number = int(self.ids[range(len(self))[index]])
        first = int(self.borders[number])
        return ZoneInfo(
            id=number,
            first_row=first,
            num_rows=int(self._counts[number]),
            statistics={path: _statistics(one, first // one.rows_per_zone) for path, one in self._maps.items()},
        )

    def __iter__(self) -> Iterator[ZoneInfo]:
        return (self[index] for index in range(len(self)))

    def __reduce__(self) -> tuple[object, ...]:
        raise NotPicklableError("FragmentZones belong to a file that is open here; pickle the fragment instead")

    def __repr__(self) -> str:
        return (
            f"FragmentZones({len(self):,} of {len(self.borders) - 1:,} zones, of {', '.join(self._maps) or 'nothing'})"
        )


def left_by_filter(file: OpenFile, filter: Predicate, schema: pa.Schema | None, within: RowRanges) -> RowRanges:
    """Leave out the rows of zones in which no row satisfies a filter.

    Raises
    ------
    InvalidArgumentError
        The filter does not fit the schema, that of the file when None.
    """
    schema = file.rows.schema if schema is None else schema
    expression = as_expression(filter, schema)
    try:
        predicate = ZonePredicate(native_expressions.expression_tree(expression, schema))
    except (*UNCOMPARABLE, pa.ArrowKeyError) as error:
        raise InvalidArgumentError(f"the filter {expression} does not fit the file: {misfit(error, schema)}") from error
    return prune_rows(file.rows, file.zones, predicate, within).rows


def pieces(zones: FragmentZones, held: RowRanges, max_rows: int | None) -> list[RowRanges]:
    """Divide rows where zones end, or where there are enough of them.

    Raises
    ------
    InvalidArgumentError
        `max_rows` is no number of rows.
    """
    if max_rows is not None and (not isinstance(max_rows, int) or isinstance(max_rows, bool) or max_rows < 1):
        raise InvalidArgumentError(f"max_rows is {max_rows!r}, expected an integer, at least 1", detail=max_rows)
    parts: list[RowRanges] = []
    start = stop = 0
    for num_rows in zones.num_rows.tolist():
        if start < stop and (max_rows is None or stop + num_rows - start > max_rows):
            parts.append(cut(held, start, stop))
            start = stop
        stop += num_rows
        while max_rows is not None and stop - start > max_rows:
            parts.append(cut(held, start, start + max_rows))
            start += max_rows
    if start < stop:
        parts.append(cut(held, start, stop))
    return parts


def _statistics(zone_map: ZoneMap, number: int) -> ZoneStatistics:
    row = zone_map.zones.slice(number, 1)
    low, high = row.column("min")[0], row.column("max")[0]
    return ZoneStatistics(
        min=_python(low),
        max=_python(high),
        min_exact=row.column("min_exact")[0].as_py(),
        max_exact=row.column("max_exact")[0].as_py(),
        null_count=row.column("null_count")[0].as_py(),
        nan_count=row.column("nan_count")[0].as_py(),
    )


def _python(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return scalar
