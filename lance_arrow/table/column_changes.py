"""Columns of a table: added with their values, dropped, renamed, cast; one version each, no file rewritten."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pyarrow as pa

from lance_arrow.container.fields import NO_ID, SchemaField
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import arrow_schema, fields_from_arrow
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.stored_rows import StoredRows
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.table.added_files import write_added_files
from lance_arrow.table.column_sources import column_source, repeatable
from lance_arrow.table.field_paths import cast_field, field_at, field_paths, narrowed, narrowed_array, numbered
from lance_arrow.table.method_arguments import DEFAULT_BATCH_ROWS
from lance_arrow.table.operations.columns import ColumnChange, highest_field_id
from lance_arrow.table.writable_branch import ReaderOf, WritableBranch, refuse_blob_structs, writable_version
from lance_arrow.table.written_files import WrittenFiles

_KEYS = {"path", "name", "nullable", "data_type"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnEdit:
    """Changes of columns of a table.

    Parameters
    ----------
    target, base
        The line of versions, and the version to begin with.
    reader_of
        Makes a reader of a version.
    options
        Makes the options for the file version of the table.
    message
        What the history is to say of it.
    """

    target: WritableBranch
    base: ManifestMeta
    reader_of: ReaderOf
    options: Callable[[str], WriteOptions]
    message: str | None

    def add(
        self, values: Any, *, on: str | Sequence[str] | None, read_columns: Sequence[str] | None, batch_size: int | None
    ) -> ManifestMeta:
        """Add columns; arguments are those of `LanceTable.add_columns`."""
        nothing = _null_columns(values)
        rows = DEFAULT_BATCH_ROWS if batch_size is None else batch_size
        kept = functools.cache(lambda: repeatable(values))

        def attempt(base: ManifestMeta, files: WrittenFiles) -> ColumnChange:
            reader = self.reader_of(base)
            if nothing is not None:
                return ColumnChange(base=base, added=_new_fields(base, nothing))
            chosen = self.options(writable_version(base))
            source = column_source(kept(), reader, on=on, read_columns=read_columns, rows=rows)
            stored = StoredRows(source.schema, chosen.version)
            loose = pa.schema([field.with_nullable(True) for field in stored.schema])
            chosen.check_columns(loose)
            fields = _new_fields(base, loose)

            def compute(batch: pa.RecordBatch) -> list[pa.Array]:
                made = pa.RecordBatch.from_arrays(source.arrays(batch), schema=source.schema)
                return [_joined(arrays, field.type) for arrays, field in zip(stored.columns(made), loose, strict=True)]

            added = write_added_files(
                self.target.line, reader, fields, source.columns, compute, files, options=chosen, batch_size=rows
            )
            source.finish()
            return ColumnChange(base=base, added=fields, files=added)

        return self.target.retried(self.base, attempt, self.message)

    def drop(self, paths: Sequence[str]) -> ManifestMeta:
        """Drop columns; see `LanceTable.drop_columns`."""
        if isinstance(paths, str) or not paths:
            raise InvalidArgumentError(f"columns is {paths!r}, expected a list of names", detail=paths)

        def attempt(base: ManifestMeta, files: WrittenFiles) -> ColumnChange:
            fields = [field_at(base.fields, path) for path in paths]
            gone = frozenset(field.id for field in fields)
            _check_something_left(base.fields, gone, "the table")
            return ColumnChange(base=base, dropped=gone)

        return self.target.retried(self.base, attempt, self.message)

    def alter(self, alterations: Sequence[Mapping[str, Any]]) -> ManifestMeta:
        """Rename and cast columns; see `LanceTable.alter_columns`."""
        for one in alterations:
            if not isinstance(one, Mapping) or "path" not in one or not one.keys() - {"path"} or one.keys() - _KEYS:
                raise InvalidArgumentError(
                    f"an alteration is {one!r}, expected 'path' and some of 'name', 'nullable', 'data_type'"
                )
        if not alterations:
            raise InvalidArgumentError("no alteration is given")

        def attempt(base: ManifestMeta, files: WrittenFiles) -> ColumnChange:
            return self._altered(base, alterations, files)

        return self.target.retried(self.base, attempt, self.message)

    def _altered(
        self, base: ManifestMeta, alterations: Sequence[Mapping[str, Any]], files: WrittenFiles
    ) -> ColumnChange:
        names: dict[int, str] = {}
        nullable: dict[int, bool] = {}
        casts: dict[int, pa.DataType] = {}
        for one in alterations:
            field = field_at(base.fields, one["path"])
            if one.get("name") is not None:
                names[field.id] = _checked_name(one["name"])
            if one.get("nullable") is not None and bool(one["nullable"]) != field.nullable:
                nullable[field.id] = bool(one["nullable"])
            if one.get("data_type") is not None:
                casts[field.id] = one["data_type"]
        _check_siblings(base.fields, names)
        reader = self.reader_of(base)
        for path, field in field_paths(base.fields):
            if nullable.get(field.id) is False:
                _check_no_nulls(reader, path)
        if not casts:
            return ColumnChange(base=base, names=names, nullable=nullable)
        return self._cast(base, reader, casts, ColumnChange(base=base, names=names, nullable=nullable), files)

    def _cast(
        self,
        base: ManifestMeta,
        reader: TableReader,
        casts: Mapping[int, pa.DataType],
        change: ColumnChange,
        files: WrittenFiles,
    ) -> ColumnChange:
        refuse_blob_structs(base.fields)
        chosen = self.options(writable_version(base))
        ids = count(highest_field_id(base) + 1)
        replaced = {
            field.id: _renamed(cast_field(field, casts[field.id], ids), change, field.id)
            for _, field in field_paths(base.fields)
            if field.id in casts
        }
        tops = [(field.name, one) for field in base.fields if (one := narrowed(field, replaced)) is not None]
        fields = [one for _, one in tops]
        schema = arrow_schema(fields, {})

        def compute(batch: pa.RecordBatch) -> list[pa.Array]:
            return [
                narrowed_array(column, old, replaced, field.type)
                for column, field, old in zip(batch.columns, schema, olds, strict=True)
            ]

        columns = [name for name, _ in tops]
        olds = [field for field in base.fields if field.name in columns]
        added = write_added_files(self.target.line, reader, fields, columns, compute, files, options=chosen)
        return replace(change, replaced=replaced, files=added)


def _null_columns(values: Any) -> pa.Schema | None:
    """Return the schema of columns that are given without values; None when values are given."""
    if isinstance(values, pa.Field):
        values = pa.schema([values])
    elif isinstance(values, list | tuple) and values and all(isinstance(one, pa.Field) for one in values):
        values = pa.schema(values)
    if not isinstance(values, pa.Schema):
        return None
    for field in values:
        if not field.nullable:
            raise InvalidArgumentError("a column without values must allow nulls", column=field.name)
    return values


def _new_fields(base: ManifestMeta, schema: pa.Schema) -> list[SchemaField]:
    """Number new columns after all that there ever were."""
    known = {field.name for field in base.fields}
    for name in schema.names:
        if name in known:
            raise InvalidArgumentError("the table has a column of this name already", column=name)
    stored = StoredRows(schema, FileVersion.V2_2).schema
    ids = count(highest_field_id(base) + 1)
    return [numbered(field, ids, NO_ID) for field in fields_from_arrow(stored)]


def _renamed(field: SchemaField, change: ColumnChange, old_id: int) -> SchemaField:
    return replace(
        field, name=change.names.get(old_id, field.name), nullable=change.nullable.get(old_id, field.nullable)
    )


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or not name or "." in name:
        raise InvalidArgumentError(f"a column cannot have the name {name!r}", detail=name)
    return name


def _check_siblings(fields: Sequence[SchemaField], names: Mapping[int, str]) -> None:
    found = [names.get(field.id, field.name) for field in fields]
    twice = next((name for at, name in enumerate(found) if name in found[:at]), None)
    if twice is not None:
        raise InvalidArgumentError("two columns would have this name", column=twice)
    for field in fields:
        _check_siblings(field.children, names)


def _check_something_left(fields: Sequence[SchemaField], gone: frozenset[int], where: str) -> None:
    if fields and all(field.id in gone for field in fields):
        raise InvalidArgumentError(f"{where} would have no columns left")
    for field in fields:
        if field.id not in gone and field.logical_type == "struct":
            _check_something_left(field.children, gone, f"{field.name!r}")


def _check_no_nulls(reader: TableReader, path: str) -> None:
    for batch in reader.batches(reader.projection([path]), None, None):
        if batch.column(0).null_count:
            raise InvalidArgumentError("there are nulls in this column", column=path)


def _joined(arrays: Sequence[pa.Array], type_: pa.DataType) -> pa.Array:
    if len(arrays) == 1:
        return arrays[0]
    return pa.concat_arrays(arrays) if arrays else pa.nulls(0, type_)
