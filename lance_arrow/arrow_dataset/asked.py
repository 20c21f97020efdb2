"""`Asked`: what a request of pyarrow's asks of any file; worked out once for the files of a scan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from lance_arrow.arrays.column_paths import parse_dot_path, project
from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.arrays.schema_cache import PerTree
from lance_arrow.arrow_dataset.handler_protocol import ScanRequest
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.pages_ahead import ScanAhead
from lance_arrow.scan.projection import joined_nodes
from lance_arrow.scan.read_counts import UNWATCHED, Receipt, receipt_for
from lance_arrow.scan.row_source import RowSource
from lance_arrow.spi.rows import RowRanges

if TYPE_CHECKING:
    from lance_arrow.pruning.file_pruner import FileCounter, FilePruner
    from lance_arrow.scan.filters.filter_plan import FilterPlan

_TRUE = pc.scalar(True)


@dataclass(slots=True, eq=False)
class Asked:
    """Parts of a request that are the same for every file, or every fragment of a table.

    Parameters
    ----------
    nodes
        The columns of a tree that it names.
    filter
        None where all rows are wanted.
    pruner
        Excludes files natively. None as long as there is only one file, or no bounds to exclude files by.
    num_files
        How many were opened for it.
    has_started_slowly
        Whether a source was asked for with a small first window.
    """

    nodes: PerTree[tuple[ColumnNode, ...]]
    filter: FilterPlan | None
    pruner: FilePruner | FileCounter | None = None
    num_files: int = 0
    has_started_slowly: bool = False

    def may_start_slowly(self) -> bool:
        """Return whether the next source is the first: a caller may stop there."""
        is_first, self.has_started_slowly = not self.has_started_slowly, True
        return is_first

    def all_nodes(self, roots: Sequence[ColumnNode]) -> tuple[ColumnNode, ...]:
        """Return the columns of a tree that are read, those of the filter included."""
        nodes = self.nodes.of(roots)
        return nodes if self.filter is None else joined_nodes(nodes, self.filter.nodes(roots))

    def reading(
        self,
        source: RowSource,
        within: RowRanges | None = None,
        *,
        zone_maps: bool = True,
        is_count: bool = False,
        divided: Callable[[RowRanges], Iterable[FilteredReading]] | None = None,
    ) -> FilteredReading:
        """Return what reads, or counts, the wanted rows of a source; parameters and errors are `FilteredReading`'s."""
        return FilteredReading(
            source,
            () if is_count else self.nodes.of(source.roots),
            self.filter,
            within,
            receipt=self.receipt(source),
            zone_maps=zone_maps,
            is_count=is_count,
            divided=divided,
            is_hint=self.filter is not None and not self.filter.is_repeatable,
        )

    def receipt(self, source: RowSource) -> Receipt:
        """Begin to count what is read of a source."""
        if not source.runtime.is_watched:
            return UNWATCHED
        return receipt_for(
            source.runtime, self.all_nodes(source.roots), None if self.filter is None else self.filter.expression
        )

    @classmethod
    def of(cls, request: ScanRequest) -> Asked:
        paths = [parse_dot_path(column) for column in request.columns]
        is_all = request.filter.equals(_TRUE)
        plan = None
        if not is_all:
            from lance_arrow.scan.filters.kept_plans import kept_plan  # noqa: PLC0415 - for filters alone

            plan = kept_plan(request.filter, request.dataset_schema)
        return cls(PerTree(lambda roots: project(roots, paths, missing_ok=True)), plan)


def asked_of(request: ScanRequest) -> Asked:
    """Work a request out, once for the files of a scan."""
    found: Asked | None = request.kept.get(Asked)
    if found is None:
        found = request.kept[Asked] = Asked.of(request)
    return found


def scan_ahead_of(request: ScanRequest, memory_bytes: int) -> ScanAhead:
    """Return what a scan may ask ahead: its files share it."""
    found: ScanAhead | None = request.kept.get(ScanAhead)
    if found is None:
        num_first = request.batch_readahead if request.use_threads else 1
        found = request.kept.setdefault(ScanAhead, ScanAhead(memory_bytes, num_first))
    return found
