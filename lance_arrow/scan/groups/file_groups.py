"""`FileGroups`: which bare files a scan reads together, and how they are opened.

files of one schema ─► those that the file pruner leaves ─► neighbours as one file ─► one reading, or one for each file
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_arrow.arrays.column_paths import project
from lance_arrow.arrays.column_roots import all_roots
from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.arrays.schema_cache import PerTree
from lance_arrow.container.joined_files import JOINED_VERSIONS
from lance_arrow.errors import LanceError, located
from lance_arrow.io import AnyFileSystem, Positions, is_local, reads_small_files
from lance_arrow.io.pacing.policy import FAR_GROUPS_AHEAD
from lance_arrow.runtime import Runtime, computed_once
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.groups.group_sizes import BareSizes, in_groups
from lance_arrow.scan.groups.left_by_shown import left_by_shown
from lance_arrow.scan.groups.opened_together import open_runs
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.scan.projection import have_blobs
from lance_arrow.scan.read_counts import UNWATCHED
from lance_arrow.scan.row_weights import check_expansion
from lance_arrow.scan.windows import LEAST_GROUPED, WINDOW_ROWS
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import by_page

if TYPE_CHECKING:
    from lance_arrow.pruning.file_pruner import FilePruner
    from lance_arrow.scan.filters.filter_plan import FilterPlan


class OtherSchemaError(Exception):
    """A file has another schema than the others are read by; only who casts columns to a common schema reads it."""


class FilesAlike:
    """Whole bare files of one schema.

    Parameters
    ----------
    filesystem, paths
        Where they are; None is the local filesystem.
    sizes
        ``(n,) int64``: what they have.
    schema
        The schema; metadata may differ.
    files
        Where single ones are opened.
    """

    def __init__(
        self,
        filesystem: AnyFileSystem | None,
        paths: Sequence[str],
        sizes: Positions,
        schema: pa.Schema,
        files: OpenFiles,
    ) -> None:
        self.filesystem, self.paths, self.sizes = filesystem, paths, sizes
        self._schema = schema
        self._files = files
        self.options = files.options

    def __len__(self) -> int:
        return len(self.paths)

    def open(self, number: int) -> OpenFile:
        """Open a file by itself.

        Raises
        ------
        OtherSchemaError
            It has another schema.
        CorruptFileError, UnsupportedError, OSError
            As `OpenFiles.get`.
        """
        place = FilePlace(path=self.paths[number], filesystem=self.filesystem, size=int(self.sizes[number]))
        return self.checked(self._files.get(place))

    def checked(self, file: OpenFile) -> OpenFile:
        """Return an open file; raises `OtherSchemaError` if it has another schema."""
        if not file.rows.schema.equals(self._schema):
            raise OtherSchemaError(file.name)
        return file

    @computed_once
    def example(self) -> OpenFile:
        """An open file of the schema, which need not be one of these: for what follows from the schema alone."""
        return self._files.like(self._schema) or self.open(0)


class FileGroups:
    """Divides bare files into groups and opens them; the counterpart of `FragmentGroups`.

    Every method that opens files raises `OtherSchemaError` where one of them has another schema.

    Parameters
    ----------
    files
        The files.
    names
        Wanted columns; all when None.
    filter
        Of the scan.
    runtime
        Threads, and how much memory there is.
    is_pruned
        Whether files are left out natively that have no row for the filter; their rows are not counted then.

    Attributes
    ----------
    receipt
        Counts nothing: scans that are watched open each file.
    is_local
        Whether the files are on a local disk.
    joins
        False once a group could not be read together: the others will most likely not be, either.
    """

    receipt = UNWATCHED

    def __init__(
        self,
        files: FilesAlike,
        names: Sequence[str] | None,
        filter: FilterPlan | None,
        runtime: Runtime,
        *,
        is_pruned: bool = True,
    ) -> None:
        self.joins = True
        self._is_pruned = is_pruned
        self.is_local = is_local(files.filesystem)
        self._files, self._filter, self._runtime = files, filter, runtime
        paths = None if names is None else [(name,) for name in names]
        self._nodes: PerTree[tuple[ColumnNode, ...]] = PerTree(
            lambda roots: all_roots(roots) if paths is None else project(roots, paths)
        )
        self._pruning, self._is_shown = Lock(), False

    @property
    def num_ahead(self) -> int | None:
        """How many groups are opened ahead of those that are read; None for as many as there are threads."""
        return None if self.is_local else FAR_GROUPS_AHEAD

    @computed_once
    def _sizes(self) -> BareSizes | None:
        """What is read of each file; None where all are read by themselves."""
        files, example = self._files, self._files.example
        roots, version = example.roots, example.rows.file.version
        nodes, filter = self._nodes.of(roots), self._filter
        looked_at = nodes if filter is None else [*nodes, *filter.nodes(roots)]
        may = version in JOINED_VERSIONS and files.options.verify != "full" and reads_small_files(files.filesystem)
        if not may or have_blobs(looked_at):
            return None
        return BareSizes(files.filesystem, roots, nodes, filter, len(files), self._runtime)

    def planned(self, numbers: Sequence[int], has_begun: Callable[[], bool]) -> Iterator[list[int]]:
        """Divide files, by their numbers, into groups; what is alone in one is opened by itself.

        Far files by themselves would each be waited for.
        """
        least = LEAST_GROUPED if self.is_local else 2
        sizes = self._sizes if len(numbers) >= least else None
        if sizes is None:
            return iter([[number] for number in numbers])
        kinds = ((number, *_kind(sizes.of(int(self._files.sizes[number])))) for number in numbers)
        return in_groups(kinds, sizes.group_bytes, has_begun, WINDOW_ROWS, least)

    def opened(self, numbers: Sequence[int], within: Sequence[RowRanges] | None) -> list[FilteredReading | list[int]]:
        """Open the files of a group; see `FragmentGroups.opened`. `within` is None: all rows are chosen from."""
        if len(numbers) > 1 and self._pruner is not None:
            numbers = self._left(self._pruner, numbers)
        if not numbers:
            return []
        if not self.joins or len(numbers) < 2:
            return [list(numbers)]
        made = self._together(numbers)
        self.joins = self.joins and (len(made) > 1 or isinstance(made[0], FilteredReading))
        return made

    def _together(self, numbers: Sequence[int]) -> list[FilteredReading | list[int]]:
        files, sizes = self._files, self._sizes
        assert sizes is not None
        own_sizes = files.sizes[list(numbers)]
        made: list[FilteredReading | list[int]] = []
        done = 0
        try:
            for first, stop, file in open_runs(
                files.filesystem,
                [files.paths[number] for number in numbers],
                own_sizes,
                self._runtime,
                files.options,
                self._nodes.of,
                ends_only=int(own_sizes.max()) > sizes.most_whole_bytes,
                num_columns=sizes.num_columns,
            ):
                files.checked(file)
                divided = partial(self._one_by_one, numbers[first:stop], file.row_starts)
                found = FilteredReading(file, self._nodes.of(file.roots), self._filter, divided=divided)
                # Metadata is read now: what is wrong with it, the files one by one tell.
                if len(found.rows):
                    found.weights()
                if done < first:
                    made.append(list(numbers[done:first]))
                made.append(found)
                done = stop
        except LanceError:
            return [list(numbers)]
        return [*made, list(numbers[done:])] if done < len(numbers) else made

    def _one_by_one(self, numbers: Sequence[int], row_starts: Positions, rows: RowRanges) -> Iterator[FilteredReading]:
        """Open files that could not be read together one by one, and join no others from now on."""
        self.joins = False
        return (self.alone(numbers[member], part) for member, part in by_page(rows, row_starts))

    def alone(self, number: int, within: RowRanges | None = None) -> FilteredReading:
        """Open a file by itself.

        Raises
        ------
        LanceError, OSError
            As `FilteredReading`; its rows are far more than the file can explain.
        """
        file = self._files.open(number)
        nodes = self._nodes.of(file.roots)
        found = FilteredReading(file, nodes, self._filter, within)
        with located(path=file.name):
            check_expansion(nodes, file.num_physical, file.source.size(), self._runtime.settings.limits)
        return found

    @computed_once
    def _pruner(self) -> FilePruner | None:
        """What leaves out files before Python opens them."""
        predicate = None if self._filter is None else self._filter.predicate
        if predicate is None or not self.is_local or not self._is_pruned:
            return None
        from lance_arrow.pruning.file_pruner import file_pruner  # noqa: PLC0415 - for filters alone

        return file_pruner(predicate, has_checks=self._files.options.verify != "off")

    def _left(self, pruner: FilePruner, numbers: Sequence[int]) -> list[int]:
        paths = self._files.paths

        def asked(some: Sequence[int]) -> list[int]:
            # What knows no file gives up at once.
            if not self._is_shown:
                return list(some)
            return [some[place] for place in pruner.native.left([paths[number] for number in some])]

        def show(number: int) -> None:
            with self._pruning:
                pruner.register(self._files.open(number).rows)
                self._is_shown = True

        try:
            return left_by_shown(numbers, asked, show, lambda: pruner.native.is_idle)
        except (LanceError, OSError):
            # The scan tells what is wrong.
            return list(numbers)


def _kind(read: tuple[bool, int] | None) -> tuple[object, int, int]:
    """Return kind, rows (which are not known yet) and bytes of a file, as `in_groups` wants them."""
    return (None, 0, 0) if read is None else ((read[0],), 0, read[1])
