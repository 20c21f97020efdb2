"""`FileScanHandler`: the bridge calls it when pyarrow scans Lance files; it turns a request into windows of rows.

Order of a scan: find the open file (or open it), prune columns, apply zone maps, cut windows. One task reads a window,
decodes it (the filter's columns first) and slices it into batches, on a thread of the bridge. Arrow applies the filter
again, to rows that all satisfy it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_arrow.arrays.column_paths import parse_dot_path
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.arrays.view_arrays import holds_views
from lance_arrow.arrow_dataset.asked import asked_of
from lance_arrow.arrow_dataset.dataset_sink import DatasetSink, DatasetWriteOptions
from lance_arrow.arrow_dataset.handler_protocol import COUNTED_BY_SCAN, FILE_PRUNER, FileGroup, ScanRequest, ScanTasks
from lance_arrow.arrow_dataset.source_scan import SourceScan, count_rows
from lance_arrow.arrow_dataset.table_parts import TablePart
from lance_arrow.arrow_dataset.table_session import FoundPart, TableSession, TableSessions
from lance_arrow.container.footer import NOT_LANCE
from lance_arrow.errors import CorruptFileError, InternalError, InvalidArgumentError, LanceError, UnsupportedError
from lance_arrow.io import AnyFileSystem, locate
from lance_arrow.manifests.versions import VersionChoice
from lance_arrow.runtime import default_runtime, making_objects
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.scan.row_restriction import rows_within
from lance_arrow.scan.scan_options import ScanOptions

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.ahead.table_files import TableFiles
    from lance_arrow.manifests.fragments import FragmentMeta
    from lance_arrow.manifests.table_facts import TableFacts
    from lance_arrow.scan.fragments.fragment_rows import FragmentRows
    from lance_arrow.scan.fragments.table_columns import TableColumns

_KEPT_TABLES = 16
_KEPT_FRAGMENTS = 256
_FIRST_TO_REGISTER = 2


class FileScanHandler:
    """Scans Lance files; the options of a `LanceFormat`, compared by value and picklable.

    Parameters
    ----------
    version, tag, as_of
        Which version of a table to read; only meaningful for table directories.
    options
        How columns are wanted; as by default when None.
    scan_options
        Wishes of scans that bring none of their own.
    """

    def __init__(
        self,
        version: int | None = None,
        tag: str | None = None,
        as_of: Any = None,
        options: ReadOptions | None = None,
        scan_options: ScanOptions | None = None,
    ) -> None:
        choice = VersionChoice(version=version, tag=tag, as_of=as_of)
        self.version = version
        self.tag = tag
        self.as_of = as_of
        self.options = options if options is not None else ReadOptions()
        self.scan_options = scan_options if scan_options is not None else ScanOptions()
        self.files = OpenFiles(self.options)
        self._sessions = TableSessions(choice)
        self._columns: list[TableColumns] = []
        self._fragments: OrderedDict[tuple[int, int, ScanOptions], FragmentRows] = OrderedDict()
        self._lock = Lock()

    def adopt(self, place: FilePlace) -> TableSession | None:
        """Return the payload of a file that came without one: the version of the table whose rows it has, if any."""
        return self._sessions.adopt(place)

    def inspect(self, place: FilePlace) -> pa.Schema:
        """Return the schema of a file, or that of the table it belongs to."""
        part = _part_of(place)
        if part is not None:
            return self.columns_of(part.facts).schema
        session = self._sessions.begin(place)
        if session is not None:
            return self.columns_of(session.facts()).schema
        return self._open(place).rows.schema

    def supports(self, place: FilePlace) -> bool:
        """Tell whether the file ends like a Lance file, or belongs to a table; other faults raise."""
        if self._sessions.begin(place) is not None:
            return True
        try:
            self._open(place)
        except CorruptFileError as error:
            if error.detail == NOT_LANCE:
                return False
            raise
        return True

    def plan(self, place: FilePlace, request: ScanRequest) -> ScanTasks:
        """Prune columns and cut windows."""
        with making_objects(len(request.columns)):
            return self._planned(place, request)

    def _planned(self, place: FilePlace, request: ScanRequest) -> ScanTasks:
        if isinstance(place.payload, FileGroup):
            return place.payload.plan(self, request)
        refuse_filtered_views(request, self.options)
        scan_options = self._scan_options(request)
        is_followed = place.following is not None and any(place.following(1))
        if place.following is not None and is_followed and self._may_read_ahead(scan_options):
            from lance_arrow.arrow_dataset.ahead.read_ahead import ReadAhead  # noqa: PLC0415 - for many files alone

            read = ReadAhead.of(request, self, place.following).scan(self, place)
            if read is not None:
                return read
        part = _part_of(place)
        if part is None:
            return SourceScan(self.reading(place, request), request, scan_options, is_followed=is_followed)
        if place.rows is not None:
            raise InternalError("a fragment of a table was cut down to rows of one of its files", path=place.path)
        if part.fragment is None:
            return _Nothing()
        rows = self._fragment(part.facts, part.fragment, place, scan_options)
        found = asked_of(request).reading(rows, zone_maps=scan_options.zone_maps)
        return SourceScan(found, request, scan_options, is_followed=is_followed)

    def _may_read_ahead(self, scan_options: ScanOptions) -> bool:
        """Whether a scan may read files before it asks for them: each file of a watched one has a receipt."""
        return scan_options == ScanOptions() and self.options.verify != "full" and not default_runtime().is_watched

    def count_rows(self, place: FilePlace, request: ScanRequest) -> int | None:
        """Count rows by zone maps, and by the filter's columns where these cannot tell."""
        if isinstance(place.payload, FileGroup):
            return place.payload.count_rows(self, request)
        plan, scan_options = asked_of(request).filter, self._scan_options(request)
        part = _part_of(place)
        # The first bare files tell the file pruner what files look like.
        is_known = part is not None or asked_of(request).num_files >= _FIRST_TO_REGISTER
        may_be_ahead = place.following is not None and self._may_read_ahead(scan_options)
        if plan is not None and is_known and may_be_ahead:
            from lance_arrow.arrow_dataset.ahead.read_ahead import is_counted_by_scan  # noqa: PLC0415 - as in `plan`

            if is_counted_by_scan(place, plan):
                request.kept[COUNTED_BY_SCAN] = True
                return None
        if part is None and may_be_ahead and place.is_far and (plan is None or plan.is_repeatable):
            from lance_arrow.arrow_dataset.ahead.count_ahead import CountAhead  # noqa: PLC0415 - for far files alone

            counted = CountAhead.of(request).count(self, place, request)
            if counted is not None:
                return counted
        if part is not None:
            if part.fragment is None:
                return 0
            rows = self._fragment(part.facts, part.fragment, place, scan_options)
            if plan is None:
                # From the manifest: no file is opened.
                return rows.num_rows
            if not plan.is_repeatable:
                return None
            found = asked_of(request).reading(rows, zone_maps=scan_options.zone_maps, is_count=True)
            return count_rows(found, request)
        if plan is not None:
            return count_rows(self.reading(place, request, is_count=True), request) if plan.is_repeatable else None
        file = self._open(place, scan_options)
        self._register(request, scan_options, file, is_count=True)
        return rows_within(place.rows, file.rows.num_rows).num_rows

    def opened(self, place: FilePlace) -> OpenFile | None:
        """Return the open file; None for one that stands for rows of a table."""
        return self._open(place) if _part_of(place) is None else None

    def example(self, place: FilePlace, schema: pa.Schema) -> OpenFile | None:
        """Return the open file; of a store, where to open it is a request, one of a schema that is held already."""
        held = self.files.like(schema) if place.is_far else None
        return self.opened(place) if held is None else held

    def make_writer(
        self, stream: pa.NativeFile, schema: pa.Schema, options: DatasetWriteOptions | None, path: str
    ) -> DatasetSink:
        """Start a file on a stream that Arrow opened and will close."""
        return DatasetSink(stream, schema, options, path)

    def columns_of(self, facts: TableFacts) -> TableColumns:
        """Return the columns of a version of a table; those of the last few are kept."""
        from lance_arrow.scan.fragments.table_columns import TableColumns  # noqa: PLC0415 - for tables alone

        with self._lock:
            for known in reversed(self._columns):
                if known.facts is facts or known.facts == facts:
                    return known
        made = TableColumns(facts, self.options)
        with self._lock:
            self._columns = [*self._columns[1 - _KEPT_TABLES :], made]
        return made

    def table_files(self, session: TableSession, filesystem: AnyFileSystem) -> TableFiles:
        """Return what reads the files of a table together; errors are those of `TableSession.facts`."""
        # For tables of many files alone.
        from lance_arrow.arrow_dataset.ahead.table_files import TableFiles  # noqa: PLC0415

        return TableFiles(session, self.columns_of(session.facts()), filesystem, self.files)

    def _fragment(
        self, facts: TableFacts, fragment: FragmentMeta, place: FilePlace, scan_options: ScanOptions
    ) -> FragmentRows:
        """Return the rows of a fragment; deletions and row ids of the last few are kept."""
        from lance_arrow.scan.fragments.fragment_rows import FragmentRows  # noqa: PLC0415 - for tables alone

        columns = self.columns_of(facts)
        key = id(columns), fragment.id, scan_options
        location = locate(place.path, filesystem=place.filesystem)
        assert location is not None
        with self._lock:
            held = self._fragments.get(key)
            if held is not None and held.columns is columns and held.meta == fragment:
                self._fragments.move_to_end(key)
                return held
            made = self._fragments[key] = FragmentRows(columns, fragment, self.files, location.given, scan_options)
            while len(self._fragments) > _KEPT_FRAGMENTS:
                self._fragments.popitem(last=False)
        return made

    def left_by_pruner(self, place: FilePlace, paths: Sequence[str], request: ScanRequest) -> Sequence[int]:
        """Return the numbers of the files that the file pruner does not exclude; the first file is at `place`."""
        everything = range(len(paths))
        asked = asked_of(request)
        location = locate(place.path, filesystem=place.filesystem)  # type: ignore[arg-type]
        if asked.filter is None or asked.filter.predicate is None or location is None or not location.is_local:
            return everything
        if asked.pruner is None or not asked.pruner.native.is_idle:
            scan_options = self._scan_options(request)
            try:
                self._register(request, scan_options, self._open(place, scan_options), len(paths))
            except (LanceError, OSError):
                # The scan tells what is wrong with the file.
                return everything
        pruner = asked.pruner
        if pruner is None:
            return everything
        return pruner.native.left(paths)

    def _register(
        self,
        request: ScanRequest,
        scan_options: ScanOptions,
        file: OpenFile,
        num_files: int = 1,
        *,
        is_count: bool = False,
    ) -> None:
        """Show a scan's file pruner what its files look like, from the second one on; receipts want each opened."""
        asked = asked_of(request)
        is_first = asked.num_files < _FIRST_TO_REGISTER <= asked.num_files + num_files
        asked.num_files += num_files
        verify = scan_options.verify if scan_options.verify is not None else self.options.verify
        may_prune = scan_options.zone_maps and verify != "full" and not file.rows.runtime.is_watched
        if is_first and may_prune:
            from lance_arrow.pruning.file_pruner import FileCounter, file_pruner  # noqa: PLC0415 - for many files

            predicate = None if asked.filter is None else asked.filter.predicate
            if predicate is not None:
                asked.pruner = file_pruner(predicate, has_checks=verify != "off")
            elif is_count:
                asked.pruner = FileCounter(has_checks=verify != "off")
        if asked.pruner is not None:
            asked.pruner.register(file.rows)
            request.kept[FILE_PRUNER] = asked.pruner.native

    def reading(self, place: FilePlace, request: ScanRequest, *, is_count: bool = False) -> FilteredReading:
        """Return what reads, or counts, the wanted rows of a bare file; errors are those of opening it."""
        scan_options = self._scan_options(request)
        file = self._open(place, scan_options)
        within = None if place.rows is None else rows_within(place.rows, file.rows.num_rows)
        found = asked_of(request).reading(file, within, zone_maps=scan_options.zone_maps, is_count=is_count)
        self._register(request, scan_options, file)
        return found

    def _scan_options(self, request: ScanRequest) -> ScanOptions:
        return request.options if request.options is not None else self.scan_options

    def _open(self, place: FilePlace, scan_options: ScanOptions | None = None) -> OpenFile:
        if self._key()[:3] != (None, None, None):
            raise InvalidArgumentError(
                "version, tag and as_of choose a version of a table, but this file is not part of one", path=place.path
            )
        return self.files.get(place, scan_options if scan_options is not None else self.scan_options)

    def _key(self) -> tuple[Any, Any, Any, ReadOptions, ScanOptions]:
        return self.version, self.tag, self.as_of, self.options, self.scan_options

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileScanHandler) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return FileScanHandler, self._key()

    def __repr__(self) -> str:
        names = ("version", "tag", "as_of", "options", "scan_options")
        given = [f"{name}={value!r}" for name, value in zip(names, self._key(), strict=True) if value is not None]
        return f"FileScanHandler({', '.join(given)})"


def refuse_filtered_views(request: ScanRequest, options: ReadOptions) -> None:
    """Raise `UnsupportedError` where Arrow is going to filter views, and would name no way out."""
    if options.strings != "view" or asked_of(request).filter is None:
        return
    names = {path[0] for path in map(parse_dot_path, request.columns)}
    named = [field.name for field in request.dataset_schema if field.name in names and holds_views(field.type)]
    if named:
        raise UnsupportedError(
            f"pyarrow cannot filter columns of views: {', '.join(named)}; open the files by lance_arrow.dataset, whose "
            'scans filter them, or without strings="view"'
        )


class _Nothing:
    """The scan of a file that yields no rows."""

    def __len__(self) -> int:
        return 0

    def run(self, index: int) -> list[pa.RecordBatch]:
        raise InternalError(f"task {index} of none")


def _part_of(place: FilePlace) -> TablePart | None:
    """Return which part of a table a file stands for; None for a file that is none."""
    payload = place.payload
    if isinstance(payload, FoundPart):
        return payload.resolved()
    return payload if isinstance(payload, TablePart) else None
