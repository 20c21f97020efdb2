"""`convert`: files and tables of many formats become one Lance file or table, all of it or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import pyarrow as pa

from lance_arrow.choices import FileVersionName, Preset
from lance_arrow.conversion.casting import fitted_batch
from lance_arrow.conversion.planning import Plan, PlannedInput, Wishes, make_plan
from lance_arrow.conversion.readers import read_parts
from lance_arrow.conversion.reports import ConvertReport, SourceReport
from lance_arrow.conversion.sources import Input, PathLike, Sources, find_sources
from lance_arrow.conversion.targets import (
    check_file_target,
    check_lance_name,
    check_not_a_source,
    check_table_target,
)
from lance_arrow.conversion.type_names import parse_schema, parse_type
from lance_arrow.conversion.writing import check_rows, write_file, write_table
from lance_arrow.errors import CorruptFileError, InvalidArgumentError
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.io import AnyFileSystem, Location
from lance_arrow.manifests.versions import table_location
from lance_arrow.table.lance_table import LanceTable

Progress = Callable[[int, int | None], None]
"""Called with the bytes of the sources that were read, and all bytes; None if a filesystem does not report sizes."""
_DEFAULT_VERSION = "2.2"


def convert(
    sources: PathLike | Sequence[PathLike],
    target: PathLike,
    *,
    table: bool | None = None,
    append: bool = False,
    overwrite: bool = False,
    casts: Mapping[str, pa.DataType | str] | None = None,
    exclude: Sequence[str] = (),
    schema: pa.Schema | str | None = None,
    file_version: FileVersionName | None = None,
    preset: Preset = "default",
    filesystem: AnyFileSystem | None = None,
    target_filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    on_progress: Progress | None = None,
) -> ConvertReport:
    """Convert files or tables to one Lance file, or to a Lance table, and verify what was written.

    All or nothing: a conversion that fails or is killed leaves no new file and no new version, and does not change what
    was there. It cannot be resumed; run it again.

    Parameters
    ----------
    sources
        A file, a folder, a pattern (``*``, ``?``, ``[``), a table, or several of these: local paths or URLs. Parquet,
        CSV (also ``.gz``, ``.bz2``, ``.zst``), JSON lines, Arrow IPC files and streams, ORC, Lance. Hive partitions
        (folders ``key=value``) become columns.
    target
        Path or URL of the new file or table.
    table
        True: the target is a table; False: a file. None: a table where the only source is one, or with `append`.
    append, overwrite
        `append` adds the rows to an existing table. `overwrite` replaces a file, or adds a version to a table. If both
        are False, an existing target is an error. A target that is a source is always an error.
    casts
        Types by column, or dotted path of a field of structs: ``{"id": "int32"}``. Each value is checked.
    exclude
        Columns to leave out.
    schema
        Columns and types of the target, or text such as ``"id: int64, name: string"``. Unified from the sources when
        None: a type is widened only where no value can change.
    file_version
        As for `WriteOptions`. When None, the version of the existing table, or ``"2.2"`` for a new target.
    preset
        As for `WriteOptions`.
    filesystem, target_filesystem
        fsspec or pyarrow filesystems of the paths, or stores of obstore.
    storage_options
        Options for the filesystems of URLs, sources and target alike.
    dry_run
        Read the sources and check every value, but write nothing. The report has the rows that would be written.
    on_progress
        Called after every batch, with bytes of the sources.

    Returns
    -------
    ConvertReport
        What was read, how columns changed, what was written and checked.

    Raises
    ------
    FileNotFoundError
        There is no source.
    TargetExistsError, TableExistsError
        The target exists, and neither `append` nor `overwrite` is given.
    InvalidArgumentError
        There are no files, or their format is unknown. Columns have no exact common type. A cast would change a value.
        The target is a source, or has the name of another format.
    UnsupportedError
        The format cannot store a column.
    CorruptFileError
        A source cannot be read, or what was written does not verify.

    Examples
    --------
    >>> report = lance_arrow.convert("flights.parquet", "converted.lance", exclude=["name"])
    >>> report.num_rows, report.columns, report.verified
    (100, ['id', 'price'], True)
    """
    begun = time.perf_counter()
    if append and schema is not None:
        raise InvalidArgumentError("rows that are appended get the table's schema: leave schema out, or use casts")
    is_table, found, place = _places(
        sources, target, table, append, overwrite, filesystem, target_filesystem, storage_options
    )
    base = LanceTable.open(place.path, filesystem=place.filesystem) if append else None
    # A table's own version is one that was written; the writer refuses another.
    version = file_version or cast(FileVersionName | None, None if base is None else base.manifest.data_format)
    options = WriteOptions(file_version=version or _DEFAULT_VERSION, preset=preset)
    meter = _Meter(found.inputs, on_progress)
    plan = make_plan(
        found.inputs,
        _wishes(casts, exclude, schema),
        options.version,
        meter.inspected,
        base=None if base is None else base.schema,
    )
    meter.planned(plan)
    rows = _Rows(plan, meter)
    if dry_run:
        written = check_rows(rows, None if base is None else base.manifest, options)
    elif is_table:
        written = write_table(rows, place, append=append, overwrite=overwrite, version=version, preset=preset)
    else:
        written = write_file(rows, place, options, overwrite=overwrite)
    sizes = [one.facts.size_bytes for one in plan.inputs]
    return ConvertReport(
        sources=[_source_report(one, count) for one, count in zip(plan.inputs, rows.counts, strict=True)],
        target=place.name,
        target_kind="table" if is_table else "file",
        table_version=written.table_version,
        file_version=written.file_version,
        num_rows=rows.num_rows,
        num_bytes=written.num_bytes,
        source_bytes=None if None in sizes else sum(size or 0 for size in sizes),
        columns=plan.schema.names,
        partition_columns=list(plan.partition_columns),
        verified=not dry_run,
        is_dry_run=dry_run,
        checked=written.checked,
        seconds=time.perf_counter() - begun,
    )


def _places(
    sources: PathLike | Sequence[PathLike],
    target: PathLike,
    table: bool | None,
    append: bool,
    overwrite: bool,
    filesystem: AnyFileSystem | None,
    target_filesystem: AnyFileSystem | None,
    storage_options: Mapping[str, Any] | None,
) -> tuple[bool, Sources, Location]:
    """Find the sources, and refuse a target that may not be written, before anything of a source is read."""
    if append and overwrite:
        raise InvalidArgumentError("append and overwrite exclude each other")
    if append and table is False:
        raise InvalidArgumentError("rows can be appended to a table only, not to a file")
    place = table_location(target, target_filesystem, None if target_filesystem is not None else storage_options)
    check_lance_name(place)
    found = find_sources(sources, filesystem, None if filesystem is not None else storage_options)
    check_not_a_source(place, [*found.roots, *(one.place for one in found.inputs)])
    is_table = (append or found.is_one_table) if table is None else table
    if is_table:
        check_table_target(place, overwrite=overwrite, append=append)
    else:
        check_file_target(place, overwrite=overwrite)
    return is_table, found, place


def _wishes(
    casts: Mapping[str, pa.DataType | str] | None, exclude: Sequence[str], schema: pa.Schema | str | None
) -> Wishes:
    if schema is not None and casts:
        raise InvalidArgumentError("schema gives all types, casts would contradict it: give one of them")
    if isinstance(exclude, str):
        raise InvalidArgumentError(f"exclude is {exclude!r}, expected a list of columns", detail=exclude)
    types = {name: parse_type(one) if isinstance(one, str) else one for name, one in (casts or {}).items()}
    for name in types:
        if name in exclude:
            raise InvalidArgumentError("the column is both cast and excluded", column=name)
    return Wishes(
        casts=types, exclude=tuple(exclude), schema=parse_schema(schema) if isinstance(schema, str) else schema
    )


class _Meter:
    """Progress by bytes: text is read twice, everything else once."""

    def __init__(self, inputs: Sequence[Input], on_progress: Progress | None) -> None:
        self._on_progress = on_progress
        self._inspected = 0
        self._done = 0
        texts = [one.size_bytes for one in inputs if one.format in ("csv", "json")]
        self._text_bytes = sum(size or 0 for size in texts)
        self._total: int | None = None
        self._last = 0
        self._reads: dict[str, int] = {}

    def inspected(self, one: Input, num_bytes: int) -> None:
        """Note how much of a text was looked at; a second look does not count."""
        self._reads[one.name] = max(num_bytes, self._reads.get(one.name, 0))
        self._tell(sum(self._reads.values()))

    def planned(self, plan: Plan) -> None:
        """Note how much there is to read."""
        sizes = [one.facts.size_bytes for one in plan.inputs]
        self._total = None if None in sizes else self._text_bytes + sum(size or 0 for size in sizes)
        self._inspected = self._text_bytes

    def read(self, num_bytes: int) -> None:
        """Note how much of the current input was read."""
        self._tell(self._inspected + self._done + num_bytes)

    def finished(self, one: PlannedInput) -> None:
        """Note that an input was read to its end."""
        self._done += one.facts.size_bytes or 0
        self._tell(self._inspected + self._done)

    def _tell(self, done: int) -> None:
        self._last = max(self._last, done)
        if self._on_progress is not None:
            self._on_progress(self._last, self._total)


class _Rows:
    """The rows of all inputs, counted; an iterable of batches of the plan's schema."""

    def __init__(self, plan: Plan, meter: _Meter) -> None:
        self.plan = plan
        self.counts: list[int] = []
        self._meter = meter

    @property
    def schema(self) -> pa.Schema:
        """Schema of each batch."""
        return self.plan.schema

    @property
    def num_rows(self) -> int:
        """Rows read so far."""
        return sum(self.counts)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for one in self.plan.inputs:
            path = one.input.name
            self.counts.append(0)
            for batch, num_bytes in read_parts(one.input, one.facts, one.columns):
                self.counts[-1] += batch.num_rows
                yield fitted_batch(batch, self.plan.schema, one.constants, path=path)
                self._meter.read(num_bytes)
            if one.facts.num_rows not in (None, self.counts[-1]):
                raise CorruptFileError(
                    f"the file says it has {one.facts.num_rows:,} rows, {self.counts[-1]:,} were read", path=path
                )
            self._meter.finished(one)


def _source_report(one: PlannedInput, num_rows: int) -> SourceReport:
    return SourceReport(
        path=one.input.name,
        format=one.input.format,
        num_rows=num_rows,
        size_bytes=one.facts.size_bytes,
        retyped=one.retyped,
        filled=one.filled,
        partition={name: text for name, text in one.input.keys.items() if name in one.constants},
    )
