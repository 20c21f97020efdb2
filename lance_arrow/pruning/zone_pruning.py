"""`prune_rows`: candidate rows of a file by its zone maps, and rows that certainly satisfy the filter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.arrays.column_paths import Path
from lance_arrow.pruning.described_file import DescribedFile, HasZoneMaps
from lance_arrow.pruning.zone_predicates import Tree, Verdict, ZonePredicate
from lance_arrow.pruning.zone_values import UNCOMPARABLE
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.structure.row_selection import intersection, joined_ranges

# As numbers, which numpy compares faster.
_NO, _ALL = int(Verdict.NO), int(Verdict.ALL)


class ShowsExpressions(Protocol):
    """Shows the parts of an expression, which pyarrow does not: the native bridge."""

    def expression_tree(self, expression: pc.Expression, schema: pa.Schema) -> Tree:
        """Return the expression as it is bound to a schema."""
        ...


def zone_predicate(
    native: ShowsExpressions | None, expression: pc.Expression, schema: pa.Schema
) -> ZonePredicate | None:
    """Turn a filter into a zone predicate; None where expressions cannot be read, or if it does not fit the schema."""
    if native is None:
        return None
    try:
        return ZonePredicate(native.expression_tree(expression, schema))
    except (*UNCOMPARABLE, pa.ArrowKeyError):
        # The scan applies the filter and reports the error.
        return None


@dataclass(frozen=True, slots=True, eq=False)
class PruneResult:
    """Result of a filter on the zone maps of a file.

    Parameters
    ----------
    rows
        Rows of zones in which some rows may satisfy the filter.
    all
        Part of `rows`: rows of zones in which every row satisfies it.
    zones_total, zones_pruned, zones_all
        Number of zones; of zones in which no row satisfies it; of zones in which every row does. 0 without zone maps.
    """

    rows: RowRanges
    all: RowRanges
    zones_total: int = 0
    zones_pruned: int = 0
    zones_all: int = 0


def prune_rows(
    rows: DescribedFile, zones: HasZoneMaps, predicate: ZonePredicate | None, within: RowRanges
) -> PruneResult:
    """Find, by the zone maps of a file, the rows that can satisfy a filter and those that certainly do.

    Parameters
    ----------
    rows, zones
        The file and its zone maps; those of columns in the filter are read.
    predicate
        The filter; if None, nothing is pruned.
    within
        Rows to choose from; zones without any of them are not counted.

    Raises
    ------
    CorruptFileError
        A zone map is damaged.
    """
    undecided = PruneResult(within, RowRanges.one(0, 0))
    if predicate is None or not len(within):
        return undecided
    leaves = predicate.leaves(rows.roots)
    found = zip(leaves, zones.get(list(leaves.values())), strict=True)
    maps = {path: one for path, one in found if one is not None and one.num_zones}
    if not maps:
        return undecided
    borders, aligned = _aligned(maps, rows.num_rows)
    return prune_zones(aligned, borders, predicate, within)


def prune_zones(
    maps: Mapping[Path, ZoneMap], borders: NDArray[np.int64], predicate: ZonePredicate, within: RowRanges
) -> PruneResult:
    """Apply a filter to zone maps that are cut at the same rows.

    Parameters
    ----------
    maps
        By field path, one zone for each span between borders.
    borders
        ``(num_zones + 1,) int64`` rows, ascending.
    predicate, within
        As for `prune_rows`.
    """
    verdicts = predicate.verdicts(maps, len(borders) - 1)
    starts, stops = borders[:-1], borders[1:]
    asked = _contains_rows(within, starts, stops)
    left, always = verdicts != _NO, verdicts == _ALL
    if not left.any():
        nothing = RowRanges.one(0, 0)
        num_asked = int(np.count_nonzero(asked))
        return PruneResult(nothing, nothing, zones_total=num_asked, zones_pruned=num_asked)
    return PruneResult(
        intersection(within, joined_ranges(starts[left], stops[left])),
        intersection(within, joined_ranges(starts[always], stops[always])),
        zones_total=int(np.count_nonzero(asked)),
        zones_pruned=int(np.count_nonzero(asked & ~left)),
        zones_all=int(np.count_nonzero(asked & always)),
    )


def _contains_rows(rows: RowRanges, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return flags of the zones ``starts[i] .. stops[i]`` that contain some of the rows."""
    if len(rows) == 1:
        return (starts < rows.stops[0]) & (stops > rows.starts[0])
    found: NDArray[np.bool_] = np.searchsorted(rows.stops, starts, "right") < np.searchsorted(
        rows.starts, stops, "left"
    )
    return found


def _aligned(maps: dict[Path, ZoneMap], num_rows: int) -> tuple[NDArray[np.int64], dict[Path, ZoneMap]]:
    """Cut the zones of all maps at the borders of each; counts of a part of a zone are upper limits."""
    steps = {one.rows_per_zone for one in maps.values()}
    if len(steps) == 1:
        (step,) = steps
        starts = np.arange(0, num_rows, step, dtype=np.int64)
        borders = np.full(len(starts) + 1, num_rows, np.int64)
        borders[:-1] = starts
        return borders, maps
    borders = np.unique(np.concatenate([[num_rows], *(np.arange(0, num_rows, step) for step in steps)]))
    borders = borders.astype(np.int64)
    aligned = {}
    for path, one in maps.items():
        owners = pa.array(borders[:-1] // one.rows_per_zone)
        aligned[path] = ZoneMap(one.zones.take(owners), one.rows_per_zone, one.is_repeated)
    return borders, aligned
