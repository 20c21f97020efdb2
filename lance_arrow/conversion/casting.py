"""Values from the type an input has to the type of the target: exact or checked, with file, column and both types."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.arrow_arrays import retyped
from lance_arrow.errors import InvalidArgumentError, LanceError

_MISFITS = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)
_HINT = "choose another type with --cast COLUMN=TYPE (casts=), or leave the column out with --exclude (exclude=)"


def check_castable(found: pa.DataType, wanted: pa.DataType, *, column: str, path: str) -> None:
    """Refuse, before a row is read, types between which there is no cast.

    Raises
    ------
    InvalidArgumentError
        There is none.
    """
    try:
        cast_array(pa.nulls(0, found), wanted)
    except _MISFITS as error:
        raise _refused(found, wanted, error, column, path) from error


def cast_column(array: pa.Array, wanted: pa.DataType, *, column: str, path: str) -> pa.Array:
    """Cast an array, and check that no value is lost.

    Parameters
    ----------
    array
        Values of one column.
    wanted
        Type of the target.
    column, path
        For messages.

    Raises
    ------
    InvalidArgumentError
        A value does not fit; nothing of the target appears.
    """
    if array.type == wanted:
        return retyped(array, wanted)
    try:
        made = retyped(cast_array(array, wanted), wanted)
    except _MISFITS as error:
        raise _refused(array.type, wanted, error, _failing_path(array, wanted, column), path) from error
    if _may_drop(array.type, wanted) and not made.cast(array.type).equals(array):
        problem = InvalidArgumentError("a time of day would be cut off")
        raise _refused(array.type, wanted, problem, column, path)
    return made


def cast_array(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Cast an array safely; views of lists become lists first, which pyarrow's own cast gets wrong."""
    plain = without_views(array)
    return plain if plain.type == wanted else plain.cast(wanted, safe=True)


def stored_type(type_: pa.DataType) -> pa.DataType:
    """Return the type that views become, at any depth; any other type as it is."""
    return without_views(pa.nulls(0, type_)).type if _has_views(type_) else type_


def without_views(array: pa.Array) -> pa.Array:
    """Return an array whose views of lists, at any depth of lists and structs, are lists of the same values."""
    type_ = array.type
    if not _has_views(type_):
        return array
    if pa.types.is_string_view(type_) or pa.types.is_binary_view(type_):
        return array.cast(pa.string() if pa.types.is_string_view(type_) else pa.binary())
    if isinstance(type_, pa.StructType):
        children = [without_views(array.field(i)) for i in range(type_.num_fields)]
        fields = [type_.field(i).with_type(child.type) for i, child in enumerate(children)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    is_large = pa.types.is_large_list(type_) or pa.types.is_large_list_view(type_)
    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int64())
    ends = pc.cumulative_sum(lengths)
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends]).cast(pa.int64() if is_large else pa.int32())
    values = without_views(array.flatten())
    field = type_.value_field.with_type(values.type)
    if isinstance(type_, pa.FixedSizeListType):
        # A null of a fixed-size list has values, too.
        full = without_views(array.values[array.offset * type_.list_size :][: len(array) * type_.list_size])
        made = pa.list_(field, type_.list_size)
        return pa.FixedSizeListArray.from_arrays(full, type=made, mask=array.is_null() if array.null_count else None)
    kind = pa.LargeListArray if is_large else pa.ListArray
    made = pa.large_list(field) if is_large else pa.list_(field)
    return kind.from_arrays(offsets, values, type=made, mask=array.is_null() if array.null_count else None)


def _has_views(type_: pa.DataType) -> bool:
    types = pa.types
    if types.is_list_view(type_) or types.is_large_list_view(type_):
        return True
    if types.is_string_view(type_) or types.is_binary_view(type_):
        return True
    if isinstance(type_, pa.StructType):
        return any(_has_views(type_.field(i).type) for i in range(type_.num_fields))
    if isinstance(type_, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        return _has_views(type_.value_type)
    return False


def _may_drop(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether pyarrow's safe cast cuts values without saying so: a date of a timestamp, a day of milliseconds."""
    types = pa.types
    return bool(types.is_date(wanted) and (types.is_timestamp(found) or types.is_date64(found)))


def _failing_path(array: pa.Array, wanted: pa.DataType, column: str) -> str:
    """Find the field of a struct that does not fit."""
    if not (isinstance(array.type, pa.StructType) and isinstance(wanted, pa.StructType)):
        return column
    for i in range(array.type.num_fields):
        name = array.type.field(i).name
        at = wanted.get_field_index(name)
        if at < 0:
            continue
        try:
            cast_array(array.field(i), wanted.field(at).type)
        except _MISFITS:
            return _failing_path(array.field(i), wanted.field(at).type, f"{column}.{name}")
    return column


def _refused(found: pa.DataType, wanted: pa.DataType, error: Exception, column: str, path: str) -> InvalidArgumentError:
    message = error.message if isinstance(error, LanceError) else str(error)
    return InvalidArgumentError(
        f"values of type {found} cannot become {wanted}: {message}; {_HINT}", column=column, path=path
    )


def fitted_batch(
    batch: pa.RecordBatch, schema: pa.Schema, constants: dict[str, pa.Scalar], *, path: str
) -> pa.RecordBatch:
    """Bring a batch of one input into the schema of the target.

    Parameters
    ----------
    batch
        Rows; columns that the schema does not have are left out.
    schema
        Of the target.
    constants
        Values of columns that the folders give. Where the file has such a column too, each of its values must be that.
    path
        The input, for messages.

    Raises
    ------
    InvalidArgumentError
        A value does not fit, or contradicts the folder.
    """
    names: Sequence[str] = batch.schema.names
    columns = []
    for field in schema:
        name = field.name
        if name in names:
            array = cast_column(batch.column(names.index(name)), field.type, column=name, path=path)
            if name in constants:
                _check_constant(array, constants[name], column=name, path=path)
        elif name in constants and constants[name].is_valid:
            array = pa.repeat(constants[name], batch.num_rows)
            array = array if array.type == field.type else cast_column(array, field.type, column=name, path=path)
        else:
            array = pa.nulls(batch.num_rows, field.type)
        columns.append(array)
    if not columns:
        return batch.select([])
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _check_constant(array: pa.Array, constant: pa.Scalar, *, column: str, path: str) -> None:
    expected = constant.cast(array.type)
    same = pc.equal(array, expected) if expected.is_valid else array.is_null()
    if not pc.all(pc.fill_null(same, False)).as_py() and len(array):
        raise InvalidArgumentError(
            f"the folder says {constant.as_py()!r}, a row of the file has another value; leave the column out with "
            "--exclude (exclude=)",
            column=column,
            path=path,
        )
