"""`DataFileWriter`: one data file of a table, whose schema bears the table's field ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lance_arrow.container.fields import SchemaField
from lance_arrow.container.schema import fields_from_arrow
from lance_arrow.errors import UnsupportedError
from lance_arrow.files.lance_writer import OneFileWriter
from lance_arrow.files.write_options import WriteOptions


class DataFileWriter(OneFileWriter):
    """A `LanceWriter` for a table.

    Parameters
    ----------
    sink
        As for `LanceWriter`.
    schema
        Schema of the rows: some of the table's top-level columns.
    fields
        The same columns as the table has them, with its ids.
    options
        How to write.

    Raises
    ------
    UnsupportedError
        The columns would be stored as others than those of the table.
    LanceError
        As `LanceWriter`.
    """

    def __init__(self, sink: Any, schema: pa.Schema, fields: Sequence[SchemaField], options: WriteOptions) -> None:
        self._wanted_fields = tuple(fields)
        super().__init__(sink, schema, options)

    def _fields_of(self, schema: pa.Schema) -> Sequence[SchemaField]:
        for ours, theirs in zip(fields_from_arrow(schema), self._wanted_fields, strict=True):
            for own, wanted in zip(ours.walk(), theirs.walk(), strict=True):
                if (own.name, own.logical_type, len(own.children)) != (
                    wanted.name, wanted.logical_type, len(wanted.children),
                ):  # fmt: skip
                    raise UnsupportedError(
                        f"the table has {wanted.logical_type!r} named {wanted.name!r}, but {own.logical_type!r} named "
                        f"{own.name!r} would be written",
                        column=theirs.name,
                    )
        return self._wanted_fields
