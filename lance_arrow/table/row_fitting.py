"""Rows as a table wants them: columns by name in its order, types equal up to what Arrow says of nulls and names.

Nothing is converted that could change a value; a column that is not given is null in every row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from lance_arrow.arrays.arrow_arrays import retyped
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import InvalidArgumentError, did_you_mean
from lance_arrow.files.batch_inputs import Rows, schema_and_rows
from lance_arrow.files.stored_rows import StoredRows


def fitted_rows(
    data: Any, wanted: pa.Schema, version: FileVersion, *, schema: pa.Schema | None = None, may_lack: bool = False
) -> tuple[pa.Schema, Iterator[Rows]]:
    """Fit rows to the schema of a table.

    Parameters
    ----------
    data
        What `write_table` takes.
    wanted
        Schema of the table.
    version
        File version they are to be written in.
    schema
        Schema of an iterable of batches; that of its first batch, or the table's when there is none.
    may_lack
        Whether columns that may not be null may be left out.

    Returns
    -------
    schema
        The table's, without the columns that are not given.
    rows
        In order, of that schema.

    Raises
    ------
    InvalidArgumentError
        A column that the table has not, another type, or a missing column that may not be null.
    UnsupportedError
        The format cannot hold a type.
    """
    given, rows = schema_and_rows(data, wanted if schema is None else schema)
    stored = StoredRows(given, version)
    # Each access makes a list of all names.
    given_names, wanted_names = dict.fromkeys(given.names), dict.fromkeys(wanted.names)
    for name in given_names:
        if name not in wanted_names:
            offer = did_you_mean(name, wanted.names)
            raise InvalidArgumentError(f"the table has no column {name!r}; columns: {wanted.names}{offer}", column=name)
    fields = []
    for field in wanted:
        if field.name not in given_names:
            if not field.nullable and not may_lack:
                raise InvalidArgumentError("the column is not given, but may not be null", column=field.name)
            continue
        type_ = stored.schema.field(field.name).type
        if type_ != field.type and not pa.types.is_null(type_) and _loose(type_) != _loose(field.type):
            raise InvalidArgumentError(
                f"rows have the type {type_}, the table has {field.type}: cast them", column=field.name
            )
        fields.append(field)
    if not fields:
        raise InvalidArgumentError("the rows have no columns")
    fitted = pa.schema(fields, wanted.metadata)
    return fitted, _fit(rows, stored, fitted)


def _fit(rows: Iterator[Rows], stored: StoredRows, schema: pa.Schema) -> Iterator[Rows]:
    numbers = {name: number for number, name in enumerate(stored.given.names)}
    positions = [numbers[name] for name in schema.names]
    are_all = positions == list(range(len(stored.given.names)))
    # Each access makes a list of all types.
    given_types, wanted_types = stored.given.types, schema.types
    are_equal = [given_types[position] for position in positions] == wanted_types
    for one in rows:
        if are_equal and one.schema.equals(stored.given):
            yield one if are_all else one.select(positions)
            continue
        columns = stored.columns(one)
        yield pa.table(
            [
                pa.chunked_array([retyped(array, field.type) for array in columns[position]], field.type)
                for position, field in zip(positions, schema, strict=True)
            ],
            schema=schema,
        )


def _loose(type_: pa.DataType) -> pa.DataType:
    """Return a type without what it says of nulls, names of list items and metadata."""
    if isinstance(type_, pa.BaseExtensionType):
        return type_
    if isinstance(type_, pa.StructType):
        return pa.struct([(type_.field(i).name, _loose(type_.field(i).type)) for i in range(type_.num_fields)])
    if isinstance(type_, pa.FixedSizeListType):
        return pa.list_(pa.field("item", _loose(type_.value_type)), type_.list_size)
    if isinstance(type_, pa.LargeListType):
        return pa.large_list(pa.field("item", _loose(type_.value_type)))
    if isinstance(type_, pa.ListType):
        return pa.list_(pa.field("item", _loose(type_.value_type)))
    if isinstance(type_, pa.MapType):
        return pa.map_(_loose(type_.key_type), _loose(type_.item_type))
    return type_
