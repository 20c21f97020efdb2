"""Filters bound to the columns that they mention, and evaluated by Arrow: natively, or by the plans of pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.arrays.column_paths import Path, parse_dot_path
from lance_arrow.arrays.plain_numbers import as_numbers
from lance_arrow.arrays.view_arrays import holds_views, without_views
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.predicates import MISFITS, fitting


def bound_to_values(
    native: ModuleType, expression: pc.Expression, schema: pa.Schema
) -> tuple[pc.Expression, tuple[Path, ...], pa.Schema]:
    """Bind a filter to the columns that it mentions, dictionaries and views among them as plain values.

    Arrow has no kernels for functions of text over dictionaries, and comparisons of some dictionaries end the process.
    It compares views with views alone.
    """
    # References are resolved before the filter is bound: binding may already compare a dictionary.
    paths = mentioned_paths(native, expression, schema)
    schema = _narrowed(native, expression, schema, paths)
    names = dict.fromkeys([path[0] for path in paths])
    for place in [schema.get_field_index(name) for name in names]:
        # What is missing or ambiguous is refused when the filter is bound.
        if place >= 0 and holds_views(schema.field(place).type):
            schema = schema.set(place, without_views(pa.schema([schema.field(place)])).field(0))
        if place >= 0 and _holds_dictionary(schema.field(place).type):
            from lance_arrow.arrays.dictionaries import decoded_field  # noqa: PLC0415 - for dictionaries alone

            schema = schema.set(place, decoded_field(schema.field(place)))
    bound = bound_filter(native, expression, schema)
    return bound, mentioned_paths(native, bound, schema), schema


def _narrowed(native: ModuleType, expression: pc.Expression, schema: pa.Schema, paths: Sequence[Path]) -> pa.Schema:
    """Return the schema of what a filter mentions: to evaluate it, Arrow looks up each column, mentioned or not."""
    places = {schema.get_field_index(path[0]) for path in paths}
    # What is missing or ambiguous is refused when the filter is bound.
    if -1 in places:
        return schema
    narrow = pa.schema([schema.field(place) for place in sorted(places)])
    try:
        # References by number would be to other columns.
        return narrow if mentioned_paths(native, expression, narrow) == paths else schema
    except MISFITS:
        return schema


def _holds_dictionary(type_: pa.DataType) -> bool:
    if isinstance(type_, pa.DictionaryType):
        return True
    # What is below extension types is not decoded.
    return any([_holds_dictionary(type_.field(number).type) for number in range(type_.num_fields)])


def evaluated_mask(
    native: ModuleType | None,
    expression: pc.Expression,
    schema: pa.Schema,
    batch: pa.RecordBatch,
    pool: pa.MemoryPool | None,
) -> pa.Array:
    """Evaluate a filter for rows that are here.

    Parameters
    ----------
    native
        The module that the expression is bound by; None without it.
    expression, schema
        The filter, and what its fields are fields of.
    batch
        The columns it mentions.
    pool
        Where the result is allocated.

    Raises
    ------
    InvalidArgumentError
        It fails on some value, or gives no booleans.
    """
    try:
        if native is not None:
            found: pa.Array = native.evaluate(expression, schema, batch, pool)
        else:
            found = evaluated(expression, batch)
    except MISFITS as error:
        raise InvalidArgumentError(f"the filter {expression} cannot be evaluated: {error}") from error
    if not pa.types.is_boolean(found.type):
        raise InvalidArgumentError(f"the filter {expression} gives {found.type}, expected bool")
    return found


def is_number(type_: pa.DataType) -> bool:
    """Whether values are of one width: numbers, and times."""
    return bool((pa.types.is_primitive(type_) and not pa.types.is_boolean(type_)) or pa.types.is_decimal(type_))


def flags_of(
    native: ModuleType,
    schema: pa.Schema,
    name: str,
    part: pc.Expression,
    items: pa.Array,
    pool: pa.MemoryPool | None,
) -> NDArray[np.uint8]:
    """Return whether each item satisfies a condition on a column, and behind them whether null does."""
    few = pa.RecordBatch.from_arrays([pa.concat_arrays([items, pa.nulls(1, items.type)], pool)], [name])
    flags = native.evaluate(part, schema, few, pool)
    # Null flags count as no. For `fill_null`, pyarrow would import pandas.
    return as_numbers(pc.and_kleene(flags, flags.is_valid()).cast(pa.uint8()))


def columns_of(expression: pc.Expression, schema: pa.Schema, *, what: str = "filter") -> tuple[Path, ...]:
    """Return the columns, and fields of structs, that an expression mentions; all where expressions cannot be read.

    Parameters
    ----------
    expression, schema
        The expression, and what its fields are fields of.
    what
        What an error is to call it.

    Raises
    ------
    InvalidArgumentError
        The expression does not fit the schema.
    """
    native = installed_expressions()
    if native is None:
        return tuple((name,) for name in schema.names)
    return mentioned_paths(native, bound_filter(native, expression, schema, what=what), schema)


def bound_filter(
    native: ModuleType, expression: pc.Expression, schema: pa.Schema, *, what: str = "filter"
) -> pc.Expression:
    """Bind a filter; raises `InvalidArgumentError` where it does not fit the schema."""
    with fitting(f"the {what} {{}} does not fit the schema", schema, expression):
        found: pc.Expression = native.bind(expression, schema)
    return found


def mentioned_paths(native: ModuleType, bound: pc.Expression, schema: pa.Schema) -> tuple[Path, ...]:
    """Return the columns, and fields of structs, that a bound filter mentions."""
    return tuple(parse_dot_path(path) for path in native.mentioned_columns(bound, schema))


def installed_expressions() -> ModuleType | None:
    """Return what reads expressions, whose absence costs pruning but no answer."""
    try:
        module = importlib.import_module("lance_arrow.libarrow.expressions")
    except ImportError:
        return None
    found: ModuleType = module.native_expressions
    return found


def evaluated(expression: pc.Expression, batch: pa.RecordBatch) -> pa.Array:
    """Evaluate an expression for each row of a batch; raises what Arrow does."""
    native = installed_expressions()
    if native is not None:
        found: pa.Array = native.evaluate(native.bind(expression, batch.schema), batch.schema, batch)
        return found
    # pyarrow itself has no plain call for it, but execution plans. They load pyarrow.dataset, which loads pandas.
    acero = importlib.import_module("pyarrow.acero")
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(pa.Table.from_batches([batch])))
    wanted = acero.Declaration("project", acero.ProjectNodeOptions([expression], ["kept"]))
    kept = acero.Declaration.from_sequence([source, wanted]).to_table(use_threads=False).column("kept")
    return kept.combine_chunks() if kept.num_chunks != 1 else kept.chunk(0)
