"""A bound for tables that come from next to nothing: rows that repeat one scalar, or none, take no bytes in a file."""

from __future__ import annotations

from collections.abc import Sequence

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.settings import Limits
from lance_arrow.spi import FixedSizeList, FixedWidth

_USUAL_RATIO = 1000
# A row costs time and bookkeeping even where it takes no memory.
_LEAST_ROW_BYTES = 8


class ExpansionWatch:
    """Counts the rows that a scan hands out, for those who cannot say whether they will be kept: pyarrow's scans.

    Parameters
    ----------
    nodes, file_bytes, limits
        As for `check_expansion`.
    """

    def __init__(self, nodes: Sequence[ColumnNode], file_bytes: int, limits: Limits) -> None:
        self._nodes, self._file_bytes, self._limits = nodes, file_bytes, limits
        self._num_rows = 0

    def add(self, num_rows: int) -> None:
        """Count more rows, before they are read; raises `ResourceLimitError` where they become too many."""
        self._num_rows += num_rows
        check_expansion(self._nodes, self._num_rows, self._file_bytes, self._limits)


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
    row_bytes = sum(_least_bytes(leaf) for node in nodes for leaf in node.leaves())
    wanted = num_rows * (max(row_bytes, _LEAST_ROW_BYTES) if nodes else 1)
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
