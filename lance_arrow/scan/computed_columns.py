"""Values as users write them for columns that are made or changed: expressions, SQL, literals; and their arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.column_paths import Path
from lance_arrow.arrays.column_tree import storage_type
from lance_arrow.arrays.plain_numbers import empty_batch
from lance_arrow.container.extension_types import is_binary_json
from lance_arrow.errors import CorruptPageError, InvalidArgumentError
from lance_arrow.scan.filters.bound_filters import columns_of, evaluated
from lance_arrow.scan.predicates import MISFITS, fitting, sql_reader


def as_value(value: Any, schema: pa.Schema, type_: pa.DataType | None) -> pc.Expression:
    """Turn what a user gives for a column into an expression.

    Parameters
    ----------
    value
        An expression, a string of SQL (a literal string is ``"'x'"`` or ``pc.scalar("x")``), or a literal.
    schema
        Columns it is about.
    type_
        What the column is; None where the value decides.

    Raises
    ------
    InvalidArgumentError
        SQL that is not understood, or a value that the type cannot hold.
    UnsupportedError
        SQL, but sqlglot is not installed.
    """
    if isinstance(value, pc.Expression):
        return value
    if isinstance(value, str):
        found: pc.Expression = sql_reader("values").parse_sql_value(value, type_, schema)
        return found
    try:
        if isinstance(value, pa.Scalar):
            return pc.scalar(value)
        return pc.scalar(pa.scalar(value, _plain(type_)))
    except MISFITS as error:
        raise InvalidArgumentError(f"the value {value!r} cannot be {type_}: {error}", detail=value) from error


def _as_value_of(name: str, value: Any, schema: pa.Schema, type_: pa.DataType | None) -> pc.Expression:
    try:
        return as_value(value, schema, type_)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{error.message}{_literal_hint(value, type_)}", column=name) from error


def _literal_hint(value: Any, type_: pa.DataType | None) -> str:
    """Say how a string is written that was meant as one, where the column may hold it."""
    plain = _plain(type_)
    if not isinstance(value, str):
        return ""
    if plain is None:
        may_be_text = value.isidentifier()
    else:
        may_be_text = pa.types.is_string(plain) or pa.types.is_large_string(plain)
    quoted = "'" + value.replace("'", "''") + "'"
    return f" (a string is SQL here: the text itself is {quoted!r} or pc.scalar({value!r}))" if may_be_text else ""


def _plain(type_: pa.DataType | None) -> pa.DataType | None:
    """Return the type of literals of a column."""
    plain = None if type_ is None else storage_type(type_)
    return plain.value_type if isinstance(plain, pa.DictionaryType) else plain


class ComputedColumns:
    """Columns that are made of other columns.

    Parameters
    ----------
    values
        What each column is, as for `as_value`.
    schema
        Columns that the values are about.
    fields
        Columns that are made, whose types the values are cast to; their types follow from the values where it is None.

    Raises
    ------
    InvalidArgumentError
        A value does not fit the schema.
    """

    def __init__(self, values: Mapping[str, Any], schema: pa.Schema, fields: pa.Schema | None = None) -> None:
        types = {name: None if fields is None else fields.field(name).type for name in values}
        self._expressions = {name: _as_value_of(name, value, schema, types[name]) for name, value in values.items()}
        mentioned = [path for name in values for path in self._columns(name, values[name], schema, types[name])]
        self.paths: tuple[Path, ...] = tuple(dict.fromkeys(mentioned))
        """Columns, and fields of structs, that the values mention."""
        if fields is None:
            nothing = empty_batch(schema)
            fields = pa.schema([(name, self._of(name, nothing).type) for name in self._expressions])
        self.schema: pa.Schema = fields

    def arrays(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """Return the columns for rows that are here, in the order of the values.

        Raises
        ------
        InvalidArgumentError
            A function fails on some value, or a result does not fit its column.
        """
        return [_cast(self._of(name, batch), self.schema.field(name), name) for name in self._expressions]

    def _columns(self, name: str, value: Any, schema: pa.Schema, type_: pa.DataType | None) -> tuple[Path, ...]:
        """Return what the value of one column mentions."""
        try:
            return columns_of(self._expressions[name], schema, what="value")
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{error.message}{_literal_hint(value, type_)}", column=name) from error

    def _of(self, name: str, batch: pa.RecordBatch) -> pa.Array:
        expression = self._expressions[name]
        with fitting("the value {} cannot be computed", batch.schema, expression, column=name):
            return evaluated(expression, batch)


def _cast(array: pa.Array, field: pa.Field, name: str) -> pa.Array:
    """Cast without loss; dictionaries are made anew, and JSON is encoded."""
    type_ = field.type
    if is_binary_json(field):
        return _as_binary_json(array, name)
    if array.type == type_:
        return array
    storage = storage_type(type_)
    plain = array.storage if isinstance(array, pa.ExtensionArray) else array
    try:
        if isinstance(storage, pa.DictionaryType):
            decoded = plain.cast(storage.value_type)
            plain = decoded.dictionary_encode().cast(storage)
        else:
            plain = plain.cast(storage)
    except MISFITS as error:
        raise InvalidArgumentError(f"{array.type} cannot be cast to {type_}: {error}", column=name) from error
    return plain if storage is type_ else pa.ExtensionArray.from_storage(type_, plain)


def _as_binary_json(array: pa.Array, name: str) -> pa.Array:
    """Encode text; bytes are those of another column of binary JSON."""
    from lance_arrow.arrays.json_texts import text_of  # noqa: PLC0415 - for JSON alone
    from lance_arrow.container.binary_json import with_binary_json  # noqa: PLC0415 - for JSON alone

    plain = array.storage if isinstance(array, pa.ExtensionArray) else array
    if pa.types.is_null(plain.type):
        return pa.nulls(len(plain), pa.large_binary())
    try:
        if pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type):
            texts = pa.ExtensionArray.from_storage(pa.json_(), plain.cast(pa.string()))
            return with_binary_json(texts, pa.large_binary())
        if pa.types.is_large_binary(plain.type):
            text_of(plain)
            return plain
    except InvalidArgumentError as error:
        error.column = name
        raise
    except CorruptPageError as error:
        raise InvalidArgumentError(f"the bytes are not binary JSON: {error.message}", column=name) from error
    raise InvalidArgumentError(f"{plain.type} is no JSON: give its text", column=name)
