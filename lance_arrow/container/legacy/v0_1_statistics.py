"""`BatchStatistics`: the statistics of the batches of a 0.1 file, read as a separate file.

    statistics of the file      one row for each batch; for each covered field a struct named by the field's id:
    "3": {null_count: int64, min_value: string, max_value: string}

They have a schema, a page table and pages, like the file itself. Source: Metadata.statistics; spec 0.1, 7.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.legacy.v0_1_files import LegacyColumns, LegacyFile
from lance_arrow.container.metadata_bytes import MetadataBytes
from lance_arrow.errors import located
from lance_arrow.io.overlay_source import OverlaySource

_MOST_BYTES = 256
"""Bytes of a batch: a count, and two bounds of at most 64 bytes, each with its place."""


class BatchStatistics(LanceFileReader):
    """The container of the statistics of one file, as a `LanceFileReader`; rows are batches of that file.

    Parameters
    ----------
    file
        A file of version 0.1, which stays open.
    held
        Source of its bytes.
    told
        Result of `LegacyFile.statistics` for the file.

    Raises
    ------
    CorruptFileError
        The page table of the statistics exceeds the file, or its pages do not have one item for each batch.
    UnsupportedError
        They have unknown types.
    """

    def __init__(self, file: LanceFileReader, held: OverlaySource, told: LegacyFile) -> None:
        self._held = held
        self._begin(held, file.limits, "off")
        with located(path=self.name):
            self.tail, self.footer = file.tail, file.footer
            self._open_first_generation(told)

    def hold(self, fields: Sequence[Sequence[int]]) -> None:
        """Read the statistics of some fields at once, which writers store together.

        Parameters
        ----------
        fields
            Physical columns of each field.
        """
        assert isinstance(self._table, LegacyColumns)
        spans = [self._table.span(columns) for columns in fields]
        file_size, most_bytes = self.footer.file_size, _MOST_BYTES * (self.num_rows + 1)
        usual = [(start, stop) for start, stop in spans if start <= stop <= min(file_size, start + most_bytes)]
        places = np.array(usual, np.int64).reshape(-1, 2)
        self._held.hold(places[:, 0], places[:, 1])

    def let_go(self) -> None:
        """Release the bytes that `hold` has read."""
        self._held.let_go()


def batch_statistics(file: LanceFileReader) -> BatchStatistics | None:
    """Open the statistics of a file without reading its tail again; None for later versions, or without statistics.

    Raises
    ------
    CorruptFileError, UnsupportedError, TruncatedReadError, ResourceLimitError
        As `BatchStatistics`, and errors of reading.
    """
    if file.legacy is None:
        return None
    held = OverlaySource(file.source, file.footer.file_size - len(file.tail), file.tail)
    told = file.legacy.statistics(MetadataBytes(held, file.limits))
    return None if told is None else BatchStatistics(file, held, told)
