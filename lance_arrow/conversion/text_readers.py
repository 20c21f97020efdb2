"""CSV and JSON lines: read twice, first for the types of the whole file, then for the rows.

`pyarrow` infers the types of a text from its first block. Here, a later value that does not fit widens the type, and
the first pass starts again. Null becomes any type, int64 double, every other type string (CSV). A column of integers
that a double would round becomes string. Types that the caller asks for are parsed as such and never inferred.
"""

from __future__ import annotations

import io
import json as plain_json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, json

from lance_arrow.conversion.formats import delimiter_of_name, open_decompressed
from lance_arrow.conversion.long_integers import EXACT_IN_DOUBLE, is_double, long_numbers, rounded_integers
from lance_arrow.conversion.schemas import Mismatch, merge_schemas
from lance_arrow.conversion.sources import Input, open_file
from lance_arrow.errors import CorruptFileError, InvalidArgumentError

_BLOCK_BYTES = 8 << 20
_MISFIT = re.compile(r"In CSV column #(\d+): .*?CSV conversion error to (.+?): invalid (?:value '(.*)'|.*)", re.DOTALL)
_UNPARSED = re.compile(r"CSV conversion to (.+) is not supported")
_HINT = "choose a type with --cast COLUMN=TYPE (casts=) or --schema (schema=)"

OnBytes = Callable[[int], None]


def csv_types(one: Input, asked: Mapping[str, pa.DataType], on_bytes: OnBytes) -> pa.Schema:
    """Read a whole CSV file and return the types that fit all of its values.

    Raises
    ------
    InvalidArgumentError
        A value does not fit the type that was asked for; the parser does not know that type.
    CorruptFileError
        Lines have different numbers of values, or there is none.
    """
    types = dict(asked)
    was_integer: set[str] = set()
    while True:
        try:
            return _csv_pass(one, types, was_integer, on_bytes)
        except _Misfit as misfit:
            name = misfit.name
            if name in asked or types.get(name) == misfit.wider:
                raise InvalidArgumentError(
                    f"the value {misfit.value!r} is no {misfit.kind}; {_HINT}", column=name, path=one.name
                ) from misfit
            if misfit.kind == "int64" and pa.types.is_float64(misfit.wider):
                was_integer.add(name)
            types[name] = misfit.wider


class _Misfit(Exception):
    """A value does not fit the type of its column."""

    def __init__(self, name: str, kind: str, value: str, wider: pa.DataType) -> None:
        super().__init__(f"{name}: {value!r} is no {kind}")
        self.name = name
        self.kind = kind
        self.value = value
        self.wider = wider


def _csv_pass(one: Input, types: Mapping[str, pa.DataType], was_integer: set[str], on_bytes: OnBytes) -> pa.Schema:
    reader = None
    with open_file(one.place) as file:
        try:
            reader = _open_csv(file, one, types)
            for batch in reader:
                on_bytes(file.tell())
                for name in was_integer:
                    _check_rounded(batch, name)
            return reader.schema
        except pa.ArrowInvalid as error:
            names = _csv_names(one) if reader is None else reader.schema.names
            raise _csv_problem(error, one, names) from error
        except pa.ArrowNotImplementedError as error:
            found = _UNPARSED.search(str(error))
            column = next((name for name, type_ in types.items() if found and str(type_) == found[1]), None)
            raise InvalidArgumentError(
                f"CSV text cannot be parsed as {found[1] if found else 'this type'}", column=column, path=one.name
            ) from error


def _csv_problem(error: pa.ArrowInvalid, one: Input, names: list[str]) -> Exception:
    found = _MISFIT.search(str(error))
    if found is None:
        return CorruptFileError(f"the file cannot be read: {error}", path=one.name)
    number, kind, value = int(found[1]), found[2], found[3] or ""
    return _Misfit(names[number], kind, value, _wider(kind, value))


def _wider(kind: str, value: str) -> pa.DataType:
    """Return the next type to try for a column of a kind where this value did not fit."""
    if kind == "string":
        return pa.binary()
    quoted = value.encode(errors="replace").replace(b'"', b'""')
    guess = csv.read_csv(io.BytesIO(b'x\n"' + quoted + b'"\n'), parse_options=csv.ParseOptions(newlines_in_values=True))
    inferred = guess.schema.field(0).type
    if kind == "null" and not pa.types.is_null(inferred):
        return inferred
    if kind == "int64" and pa.types.is_float64(inferred):
        return inferred
    if kind == "timestamp[s]" and inferred == pa.timestamp("ns"):
        return inferred
    return pa.string()


def _check_rounded(batch: pa.RecordBatch, name: str) -> None:
    """Refuse a double for a column of integers that has some which a double may have rounded."""
    column = batch.column(name)
    if not pa.types.is_float64(column.type):
        return
    largest = pc.max(pc.abs(column)).as_py()
    if largest is not None and largest >= EXACT_IN_DOUBLE:
        raise _Misfit(name, "double", str(largest), pa.string())


def _csv_names(one: Input) -> list[str]:
    """Return the names in the first line."""
    with open_file(one.place) as file:
        return list(_open_csv(file, one, {}).schema.names)


def _parse_options(one: Input) -> csv.ParseOptions:
    return csv.ParseOptions(delimiter=delimiter_of_name(one.place.path), newlines_in_values=True)


def _open_csv(file: Any, one: Input, types: Mapping[str, pa.DataType]) -> csv.CSVStreamingReader:
    return csv.open_csv(
        open_decompressed(file, one.place.path),
        read_options=csv.ReadOptions(block_size=_BLOCK_BYTES),
        parse_options=_parse_options(one),
        convert_options=csv.ConvertOptions(column_types=dict(types)),
    )


