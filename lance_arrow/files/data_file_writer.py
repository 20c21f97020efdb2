"""`DataFileWriter`: one data file of a table, whose schema bears the table's field ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_arrow.container.fields import SchemaField
from lance_arrow.container.schema import fields_from_arrow
from lance_arrow.errors import UnsupportedError
from lance_arrow.files.copied_rows import CopiedRows
from lance_arrow.files.copying_row_writer import CopyingRowWriter
from lance_arrow.files.lance_writer import OneFileWriter
from lance_arrow.files.stored_rows import StoredRows
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
        self._version = options.version
        super().__init__(sink, schema, options)

    def finish(self) -> None:
        """Encode the end of the file, whose size is known then; `close` sends it. Errors are those of `close`."""
        self._finish()

    def copy(self, rows: CopiedRows) -> None:
        """Write rows of other files, by copying their pages where that can be; see `CopiedRows`.

        Raises
        ------
        LanceError
            As `write`, and as reading goes: the writer cannot go on.
        """
        self._check_open()
        stored = self._stored

        def decoded(tops: Sequence[int]) -> Iterator[Mapping[int, list[pa.Array]]]:
            part = StoredRows(pa.schema([stored.given.field(top) for top in tops]), self._version)
            for batch in rows.read(part.given.names):
                yield dict(zip(tops, part.columns(batch), strict=True))

        self._is_broken = True
        assert isinstance(self._rows, CopyingRowWriter)
        self._rows.copy(rows, decoded)
        self._is_broken = False

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
