"""What `LanceTable` does to a table: files first, then one commit; whatever fails leaves the table as it was.

Operations to come (update, merge, columns, compaction) have the same shape: refuse early by `editable`, write under
`WrittenFiles`, make an `Operation`, and hand it to `TableLine.commit`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.container.extension_types import EXTENSION_NAME
from lance_arrow.container.fields import SchemaField
from lance_arrow.container.schema import arrow_schema, fields_from_arrow
from lance_arrow.datasets.batch_inputs import schema_and_rows
from lance_arrow.datasets.predicates import Predicate, as_expression
from lance_arrow.datasets.stored_rows import StoredRows
from lance_arrow.datasets.table_columns import NAME_OF, VirtualColumn
from lance_arrow.datasets.table_reader import TableReader
from lance_arrow.datasets.write_options import WriteOptions
from lance_arrow.errors import CommitConflictError, InvalidArgumentError, UnsupportedError
from lance_arrow.io import Location
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.versions import VersionChoice, open_version
from lance_arrow.manifests.writing import check_fragment_known, editable
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.settings import Settings
from lance_arrow.spi import CommitStrategy
from lance_arrow.table.commit import commit
from lance_arrow.table.data_files import write_fragments
from lance_arrow.table.deletion_files import write_deletions
from lance_arrow.table.operations import Append, Delete, Operation, Overwrite, Restore
from lance_arrow.table.row_fitting import fitted_rows
from lance_arrow.table.transactions import MESSAGE_KEY
from lance_arrow.table.written_files import WrittenFiles

_WRITABLE = ("2.0", "2.1", "2.2", "2.3")
_MISFITS = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, pa.ArrowTypeError)
_ADDRESS = NAME_OF[VirtualColumn.ROW_ADDRESS]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLine:
    """A line of versions that can be written.

    Parameters
    ----------
    root
        Folder of the table.
    line
        Folder of the line: that of the table, or of a branch.
    branch
        None for the main one.
    strategy
        How versions are made.
    settings
        Limits, and how long to try.
    """

    root: Location
    line: Location
    branch: str | None
    strategy: CommitStrategy
    settings: Settings

    def commit(
        self, operation: Operation, read: ManifestMeta | None, files: WrittenFiles, message: str | None
    ) -> ManifestMeta:
        """Make a version; see `commit`."""
        properties = {} if message is None else {MESSAGE_KEY: message}
        return commit(
            self.line,
            operation,
            read,
            files,
            strategy=self.strategy,
            settings=self.settings,
            properties=properties,
        )

    def newest(self) -> ManifestMeta:
        """Read the newest version."""
        return open_version(self.root, VersionChoice(branch=self.branch), self.settings.limits)


def create_table(
    target: TableLine,
    data: Any,
    *,
    schema: pa.Schema | None,
    options: WriteOptions,
    max_rows_per_file: int,
    stable_row_ids: bool,
    message: str | None,
) -> ManifestMeta:
    """Make the first version of a table; arguments are those of `LanceTable.create`."""
    return _replace(
        target,
        None,
        data,
        schema=schema,
        options=options,
        max_rows_per_file=max_rows_per_file,
        stable_row_ids=stable_row_ids,
        message=message,
    )


def overwrite_rows(
    target: TableLine,
    base: ManifestMeta,
    data: Any,
    *,
    schema: pa.Schema | None,
    options: WriteOptions,
    max_rows_per_file: int,
    message: str | None,
) -> ManifestMeta:
    """Replace rows and schema; arguments are those of `LanceTable.overwrite`."""
    editable(base)
    return _replace(
        target,
        base,
        data,
        schema=schema,
        options=options,
        max_rows_per_file=max_rows_per_file,
        stable_row_ids=False,
        message=message,
    )


def _replace(
    target: TableLine,
    base: ManifestMeta | None,
    data: Any,
    *,
    schema: pa.Schema | None,
    options: WriteOptions,
    max_rows_per_file: int,
    stable_row_ids: bool,
    message: str | None,
) -> ManifestMeta:
    given, rows = schema_and_rows(data, schema)
    stored = StoredRows(given, options.version).schema
    options.check_columns(stored)
    fields = fields_from_arrow(stored)
    _refuse_blob_structs(fields)
    metadata = {key.decode(): value for key, value in (stored.metadata or {}).items()}
    with WrittenFiles() as files:
        fragments = write_fragments(
            target.line, given, fields, rows, files, options=options, max_rows_per_file=max_rows_per_file
        )
        operation = Overwrite(
            fragments=fragments,
            fields=fields,
            schema_metadata=metadata,
            file_version=options.file_version,
            stable_row_ids=stable_row_ids,
            is_new=base is None,
        )
        return target.commit(operation, base, files, message)


def append_rows(
    target: TableLine,
    base: ManifestMeta,
    data: Any,
    *,
    options: Callable[[str], WriteOptions],
    max_rows_per_file: int,
    message: str | None,
) -> ManifestMeta:
    """Add rows.

    Parameters
    ----------
    options
        Makes the options for the file version of the table.
    data, max_rows_per_file, message
        As for `LanceTable.append`.

    Raises
    ------
    UnsupportedError
        Files of the table's version cannot be written.
    """
    editable(base)
    chosen = options(_file_version(base))
    schema, fields, rows = _fitted(base, data, chosen)
    with WrittenFiles() as files:
        fragments = write_fragments(
            target.line, schema, fields, rows, files, options=chosen, max_rows_per_file=max_rows_per_file
        )
        return target.commit(Append(fragments), base, files, message)


def _fitted(base: ManifestMeta, data: Any, options: WriteOptions) -> tuple[pa.Schema, Sequence[SchemaField], Any]:
    _refuse_blob_structs(base.fields)
    wanted = arrow_schema(base.fields, base.facts.schema_metadata)
    schema, rows = fitted_rows(data, wanted, options.version)
    options.check_columns(schema)
    return schema, [one for one in base.fields if one.name in schema.names], rows


def _refuse_blob_structs(fields: Sequence[SchemaField]) -> None:
    """Refuse blobs of the second kind, of which manifests tell otherwise than files."""
    for top in fields:
        for field in top.walk():
            is_descriptor = field.is_blob and field.logical_type == "struct"
            if is_descriptor or field.metadata.get(EXTENSION_NAME, b"").startswith(b"lance.blob"):
                raise UnsupportedError("blobs of this kind cannot be written into tables yet", column=top.name)


def _file_version(base: ManifestMeta) -> str:
    """Return the version of data files that may be added."""
    version = base.data_format
    if version not in _WRITABLE:
        raise UnsupportedError(
            f"the table's data files are of version {version or 'before 2.1'}, which cannot be written; "
            "files of several versions cannot be in one table: overwrite it",
            path=base.facts.root,
            detail=version,
        )
    return version


def overwriting_version(base: ManifestMeta) -> str:
    """Return the file version for new content of a table: its own where that can be written."""
    return base.data_format if base.data_format in _WRITABLE else "2.2"


def delete_rows(
    target: TableLine,
    base: ManifestMeta,
    reader_of: Callable[[ManifestMeta], TableReader],
    predicate: Predicate,
    message: str | None,
) -> ManifestMeta:
    """Delete rows; where others changed the same fragments since, again from the newest version.

    Parameters
    ----------
    reader_of
        Makes a reader of a version.
    predicate, message
        As for `LanceTable.delete`.
    """
    deadline = time.monotonic() + target.settings.commit_seconds
    while True:
        editable(base)
        try:
            with WrittenFiles() as files:
                reader = reader_of(base)
                expression = as_expression(predicate, reader.columns.full_schema)
                found = _addresses(reader, expression)
                text = predicate if isinstance(predicate, str) else str(expression)
                operation = _deletion(target, base, reader, found, text, files)
                return target.commit(operation, base, files, message)
        except CommitConflictError as error:
            if not error.retryable or time.monotonic() >= deadline:
                raise
        base = target.newest()


def _addresses(reader: TableReader, expression: Predicate) -> NDArray[np.uint64]:
    """Return where the rows lie that satisfy a predicate, ``(n,) uint64`` row addresses."""
    if _ADDRESS in reader.columns.schema.names:
        raise UnsupportedError(
            f"the table has a column {_ADDRESS!r}, which hides the addresses of rows", column=_ADDRESS
        )
    projection = reader.projection([_ADDRESS])
    batches = reader.batches(projection, [_ADDRESS], expression, None)
    try:
        parts = [batch.column(0).to_numpy(zero_copy_only=False) for batch in batches]
    except _MISFITS as error:
        raise InvalidArgumentError(f"the predicate {expression} does not fit the table: {error}") from error
    return np.concatenate(parts).astype(np.uint64) if parts else np.empty(0, np.uint64)


def _deletion(
    target: TableLine,
    base: ManifestMeta,
    reader: TableReader,
    addresses: NDArray[np.uint64],
    predicate: str,
    files: WrittenFiles,
) -> Delete:
    """Write what is to be deleted, fragment by fragment."""
    owners = (addresses >> np.uint64(32)).astype(np.int64)
    offsets = (addresses & np.uint64(0xFFFFFFFF)).astype(np.int64)
    messages = {fragment.id: fragment for fragment in editable(base).fragments}
    numbers = {fragment.id: number for number, fragment in enumerate(base.fragments)}
    updated: list[DataFragment] = []
    removed: list[int] = []
    for fragment_id in np.unique(owners).tolist():
        rows = reader.fragment(numbers[fragment_id])
        gone = np.unique(offsets[owners == fragment_id])
        if rows.deletions is not None:
            gone = np.union1d(gone, rows.deletions.offsets)
        if len(gone) == rows.num_physical:
            removed.append(fragment_id)
            continue
        fragment = messages[fragment_id]
        check_fragment_known(fragment, base.facts.manifest_path)
        written = write_deletions(target.line, fragment_id, base.version, gone, files)
        fragment.deletion_file.CopyFrom(written)
        updated.append(fragment)
    return Delete(updated=updated, removed=removed, predicate=predicate)


def restore_version(target: TableLine, base: ManifestMeta, old: ManifestMeta, message: str | None) -> ManifestMeta:
    """Make an older version the newest one; see `LanceTable.restore`."""
    editable(old)
    with WrittenFiles() as files:
        return target.commit(Restore(old), base, files, message)


def checked_message(message: object) -> str | None:
    """Return what a caller says of an operation.

    Raises
    ------
    InvalidArgumentError
        It is no text.
    """
    if message is not None and not isinstance(message, str):
        raise InvalidArgumentError(f"message is {message!r}, expected text", detail=message)
    return message
