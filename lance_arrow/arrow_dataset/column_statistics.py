"""`ColumnStatistics`: what zone maps tell of a column of a dataset, without reading a value.

zones ─► live rows of each: all ─► counts, bounds, exact ones     some ─► bounds     none ─► nothing
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.arrays.column_paths import leaf_at, parse_dot_path
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.ordering.sort_keys import as_sortable
from lance_arrow.scan.predicates import MISFITS, type_at
from lance_arrow.spi import RowRanges
from lance_arrow.statistics.zone_maps import ZoneMap

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.dataset_parts import DatasetOfFragments


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Counts and bounds of the live rows of a column; unknown ones are None.

    Parameters
    ----------
    num_rows
        Rows.
    null_count, nan_count
        Rows that are null, and that are NaN.
    minimum, maximum
        No value that is neither null nor NaN is less, or greater. Zeros have no sign.
    is_minimum_exact, is_maximum_exact
        Whether some row has this value.
    """

    num_rows: int
    null_count: int | None
    nan_count: int | None
    minimum: pa.Scalar | None
    maximum: pa.Scalar | None
    is_minimum_exact: bool
    is_maximum_exact: bool


class _Source(NamedTuple):
    """A file, or the file of a fragment that has the column: its zone map if it has one, rows, and live ones."""

    zone_map: ZoneMap | None
    num_physical: int
    live: RowRanges


class _Bound(NamedTuple):
    """A bound and whether some row has it. Without a value there is nothing to bound, or `is_known` is False."""

    value: pa.Scalar | None = None
    is_exact: bool = False
    is_known: bool = True


def column_statistics(dataset: DatasetOfFragments, column: str) -> ColumnStatistics:
    """Join what the zone maps of all files tell.

    Parameters
    ----------
    dataset
        The dataset.
    column
        Dotted path of a column, or of a field of structs.

    Raises
    ------
    InvalidArgumentError
        There is no such column, it is nested, or the dataset has a filter.
    LanceError, OSError
        A file cannot be opened, or a zone map is damaged.
    """
    type_ = type_at(dataset.schema, [column]) or type_at(dataset.schema, parse_dot_path(column))
    if type_ is None or pa.types.is_nested(type_):
        what = "does not exist" if type_ is None else f"is {type_}, and statistics are of single values"
        raise InvalidArgumentError(
            f"column {column!r} {what}; columns: {', '.join(dataset.schema.names)}", column=column
        )
    if dataset._own_filter is not None:
        raise InvalidArgumentError("statistics are of all rows, and this dataset has a filter", column=column)
    plain = type_.value_type if isinstance(type_, pa.DictionaryType) else type_
    counts: dict[str, int | None] = {"null_count": 0, "nan_count": 0}
    lows, highs = [_Bound()], [_Bound()]
    num_rows = 0
    for source in _sources(dataset, column):
        num_rows += source.live.num_rows
        if not source.live.num_rows:
            continue
        zones = None if source.zone_map is None else _Zones.of(source.zone_map, source.num_physical, source.live)
        for name, count in counts.items():
            own = None if zones is None else zones.count(name)
            counts[name] = None if own is None or count is None else count + own
        lows.append(_Bound(is_known=False) if zones is None else zones.bound("min", plain))
        highs.append(_Bound(is_known=False) if zones is None else zones.bound("max", plain))
    if not pa.types.is_floating(plain):
        counts["nan_count"] = 0
    low, high = _joined(lows, "min"), _joined(highs, "max")
    return ColumnStatistics(
        num_rows, counts["null_count"], counts["nan_count"], low.value, high.value, low.is_exact, high.is_exact
    )


def _sources(dataset: DatasetOfFragments, column: str) -> Iterator[_Source]:
    path = (column,) if column in dataset.schema.names else parse_dot_path(column)
    table = dataset._table
    if table is not None:
        for number in range(len(table.fragments)):
            rows = table.fragment(number)
            yield _Source(rows.zone_map(path), rows.num_physical, rows.live)
        return
    for fragment in dataset.fragments:
        opened = fragment.opened_rows()
        if opened is None:
            raise InvalidArgumentError(f"no rows are known of {fragment.path!r}", column=column)
        file, live = opened
        leaf = leaf_at(file.rows.roots, path)
        yield _Source(None if leaf is None else file.zones.get([leaf])[0], file.num_physical, live)


@dataclass(frozen=True, slots=True, eq=False)
class _Zones:
    """Zones with live rows; `is_whole` flags those of which all rows live."""

    zones: pa.RecordBatch
    is_whole: NDArray[np.bool_]

    @classmethod
    def of(cls, zone_map: ZoneMap, num_physical: int, live: RowRanges) -> _Zones | None:
        """Find the zones with live rows; None where values are several a row, or zones do not tell of all rows."""
        borders = np.minimum(np.arange(zone_map.num_zones + 1) * zone_map.rows_per_zone, num_physical)
        if zone_map.is_repeated or zone_map.is_partial or borders[-1] != num_physical:
            return None
        begun = np.searchsorted(live.starts, borders, side="left")
        beyond = np.where(begun > 0, live.stops[np.maximum(begun - 1, 0)] - borders, 0)
        counts = np.diff(live.before[begun] - np.maximum(beyond, 0))
        kept = np.flatnonzero(counts)
        return cls(zone_map.zones.take(pa.array(kept)), counts[kept] == np.diff(borders)[kept])

    def count(self, name: str) -> int | None:
        """Sum a count; None where it is not known of a zone, or deleted rows may be among those that are counted."""
        column = self.zones.column(name)
        if column.null_count:
            return None
        counts = column.to_numpy()
        return None if counts[~self.is_whole].any() else int(counts.sum())

    def bound(self, name: str, type_: pa.DataType) -> _Bound:
        """Return the least ``min``, or the greatest ``max``."""
        column, low = self.zones.column(name), self.zones.column("min")
        # Zones without values have neither bound; some with values have no upper one.
        if low.null_count != column.null_count:
            return _Bound(is_known=False)
        # Arrow has no such kernel for half floats.
        column = as_sortable(column)
        value = pc.min_max(column)[name]
        if not value.is_valid:
            values = self.zones.column("value_count").to_numpy()
            nothing = [self.count("null_count"), self.count("nan_count")]
            is_empty = None not in nothing and int(values.sum()) == sum(one or 0 for one in nothing)
            return _Bound(is_known=is_empty)
        exact = self.zones.column(f"{name}_exact").to_numpy(zero_copy_only=False)
        has_it = pc.equal(column, value).fill_null(False).to_numpy(zero_copy_only=False)
        try:
            shown = value if value.type == type_ else value.cast(type_)
        except MISFITS:
            return _Bound(is_known=False)
        return _Bound(shown, bool((has_it & exact & self.is_whole).any()))


def _joined(bounds: list[_Bound], name: str) -> _Bound:
    """Return the least, or greatest, of bounds; none where one is not known."""
    if not all(bound.is_known for bound in bounds):
        return _Bound(is_known=False)
    found = [bound for bound in bounds if bound.value is not None]
    if not found:
        return _Bound()
    type_ = None if found[0].value is None else found[0].value.type
    values = as_sortable(pa.array([bound.value for bound in found], type_))
    best = pc.min_max(values)[name].cast(type_)
    return _Bound(best, any(bound.is_exact and bound.value == best for bound in found))
