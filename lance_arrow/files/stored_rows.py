"""`StoredRows`: rows as a file stores them: which schemas can be stored, what is widened exactly, what is refused.

| Arrow type | stored as |
|---|---|
| string_view, binary_view | string, binary |
| decimal32, decimal64 | decimal128 of the same precision and scale |
| arrow.json | binary JSON (`lance.json`), a large_binary |

Everything else is stored as it is or refused, with the path of the column and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.arrow_arrays import retyped
from lance_arrow.arrays.list_items import list_items
from lance_arrow.container.binary_json import holds_json, with_binary_json
from lance_arrow.container.extension_types import JSON_METADATA
from lance_arrow.container.fields import MAX_DEPTH, too_deep
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import InvalidArgumentError, UnsupportedError, located
from lance_arrow.files.batch_inputs import Rows
from lance_arrow.files.offset_checks import check_offsets

if TYPE_CHECKING:
    from lance_arrow.files.plain_leaves import PlainPlan

_SUGGESTIONS = (
    (pa.types.is_interval, "cast it to duration or to a struct of integers"),
    (pa.types.is_union, "make a struct with one nullable field per member"),
    (pa.types.is_list_view, "cast it to list"),
    (pa.types.is_large_list_view, "cast it to large_list"),
    (pa.types.is_run_end_encoded, "decode it with pyarrow.compute.run_end_decode"),
)


class StoredColumns(NamedTuple):
    """Rows in the form that the file stores.

    Parameters
    ----------
    num_rows
        Rows.
    columns
        For each column of the schema its arrays; none if it is in `batches`.
    batches
        Rows of the columns of a `PlainPlan`.
    """

    num_rows: int
    columns: list[list[pa.Array]]
    batches: list[pa.RecordBatch]


class StoredRows:
    """Brings rows of one schema into the form that the file stores, or refuses them.

    Parameters
    ----------
    schema
        Schema of the caller's rows.
    version
        Version of the file.

    Attributes
    ----------
    schema
        Schema of the file.

    Raises
    ------
    UnsupportedError
        The format cannot hold a type.
    InvalidArgumentError
        Names repeat, are empty or hold a dot.
    """

    def __init__(self, schema: pa.Schema, version: FileVersion) -> None:
        if not isinstance(schema, pa.Schema):
            raise InvalidArgumentError(f"schema is {type(schema).__name__}, expected a pyarrow.Schema")
        _check_names([field.name for field in schema], None)
        self.given = schema
        # Most columns are of types that are stored as they are: they need no call each.
        fields = [
            field if field.type.id in _PLAIN_IDS else _stored_field(field, field.name, (), version) for field in schema
        ]
        self.schema = pa.schema(fields, metadata=schema.metadata)
        self._required = {
            i
            for i, field in enumerate(fields)
            if not field.nullable or (field.type.num_fields and _has_required(field))
        }

    def columns(self, rows: Rows) -> list[list[pa.Array]]:
        """Return for each column of the schema its arrays, stored form, validated; raises as `stored`."""
        return self.stored(rows).columns

    def stored(self, rows: Rows, plain: PlainPlan | None = None) -> StoredColumns:
        """Return for each column of the schema its arrays, stored form, validated.

        Parameters
        ----------
        rows
            The rows.
        plain
            Columns that are stored as they are, and are wanted in record batches.

        Raises
        ------
        InvalidArgumentError
            Other columns than the schema has, a null where it allows none, or an array that contradicts itself.
        """
        self._check_schema(rows.schema)
        apart = () if plain is None else plain.tops
        batches = [] if plain is None else self._batches(rows, plain)
        stored: list[list[pa.Array]] = [[] for _ in range(rows.num_columns)]
        for i in range(rows.num_columns) if not apart else sorted({*range(rows.num_columns)}.difference(apart)):
            field = self.schema.field(i)
            stored[i] = [self._stored(array, field) for array in _arrays(rows.column(i))]
            if i in self._required:
                for array in stored[i]:
                    _check_nulls(array, field, field.name, None)
        return StoredColumns(rows.num_rows, stored, batches)

    def _batches(self, rows: Rows, plain: PlainPlan) -> list[pa.RecordBatch]:
        """Return some columns in batches that are not empty."""
        some = rows if plain.tops == tuple(range(rows.num_columns)) else rows.select(plain.tops)
        batches = [one for one in (some.to_batches() if isinstance(some, pa.Table) else [some]) if one.num_rows]
        for batch in batches:
            self._check_batch(batch, plain)
        return batches

    def _check_batch(self, batch: pa.RecordBatch, plain: PlainPlan) -> None:
        """Validate all arrays in one call; only if something is wrong are they validated one by one."""
        try:
            batch.validate()
        except pa.ArrowInvalid:
            for top, array in zip(plain.tops, batch.columns, strict=True):
                self._stored(array, self.schema.field(top))
            raise
        wrong = plain.native.first_refused(batch)
        if wrong >= 0:
            field, array = self.schema.field(plain.leaves[wrong].top), batch.column(plain.places[wrong])
            check_offsets(array, field.name)
            _check_nulls(array, field, field.name, None)
            raise InvalidArgumentError("the array contradicts itself", column=plain.leaves[wrong].leaf.path)

    def _stored(self, array: pa.Array, field: pa.Field) -> pa.Array:
        try:
            array.validate()
            check_offsets(array, field.name)
            if holds_json(array.type):
                with located(column=field.name):
                    array = with_binary_json(array, field.type)
            # Types that are equal may name the items of lists differently; what reads them goes by the names.
            return retyped(array if array.type == field.type else _cast(array, field.type), field.type)
        except pa.ArrowInvalid as error:
            raise InvalidArgumentError(f"the array contradicts itself: {error}", column=field.name) from error

    def _check_schema(self, schema: pa.Schema) -> None:
        if schema is self.given or schema.equals(self.given):
            return
        if schema.names != self.given.names:
            raise InvalidArgumentError(f"rows have the columns {schema.names}, expected {self.given.names}")
        for field, expected in zip(schema, self.given, strict=True):
            if field.type != expected.type:
                raise InvalidArgumentError(
                    f"rows have the type {field.type}, expected {expected.type}", column=field.name
                )


_PLAIN_IDS = frozenset(
    type_.id
    for type_ in (
        *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.bool_()),
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us")),
        *(pa.timestamp("us"), pa.duration("us")),
    )
)


def _arrays(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    arrays = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [array for array in arrays if len(array)]


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Cast to the stored form, which holds every value exactly."""
    if isinstance(array.type, pa.BaseExtensionType) and isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, _cast(array.storage, type_.storage_type))
    return array.cast(type_, safe=True)


