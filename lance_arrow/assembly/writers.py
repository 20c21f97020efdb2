"""`row_writer`: the writer that fits a file version."""

from __future__ import annotations

from lance_arrow.assembly.headed_writer import HeadedRowWriter
from lance_arrow.assembly.row_writer import RowWriter
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import HEADED_VERSIONS


def row_writer(version: FileVersion) -> type[RowWriter] | type[HeadedRowWriter]:
    """Return what writes rows of a file; see `RowWriter`."""
    return HeadedRowWriter if version in HEADED_VERSIONS else RowWriter
