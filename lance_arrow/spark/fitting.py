"""Batches of one schema as batches of another, column by column: exact, or refused with the column's name."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.errors import InvalidArgumentError, UnsupportedError, did_you_mean

_VALUE_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError)


class BatchFitting:
    """Brings batches into a schema; columns are found by name.

    Parameters
    ----------
    schema
        Schema of the result.
    truncates_times
        Whether parts of a second below what the wanted type can hold are cut off; otherwise they are an error.
    """

    def __init__(self, schema: pa.Schema, *, truncates_times: bool = False) -> None:
        self.schema = schema
        self._truncates = truncates_times

    def check(self, given: pa.Schema) -> None:
        """Reject a schema whose batches cannot be converted.

        Raises
        ------
        UnsupportedError
            There is no way from one type to the other.
        InvalidArgumentError
            A struct has a field that the wanted one lacks.
        """
        for field in self.schema:
            _check_fields(given.field(field.name).type, field.type, field.name)
            self._array(pa.nulls(0, given.field(field.name).type), field)

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch in the wanted schema.

        Raises
        ------
        InvalidArgumentError
            A value cannot be held exactly; the column is named.
        UnsupportedError
            There is no way from one type to the other.
        """
        if not len(self.schema):
            return batch.select([])
        columns = [self._array(batch.column(field.name), field) for field in self.schema]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _array(self, array: pa.Array, field: pa.Field) -> pa.Array:
        coarse = _with_microseconds(array.type)
        if array.type.equals(field.type) and _is_same_below(array.type, field.type) and coarse is array.type:
            return array
        try:
            return self._cast(array, field.type)
        except _VALUE_ERRORS as error:
            hint = "; option timestamps = truncate cuts them off" if "lose data" in str(error) else ""
            raise InvalidArgumentError(
                f"a value of type {array.type} cannot be held exactly as {field.type}: {error}{hint}", column=field.name
            ) from error
        except (pa.ArrowNotImplementedError, pa.ArrowKeyError) as error:
            raise UnsupportedError(
                f"there is no way from type {array.type} to {field.type}: {error}", column=field.name
            ) from error

    def _cast(self, array: pa.Array, type_: pa.DataType) -> pa.Array:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        if isinstance(array.type, pa.DictionaryType) and not isinstance(type_, pa.DictionaryType):
            array = array.dictionary_decode()
        if isinstance(type_, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(type_, self._cast(array, type_.storage_type))
        if isinstance(type_, pa.DictionaryType) and not isinstance(array.type, pa.DictionaryType):
            encoded = self._cast(array, type_.value_type).dictionary_encode()
            return pa.DictionaryArray.from_arrays(
                encoded.indices.cast(type_.index_type), encoded.dictionary, ordered=type_.ordered
            )
        coarse = _with_microseconds(array.type)
        if coarse is not array.type:
            # Times of day of Spark end at microseconds, though they come in nanoseconds.
            array = self._plain(array, coarse)
        return self._plain(array, type_)

    def _plain(self, array: pa.Array, type_: pa.DataType) -> pa.Array:
        options = pc.CastOptions(type_, allow_time_truncate=self._truncates)
        return pc.cast(array, options=options)


def _check_fields(given: pa.DataType, wanted: pa.DataType, path: str) -> None:
    """Refuse fields of structs that the wanted type lacks: a cast would drop them."""
    if isinstance(wanted, pa.BaseExtensionType):
        wanted = wanted.storage_type
    if isinstance(given, pa.StructType) and isinstance(wanted, pa.StructType):
        names = [wanted.field(at).name for at in range(wanted.num_fields)]
        for field in (given.field(at) for at in range(given.num_fields)):
            if field.name not in names:
                raise InvalidArgumentError(
                    f"the struct has no field {field.name!r}; fields: {names}{did_you_mean(field.name, names)}",
                    column=f"{path}.{field.name}",
                )
            _check_fields(field.type, wanted.field(field.name).type, f"{path}.{field.name}")
    elif given.num_fields == wanted.num_fields:
        for at in range(given.num_fields):
            _check_fields(given.field(at).type, wanted.field(at).type, path)


def _is_same_below(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether equal types also agree in what equality passes over: names of list items, nulls in them."""
    return left.num_fields == 0 or left.equals(right, check_metadata=True)


def _with_microseconds(type_: pa.DataType) -> pa.DataType:
    """Return a type with times of day of nanoseconds made coarser, at any depth; itself where there are none."""
    if type_.equals(pa.time64("ns")):
        return pa.time64("us")
    if isinstance(type_, pa.StructType):
        fields = [type_.field(at) for at in range(type_.num_fields)]
        changed = [field.with_type(_with_microseconds(field.type)) for field in fields]
        kept = all(new.type.equals(old.type) for new, old in zip(changed, fields, strict=True))
        return type_ if kept else pa.struct(changed)
    if isinstance(type_, pa.MapType):
        key, item = _with_microseconds(type_.key_type), _with_microseconds(type_.item_type)
        kept = key.equals(type_.key_type) and item.equals(type_.item_type)
        return type_ if kept else pa.map_(key, type_.item_field.with_type(item))
    if isinstance(type_, (pa.ListType, pa.LargeListType, pa.FixedSizeListType)):
        item = _with_microseconds(type_.value_type)
        if item.equals(type_.value_type):
            return type_
        field = type_.value_field.with_type(item)
        if isinstance(type_, pa.FixedSizeListType):
            return pa.list_(field, type_.list_size)
        return pa.large_list(field) if isinstance(type_, pa.LargeListType) else pa.list_(field)
    return type_
