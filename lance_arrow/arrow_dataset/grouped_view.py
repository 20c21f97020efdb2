"""`grouped_view`: a view of a dataset of many small files; each of its few fragments stands for a group of files.

Arrow scans fragment by fragment: a file of 1,000 rows costs it, the bridge, and Python more than the rows. So
`LanceDataset.scanner` scans a view; `LanceDataset.get_fragments` and plans of Acero see the files.

    files   f0  f1 … f8  f9 … f131  f132  f133 …
    view    f0  {f1 … f8}  {f9 … f131}  f132 (large)  {f133 …}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.dataset import FileSystemDataset, Fragment, Scanner, TaggedRecordBatch

from lance_arrow.arrays.column_paths import Path, parse_dot_path, project
from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.dataset_parts import all_fragments
from lance_arrow.arrow_dataset.file_group import BareFiles
from lance_arrow.arrow_dataset.fragment_group import FragmentGroup
from lance_arrow.arrow_dataset.group_scan import GroupState
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment
from lance_arrow.arrow_dataset.narrow_schema import OF_FILES, named_paths
from lance_arrow.arrow_dataset.places import file_place, size_of
from lance_arrow.arrow_dataset.scan_handler import FileScanHandler
from lance_arrow.arrow_dataset.scanner_options import ScannerOptions
from lance_arrow.arrow_dataset.table_parts import TablePart
from lance_arrow.container.joined_files import JOINED_VERSIONS
from lance_arrow.errors import InvalidArgumentError, LanceError
from lance_arrow.io import Location, reads_small_files
from lance_arrow.io.pacing.policy import FAR_GROUPS_AHEAD
from lance_arrow.libarrow.expressions import native_expressions
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.filters.kept_plans import kept_plan
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.groups.group_sizes import BareSizes, in_groups
from lance_arrow.scan.predicates import all_of
from lance_arrow.scan.projection import have_blobs
from lance_arrow.scan.scan_options import ScanOptions
from lance_arrow.scan.windows import LEAST_GROUPED

_MOST_FILES = 512
_SLOW_GROUPS = 3


class GroupedScanner(Scanner):
    """A scan of a view; `scan_batches`, whose batches name their fragment, scans the files instead."""

    by_file: Callable[[], Scanner]

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read batches; see `Scanner.to_batches`, which would read them as `scan_batches` here does."""
        tagged = super().scan_batches()
        return (one.record_batch for one in tagged)

    def scan_batches(self) -> Iterator[TaggedRecordBatch]:
        """Read batches, each with the file it is of; see `Scanner.scan_batches`."""
        found: Iterator[TaggedRecordBatch] = self.by_file().scan_batches()
        return found


