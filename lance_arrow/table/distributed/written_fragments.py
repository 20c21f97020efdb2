"""`WrittenFragments`: data files of one writer that no version names yet."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from lance_arrow.choices import CreateMode
from lance_arrow.container.fields import SchemaField
from lance_arrow.proto.table_pb2 import DataFragment


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFragments:
    """Fragments that one process wrote, for `commit_fragments`. They can be pickled.

    Parameters
    ----------
    mode
        What the commit is to do, as for `write_fragments`.
    read_version
        The version that the writer saw; None where there was no table.
    branch
        Name of the branch; the main branch when None.
    schema, fields
        Columns of the table that the rows are for, and their field ids.
    file_version
        Version of the data files.
    messages
        A serialized DataFragment for each fragment.

    Examples
    --------
    >>> part = lance_arrow.write_fragments(pyarrow.table({"id": [1, 2]}), "new", mode="create")
    >>> part.num_rows, len(part.files)
    (2, 1)
    """

    mode: CreateMode
    read_version: int | None
    branch: str | None
    schema: pa.Schema = field(repr=False)
    fields: tuple[SchemaField, ...] = field(repr=False)
    file_version: str
    messages: tuple[bytes, ...] = field(repr=False)

    @property
    def fragments(self) -> list[DataFragment]:
        """Messages of the fragments, parsed, in the order of their rows."""
        return [DataFragment.FromString(one) for one in self.messages]

    @property
    def files(self) -> list[str]:
        """Names of the data files, below the table's folder ``data``."""
        return [file.path for one in self.fragments for file in one.files]

    @property
    def num_rows(self) -> int:
        """Rows of all fragments."""
        return sum(one.physical_rows for one in self.fragments)

    @property
    def num_bytes(self) -> int:
        """Bytes of all data files."""
        return sum(file.file_size_bytes for one in self.fragments for file in one.files)

    def __str__(self) -> str:
        return f"{self.num_rows:,} rows in {len(self.files):,} files of {self.num_bytes:,} bytes, not committed"
