"""Fields of a schema by dotted path, and a tree of fields cut down to those whose values are made anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from lance_arrow.arrays.column_tree import storage_type
from lance_arrow.container.extension_types import BINARY_JSON, EXTENSION_NAME
from lance_arrow.container.fields import NO_ID, SchemaField
from lance_arrow.container.schema import fields_from_arrow
from lance_arrow.errors import InvalidArgumentError, UnsupportedError, did_you_mean


def field_at(fields: Sequence[SchemaField], path: object) -> SchemaField:
    """Return the field that a dotted path names, through structs.

    Raises
    ------
    InvalidArgumentError
        There is none; what there is at the last step that exists, is named.
    """
    if not isinstance(path, str):
        raise InvalidArgumentError(f"a column is {path!r}, expected its name", detail=path)
    level = fields
    found: SchemaField | None = next((field for field in fields if field.name == path), None)
    if found is not None:
        return found
    for name in path.split("."):
        found = next((field for field in level if field.name == name), None)
        if found is None:
            break
        level = found.children if found.logical_type == "struct" and not found.is_blob else ()
    if found is None:
        known = [field.name for field in level]
        raise InvalidArgumentError(
            f"the table has no column {path!r}; there are {known}{did_you_mean(path, known)}", column=path
        )
    return found


def field_paths(fields: Sequence[SchemaField], above: str = "") -> list[tuple[str, SchemaField]]:
    """Return all fields with their dotted paths, in pre-order."""
    found = []
    for field in fields:
        path = f"{above}.{field.name}" if above else field.name
        found.append((path, field))
        found.extend(field_paths(field.children, path))
    return found


def cast_field(field: SchemaField, type_: pa.DataType, ids: Iterator[int]) -> SchemaField:
    """Return a field of another type, with new ids; it keeps its name, place, nullability and metadata."""
    if not isinstance(type_, pa.DataType):
        raise InvalidArgumentError(f"data_type is {type_!r}, expected an Arrow type", column=field.name)
    (made,) = fields_from_arrow(pa.schema([pa.field(field.name, type_, field.nullable)]))
    metadata = {key: value for key, value in field.metadata.items() if not key.startswith("ARROW:extension")}
    return replace(numbered(made, ids, field.parent_id), metadata={**metadata, **made.metadata})


def numbered(field: SchemaField, ids: Iterator[int], parent_id: int) -> SchemaField:
    """Return a field, and all below it, with new ids; descriptor fields of blobs stay without."""
    if field.id == NO_ID:
        return field
    number = next(ids)
    children = tuple(numbered(child, ids, number) for child in field.children)
    return replace(field, id=number, parent_id=parent_id, children=children)


def narrowed(field: SchemaField, replaced: Mapping[int, SchemaField]) -> SchemaField | None:
    """Return a field cut down to what is replaced in it, as it is then; None when nothing is.

    Raises
    ------
    UnsupportedError
        What is replaced lies in a list or map.
    """
    found = replaced.get(field.id)
    if found is not None:
        return found
    children = tuple(one for child in field.children if (one := narrowed(child, replaced)) is not None)
    if not children:
        return None
    if field.logical_type != "struct":
        raise UnsupportedError("what lies in lists or maps can only be cast along with them", column=field.name)
    return replace(field, children=children)


def narrowed_array(
    array: pa.Array, field: SchemaField, replaced: Mapping[int, SchemaField], type_: pa.DataType
) -> pa.Array:
    """Return an array cut down likewise, values cast.

    Parameters
    ----------
    array, field
        Values, and the field they are of.
    replaced
        As for `narrowed`.
    type_
        The Arrow type of the narrowed field.

    Raises
    ------
    InvalidArgumentError
        A value cannot be cast without loss.
    """
    if field.id in replaced:
        if field.metadata.get(EXTENSION_NAME) == BINARY_JSON:
            from lance_arrow.arrays.json_texts import text_of  # noqa: PLC0415 - for JSON alone

            array = text_of(array)
        return _cast(array, type_, field.name)
    children: list[pa.Array] = []
    names = []
    for number, child in enumerate(field.children):
        if narrowed(child, replaced) is not None:
            place = len(children)
            children.append(narrowed_array(array.field(number), child, replaced, type_.field(place).type))
            names.append(type_.field(place))
    return pa.StructArray.from_arrays(children, fields=names, mask=array.is_null())


def _cast(array: pa.Array, type_: pa.DataType, name: str) -> pa.Array:
    plain = array.storage if isinstance(array, pa.ExtensionArray) else array
    storage = storage_type(type_)
    try:
        if isinstance(plain.type, pa.DictionaryType):
            plain = plain.cast(plain.type.value_type)
        if isinstance(storage, pa.DictionaryType):
            plain = plain.cast(storage.value_type).dictionary_encode()
        plain = plain.cast(storage)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InvalidArgumentError(f"{array.type} cannot be cast to {type_}: {error}", column=name) from error
    return plain if storage is type_ else pa.ExtensionArray.from_storage(type_, plain)
