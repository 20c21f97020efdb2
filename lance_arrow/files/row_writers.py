"""`row_writer`: the writer that fits a file version."""

from __future__ import annotations

from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import HEADED_VERSIONS
from lance_arrow.files.legacy.v2_0_row_writer import HeadedRowWriter
from lance_arrow.files.row_writer import RowWriter


def row_writer(version: FileVersion) -> type[RowWriter] | type[HeadedRowWriter]:
    """Return what writes rows of a file; see `RowWriter`."""
    return HeadedRowWriter if version in HEADED_VERSIONS else RowWriter