class GroupedView:
    """Makes views of one dataset.

    Parameters
    ----------
    dataset
        The dataset, of Lance format.
    table
        The table it is of; None for bare files.
    is_off
        Whether scans always use the files, never a view.
    """

    def __init__(self, dataset: FileSystemDataset, table: TableReader | None, *, is_off: bool = False) -> None:
        # Not the dataset itself, which holds this.
        self._dataset = bridge.show_as(FileSystemDataset, dataset)
        self._table = table
        self._is_off = is_off
        self._format = bridge.format_of(dataset)
        self._filesystem = bridge.filesystem_of(dataset)

    def scanner(self, shown: FileSystemDataset, options: ScannerOptions) -> Scanner:
        """Make the scanner of a view where there may be one, else of the files.

        Parameters
        ----------
        shown
            The dataset, or the same files seen with another schema.
        options
            Of the scan.
        """

        def by_file() -> Scanner:
            return FileSystemDataset.scanner(shown, **options.keywords())

        fragments = self._fragments_for(shown, options) if self._may_group(options) else None
        if fragments is None:
            return by_file()
        root = shown.partition_expression
        view = FileSystemDataset(fragments, shown.schema, self._format, self._filesystem, root)
        view._scan_options = dict(shown._scan_options)
        # Groups are read ahead, each with the rows of a usual batch.
        is_local = self._is_local
        # Of a store, more groups wait than threads decode.
        most = default_runtime().settings.num_threads if is_local else FAR_GROUPS_AHEAD
        ahead = min(options.fragment_readahead, most)
        wanted = options._replace(fragment_readahead=ahead).keywords()
        made: GroupedScanner = bridge.show_scanner_as(GroupedScanner, view.scanner(**wanted))
        made.by_file = by_file
        return made

    def _may_group(self, options: ScannerOptions) -> bool:
        """Whether files may be read together: each file of a watched scan has a receipt, and each has its wishes."""
        handler = self._format.handler
        if self._is_off or not isinstance(handler, FileScanHandler) or default_runtime().is_watched:
            return False
        if options.fragment_scan_options is not None or handler.scan_options != ScanOptions():
            return False
        count = len(self._files[0]) if self._table is None else len(self._table.fragments)
        return count >= LEAST_GROUPED and handler.options.verify != "full"

    def _fragments_for(self, shown: FileSystemDataset, options: ScannerOptions) -> list[Fragment] | None:
        """Return the fragments of a view for a scan; None where it is to see the files."""
        paths = _wanted_paths(options.columns, shown.schema)
        if paths is None:
            return None
        filter = all_of((shown._scan_options.get("filter"), options.filter))
        try:
            plan = None if filter is None else kept_plan(filter, shown.schema)
        except InvalidArgumentError:
            # Arrow raises the error.
            return None
        return self._of_files(paths, plan) if self._table is None else self._of_table(self._table, paths, plan)

    def _of_table(self, table: TableReader, paths: Sequence[Path], plan: FilterPlan | None) -> list[Fragment] | None:
        columns, count = table.columns, len(table.fragments)
        filter = plan if plan is not None and plan.is_repeatable else None
        groups = _slowly(
            lambda groups: table.groups(project(columns.all_roots, paths, missing_ok=True), filter).planned(
                range(count),
                lambda: len(groups) >= _SLOW_GROUPS,
                most=_most_files(count),
            )
        )
        if len(groups) == count:
            return None
        state = GroupState()
        return [self._fragment_of_table(table, group, state) for group in groups]

    def _fragment_of_table(self, table: TableReader, group: Sequence[int], state: GroupState) -> Fragment:
        facts, meta = table.columns.facts, table.fragments[group[0]]
        first = meta.files[0] if meta.files else None
        is_allowed = table.columns.options.allow_external_bases
        return self._format.make_fragment(
            facts.manifest_path if first is None else facts.data_path(first, allow_external_bases=is_allowed),
            self._filesystem,
            file_size=None if first is None else first.size_bytes,
            physical_schema=table.columns.schema,
            payload=TablePart(facts, meta) if len(group) == 1 else FragmentGroup(table, tuple(group), state),
        )

    @cached_property
    def _is_local(self) -> bool:
        if self._table is not None:
            return Location(self._table.filesystem, "").is_local
        return not file_place("/", self._filesystem, None, None).is_far

    @cached_property
    def _files(self) -> tuple[list[str], list[int], list[int], list[pc.Expression]]:
        return bridge.files_of(self._dataset)

    @cached_property
    def _fragments(self) -> list[LanceFileFragment]:
        return all_fragments(self._dataset)

    def _of_files(self, columns: Sequence[Path], plan: FilterPlan | None) -> list[Fragment] | None:
        paths, sizes, guarantee_of, guarantees = self._files
        if guarantee_of[0] < 0:
            return None
        place = file_place(paths[0], self._filesystem, None, None)
        location = place.location()
        # Of a part of a filesystem the paths begin further down.
        before, is_suffix = place.path[: -len(paths[0])], place.path.endswith(paths[0])
        if location is None or location.path != place.path or not is_suffix:
            return None
        if not reads_small_files(location.given):
            return None
        if location.is_local and -1 in sizes:
            # pyarrow does not look at files that are named one by one.
            sizes[:] = [size_of(before + path) if size < 0 else size for path, size in zip(paths, sizes, strict=True)]
        try:
            opened = self._format.handler.example(place, self._dataset.schema)
        except (LanceError, OSError):
            # The scan tells what is wrong with it.
            return None
        roots = opened.rows.roots
        nodes = project(roots, columns, missing_ok=True)
        looked_at = nodes if plan is None else [*nodes, *plan.nodes(roots)]
        if opened.rows.file.version not in JOINED_VERSIONS or have_blobs(looked_at):
            return None
        limits = BareSizes(location.given, roots, nodes, plan, len(paths), default_runtime())

        def kind_of(number: int) -> tuple[int, object, int, int]:
            kind, read = guarantee_of[number], limits.of(sizes[number])
            if kind < 0 or read is None:
                return number, None, 0, 0
            ends_only, num_bytes = read
            return number, (kind, ends_only), 0, num_bytes

        kinds = map(kind_of, range(len(paths)))
        # Far files one by one would be waited for one after another.
        least = LEAST_GROUPED if location.is_local else 2
        # The first rows of few far files come as late as those of many: they wait for the same requests.
        num_slow = _SLOW_GROUPS if location.is_local else 0
        groups = _slowly(
            lambda groups: in_groups(
                kinds, limits.group_bytes, lambda: len(groups) >= num_slow, _most_files(len(paths)), least
            )
        )
        if len(groups) == len(paths):
            return None
        state = GroupState()

        def fragment(group: Sequence[int]) -> Fragment:
            first = group[0]
            # A far file alone would have those that follow it read ahead, which are in other groups.
            if len(group) == 1 and (location.is_local or kind_of(first)[1] is None):
                return self._fragments[first]
            theirs = tuple(before + paths[number] for number in group)
            their_sizes = np.array([sizes[number] for number in group], np.int64)
            return self._format.make_fragment(
                paths[first],
                self._filesystem,
                guarantees[guarantee_of[first]],
                file_size=sizes[first],
                payload=BareFiles(
                    location.given,
                    replace(place, path=theirs[0]),
                    theirs,
                    their_sizes,
                    state,
                    ends_only=max(sizes[number] for number in group) > limits.most_whole_bytes,
                ),
            )

        return [fragment(group) for group in groups]


def _wanted_paths(columns: Any, schema: pa.Schema) -> tuple[Path, ...] | None:
    """Return about what a scan wants; None where that is more than columns."""
    if columns is None:
        return tuple((name,) for name in schema.names)
    if isinstance(columns, dict):
        found = [
            parse_dot_path(path)
            for expression in columns.values()
            for path in native_expressions.mentioned_columns(expression, schema)
        ]
    else:
        found = named_paths(columns)
    # In a view, virtual columns of files would describe the view.
    if any(path and path[0] in OF_FILES for path in found):
        return None
    return tuple(dict.fromkeys(found))


def _most_files(num_files: int) -> int:
    """Return how many files a group may have, so that no thread waits for another's last group."""
    return min(_MOST_FILES, max(LEAST_GROUPED, -(-num_files // (2 * default_runtime().settings.num_threads))))


def _slowly(planned: Any) -> list[list[int]]:
    """List groups, of which the first ones are small: their rows come soon."""
    groups: list[list[int]] = []
    groups.extend(planned(groups))
    return groups
