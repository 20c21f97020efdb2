"""Types of `_expressions.pyx`, which `expressions` loads."""

from __future__ import annotations

from typing import Any

import pyarrow
import pyarrow.compute

def expression_tree(expression: pyarrow.compute.Expression, schema: pyarrow.Schema) -> tuple[Any, ...]:
    """Bind an expression, which inserts its casts, and return it as nested tuples.

    Parameters
    ----------
    expression
        Bound already or not.
    schema
        What its fields are fields of.

    Returns
    -------
    tuple
        ``("literal", scalar or array, type)``, ``("field", names from the column downwards, type)`` or ``("call",
        function, arguments, options, type)``. Chains of ``and_kleene`` or ``or_kleene`` are one call of many arguments.
        Options are ``(value set, null matching)`` of set lookups, ``(pattern bytes, ignore_case)`` of matches,
        ``nan_is_null`` of null tests, and None of all others. What lies a hundred calls deep is a call of no name.

    Raises
    ------
    pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, pyarrow.ArrowTypeError
        The expression does not fit the schema.
    """

def bind(expression: pyarrow.compute.Expression, schema: pyarrow.Schema) -> pyarrow.compute.Expression:
    """Bind an expression, which inserts casts where the types of arguments differ, and fold what is constant in it.

    Raises
    ------
    pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, pyarrow.ArrowTypeError
        The expression does not fit the schema.
    """

def operands(bound: pyarrow.compute.Expression, *, of_or: bool = False) -> list[pyarrow.compute.Expression]:
    """Return the parts of a bound expression that are joined by AND, or by OR, in order; itself where none are."""

def mentioned_columns(bound: pyarrow.compute.Expression, schema: pyarrow.Schema) -> tuple[str, ...]:
    """Return the columns, and fields of structs, that a bound expression mentions, as `ScanRequest.columns` does."""

def evaluate(
    bound: pyarrow.compute.Expression,
    schema: pyarrow.Schema,
    batch: pyarrow.RecordBatch,
    pool: pyarrow.MemoryPool | None = None,
) -> pyarrow.Array:
    """Return what an expression gives for each row of a batch.

    As in Arrow's own scan, columns of the schema that the batch lacks are null, and those of another type are cast.

    Raises
    ------
    pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, pyarrow.ArrowTypeError
        A function fails on a value; the expression is not bound.
    """
