"""`row_writer`: the writer that fits a file version."""

from __future__ import annotations

from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import LEGACY_VERSIONS
from lance_arrow.files.copying_row_writer import CopyingRowWriter
from lance_arrow.files.legacy.v2_0_row_writer import V20RowWriter


def row_writer(version: FileVersion) -> type[CopyingRowWriter] | type[V20RowWriter]:
    """Return what writes rows of a file; see `RowWriter` and `CopyingRowWriter`."""
    return V20RowWriter if version in LEGACY_VERSIONS else CopyingRowWriter
