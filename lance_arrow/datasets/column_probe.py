"""Which columns an expression mentions, asked of Arrow itself: a scan of nothing whose request is looked at.

pyarrow shows Python no parts of an expression; the bridge's scan request names the columns that a filter needs.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.assembly.pruning import Path
from lance_arrow.datasets.bridge_loading import bridge
from lance_arrow.datasets.handler import FilePlace, ScanRequest
from lance_arrow.datasets.scan import parse_dot_path
from lance_arrow.errors import InvalidArgumentError


class _Probe:
    """A handler of one empty file that keeps the columns it was asked for."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.columns: tuple[str, ...] = ()

    def adopt(self, place: FilePlace) -> None:
        return None

    def inspect(self, place: FilePlace) -> pa.Schema:
        return self.schema

    def plan(self, place: FilePlace, request: ScanRequest) -> tuple[()]:
        self.columns = request.columns
        return ()


def mentioned_columns(expression: pc.Expression, schema: pa.Schema) -> tuple[Path, ...]:
    """Return the columns, and fields of structs, that `expression` mentions.

    Raises
    ------
    InvalidArgumentError
        The expression does not fit the schema: a column that is not there, types that cannot be compared.
    """
    probe = _Probe(schema)
    fragment = bridge.BridgeFormat(probe).make_fragment(pa.py_buffer(b""))
    try:
        fragment.scanner(schema=schema, columns=[], filter=expression, use_threads=False).to_table()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, pa.ArrowTypeError) as error:
        raise InvalidArgumentError(f"the filter {expression} does not fit the file: {error}") from error
    return tuple(parse_dot_path(column) for column in probe.columns)
