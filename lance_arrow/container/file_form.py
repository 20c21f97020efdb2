"""`FileForm`: the common properties of all files of one schema and version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lance_arrow.container.fields import SchemaField
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import LEGACY_VERSIONS, LeafColumn, column_mapping, count_columns
from lance_arrow.container.schema_messages import file_descriptor, serialized
from lance_arrow.errors import UnsupportedError
from lance_arrow.proto import file_schema_pb2

_WRITTEN_VERSIONS = (FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2, FileVersion.V2_3)


class FileForm:
    """Columns and descriptor of written files; immutable, and shared by writers.

    Parameters
    ----------
    version
        2.0, 2.1, 2.2 or 2.3.
    fields
        Top-level fields of the schema, numbered.
    schema_metadata
        Metadata of the schema.

    Attributes
    ----------
    leaves
        Columns of leaves, by column.
    num_columns
        Physical columns.
    field_ids
        Id of the field of each column. In 2.0, structs and lists have columns too.
    paths
        Dotted path of each column.
    described_schema
        Beginning of the file's descriptor: its schema, serialized once.
    lengths_per_row
        By column: how many rows its pages count for one row of the file; None if it varies.

    Raises
    ------
    UnsupportedError
        Another version, or a type that this version does not have; the column is named.
    """

    def __init__(
        self,
        version: FileVersion,
        fields: Sequence[SchemaField],
        schema_metadata: Mapping[str, bytes] | None = None,
    ) -> None:
        if version not in _WRITTEN_VERSIONS:
            raise UnsupportedError(f"files of version {version} are read but not written; expected 2.0 to 2.3")
        leaves = column_mapping(fields, version)
        self.version = version
        self.leaves = {leaf.column: leaf for leaf in leaves}
        self.num_columns = count_columns(leaves)
        self.field_ids: dict[int, int] = {}
        self.paths: dict[int, str] = {}
        self.lengths_per_row: dict[int, int | None] = {}
        for leaf in leaves:
            if leaf.ancestors:
                self._note(leaf)
                continue
            column = leaf.column
            self.paths[column], self.field_ids[column], self.lengths_per_row[column] = leaf.path, leaf.field_id, 1
        per_row = [self.lengths_per_row[column] for column in range(self.num_columns)]
        self._per_row = np.array([-1 if one is None else one for one in per_row], np.int64)
        self.described_schema = serialized(file_descriptor(fields, schema_metadata or {}, 0))

    def _note(self, leaf: LeafColumn) -> None:
        """Add the columns of a leaf and of its ancestors; in 2.0, the number of items of lists is not known before."""
        self.paths[leaf.column] = leaf.path
        self.field_ids[leaf.column] = leaf.field_id
        is_legacy = self.version in LEGACY_VERSIONS
        in_list = is_legacy and any("list" in above.kind.value for above in leaf.ancestors)
        self.lengths_per_row[leaf.column] = None if in_list else leaf.lengths_per_row
        for depth, above in enumerate(leaf.ancestors):
            if above.header_column is not None:
                below_list = any("list" in outer.kind.value for outer in leaf.ancestors[depth + 1 :])
                self.paths[above.header_column] = above.path
                self.field_ids[above.header_column] = above.field_id
                self.lengths_per_row[above.header_column] = None if below_list else 1

    def lengths(self, num_rows: int) -> NDArray[np.int64]:
        """Return ``(num_columns,)`` rows that the pages of each column have in all; -1 where it varies."""
        return np.where(self._per_row < 0, -1, self._per_row * num_rows)

    def descriptor(self, num_rows: int) -> file_schema_pb2.FileDescriptor:
        """Return what follows `described_schema` in the descriptor of a file of `num_rows` rows."""
        return file_schema_pb2.FileDescriptor(length=num_rows)
