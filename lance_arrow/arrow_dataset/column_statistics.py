"""`ColumnStatistics`: what zone maps tell of a column of a dataset, without reading a value.

zones ─► live rows of each: all ─► counts, bounds, exact ones     some ─► bounds     none ─► nothing
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.arrays.column_paths import Path, leaf_at, parse_dot_path
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.ordering.sort_keys import as_sortable
from lance_arrow.scan.predicates import MISFITS, type_at
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.zone_maps import ZoneMap

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.dataset_parts import DatasetOfFragments
    from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment

# So many fragments of a table are held at a time.
_AT_ONCE = 1024


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
    """A file or a fragment: the zone maps of the columns that have one, rows, and live ones."""

    zone_maps: Sequence[ZoneMap | None]
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
    return statistics_of(dataset, [column])[column]


def statistics_of(dataset: DatasetOfFragments, columns: Sequence[str]) -> dict[str, ColumnStatistics]:
    """Join what the zone maps of all files tell of columns, as `column_statistics`; each file is opened once."""
    if not columns:
        return {}
    joined = {column: _JoinedZones(_type_of(dataset, column)) for column in columns}
    names = dataset.schema.names
    paths = [(column,) if column in names else parse_dot_path(column) for column in columns]
    num_rows = 0
    for source in _sources(dataset, paths):
        num_rows += source.live.num_rows
        if not source.live.num_rows:
            continue
        kept: dict[tuple[int, int], _Kept | None] = {}
        for one, zone_map in zip(joined.values(), source.zone_maps, strict=True):
            one.add(zone_map, source, kept)
    return {column: one.statistics(num_rows) for column, one in joined.items()}


def _type_of(dataset: DatasetOfFragments, column: str) -> pa.DataType:
    """Return the type of the values of a column that has statistics."""
    type_ = type_at(dataset.schema, [column]) or type_at(dataset.schema, parse_dot_path(column))
    if type_ is None or pa.types.is_nested(type_):
        what = "does not exist" if type_ is None else f"is {type_}, and statistics are of single values"
        raise InvalidArgumentError(
            f"column {column!r} {what}; columns: {', '.join(dataset.schema.names)}", column=column
        )
    if dataset._own_filter is not None:
        raise InvalidArgumentError("statistics are of all rows, and this dataset has a filter", column=column)
    return type_.value_type if isinstance(type_, pa.DictionaryType) else type_


def _sources(dataset: DatasetOfFragments, paths: Sequence[Path]) -> Iterator[_Source]:
    table, runtime = dataset._table, default_runtime()
    if table is not None:
        count, is_far = len(table.fragments), dataset._is_far
        for first in range(0, count, _AT_ONCE):
            some = table.with_deletions(range(first, min(first + _AT_ONCE, count)))
            yield from runtime.each(
                lambda rows: _Source(rows.zone_maps(paths), rows.num_physical, rows.live), some, is_far=is_far
            )
        return

    def source(fragment: LanceFileFragment) -> _Source:
        opened = fragment.opened_rows()
        if opened is None:
            raise InvalidArgumentError(f"no rows are known of {fragment.path!r}", column=".".join(paths[0]))
        file, live = opened
        leaves = [leaf_at(file.rows.roots, path) for path in paths]
        maps = iter(file.zones.get([leaf for leaf in leaves if leaf is not None]))
        return _Source([None if leaf is None else next(maps) for leaf in leaves], file.num_physical, live)

    fragments = dataset.fragments
    yield from runtime.each(source, fragments, is_far=dataset._is_far)


class _JoinedZones:
    """Zones of one column, of all files seen so far."""

    def __init__(self, type_: pa.DataType) -> None:
        self._type = type_
        self._is_known = True
        # Files of a dataset may have other types than the dataset.
        self._parts: dict[pa.Schema, list[tuple[pa.RecordBatch, NDArray[np.bool_]]]] = {}

    def add(self, zone_map: ZoneMap | None, source: _Source, kept: dict[tuple[int, int], _Kept | None]) -> None:
        """Take the zones of a file; `kept` has its zones with live rows, by their number and size."""
        found = None
        if zone_map is not None and self._is_known and not (zone_map.is_repeated or zone_map.is_partial):
            form = zone_map.num_zones, zone_map.rows_per_zone
            if form not in kept:
                kept[form] = _Kept.of(*form, source.num_physical, source.live)
            found = kept[form]
        if zone_map is None or found is None:
            self._is_known = False
            self._parts = {}
            return
        zones = zone_map.zones if found.is_all else zone_map.zones.take(pa.array(found.numbers))
        self._parts.setdefault(zones.schema, []).append((zones, found.is_whole))

    def statistics(self, num_rows: int) -> ColumnStatistics:
        """Tell what the zones tell of all rows."""
        zones = [_Zones.of(parts) for parts in self._parts.values()] if self._is_known else []
        counts: dict[str, int | None] = {}
        for name in ("null_count", "nan_count"):
            own = [one.count(name) for one in zones]
            counts[name] = sum(one or 0 for one in own) if self._is_known and None not in own else None
        if not pa.types.is_floating(self._type):
            counts["nan_count"] = 0
        bounds = []
        for name in ("min", "max"):
            found = [one.bound(name, self._type) for one in zones] if self._is_known else [_Bound(is_known=False)]
            bounds.append(_joined(found, name))
        low, high = bounds
        return ColumnStatistics(
            num_rows, counts["null_count"], counts["nan_count"], low.value, high.value, low.is_exact, high.is_exact
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """Zones of a file with live rows: ``(n,) int64`` numbers, and flags of those of which all rows live."""

    numbers: NDArray[np.int64]
    is_whole: NDArray[np.bool_]
    is_all: bool

    @classmethod
    def of(cls, num_zones: int, rows_per_zone: int, num_physical: int, live: RowRanges) -> _Kept | None:
        """Find them; None if the zones do not tell of all rows of the file."""
        borders = np.minimum(np.arange(num_zones + 1) * rows_per_zone, num_physical)
        if borders[-1] != num_physical:
            return None
        begun = np.searchsorted(live.starts, borders, side="left")
        beyond = np.where(begun > 0, live.stops[np.maximum(begun - 1, 0)] - borders, 0)
        counts = np.diff(live.before[begun] - np.maximum(beyond, 0))
        kept = np.flatnonzero(counts)
        return cls(kept, counts[kept] == np.diff(borders)[kept], len(kept) == num_zones)


@dataclass(frozen=True, slots=True, eq=False)
class _Zones:
    """Zones with live rows; `is_whole` flags those of which all rows live."""

    zones: pa.RecordBatch
    is_whole: NDArray[np.bool_]

    @classmethod
    def of(cls, parts: Sequence[tuple[pa.RecordBatch, NDArray[np.bool_]]]) -> _Zones:
        """Put the zones of files one after another."""
        if len(parts) == 1:
            return cls(*parts[0])
        (zones,) = pa.Table.from_batches([one for one, _ in parts]).combine_chunks().to_batches()
        return cls(zones, np.concatenate([flags for _, flags in parts]))

    def count(self, name: str) -> int | None:
        """Sum a count; None where it is not known of a zone, or deleted rows may be among those that are counted."""
        column = self.zones.column(name)
        if column.null_count:
            return None
        counts = column.to_numpy()
        return None if counts[~self.is_whole].any() else int(counts.sum())

    def _are_empty(self, chosen: NDArray[np.bool_]) -> bool:
        """Return whether some zones have nothing but nulls and NaN."""
        values, nulls, nans = (self.zones.column(name) for name in ("value_count", "null_count", "nan_count"))
        if nulls.null_count or nans.null_count:
            return False
        return bool((values.to_numpy() == nulls.to_numpy() + nans.to_numpy())[chosen].all())

    def bound(self, name: str, type_: pa.DataType) -> _Bound:
        """Return the least ``min``, or the greatest ``max``."""
        column, low = self.zones.column(name), self.zones.column("min")
        # Zones without values have neither bound; some with values have no upper one.
        if low.null_count != column.null_count:
            return _Bound(is_known=False)
        # Arrow has no such kernel for half floats.
        column = as_sortable(column)
        value = pc.min_max(column)[name]
        if column.null_count and not self._are_empty(column.is_null().to_numpy(zero_copy_only=False)):
            return _Bound(is_known=False)
        if not value.is_valid:
            return _Bound()
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
