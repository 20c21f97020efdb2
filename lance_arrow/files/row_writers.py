"""`row_writer`: the writer that fits a file version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import LEGACY_VERSIONS
from lance_arrow.files.copying_row_writer import CopyingRowWriter

if TYPE_CHECKING:
    from lance_arrow.files.legacy.v2_0_row_writer import V20RowWriter


def row_writer(version: FileVersion) -> type[CopyingRowWriter] | type[V20RowWriter]:
    """Return what writes rows of a file; see `RowWriter` and `CopyingRowWriter`."""
    if version not in LEGACY_VERSIONS:
        return CopyingRowWriter
    from lance_arrow.files.legacy.v2_0_row_writer import V20RowWriter  # noqa: PLC0415 - for 0.1 and 2.0 alone

    return V20RowWriter
