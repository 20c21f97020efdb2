"""The plan of a conversion, made before anything is written: one schema, and what each input gives to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from lance_arrow.container.footer import FileVersion
from lance_arrow.conversion.casting import check_castable, stored_type
from lance_arrow.conversion.hive import key_types, key_value
from lance_arrow.conversion.readers import Facts, check_names, inspect
from lance_arrow.conversion.schemas import Mismatch, merge_fields, with_roomy_dictionaries
from lance_arrow.conversion.sources import Input
from lance_arrow.errors import InvalidArgumentError, LanceError
from lance_arrow.files.stored_rows import StoredRows

_HINT = (
    "no type holds the values of both: choose one with --cast COLUMN=TYPE (casts=), or leave the column out with "
    "--exclude (exclude=)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Options of the caller for columns.

    Parameters
    ----------
    casts
        Types by column, or by dotted path of a field of structs.
    exclude
        Columns to leave out.
    schema
        Columns and types of the target; found by merging when None.
    """

    casts: Mapping[str, pa.DataType] = field(default_factory=dict)
    exclude: Sequence[str] = ()
    schema: pa.Schema | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedInput:
    """An input, what is known of it, and what it gives to the target.

    Parameters
    ----------
    input, facts
        The input.
    columns
        Its columns that the target has.
    constants
        Columns that its folders give.
    retyped
        Columns whose type changes: ``"int32 -> int64"``.
    filled
        Columns of the target that it lacks.
    """

    input: Input
    facts: Facts
    columns: Sequence[str]
    constants: dict[str, pa.Scalar]
    retyped: dict[str, str]
    filled: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Schema and inputs of the rows to write.

    Parameters
    ----------
    schema
        Of the rows.
    inputs
        In order.
    partition_columns
        Columns that folders give.
    """

    schema: pa.Schema
    inputs: Sequence[PlannedInput]
    partition_columns: Sequence[str]


def make_plan(
    inputs: Sequence[Input],
    wishes: Wishes,
    version: FileVersion,
    on_bytes: Callable[[Input, int], None],
    *,
    base: pa.Schema | None = None,
) -> Plan:
    """Inspect all inputs and unify their schemas.

    Parameters
    ----------
    inputs, wishes
        What to read, and how.
    version
        File version to be written.
    on_bytes
        Told how many bytes of a text were read.
    base
        Schema of a table that gets the rows: no type of it may change.

    Raises
    ------
    InvalidArgumentError
        Columns without an exact common type, or that cannot be cast; names that repeat or that no input has.
    UnsupportedError
        The format cannot hold a type.
    CorruptFileError
        An input cannot be read.
    """
    wanted = base if base is not None else wishes.schema
    asked = dict(wishes.casts) | ({} if wishes.schema is None else _types(wishes.schema))
    text_types = {name: type_ for name, type_ in asked.items() if name not in wishes.exclude}
    if base is not None:
        text_types = _types(base) | text_types
    offers: list[_Offer] = []
    kept_keys = [{name: v for name, v in one.keys.items() if name not in wishes.exclude} for one in inputs]
    keys = key_types(kept_keys, text_types)
    for one, own in zip(inputs, kept_keys, strict=True):
        facts = inspect(one, text_types, partial(on_bytes, one))
        check_names(facts.schema, path=one.name)
        offers.append(_Offer.of(one, facts, {name: keys[name] for name in own}, wishes))
    _check_known(offers, wishes)
    schema = _merged(offers) if wanted is None else _given(offers, wanted, is_table=base is not None)
    if not len(schema):
        raise InvalidArgumentError("the inputs have no columns")
    _check_storable(schema, offers, version)
    planned = [_planned(offer, schema, keys) for offer in offers]
    return Plan(schema=schema, inputs=planned, partition_columns=[name for name in schema.names if name in keys])


def _types(schema: pa.Schema) -> dict[str, pa.DataType]:
    return dict(zip(schema.names, schema.types, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offer:
    """What one input has for the target: fields after casts, partition keys last."""

    input: Input
    facts: Facts
    fields: dict[str, pa.Field]
    own_names: frozenset[str]

    @classmethod
    def of(cls, one: Input, facts: Facts, keys: Mapping[str, pa.DataType], wishes: Wishes) -> _Offer:
        fields: dict[str, pa.Field] = {}
        for found in facts.schema:
            if found.name in wishes.exclude:
                continue
            type_ = _asked(found.type, found.name, wishes.casts)
            if type_ != found.type:
                check_castable(found.type, type_, column=found.name, path=one.name)
            fields[found.name] = found.with_type(stored_type(type_))
        own = frozenset(fields)
        for name, type_ in keys.items():
            fields.setdefault(name, pa.field(name, type_))
        return cls(input=one, facts=facts, fields=fields, own_names=own)


def _asked(type_: pa.DataType, path: str, casts: Mapping[str, pa.DataType]) -> pa.DataType:
    """Put the types that are asked for into a type, at any depth of structs."""
    if path in casts:
        return casts[path]
    if not isinstance(type_, pa.StructType) or not any(one.startswith(f"{path}.") for one in casts):
        return type_
    fields = [type_.field(at) for at in range(type_.num_fields)]
    return pa.struct([one.with_type(_asked(one.type, f"{path}.{one.name}", casts)) for one in fields])


def _check_known(offers: Sequence[_Offer], wishes: Wishes) -> None:
    known = {name for offer in offers for name in (*offer.facts.schema.names, *offer.input.keys)}
    for name in wishes.exclude:
        if name not in known:
            raise InvalidArgumentError(f"no input has the column to exclude; columns: {sorted(known)}", column=name)
    for path in wishes.casts:
        if not any(_has_path(offer, path) for offer in offers):
            raise InvalidArgumentError(f"no input has the column to cast; columns: {sorted(known)}", column=path)


def _has_path(offer: _Offer, path: str) -> bool:
    if path in offer.fields:
        return True
    for at, letter in enumerate(path):
        if letter == "." and path[:at] in offer.fields:
            type_, rest = offer.facts.schema.field(path[:at]).type, path[at + 1 :].split(".")
            while rest and isinstance(type_, pa.StructType) and type_.get_field_index(rest[0]) >= 0:
                type_ = type_.field(type_.get_field_index(rest.pop(0))).type
            if not rest:
                return True
    return False


def _merged(offers: Sequence[_Offer]) -> pa.Schema:
    """Merge the offers: columns of files first, then partition columns, each in the order they are first seen."""
    merged: dict[str, pa.Field] = {}
    counts: dict[str, int] = {}
    for offer in offers:
        for name, found in offer.fields.items():
            counts[name] = counts.get(name, 0) + 1
            if name not in merged:
                merged[name] = found
                continue
            try:
                both = merge_fields(merged[name], found, name)
                merged[name] = both.with_type(with_roomy_dictionaries(both.type))
            except Mismatch as mismatch:
                first = next(one for one in offers if name in one.fields)
                raise InvalidArgumentError(
                    f"the column is {mismatch.other} here, but {mismatch.one} in {first.input.name!r}: {_HINT}",
                    column=mismatch.path,
                    path=offer.input.name,
                ) from None
    in_files = {name for offer in offers for name in offer.own_names}
    order = [*(name for name in merged if name in in_files), *(name for name in merged if name not in in_files)]
    fields = [merged[name] if counts[name] == len(offers) else merged[name].with_nullable(True) for name in order]
    return pa.schema(fields, offers[0].facts.schema.metadata)


def _given(offers: Sequence[_Offer], wanted: pa.Schema, *, is_table: bool) -> pa.Schema:
    """Check that every input fits a schema; one of a table is fitted only where no value changes."""
    owner = "the table" if is_table else "the schema"
    for offer in offers:
        path = offer.input.name
        for name, found in offer.fields.items():
            at = wanted.get_field_index(name)
            if at < 0:
                raise InvalidArgumentError(
                    f"{owner} does not have this column; leave it out with --exclude (exclude=); columns: "
                    f"{wanted.names}",
                    column=name,
                    path=path,
                )
            expected = wanted.field(at)
            if is_table:
                _check_fits_table(expected, found, name, path)
            else:
                check_castable(found.type, expected.type, column=name, path=path)
        lacked = [one.name for one in wanted if not one.nullable and one.name not in offer.fields]
        if lacked:
            which = "this column" if len(lacked) == 1 else f"the columns {lacked}"
            raise InvalidArgumentError(
                f"the input lacks {which}, which may not be null in {owner}", column=lacked[0], path=path
            )
    return wanted


def _check_fits_table(expected: pa.Field, found: pa.Field, name: str, path: str) -> None:
    try:
        merged = merge_fields(expected, found, name)
    except Mismatch as mismatch:
        merged = None
        name = mismatch.path
    if merged is None or not merged.type.equals(stored_type(expected.type)):
        raise InvalidArgumentError(
            f"the column is {found.type} here, but {expected.type} in the table, which cannot hold it unchanged: cast "
            "it with --cast COLUMN=TYPE (casts=)",
            column=name,
            path=path,
        )


def _check_storable(schema: pa.Schema, offers: Sequence[_Offer], version: FileVersion) -> None:
    try:
        StoredRows(schema, version)
    except LanceError as error:
        if error.path is None and error.column is not None:
            top = error.column if error.column in schema.names else error.column.split(".")[0]
            error.path = next((one.input.name for one in offers if top in one.fields), None)
        raise


def _planned(offer: _Offer, schema: pa.Schema, keys: Mapping[str, pa.DataType]) -> PlannedInput:
    one = offer.input
    own = offer.facts.schema
    constants = {
        name: key_value(text, keys[name], name=name, path=one.name)
        for name, text in one.keys.items()
        if name in schema.names
    }
    columns = [name for name in own.names if name in offer.own_names and name in schema.names]
    retyped = {
        name: f"{own.field(name).type} -> {schema.field(name).type}"
        for name in columns
        if own.field(name).type != schema.field(name).type
    }
    filled = [name for name in schema.names if name not in columns and name not in constants]
    return PlannedInput(
        input=one, facts=offer.facts, columns=columns, constants=constants, retyped=retyped, filled=filled
    )