def _check_names(names: Iterable[str], path: str | None) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidArgumentError(f"two fields have the name {name!r}", column=path or name)
        if "." in name or not name:
            raise InvalidArgumentError(
                f"the field name {name!r} cannot be stored: names are not empty and hold no dot", column=path or name
            )
        seen.add(name)


def _stored_field(field: pa.Field, path: str, above: tuple[pa.DataType, ...], version: FileVersion) -> pa.Field:
    if len(above) > MAX_DEPTH:
        raise too_deep(path)
    if isinstance(field.type, pa.JsonType):
        if any(isinstance(one, pa.MapType | pa.FixedSizeListType) for one in above):
            raise UnsupportedError(
                "JSON within maps and fixed-size lists cannot be stored: write its storage, a string",
                column=path,
                detail=field.type,
            )
        return field.with_type(pa.large_binary()).with_metadata({**(field.metadata or {}), **JSON_METADATA})
    type_ = _stored_type(field.type, path, above, version)
    return field if type_ is field.type else field.with_type(type_)


def _stored_type(type_: pa.DataType, path: str, above: tuple[pa.DataType, ...], version: FileVersion) -> pa.DataType:
    types = pa.types
    if types.is_fixed_size_binary(type_) and type_.byte_width == 0:
        raise UnsupportedError(
            "fixed-size binaries of no bytes cannot be stored: use binary", column=path, detail=type_
        )
    if type_.id in _PLAIN_IDS:
        return type_
    for is_kind, suggestion in _SUGGESTIONS:
        if is_kind(type_):
            raise UnsupportedError(f"the format has no {type_}: {suggestion}", column=path, detail=type_)
    if types.is_string_view(type_):
        return pa.string()
    if types.is_binary_view(type_):
        return pa.binary()
    if types.is_decimal32(type_) or types.is_decimal64(type_):
        return pa.decimal128(type_.precision, type_.scale)
    if isinstance(type_, pa.BaseExtensionType):
        return _stored_extension(type_, path, above, version)
    if isinstance(type_, pa.DictionaryType):
        return _stored_dictionary(type_, path)
    if isinstance(type_, pa.StructType):
        return _stored_struct(type_, path, above, version)
    if isinstance(type_, pa.MapType):
        return _stored_map(type_, path, above, version)
    if isinstance(type_, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        return _stored_list(type_, path, above, version)
    return type_


def _stored_extension(
    type_: pa.BaseExtensionType, path: str, above: tuple[pa.DataType, ...], version: FileVersion
) -> pa.DataType:
    storage = type_.storage_type
    stored = _stored_type(storage, path, above, version)
    if stored != storage:
        raise UnsupportedError(f"the storage of {type_} cannot be stored: use {stored}", column=path, detail=type_)
    return type_


def _stored_dictionary(type_: pa.DictionaryType, path: str) -> pa.DataType:
    if type_.ordered:
        raise UnsupportedError(
            "the format does not keep that a dictionary is ordered: cast it to one that is not",
            column=path,
            detail=type_,
        )
    value = type_.value_type
    if value.num_fields or isinstance(value, pa.DictionaryType | pa.BaseExtensionType) or pa.types.is_boolean(value):
        raise UnsupportedError(f"dictionaries of {value} cannot be stored: decode them", column=path, detail=type_)
    stored = _stored_type(value, path, (), FileVersion.V2_2)
    return type_ if stored is value else pa.dictionary(type_.index_type, stored)


def _stored_struct(
    type_: pa.StructType, path: str, above: tuple[pa.DataType, ...], version: FileVersion
) -> pa.DataType:
    fields = [type_.field(i) for i in range(type_.num_fields)]
    if not fields and above:
        raise UnsupportedError(
            "structs without fields can only be columns of their own: add a field", column=path, detail=type_
        )
    _check_names([field.name for field in fields], path)
    stored = [_stored_field(field, f"{path}.{field.name}", (type_, *above), version) for field in fields]
    return type_ if all(new is old for new, old in zip(stored, fields, strict=True)) else pa.struct(stored)


def _stored_map(type_: pa.MapType, path: str, above: tuple[pa.DataType, ...], version: FileVersion) -> pa.DataType:
    if version is FileVersion.V2_1:
        raise UnsupportedError("maps exist since file version 2.2: write that", column=path, detail=type_)
    if type_.keys_sorted:
        raise UnsupportedError(
            "the format does not keep that keys are sorted: cast it to a map that does not say so",
            column=path,
            detail=type_,
        )
    inside = (type_, *above)
    key = _stored_field(type_.key_field, f"{path}.entries.{type_.key_field.name}", inside, version)
    item = _stored_field(type_.item_field, f"{path}.entries.{type_.item_field.name}", inside, version)
    if key is type_.key_field and item is type_.item_field:
        return type_
    return pa.map_(key, item)


def _stored_list(type_: Any, path: str, above: tuple[pa.DataType, ...], version: FileVersion) -> pa.DataType:
    field = type_.value_field
    item_path = f"{path}.{field.name}"
    if isinstance(type_, pa.FixedSizeListType):
        _check_fixed_size_list(type_, path, above, version)
    item = _stored_field(field, item_path, (type_, *above), version)
    if item is field:
        return type_
    if isinstance(type_, pa.FixedSizeListType):
        return pa.list_(item, type_.list_size)
    return pa.large_list(item) if isinstance(type_, pa.LargeListType) else pa.list_(item)


def _check_fixed_size_list(
    type_: pa.FixedSizeListType, path: str, above: tuple[pa.DataType, ...], version: FileVersion
) -> None:
    storage = type_.value_type
    if isinstance(storage, pa.BaseExtensionType):
        storage = storage.storage_type
    if type_.list_size == 0:
        raise UnsupportedError("fixed-size lists of no items cannot be stored", column=path, detail=type_)
    if not isinstance(storage, pa.StructType):
        return
    if version is FileVersion.V2_1:
        raise UnsupportedError(
            "fixed-size lists of structs exist since file version 2.2: write that", column=path, detail=type_
        )
    if version is FileVersion.V2_2 and any(
        isinstance(one, pa.ListType | pa.LargeListType | pa.MapType) for one in above
    ):
        raise UnsupportedError(
            "fixed-size lists of structs within lists cannot be stored in file version 2.2: make them lists",
            column=path,
            detail=type_,
        )


def _children(field: pa.Field) -> Iterator[tuple[int, pa.Field]]:
    type_ = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
    if isinstance(type_, pa.StructType):
        yield from ((i, type_.field(i)) for i in range(type_.num_fields))
    elif isinstance(type_, pa.MapType):
        yield 0, type_.key_field
        yield 1, type_.item_field
    elif isinstance(type_, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        yield 0, type_.value_field


def _has_required(field: pa.Field) -> bool:
    """Whether this field or one below may not be null; the key of a map always is so."""
    if field.nullable and not field.type.num_fields:
        # Most fields: the search below is several calls.
        return False
    return not field.nullable or any(_has_required(child) for _, child in _children(field))


def _check_nulls(array: pa.Array, field: pa.Field, path: str, parents: pa.Array | None) -> None:
    """Refuse nulls that the schema does not allow; slots of null parents (`parents` false) do not count."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(array, pa.DictionaryArray) and array.dictionary.null_count:
        array = array.dictionary_decode()
    null_count = array.null_count
    if null_count and not field.nullable and not pa.types.is_null(array.type):
        missing = pc.is_null(array)
        if parents is not None:
            missing = pc.and_(missing, parents)
        if pc.any(missing).as_py():
            raise InvalidArgumentError("a null in a field that is not nullable", column=path)
    required = [(i, child) for i, child in _children(field) if _has_required(child)]
    if not required:
        return
    present = pc.is_valid(array) if null_count else None
    if isinstance(array, pa.StructArray):
        if parents is not None:
            present = parents if present is None else pc.and_(present, parents)
        for i, child in required:
            _check_nulls(array.field(i), child, f"{path}.{child.name}", present)
        return
    # Items of null lists do not count; a null ancestor leaves its lists out by a mask.
    if parents is not None:
        array = array.filter(parents)
    items = list_items(array)[0]
    for i, child in required:
        if isinstance(array, pa.MapArray):
            _check_nulls(items.field(i), child, f"{path}.entries.{child.name}", None)
        else:
            _check_nulls(items, child, f"{path}.{child.name}", None)
