"""Rows as a table wants them: columns by name in its order, types equal up to what Arrow says of nulls and names.

Nothing is converted that could change a value; other types are cast on request only. A column that is not given is null
in every row; in appends, so is a field of a struct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.arrow_arrays import retyped
from lance_arrow.arrays.lossless_casts import cast_losslessly, check_family
from lance_arrow.container.extension_types import lacks_json
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import InvalidArgumentError, did_you_mean
from lance_arrow.files.batch_inputs import Rows, schema_and_rows
from lance_arrow.files.stored_rows import StoredRows
from lance_arrow.table.writable_branch import refuse_lacked

_LISTS = (pa.ListType, pa.LargeListType, pa.FixedSizeListType)


def fitted_rows(
    data: Any,
    wanted: pa.Schema,
    version: FileVersion,
    *,
    schema: pa.Schema | None = None,
    may_lack: bool = False,
    completes: bool = False,
    casts: bool = False,
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
    completes
        Whether fields of structs may be left out, too; they are null, also where an update would have to keep them.
    casts
        Whether values of other types are cast where that loses nothing.

    Returns
    -------
    schema
        The table's, without the columns that are not given.
    rows
        In order, of that schema.

    Raises
    ------
    InvalidArgumentError
        A column that the table has not, another type, or missing columns that may not be null; all are named. A value
        that a cast would change, when its rows are read.
    UnsupportedError
        The format cannot hold a type.
    """
    # Without casts, batches have the types of the table.
    given, rows = schema_and_rows(data, wanted if schema is None and not casts else schema, of_none=wanted)
    stored = StoredRows(given, version)
    # Schemas make the list of their names anew each time.
    names, known = dict.fromkeys(given.names), wanted.names
    unknown = names.keys() - set(known)
    if unknown:
        name = min(unknown, key=given.get_field_index)
        offer = did_you_mean(name, known)
        raise InvalidArgumentError(f"the table has no column {name!r}; columns: {known}{offer}", column=name)
    lacked = [] if may_lack else [one.name for one in wanted if not one.nullable and one.name not in names]
    fields = [field for field in wanted if field.name in names]
    for field in fields:
        path = lacks_json(field, stored.schema.field(field.name))
        if path is not None:
            raise InvalidArgumentError(
                "the table's column holds binary JSON, the rows have other bytes: give text of the type arrow.json",
                column=path,
            )
        type_ = stored.schema.field(field.name).type
        if casts:
            check_family(type_, field.type, field.name)
            if not completes:
                _refuse_left_out(type_, field.type, field.name)
            lacked += lacked_below(type_, field.type, field.name, casts=True) or []
        elif type_ != field.type and not pa.types.is_null(type_) and _loose(type_) != _loose(field.type):
            below = lacked_below(type_, field.type, field.name) if completes else None
            if below is None:
                refuse_lacked(lacked)
                raise InvalidArgumentError(
                    f"rows have the type {type_}, the table has {field.type}: cast them", column=field.name
                )
            lacked += below
    refuse_lacked(lacked)
    if not fields:
        raise InvalidArgumentError("the rows have no columns")
    fitted = pa.schema(fields, wanted.metadata)
    return fitted, _fit(rows, stored, fitted, _cast if casts else _fitted)


def _refuse_left_out(given: pa.DataType, wanted: pa.DataType, path: str) -> None:
    """Refuse structs without a field of the table: a cast would write nulls over values that updates keep."""
    if isinstance(given, pa.StructType) and isinstance(wanted, pa.StructType):
        for at in range(wanted.num_fields):
            field = wanted.field(at)
            below = f"{path}.{field.name}"
            place = given.get_field_index(field.name)
            if place < 0:
                raise InvalidArgumentError("the rows lack this field, and a merge cannot keep its values", column=below)
            _refuse_left_out(given.field(place).type, field.type, below)
    elif isinstance(given, _LISTS) and isinstance(wanted, _LISTS):
        _refuse_left_out(given.value_type, wanted.value_type, path)


def _fit(
    rows: Iterator[Rows], stored: StoredRows, schema: pa.Schema, fit: Callable[[pa.Array, pa.Field], pa.Array]
) -> Iterator[Rows]:
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
                pa.chunked_array([fit(array, field) for array in columns[position]], field.type)
                for position, field in zip(positions, schema, strict=True)
            ],
            schema=schema,
        )


def _fitted(array: pa.Array, field: pa.Field) -> pa.Array:
    if not pa.types.is_null(array.type) and _loose(array.type) != _loose(field.type):
        try:
            # Casts put fields of structs in order, and fill those that are not given with nulls.
            array = pc.cast(array, field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InvalidArgumentError(
                f"rows of the type {array.type} cannot be completed to {field.type}: {error}", column=field.name
            ) from error
    return retyped(array, field.type)


def _cast(array: pa.Array, field: pa.Field) -> pa.Array:
    if not pa.types.is_null(array.type) and _loose(array.type) != _loose(field.type):
        array = cast_losslessly(array, field.type, field.name)
    return retyped(array, field.type)


def lacked_below(given: pa.DataType, wanted: pa.DataType, path: str, *, casts: bool = False) -> list[str] | None:
    """Return fields of structs that are not given, but may not be null; None if other things differ, too.

    Parameters
    ----------
    given, wanted
        Types of the rows and of the table.
    path
        Dotted path of the column.
    casts
        Whether other things may differ, because rows are cast; then the result is a list.
    """
    others: list[str] | None = [] if casts else None
    if casts and isinstance(wanted, pa.BaseExtensionType):
        wanted = wanted.storage_type
    if pa.types.is_null(given) or _loose(given) == _loose(wanted):
        return []
    if isinstance(given, pa.StructType) and isinstance(wanted, pa.StructType):
        fields = {given.field(at).name: given.field(at) for at in range(given.num_fields)}
        if len(fields) != given.num_fields:
            return others
        found: list[str] = []
        for at in range(wanted.num_fields):
            field = wanted.field(at)
            own = fields.pop(field.name, None)
            below = [] if field.nullable else [f"{path}.{field.name}"]
            if own is not None:
                inner = lacked_below(own.type, field.type, f"{path}.{field.name}", casts=casts)
                if inner is None:
                    return None
                below = inner
            found += below
        return found if casts or not fields else None
    if not casts and type(given) is not type(wanted):
        return None
    lists = (*_LISTS, pa.MapType) if casts else _LISTS
    if not (isinstance(given, lists) and isinstance(wanted, lists)):
        return others
    if not casts and isinstance(given, pa.FixedSizeListType) and given.list_size != wanted.list_size:
        return others
    return lacked_below(given.field(0).type, wanted.field(0).type, path, casts=casts)


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
