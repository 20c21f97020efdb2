"""`row_writer`: the writer that fits a file version."""

from __future__ import annotations

from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import LEGACY_VERSIONS
from lance_arrow.files.legacy.v2_0_row_writer import V20RowWriter
from lance_arrow.files.row_writer import RowWriter


def row_writer(version: FileVersion) -> type[RowWriter] | type[V20RowWriter]:
    """Return what writes rows of a file; see `RowWriter`."""
    return V20RowWriter if version in LEGACY_VERSIONS else RowWriter
