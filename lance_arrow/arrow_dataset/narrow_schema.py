"""`narrow_schema`: the fields of a wide dataset that a scan mentions.

Arrow's scanner makes a column for each field of a dataset's schema in each batch, and looks each up several times. So a
scan of a few of many columns is one of the same files, seen with the schema of these columns.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.column_paths import Path, parse_dot_path
from lance_arrow.libarrow.expressions import native_expressions
from lance_arrow.scan.predicates import MISFITS

# Virtual columns of Arrow; it knows them beside the schema.
OF_FILES = ("__filename", "__fragment_index", "__batch_index", "__last_in_fragment")
_LEAST_FIELDS = 64
"""Of narrower schemas Arrow's part takes less time than finding what is mentioned."""


def narrow_schema(schema: pa.Schema, columns: Any, filter: pc.Expression | None) -> pa.Schema | None:
    """Return the schema of what a scan mentions.

    Parameters
    ----------
    schema
        The dataset's.
    columns
        As for a scanner.
    filter
        All that rows are filtered by.

    Returns
    -------
    pyarrow.Schema or None
        None for scans of all columns, or of columns that do not exist. They see the whole schema.
    """
    if columns is None or len(schema) < _LEAST_FIELDS or not isinstance(columns, (dict, list, tuple)):
        return None
    expressions = [*(columns.values() if isinstance(columns, dict) else ()), *(() if filter is None else (filter,))]
    try:
        mentioned = _mentioned(expressions, schema)
        paths = [*mentioned, *named_paths(() if isinstance(columns, dict) else columns)]
        numbers = {schema.get_field_index(path[0]) for path in paths if path and path[0] not in OF_FILES}
        if -1 in numbers or len(numbers) == len(schema):
            return None
        narrow = pa.schema([schema.field(number) for number in sorted(numbers)], schema.metadata)
        # References by number would be to other fields.
        return narrow if _mentioned(expressions, narrow) == mentioned else None
    except (*MISFITS, TypeError):
        # Arrow tells what is wrong.
        return None


def named_paths(columns: Any) -> list[Path]:
    """Return the paths of columns that are named; Arrow takes what begins with a dot as a path."""
    return [parse_dot_path(name[1:]) if name.startswith(".") else (name,) for name in columns]


def _mentioned(expressions: list[pc.Expression], schema: pa.Schema) -> list[Path]:
    return [parse_dot_path(path) for one in expressions for path in native_expressions.mentioned_columns(one, schema)]