def csv_batches(one: Input, schema: pa.Schema) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield the rows of a CSV file, of the types that `csv_types` found, and bytes read."""
    types = dict(zip(schema.names, schema.types, strict=True))
    with open_file(one.place) as file, _open_csv(file, one, types) as reader:
        if not reader.schema.equals(schema):
            raise CorruptFileError("the file became another one while it was converted", path=one.name)
        for batch in reader:
            yield batch, file.tell()


def json_types(one: Input, asked: Mapping[str, pa.DataType], on_bytes: OnBytes) -> pa.Schema:
    """Read a whole file of JSON lines and return the types that fit all of its values.

    Raises
    ------
    InvalidArgumentError
        A column is a number here and text there, or a value does not fit the type that was asked for.
    CorruptFileError
        The file is not one JSON object after another.
    """
    merged: list[pa.Field] = []
    order: list[str] = []
    long_integers: set[str] = set()
    seen: set[str] = set()
    for number, (block, done) in enumerate(_json_blocks(one)):
        if not number:
            order = _first_names(block)
            # A dotted path is no column; its field is cast later.
            asked = {name: type_ for name, type_ in asked.items() if name in order or "." not in name}
        seen |= {name for name in asked if name not in seen and _names_key(block, name)}
        table = _parse_json(one, block, None, asked)
        on_bytes(done)
        for field, column in zip(table.schema, table.columns, strict=True):
            array = pa.concat_arrays([pa.nulls(0, field.type), *column.chunks])
            long_integers |= {path for path, type_ in long_numbers(array, field.name) if pa.types.is_int64(type_)}
            # Within one block, pyarrow rounds integers beside fractions.
            if field.name not in asked and any(pa.types.is_float64(t) for _, t in long_numbers(array, field.name)):
                long_integers |= rounded_integers(block, field)
        try:
            both = [merged, list(table.schema)] if number else [list(table.schema)]
            merged = merge_schemas(both, loosely=_loosely)
        except Mismatch as found:
            raise InvalidArgumentError(
                f"values are {found.one} in one part of the file and {found.other} in another; {_HINT}",
                column=found.path,
                path=one.name,
            ) from None
    for path in sorted(long_integers):
        if is_double(merged, path):
            raise InvalidArgumentError(
                f"values are fractions and integers beyond 2**53, which a double would round; {_HINT}",
                column=path,
                path=one.name,
            )
    # pyarrow makes a column of each type that it is given.
    merged = [field for field in merged if field.name not in asked or field.name in seen]
    places = {name: at for at, name in enumerate(order)}
    return pa.schema(sorted(merged, key=lambda field: places.get(field.name, len(places))))


def _loosely(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """As pyarrow does within one block: fractions make a column double, texts make it string."""
    kinds = {str(one), str(other)}
    if kinds == {"int64", "double"}:
        return pa.float64()
    if "string" in kinds and any(pa.types.is_timestamp(type_) for type_ in (one, other)):
        return pa.string()
    return None


def _names_key(block: bytes, name: str) -> bool:
    return any(plain_json.dumps(name, ensure_ascii=ascii).encode() in block for ascii in (False, True))


def _first_names(block: bytes) -> list[str]:
    """Return the names of the first object in their order: pyarrow puts columns of given types first."""
    try:
        first = plain_json.loads(block.lstrip().split(b"\n", 1)[0])
    except ValueError:
        return []
    return list(first) if isinstance(first, dict) else []


def json_batches(one: Input, schema: pa.Schema) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield the rows of a file of JSON lines, of the types that `json_types` found, and bytes read."""
    for block, done in _json_blocks(one):
        for batch in _parse_json(one, block, schema, {}).to_batches():
            yield batch, done


def _parse_json(one: Input, block: bytes, schema: pa.Schema | None, asked: Mapping[str, pa.DataType]) -> pa.Table:
    explicit = schema if schema is not None else pa.schema(list(asked.items())) if asked else None
    try:
        table = json.read_json(
            pa.BufferReader(block),
            read_options=json.ReadOptions(block_size=max(len(block), 1)),
            parse_options=json.ParseOptions(
                explicit_schema=explicit, unexpected_field_behavior="infer" if schema is None else "error"
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _json_problem(error, one) from error
    if schema is None:
        return table
    return table.select(schema.names)


def _json_problem(error: Exception, one: Input) -> Exception:
    found = re.search(r"Column\(/([^)]*)\) changed from (\S+) to (\S+) in row (\d+)", str(error))
    if found is not None:
        column = found[1].replace("/", ".")
        return InvalidArgumentError(
            f"a value is {found[3]} where others are {found[2]}; {_HINT}", column=column, path=one.name
        )
    if "Column() changed from object to array" in str(error):
        return CorruptFileError("the file is one JSON array; expected one JSON object on each line", path=one.name)
    return CorruptFileError(f"the file cannot be read as JSON lines: {error}", path=one.name)


def _json_blocks(one: Input) -> Iterator[tuple[bytes, int]]:
    """Cut the text at ends of lines, into blocks of some MiB, and tell how many stored bytes were read."""
    with open_file(one.place) as file:
        stream = open_decompressed(file, one.place.path)
        rest = b""
        while True:
            read = stream.read(_BLOCK_BYTES)
            text = rest + read
            end = len(text) if not read else text.rfind(b"\n") + 1
            block, rest = text[:end], text[end:]
            if block.strip():
                yield block, file.tell()
            if not read:
                return
