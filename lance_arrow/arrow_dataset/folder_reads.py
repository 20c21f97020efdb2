"""`FolderReads`: whole reads and counts of a dataset of several bare files without Arrow's scan.

    paths and sizes ─► groups, opened ahead ─► rows, decoded ahead, in order

Arrow has to cast where files have other schemas than the dataset: then nothing is read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.places import file_place
from lance_arrow.arrow_dataset.scan_handler import FileScanHandler
from lance_arrow.io import AnyFileSystem, Location, is_local, size_of_file
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.groups.file_groups import FileGroups, FilesAlike, OtherSchemaError
from lance_arrow.scan.groups.grouped_rows import GroupedRows
from lance_arrow.scan.predicates import as_expression
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.row_taking import as_table

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.dataset_parts import DatasetOfFragments
    from lance_arrow.scan.filters.filter_plan import FilterPlan
    from lance_arrow.scan.predicates import Predicate

_TRUE = pc.scalar(True)


class FolderReads:
    """Reads and counts the rows of bare files as `TableReader` does those of fragments.

    Parameters
    ----------
    files
        The files, in the order of rows.
    schema
        That of the dataset.
    """

    def __init__(self, files: FilesAlike, schema: pa.Schema) -> None:
        self._files, self._schema = files, schema
        self._runtime = default_runtime()
        self._are_alike = True

    @classmethod
    def of(cls, dataset: DatasetOfFragments) -> FolderReads | None:
        """Return what reads a dataset; None where it consists of something else than whole files of known sizes."""
        paths, sizes, guarantee_of, guarantees = bridge.files_of(dataset)
        handler = dataset.format.handler
        if not isinstance(handler, FileScanHandler) or len(paths) < 2:
            return None
        if any(guarantee_of) or not guarantees[0].equals(_TRUE):
            return None
        place = file_place(paths[0], bridge.filesystem_of(dataset), None, None)
        location = place.location()
        # Of a part of a filesystem the paths begin further down.
        if location is None or location.path != place.path or not place.path.endswith(paths[0]):
            return None
        places = [place.path[: -len(paths[0])] + path for path in paths]
        if -1 in sizes:
            # pyarrow does not look at files that are named one by one.
            try:
                sizes = _asked(location.given, places, sizes, is_far=not location.is_local)
            except OSError:
                # The scan tells what is wrong with one of them.
                return None
        files = FilesAlike(location.given, places, np.array(sizes, np.int64), dataset.schema, handler.files)
        return cls(files, dataset.schema)

    def read(self, columns: Sequence[str] | None, filter: Predicate | None) -> pa.Table | None:
        """Read the rows that satisfy a filter, all when None; None where a file has another schema.

        Raises
        ------
        LanceError, OSError
            As `GroupedRows.batches`.
        """
        if not self._are_alike:
            return None
        schema = self._schema
        fields = list(schema) if columns is None else [schema.field(name) for name in columns]
        try:
            rows = self._files.example.rows
            projection = Projection.of(rows.roots, schema.metadata, columns)
            scan = self._scan(columns, filter)
            batches = list(scan.batches(range(len(self._files)), None, projection, is_held=True))
        except OtherSchemaError:
            self._are_alike = False
            return None
        # Files may differ in metadata.
        return as_table(batches, pa.schema(fields, schema.metadata))

    def count(self, filter: Predicate | None) -> int | None:
        """Count the rows that satisfy a filter; None where a file has another schema, or Arrow counts as well."""
        if not self._are_alike or (filter is None and is_local(self._files.filesystem)):
            # Files are counted natively, and none is held.
            return None
        try:
            return self._scan((), filter).count(range(len(self._files)))
        except OtherSchemaError:
            self._are_alike = False
            return None

    def sources(self, columns: Sequence[str], plan: FilterPlan | None) -> list[FilteredReading] | None:
        """Open all files, those together that can be read so; None where a file has another schema.

        Raises
        ------
        LanceError, OSError
            A file cannot be opened.
        """
        if not self._are_alike:
            return None
        groups = FileGroups(self._files, columns, plan, self._runtime, is_pruned=False)

        def opened(numbers: Sequence[int]) -> list[FilteredReading]:
            if len(numbers) == 1:
                return [groups.alone(numbers[0])]
            made: list[FilteredReading] = []
            for found in groups.opened(numbers, None):
                made += [found] if isinstance(found, FilteredReading) else map(groups.alone, found)
            return made

        planned = groups.planned(range(len(self._files)), lambda: True)
        try:
            parts = list(self._runtime.ahead(opened, planned, num_ahead=groups.num_ahead, is_far=not groups.is_local))
        except OtherSchemaError:
            self._are_alike = False
            return None
        return [found for part in parts for found in part]

    def _scan(self, columns: Sequence[str] | None, filter: Predicate | None) -> GroupedRows:
        plan: FilterPlan | None = None
        if filter is not None:
            from lance_arrow.scan.filters.kept_plans import kept_plan  # noqa: PLC0415 - for filters alone

            plan = kept_plan(as_expression(filter, self._schema), self._schema)
        return GroupedRows(FileGroups(self._files, columns, plan, self._runtime), None, self._runtime)


def _asked(filesystem: AnyFileSystem | None, paths: Sequence[str], sizes: Sequence[int], *, is_far: bool) -> list[int]:
    """Return sizes of files; those that are unknown are asked for, in a store many at a time."""
    asked = [Location(filesystem, path) if size < 0 else size for path, size in zip(paths, sizes, strict=True)]
    return list(
        default_runtime().each(lambda one: one if isinstance(one, int) else size_of_file(one), asked, is_far=is_far)
    )
