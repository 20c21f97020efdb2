"""Writing the rows of a conversion: a file that appears when it is verified, or a table's version."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import pyarrow as pa
from fsspec.implementations.local import LocalFileSystem

from lance_arrow.choices import CreateMode, FileVersionName, Preset
from lance_arrow.container.schema import arrow_schema
from lance_arrow.conversion.targets import check_file_target
from lance_arrow.errors import CorruptFileError
from lance_arrow.files.lance_file import LanceFile
from lance_arrow.files.lance_writer import OneFileWriter
from lance_arrow.files.stored_rows import StoredRows
from lance_arrow.files.verification import VerifyCounts, verify
from lance_arrow.files.write_options import DEFAULT_PAGE_BYTES, WriteOptions
from lance_arrow.io import Location, remove_file
from lance_arrow.io.local_sink import hidden_name
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import editable
from lance_arrow.table.lance_table import LanceTable
from lance_arrow.table.row_fitting import fitted_rows
from lance_arrow.table.writable_branch import refuse_blob_structs, writable_version

_WAITING_BYTES = 128 << 20
"""What columns together may keep before their pages are written."""
_MIN_PAGE_BYTES = 1 << 20


class CountedRows(Protocol):
    """Batches of one schema, counted as they are read."""

    @property
    def schema(self) -> pa.Schema:
        """Schema of each batch."""

    @property
    def num_rows(self) -> int:
        """Rows read so far."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Read the rows."""


def page_bytes_of(schema: pa.Schema) -> int:
    """Return bytes of a page, smaller ones for many columns: each column keeps up to one before it is written."""
    leaves = sum(_num_leaves(field.type) for field in schema)
    return max(_MIN_PAGE_BYTES, min(DEFAULT_PAGE_BYTES, _WAITING_BYTES // max(1, leaves)))


def _num_leaves(type_: pa.DataType) -> int:
    if isinstance(type_, pa.DictionaryType) or not type_.num_fields:
        return 1
    return sum(_num_leaves(type_.field(at).type) for at in range(type_.num_fields))


class Written:
    """Result of writing and verifying a target."""

    def __init__(
        self, num_bytes: int, checked: VerifyCounts, file_version: str, table_version: int | None = None
    ) -> None:
        self.num_bytes = num_bytes
        self.checked = checked
        self.file_version = file_version
        self.table_version = table_version


def check_rows(rows: CountedRows, base: ManifestMeta | None, options: WriteOptions) -> Written:
    """Read all rows and check them as a writer does, but write nothing.

    Parameters
    ----------
    rows
        The rows.
    base
        Version of the table that they would be added to; None for a new file or table.
    options
        How they would be written.

    Raises
    ------
    InvalidArgumentError
        A column does not fit the table, or a null is in a column that allows none.
    UnsupportedError
        The table cannot be written.
    """
    schema, fitted = rows.schema, iter(rows)
    if base is not None:
        editable(base)
        writable_version(base)
        refuse_blob_structs(base.fields)
        wanted = arrow_schema(base.fields, base.facts.schema_metadata)
        schema, fitted = fitted_rows(fitted, wanted, options.version, schema=schema, completes=True)
    stored = StoredRows(schema, options.version)
    for batch in fitted:
        stored.columns(batch)
    return Written(0, VerifyCounts(files=0), options.file_version)


def write_file(rows: CountedRows, target: Location, options: WriteOptions, *, overwrite: bool) -> Written:
    """Write a file: on a local filesystem under a hidden name, which it loses after it was verified.

    Raises
    ------
    CorruptFileError
        What was written does not verify, and is removed.
    """
    is_local = isinstance(target.filesystem, LocalFileSystem)
    real = os.path.realpath(target.path) if is_local else target.path
    hidden = os.path.join(os.path.dirname(real), hidden_name(os.path.basename(real)))
    staged = Location(target.filesystem, hidden, target.name) if is_local else target
    is_written = False
    try:
        with OneFileWriter(staged, rows.schema, replace(options, page_bytes=page_bytes_of(rows.schema))) as writer:
            for batch in rows:
                writer.write(batch)
            if not is_local:
                # The last moment before it appears.
                check_file_target(target, overwrite=overwrite)
        is_written = True
        checked = _verified(staged, rows.num_rows)
        if is_local:
            check_file_target(target, overwrite=overwrite)
            with contextlib.suppress(FileNotFoundError):
                os.chmod(hidden, stat.S_IMODE(os.stat(real).st_mode))
            os.replace(hidden, real)
    except BaseException as error:
        # Elsewhere the file is at its place once it is written; it only goes when it is damaged.
        if is_local or (is_written and isinstance(error, CorruptFileError)):
            remove_file(staged)
        raise
    return Written(writer.num_bytes, checked, options.file_version)


def write_table(
    rows: CountedRows,
    target: Location,
    *,
    append: bool,
    overwrite: bool,
    version: FileVersionName | None,
    preset: Preset,
) -> Written:
    """Write a table: its files, then one commit, which makes them visible; then verify them.

    Raises
    ------
    CorruptFileError
        What was written does not verify; the version is there, and named.
    """
    mode: CreateMode = "append" if append else "overwrite" if overwrite else "create"
    before = set()
    if append:
        before = {file.path for file in _files(LanceTable.open(target.path, filesystem=target.filesystem))}
    made = LanceTable.create(
        target.path,
        iter(rows),
        schema=rows.schema,
        mode=mode,
        file_version=version,
        preset=preset,
        page_bytes=page_bytes_of(rows.schema),
        filesystem=target.filesystem,
    )
    num_rows = num_bytes = 0
    counts: list[VerifyCounts] = []
    for fragment in made.manifest.fragments:
        for file in fragment.files:
            if file.path in before:
                continue
            place = target.at(made.manifest.facts.data_path(file))
            with LanceFile(place) as opened:
                num_rows += opened.num_rows
            try:
                counts.append(_verified(place, opened.num_rows))
            except CorruptFileError as error:
                raise CorruptFileError(
                    f"version {made.version} is damaged: {error.message}", path=place.name
                ) from error
            num_bytes += file.size_bytes or 0
    if num_rows != rows.num_rows:
        raise CorruptFileError(
            f"version {made.version} has {num_rows:,} new rows, {rows.num_rows:,} were read", path=target.name
        )
    return Written(num_bytes, _sum(counts), made.manifest.data_format or "", made.version)


def _files(table: LanceTable) -> list[Any]:
    return [file for fragment in table.manifest.fragments for file in fragment.files]


def _sum(counts: Sequence[VerifyCounts]) -> VerifyCounts:
    return VerifyCounts(
        blocks=sum(one.blocks for one in counts),
        checked_bytes=sum(one.checked_bytes for one in counts),
        columns=max((one.columns for one in counts), default=0),
        pages=sum(one.pages for one in counts),
        rows=sum(one.rows for one in counts),
    )


def _verified(place: Location, num_rows: int) -> VerifyCounts:
    """Compare every checksum, decode every page, count the rows."""
    report = verify(place)
    findings = [*report.errors, *report.unchecked]
    if findings:
        raise CorruptFileError(f"the new file does not verify: {findings[0]}", path=place.name)
    if report.checked.rows != num_rows:
        raise CorruptFileError(
            f"the new file has {report.checked.rows:,} rows, {num_rows:,} were read", path=place.name
        )
    return report.checked
