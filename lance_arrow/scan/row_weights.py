"""`RowWeights`: about how many bytes rows will have in memory, told from column metadata, before anything is read.

`check_expansion` bounds tables that are far larger than their file: rows that repeat one scalar take no bytes in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, leaves_of
from lance_arrow.container.columns import ColumnMeta
from lance_arrow.settings import Limits
from lance_arrow.spi import BlockShape, FixedSizeList, FixedWidth, PackedStruct, VariableWidth
from lance_arrow.spi.leaf_type import NodeKind
from lance_arrow.spi.rows import RowRanges

USUAL_EXPANSION = 3.0
"""How many bytes a byte of encoded strings, lists or dictionary indices is taken for."""
_USUAL_RATIO = 1000
"""Tables so many times larger than their file are nothing unusual."""
_LEAST_ROW_BYTES = 8
"""A row costs time and bookkeeping even where it takes no memory."""


@dataclass(frozen=True, slots=True, eq=False)
class RowWeights:
    """Estimated bytes of the rows of a file, or of some of its rows, over all wanted columns.

    Pages are the resolution: rows of one page weigh the same. The decoded size of strings and items is a guess.

    Parameters
    ----------
    borders
        ``(n,) int64``: ascending positions, 0 first and the number of rows last.
    totals
        ``(n,) float64``: bytes of the rows before each border.
    """

    borders: NDArray[np.int64]
    totals: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        leaves: Sequence[LeafNode],
        metas: Sequence[ColumnMeta],
        page_rows: Sequence[NDArray[np.int64]],
        num_rows: int,
    ) -> RowWeights:
        """Weigh the rows of a file: per page what it is encoded in, expanded, but at least what its type tells.

        `page_rows` are, per leaf, the first row of each page and the number of rows.
        """
        curves = []
        whole: list[int] = []
        known: NDArray[np.int64] | None = None
        for number, (leaf, meta, starts) in enumerate(zip(leaves, metas, page_rows, strict=True)):
            # Columns of one page share the array.
            if starts is known or (len(starts) == 2 and starts[1] == num_rows):
                known = starts
                whole.append(number)
                continue
            expansion, row_bytes = _weight_of(leaf)
            encoded = expansion * np.array(meta.page_bytes, np.float64)
            decoded = np.diff(starts) * row_bytes
            curves.append((starts, np.concatenate(([0.0], np.cumsum(np.maximum(encoded, decoded))))))
        ends = np.array([0, num_rows], np.int64)
        borders = np.unique(np.concatenate([ends, *(starts for starts, _ in curves)]))
        totals = np.zeros(len(borders), np.float64)
        if whole and num_rows:
            # Wide files have thousands of columns of one page.
            of_all = _bytes_of_pages([leaves[one] for one in whole], [metas[one] for one in whole], num_rows)
            totals += borders * (of_all / num_rows)
        for starts, bytes_before in curves:
            totals += np.interp(borders, starts, bytes_before)
        return cls(borders, totals)

    @classmethod
    def together(cls, parts: Sequence[RowWeights], num_rows: int) -> RowWeights:
        """Weigh the same rows over the columns of several files."""
        ends = np.array([0, num_rows], np.int64)
        borders = np.unique(np.concatenate([ends, *(part.borders for part in parts)]))
        totals = np.zeros(len(borders), np.float64)
        for part in parts:
            totals += np.interp(borders, part.borders, part.totals)
        return cls(borders, totals)

    def within(self, rows: RowRanges) -> RowWeights:
        """Weigh some of the rows, as if there were no others."""
        if not len(rows):
            return RowWeights(np.zeros(1, np.int64), np.zeros(1))
        if len(rows) == 1:
            return self._within_one(rows.starts[0], rows.stops[0])
        # Wanted rows before each border: all of the ranges begun before it, less what the last of them has beyond it.
        begun = np.searchsorted(rows.starts, self.borders, side="left")
        before = rows.before
        beyond = np.where(begun > 0, rows.stops[np.maximum(begun - 1, 0)] - self.borders, 0)
        counts = before[begun] - np.maximum(beyond, 0)
        # Rows between two borders weigh the same.
        weights = np.diff(self.totals) / np.diff(self.borders) * np.diff(counts)
        kept = np.append(True, np.diff(counts) > 0)
        return RowWeights(counts[kept], np.concatenate([np.zeros(1), np.cumsum(weights)])[kept])

    def _within_one(self, start: np.int64, stop: np.int64) -> RowWeights:
        if start == 0 and stop == self.borders[-1]:
            return self
        first, last = self.borders.searchsorted(start, "right"), self.borders.searchsorted(stop, "left")
        borders = np.empty(last - first + 2, np.int64)
        borders[0], borders[1:-1], borders[-1] = start, self.borders[first:last], stop
        totals = np.interp(borders, self.borders, self.totals)
        return RowWeights(borders - start, totals - totals[0])

    def bytes_between(self, start: int, stop: int) -> float:
        """Estimate the bytes of rows ``start .. stop``."""
        return self._bytes_before(stop) - self._bytes_before(start)

    def _bytes_before(self, row: int) -> float:
        """Estimate the bytes of the rows before one, as `numpy.interp`: that lets other threads run for each."""
        if row >= self.borders[-1]:
            return float(self.totals[-1])
        after = int(self.borders.searchsorted(row, "right"))
        (low, high), (first, last) = (
            self.borders[after - 1 : after + 1].tolist(),
            self.totals[after - 1 : after + 1].tolist(),
        )
        return float(first + (last - first) * (row - low) / (high - low))

    def even_until(self, start: int) -> int:
        """Return the end of the run of rows from `start` on that weigh the same."""
        return int(self.borders[np.searchsorted(self.borders, start, side="right")])

    def rows_within(self, start: int, num_bytes: float) -> int:
        """How many rows from `start` on weigh no more than `num_bytes`; 0 when the first alone weighs more."""
        reached = self._bytes_before(start) + num_bytes
        if reached >= self.totals[-1]:
            return int(self.borders[-1]) - start
        # Rows without weight make plateaus: the last row of one is as good as its first.
        at = int(np.searchsorted(self.totals, reached, side="right"))
        low, high = self.totals[at - 1], self.totals[at]
        part = (reached - low) / (high - low) * (self.borders[at] - self.borders[at - 1])
        # Two rows that just fit may come out as 1.9999, and a page would be cut to single ones.
        return max(0, int(self.borders[at - 1]) + int(part + 1e-6) - start)


def _bytes_of_pages(leaves: Sequence[LeafNode], metas: Sequence[ColumnMeta], num_rows: int) -> float:
    """Return the bytes that columns of one page take decoded, all together."""
    sizes = [meta.pages.sizes for meta in metas]
    before = np.concatenate([np.zeros(1, np.int64), *sizes]).cumsum()
    ends = np.cumsum(list(map(len, sizes)))
    encoded = np.diff(before[np.concatenate([np.zeros(1, np.int64), ends])])
    # Leaves of one type without nodes above them weigh the same.
    kinds = [id(leaf.leaf) if len(leaf.offset_bits) == 1 else id(leaf) for leaf in leaves]
    known = dict(zip(kinds, leaves, strict=True))
    places = dict(zip(known, range(len(known)), strict=True))
    expansions, row_bytes = np.array(list(map(_weight_of, known.values())))[[places[kind] for kind in kinds]].T
    return float(np.maximum(encoded * expansions, row_bytes * num_rows).sum())


def _weight_of(leaf: LeafNode) -> tuple[float, float]:
    """Return what a byte of the pages of a leaf is taken for, and the bytes that its values take at least for a row."""
    return 1.0 if _is_sure(leaf) else USUAL_EXPANSION, _row_bits(leaf) / 8


def _row_bits(leaf: LeafNode) -> int:
    """Bits that the values of one row take at least, decoded."""
    if NodeKind.LIST in leaf.leaf.nodes:
        return 32
    return _shape_bits(leaf.leaf.shape) * leaf.lengths_per_row


def _shape_bits(shape: BlockShape | None) -> int:
    if shape is None:
        return 0
    if isinstance(shape, PackedStruct):
        return sum(_shape_bits(field) for field in shape.fields)
    if isinstance(shape, VariableWidth):
        return shape.offset_bits
    return shape.leaf.bits * shape.items_per_value if isinstance(shape, FixedSizeList) else shape.bits


def _is_sure(leaf: LeafNode) -> bool:
    """Whether the type tells how much a row takes."""
    shape = leaf.leaf.shape
    variable = isinstance(shape, VariableWidth) or (
        isinstance(shape, PackedStruct) and any(isinstance(field, VariableWidth) for field in shape.fields)
    )
    return not (variable or NodeKind.LIST in leaf.leaf.nodes or leaf.leaf.items is not None)


class ExpansionWatch:
    """Counts the rows that a pyarrow scan reads, since pyarrow may keep all of them.

    Parameters
    ----------
    nodes, file_bytes, limits
        As for `check_expansion`.
    """

    def __init__(self, nodes: Sequence[ColumnNode], file_bytes: int, limits: Limits) -> None:
        self._file_bytes, self._limits = file_bytes, limits
        self._row_bytes = least_row_bytes(nodes)
        self._num_rows = 0

    def add(self, num_rows: int) -> None:
        """Count more rows, before they are read; raises `ResourceLimitError` where they become too many."""
        self._num_rows += num_rows
        check_row_bytes(self._row_bytes, self._num_rows, self._file_bytes, self._limits)


def check_expansion(nodes: Sequence[ColumnNode], num_rows: int, file_bytes: int, limits: Limits) -> None:
    """Refuse to make a table at once, or to look at all of its rows for a filter, that is far larger than its file.

    Parameters
    ----------
    nodes
        Columns of the table.
    num_rows
        Its rows.
    file_bytes
        Size of the file; a table up to a thousand times larger is nothing unusual.
    limits
        `max_expanded_bytes` holds for the others.

    Raises
    ------
    ResourceLimitError
        The table is too large; `LanceFile.to_batches` and taking rows are not bounded by this.
    """
    check_row_bytes(least_row_bytes(nodes), num_rows, file_bytes, limits)


def least_row_bytes(nodes: Sequence[ColumnNode]) -> int:
    """Return the bytes that a row of some columns takes in memory at least."""
    row_bytes = 0
    known: dict[int, int] = {}
    for leaf in leaves_of(nodes):
        # As in `_bytes_of_pages`.
        kind = id(leaf.leaf) if len(leaf.offset_bits) == 1 else id(leaf)
        if kind not in known:
            known[kind] = _least_bytes(leaf)
        row_bytes += known[kind]
    return max(row_bytes, _LEAST_ROW_BYTES) if nodes else 1


def check_row_bytes(row_bytes: int, num_rows: int, file_bytes: int, limits: Limits) -> None:
    """Check a table as `check_expansion` does; `row_bytes` is from `least_row_bytes`."""
    wanted = num_rows * row_bytes
    if wanted > _USUAL_RATIO * file_bytes:
        limits.check("max_expanded_bytes", wanted)


def _least_bytes(leaf: LeafNode) -> int:
    """Bytes that a row takes in memory at least."""
    shape = leaf.leaf.shape
    if any(leaf.offset_bits) or not isinstance(shape, (FixedWidth, FixedSizeList)):
        return 4
    if isinstance(shape, FixedSizeList):
        return max(1, leaf.lengths_per_row * shape.items_per_value * shape.leaf.bits // 8)
    return max(1, leaf.lengths_per_row * shape.bytes_per_value)
