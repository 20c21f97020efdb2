"""Convert Arrow values of any type to plain Python values for printing and JSON.

Dates and times become ISO 8601 text; an instant with a time zone is in UTC and ends in Z. Durations become a count with
a unit, decimals text, binary hexadecimal text, structs and entries of maps dicts. Floats stay, and the printer handles
NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows as dicts; of two columns with one name the later one shows."""
    columns = [(name, plain_values(column)) for name, column in zip(table.column_names, table.columns, strict=True)]
    return [{name: values[row] for name, values in columns} for row in range(table.num_rows)]


def plain_values(values: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Return the values as plain ones; nulls are None."""
    if isinstance(values, pa.ChunkedArray):
        return [value for chunk in values.chunks for value in plain_values(chunk)]
    if isinstance(values, pa.ExtensionArray):
        return plain_values(values.storage)
    if isinstance(values, pa.DictionaryArray):
        items = plain_values(values.dictionary)
        return [None if index is None else items[index] for index in values.indices.to_pylist()]
    if isinstance(values, pa.StructArray):
        return _structs(values)
    if _is_list(values.type):
        return [None if not item.is_valid else plain_values(item.values) for item in values]
    return _leaves(values)


def _is_list(type_: pa.DataType) -> bool:
    return types.is_nested(type_) and not types.is_struct(type_) and not types.is_union(type_)


def _structs(values: pa.StructArray) -> list[Any]:
    names = [field.name for field in values.type]
    columns = [plain_values(child) for child in values.flatten()]
    is_valid = values.is_valid().to_pylist()
    return [
        {name: column[row] for name, column in zip(names, columns, strict=True)} if is_valid[row] else None
        for row in range(len(values))
    ]


def _leaves(values: pa.Array) -> list[Any]:
    type_ = values.type
    if types.is_string(type_) or types.is_large_string(type_):
        # Bytes that are no UTF-8 must not stop the others from being shown.
        as_bytes = values.view(pa.large_binary() if types.is_large_string(type_) else pa.binary())
        return _each(as_bytes, lambda value: value.decode("utf-8", "backslashreplace"))
    if types.is_binary(type_) or types.is_large_binary(type_) or types.is_fixed_size_binary(type_):
        return _each(values, bytes.hex)
    if types.is_date(type_):
        unit, whole = ("D", pa.int32()) if types.is_date32(type_) else ("ms", pa.int64())
        return _each(values.view(whole), lambda count: str(np.datetime64(count, unit).astype("datetime64[D]")))
    if types.is_timestamp(type_):
        zone = "Z" if type_.tz is not None else ""
        return _each(values.view(pa.int64()), lambda count: f"{np.datetime64(count, type_.unit)}{zone}")
    if types.is_time(type_):
        whole = pa.int32() if types.is_time32(type_) else pa.int64()
        return _each(values.view(whole), lambda count: _clock(count, type_.unit))
    if types.is_duration(type_):
        return _each(values.view(pa.int64()), lambda count: f"{count} {type_.unit}")
    if types.is_decimal(type_) or types.is_interval(type_):
        return _each(values, str)
    return values.to_pylist()


def _each(values: pa.Array, show: Callable[[Any], str]) -> list[str | None]:
    return [None if value is None else show(value) for value in values.to_pylist()]


def _clock(count: int, unit: str) -> str:
    """Turn a time of day into text; a count outside a day (the format does not forbid it) keeps growing hours."""
    seconds, fraction = divmod(count, _PER_SECOND[unit])
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    digits = _DIGITS[unit]
    return f"{text}.{fraction:0{digits}}" if digits else text
