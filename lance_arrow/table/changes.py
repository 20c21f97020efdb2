"""Changes of `LanceTable`: write files first, then commit once; a failure leaves the table as it was.

All changes have the same shape: refuse early by `editable`, write under `WrittenFiles`, make an `Operation`, and hand
it to `WritableBranch.commit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from lance_arrow.container.fields import SchemaField
from lance_arrow.container.schema import arrow_schema, fields_from_arrow
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.batch_inputs import Rows, schema_and_rows
from lance_arrow.files.stored_rows import StoredRows
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.version_marks import keeping
from lance_arrow.manifests.writing import editable
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.scan.predicates import Predicate, as_expression
from lance_arrow.table.data_files import write_fragments
from lance_arrow.table.operations.base import Append, Delete, Overwrite, Restore, schema_metadata
from lance_arrow.table.row_deletion import live_addresses, write_deleted
from lance_arrow.table.row_fitting import fitted_rows
from lance_arrow.table.writable_branch import ReaderOf, WritableBranch, refuse_blob_structs, writable_version
from lance_arrow.table.written_files import WrittenFiles

Made: TypeAlias = tuple[ManifestMeta, dict[str, int]]
"""The version that was made, and numbers of rows as in `EditResult`."""


def replace_rows(
    target: WritableBranch,
    base: ManifestMeta | None,
    data: Any,
    *,
    schema: pa.Schema | None,
    options: WriteOptions,
    max_rows_per_file: int,
    stable_row_ids: bool = False,
    message: str | None,
    casts: bool = False,
) -> Made:
    """Replace rows and schema of a table, or make its first version where `base` is None.

    Other arguments are those of `LanceTable.create`.
    """
    if base is not None:
        editable(base)
    given, stored, fields, rows = fresh_rows(data, schema, options, casts=casts)
    with WrittenFiles() as files:
        fragments = write_fragments(
            target.line,
            given,
            fields_of(fields, given),
            rows,
            files,
            options=options,
            max_rows_per_file=max_rows_per_file,
        )
        operation = Overwrite(
            fragments=fragments,
            fields=fields,
            schema_metadata=schema_metadata(stored),
            file_version=options.file_version,
            stable_row_ids=stable_row_ids,
            is_new=base is None,
        )
        return target.commit(operation, base, files, message), _inserted(fragments)


def fresh_rows(
    data: Any, schema: pa.Schema | None, options: WriteOptions, *, casts: bool = False
) -> tuple[pa.Schema, pa.Schema, Sequence[SchemaField], Iterator[Rows]]:
    """Return the schema of rows, the schema and fields that a new table of them has, and the rows.

    With `casts`, `schema` is that of the table, and rows may lack columns of it.

    Raises
    ------
    InvalidArgumentError
        There is no schema to cast to; as `fitted_rows`.
    UnsupportedError
        The format, or a table, cannot hold a type.
    LanceError
        As `schema_and_rows` and `WriteOptions.check_columns`.
    """
    if casts:
        if schema is None:
            raise InvalidArgumentError("cast=True needs the schema to cast to, as schema=")
        stored = StoredRows(schema, options.version).schema
        given, rows = fitted_rows(data, stored, options.version, completes=True, casts=True)
    else:
        given, rows = schema_and_rows(data, schema)
        stored = StoredRows(given, options.version).schema
    options.check_columns(stored)
    fields = fields_from_arrow(stored)
    refuse_blob_structs(fields)
    return given, stored, fields, rows


def fields_of(fields: Sequence[SchemaField], schema: pa.Schema) -> list[SchemaField]:
    """Return those fields of a table that are columns of a schema."""
    names = set(schema.names)
    return [one for one in fields if one.name in names]


def append_rows(
    target: WritableBranch,
    base: ManifestMeta,
    data: Any,
    *,
    options: Callable[[str], WriteOptions],
    max_rows_per_file: int,
    message: str | None,
    casts: bool = False,
) -> Made:
    """Add rows.

    Parameters
    ----------
    options
        Makes the options for the file version of the table.
    data, max_rows_per_file, message, casts
        As for `LanceTable.append`.

    Raises
    ------
    UnsupportedError
        Files of the table's version cannot be written.
    """
    editable(base)
    chosen = options(writable_version(base))
    schema, fields, rows = further_rows(base, data, chosen, casts=casts)
    with WrittenFiles() as files:
        fragments = write_fragments(
            target.line, schema, fields, rows, files, options=chosen, max_rows_per_file=max_rows_per_file
        )
        return target.commit(Append(fragments), base, files, message), _inserted(fragments)


def _inserted(fragments: Sequence[DataFragment]) -> dict[str, int]:
    return {"num_inserted_rows": sum(one.physical_rows for one in fragments)}


def further_rows(
    base: ManifestMeta, data: Any, options: WriteOptions, *, casts: bool
) -> tuple[pa.Schema, Sequence[SchemaField], Iterator[Rows]]:
    """Return the schema, the fields and the rows of an append; arguments and errors are those of `append_rows`."""
    refuse_blob_structs(base.fields)
    wanted = arrow_schema(base.fields, base.facts.schema_metadata)
    schema, rows = fitted_rows(data, wanted, options.version, completes=True, casts=casts)
    options.check_columns(schema)
    return schema, fields_of(base.fields, schema), rows


def delete_rows(
    target: WritableBranch, base: ManifestMeta, reader_of: ReaderOf, predicate: Predicate, message: str | None
) -> Made:
    """Delete rows; where others changed the same fragments since, again from the newest version.

    Parameters
    ----------
    reader_of
        Makes a reader of a version.
    predicate, message
        As for `LanceTable.delete`.
    """
    counts: dict[str, int] = {}

    def attempt(base: ManifestMeta, files: WrittenFiles) -> Delete:
        reader = reader_of(base)
        expression = as_expression(predicate, reader.columns.full_schema)
        rows = live_addresses(reader, expression)
        counts["num_deleted_rows"] = len(rows)
        text = predicate if isinstance(predicate, str) else str(expression)
        updated, removed = write_deleted(target.line, base, reader, rows, files)
        return Delete(updated=updated, removed=removed, predicate=text)

    return target.retried(base, attempt, message), counts


def restore_version(target: WritableBranch, base: ManifestMeta, old: ManifestMeta, message: str | None) -> Made:
    """Make an older version the newest one; see `LanceTable.restore`."""
    editable(old)
    sizes = [one.num_rows for one in old.fragments]
    # Manifests of old releases do not count the rows.
    counts = {} if None in sizes else {"num_restored_rows": sum(size or 0 for size in sizes)}
    with keeping(target.line, old.version), WrittenFiles() as files:
        return target.commit(Restore(old), base, files, message), counts
