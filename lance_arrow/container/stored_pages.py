"""`StoredPages`: whole pages of some columns of an open file, as bytes, compared with their checksums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lance_arrow.container.checksums import ChecksumTable
from lance_arrow.container.columns import ColumnMeta
from lance_arrow.container.file_checks import wrong_block
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.pages import PageMeta
from lance_arrow.io import Bytes, fetch
from lance_arrow.kernels import BlockChecks


@dataclass(frozen=True, slots=True, eq=False)
class StoredPage:
    """A page whose bytes were read.

    Parameters
    ----------
    column
        Number of the physical column.
    meta
        Metadata of the page.
    buffers
        Its buffers, in the layout's order.
    """

    column: int
    meta: PageMeta
    buffers: Sequence[Bytes] = field(repr=False)


class StoredPages:
    """Whole pages of some columns of one file.

    Parameters
    ----------
    file
        An open file that `has_sums` for all pages of the columns.
    columns
        Numbers of the physical columns.
    """

    def __init__(self, file: LanceFileReader, columns: Sequence[int]) -> None:
        self._file = file
        self._metas = {meta.column: meta for meta in file.columns(columns)}

    @cached_property
    def _blocks(self) -> BlockChecks:
        """Unchecked state of all blocks: copied bytes are compared now, even if they were compared when first read."""
        assert self._file.checks is not None
        return self._file.checks.table.checks()

    def waves(self, wave_bytes: int) -> list[list[tuple[int, int]]]:
        """Divide the pages into waves that are read at once.

        Parameters
        ----------
        wave_bytes
            Most bytes of a wave; a larger page is a wave of its own.

        Returns
        -------
        list of list
            Column and page number, in the order of the file, but with the pages of a column in row order.
        """
        columns, numbers, places, sizes = [], [], [], []
        for column, meta in self._metas.items():
            columns.append(np.full(len(meta.pages), column))
            numbers.append(np.arange(len(meta.pages)))
            places.append(np.maximum.accumulate(_places(meta)) if len(meta.pages) else numbers[-1])
            sizes.append(meta.page_bytes)
        if not columns:
            return []
        order = np.argsort(np.concatenate(places), kind="stable")
        pairs = list(zip(np.concatenate(columns)[order].tolist(), np.concatenate(numbers)[order].tolist(), strict=True))
        waves: list[list[tuple[int, int]]] = []
        room = 0
        for pair, size in zip(pairs, np.concatenate(sizes)[order].tolist(), strict=True):
            if not waves or size > room:
                waves.append([])
                room = wave_bytes
            waves[-1].append(pair)
            room -= size
        return waves

    def read(self, wave: Sequence[tuple[int, int]]) -> list[StoredPage]:
        """Read the pages of a wave.

        Raises
        ------
        CorruptPageError
            Bytes contradict their checksum; file, column, page and byte range are named.
        TruncatedReadError, OSError
            Errors of reading.
        """
        metas = [self._metas[column].pages[number] for column, number in wave]
        starts = np.concatenate([meta.buffer_offsets for meta in metas])
        sizes = np.concatenate([meta.buffer_sizes for meta in metas])
        data, positions = fetch(self._file.source, starts, starts + sizes)
        at = np.ascontiguousarray(positions)
        wrong = wrong_block(self._blocks, data, at, starts, starts + sizes, self._file.stored_ranges)
        if wrong >= 0:
            raise self._file.contradiction(*self._blocks.place(wrong))
        ends = zip(positions.tolist(), (positions + sizes).tolist(), strict=True)
        buffers = [data[start:stop] for start, stop in ends]
        pages = []
        first = 0
        for (column, _), meta in zip(wave, metas, strict=True):
            pages.append(StoredPage(column, meta, buffers[first : first + len(meta.buffer_sizes)]))
            first += len(meta.buffer_sizes)
        return pages


def has_sums(table: ChecksumTable, meta: ColumnMeta) -> bool:
    """Return whether every buffer of a column's pages has its own checksums."""
    pages = meta.pages
    wanted = pages.sizes > 0
    starts, sizes = pages.starts[wanted], pages.sizes[wanted]
    if not len(starts):
        return True
    if not len(table.starts):
        return False
    found: NDArray[np.int64] = np.minimum(np.searchsorted(table.starts, starts), len(table.starts) - 1)
    return bool(((table.starts[found] == starts) & (table.sizes[found] == sizes)).all())


def _places(meta: ColumnMeta) -> NDArray[np.int64]:
    """Return ``(num_pages,) int64``: the start of the first buffer of each page; 0 for pages without buffers."""
    pages = meta.pages
    first, has_buffers = pages.borders[:-1], np.diff(pages.borders) > 0
    places = np.zeros(len(pages), np.int64)
    places[has_buffers] = pages.starts[first[has_buffers]]
    return places
