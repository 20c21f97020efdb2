"""`row_reader`: the reader that fits a file, by its version."""

from __future__ import annotations

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.schema import LEGACY_VERSIONS
from lance_arrow.runtime import Runtime
from lance_arrow.scan.row_reader import RowReader


def row_reader(file: LanceFileReader, runtime: Runtime, options: ReadOptions | None = None) -> RowReader:
    """Return what reads rows of an open file; see `RowReader`."""
    if file.version not in LEGACY_VERSIONS:
        return RowReader(file, runtime, options)
    from lance_arrow.scan.legacy.v2_0_row_reader import V20RowReader  # noqa: PLC0415 - for 0.1 and 2.0 alone

    return V20RowReader(file, runtime, options)
