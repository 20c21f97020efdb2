"""`planned_rows`: which rows of each file, or fragment, zone maps leave to a filter; for drawings of a scan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lance_arrow.arrays.column_paths import Path, leaf_at
from lance_arrow.pruning.zone_pruning import prune_rows
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.filters.kept_plans import kept_plan
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.zone_maps import ZoneMap

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
    from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment
    from lance_arrow.scan.open_file import OpenFile
    from lance_arrow.scan.predicates import Predicate


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """A file, or a fragment of a table.

    Parameters
    ----------
    name
        For messages.
    num_physical
        Rows, deleted ones included.
    rows
        Those that a scan reads.
    zone_map
        Returns the zone map of a column, None where there is none.
    """

    name: str
    num_physical: int
    rows: RowRanges
    zone_map: Callable[[Path], ZoneMap | None]


def planned_rows(dataset: LanceDataset, filter: Predicate) -> tuple[tuple[Path, ...], Iterator[PlannedPart]]:
    """Ask zone maps.

    Parameters
    ----------
    dataset
        Of a table, or of bare files.
    filter
        The filter.

    Returns
    -------
    paths
        Columns that the filter mentions.
    parts
        In order of rows; files behind which is something else are left out.

    Raises
    ------
    InvalidArgumentError
        The filter does not fit.
    LanceError, OSError
        A file cannot be opened, or a zone map is damaged.
    """
    expression = dataset._expression(filter)
    assert expression is not None
    plan = kept_plan(expression, dataset.schema)
    return plan.paths or (), _parts(dataset, plan)


def _parts(dataset: LanceDataset, plan: FilterPlan) -> Iterator[PlannedPart]:
    table, runtime = dataset._table, default_runtime()
    if table is not None:

        def of_table(number: int) -> PlannedPart:
            rows = table.fragment(number)
            kept = rows.prune(plan.predicate).rows
            return PlannedPart(f"fragment {rows.meta.id}", rows.num_physical, kept, rows.zone_map)

        yield from runtime.each(of_table, range(len(table.fragments)), is_far=dataset._is_far)
        return

    def of_file(fragment: LanceFileFragment) -> PlannedPart | None:
        opened = fragment.opened_rows()
        if opened is None:
            return None
        file, held = opened
        kept = prune_rows(file.rows, file.zones, plan.predicate, held).rows
        return PlannedPart(fragment.path, file.num_physical, kept, _maps_of(file))

    parts = runtime.each(of_file, dataset.fragments, is_far=dataset._is_far)
    yield from (part for part in parts if part is not None)


def _maps_of(file: OpenFile) -> Callable[[Path], ZoneMap | None]:
    def zone_map(path: Path) -> ZoneMap | None:
        leaf = leaf_at(file.rows.roots, path)
        return None if leaf is None else file.zones.get([leaf])[0]

    return zone_map
