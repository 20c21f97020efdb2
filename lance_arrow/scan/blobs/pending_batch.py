"""`PendingBatch`: rows with descriptors in place of blobs, to be filled with their bytes, few at a time.

batch with descriptors ─► places of all blobs, checked ─► pieces of few bytes ─► filled
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, type_over
from lance_arrow.late_arrow import pc
from lance_arrow.scan.projection import shown_field
from lance_arrow.spi.leaf_type import NodeKind
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import cut

if TYPE_CHECKING:
    from lance_arrow.scan.blobs.blob_places import BlobPlaces
    from lance_arrow.scan.blobs.blob_reader import BlobReader
    from lance_arrow.scan.row_source import ColumnReading


@dataclass(frozen=True, slots=True, eq=False)
class _BlobColumn:
    reader: BlobReader
    leaf: LeafNode
    places: BlobPlaces


@dataclass(frozen=True, slots=True, eq=False)
class PendingBatch:
    """A batch whose blobs were found, not read."""

    nodes: tuple[ColumnNode, ...]
    batch: pa.RecordBatch
    columns: tuple[_BlobColumn, ...]
    reader_of: Callable[[LeafNode], BlobReader]

    @classmethod
    def of(
        cls, nodes: Sequence[ColumnNode], batch: pa.RecordBatch, reader_of: Callable[[LeafNode], BlobReader]
    ) -> PendingBatch:
        """Find the bytes of all blobs of a batch that callers see as bytes; nothing is read yet.

        Parameters
        ----------
        nodes
            What each column of the batch is.
        batch
            Rows as `ColumnReading.read` gives them.
        reader_of
            What reads the blobs of a leaf.

        Raises
        ------
        CorruptFileError, MissingFileError, UnsupportedError
            As `find_places`, with file and column.
        """
        columns = []
        for node, array in zip(nodes, batch.columns, strict=True):
            for leaf, descriptors in _blob_arrays(node, array):
                reader = reader_of(leaf)
                columns.append(_BlobColumn(reader, leaf, reader.places(leaf, descriptors)))
        return cls(tuple(nodes), batch, tuple(columns), reader_of)

    def spans(self, limit: int) -> list[tuple[int, int]]:
        """Cut the rows so that the blobs of each span together, or of its one row, have no more bytes than `limit`."""
        num_rows = self.batch.num_rows
        # Clipped, so that no sum wraps; a row of that size is one span anyhow.
        sizes = {column.leaf.column: np.minimum(column.places.sizes, limit) for column in self.columns}
        row_bytes = np.zeros(num_rows, np.int64)
        for node, array in zip(self.nodes, self.batch.columns, strict=True):
            row_bytes += _slot_bytes(node, array, sizes)
        ends = np.cumsum(row_bytes)
        if not num_rows or ends[-1] <= limit:
            return [(0, num_rows)]
        spans = []
        start = 0
        while start < num_rows:
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
            spans.append((start, stop))
            start = stop
        return spans

    def pieces(self, limit: int) -> Iterator[PendingBatch]:
        """Yield the batch cut by `spans`."""
        spans = self.spans(limit)
        if len(spans) == 1:
            yield self
            return
        for start, stop in spans:
            yield PendingBatch.of(self.nodes, self.batch.slice(start, stop - start), self.reader_of)

    def filled(self, pool: pa.MemoryPool | None = None) -> pa.RecordBatch:
        """Read the blobs, and return the batch as callers see it.

        Raises
        ------
        LanceError, OSError
            As `BlobReader.read`.
        """
        values = {column.leaf.column: column.reader.read(column.leaf, column.places, pool) for column in self.columns}
        arrays = [_filled(node, array, values) for node, array in zip(self.nodes, self.batch.columns, strict=True)]
        fields = [shown_field(node, field) for node, field in zip(self.nodes, self.batch.schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, self.batch.schema.metadata))


def filled(
    reading: ColumnReading, batches: Iterable[pa.RecordBatch], piece_bytes: int, pool: pa.MemoryPool | None = None
) -> Iterable[pa.RecordBatch]:
    """Put blobs in place of their descriptors in what `reading` has read, in pieces of about so many bytes."""
    if not reading.has_blobs:
        return batches
    pending = (reading.pending(batch) for batch in batches)
    return (piece.filled(pool) for one in pending for piece in one.pieces(piece_bytes))


def cut_by_blobs(reading: ColumnReading, windows: Iterable[RowRanges], piece_bytes: int) -> Iterator[RowRanges]:
    """Cut windows so that the blobs of each have few bytes; nothing but their descriptors is read for that."""
    thin = reading.beside(only_blobs(reading.nodes))
    for rows in windows:
        batches, _ = thin.read(rows)
        read = 0
        for batch in batches:
            for first, last in thin.pending(batch).spans(piece_bytes):
                yield cut(rows, read + first, read + last)
            read += batch.num_rows


def only_blobs(nodes: Iterable[ColumnNode]) -> tuple[ColumnNode, ...]:
    """Prune columns to the blobs that callers see as bytes."""
    kept: list[ColumnNode] = []
    for node in nodes:
        if isinstance(node, LeafNode):
            kept += [node] if node.bytes_field is not None else []
        elif children := only_blobs(node.children):
            type_ = type_over(node.storage, [child.field for child in children])
            kept.append(replace(node, field=node.field.with_type(type_), children=children))
    return tuple(kept)


def _blob_arrays(node: ColumnNode, array: pa.Array) -> Iterator[tuple[LeafNode, pa.StructArray]]:
    """Yield the descriptors below a column that callers see as bytes; structs and lists lie between."""
    if isinstance(node, LeafNode):
        if node.bytes_field is not None:
            yield node, array
    elif node.shown is not node.field:
        for child, items in zip(node.children, _children(array), strict=True):
            yield from _blob_arrays(child, items)


def _children(array: pa.Array) -> list[pa.Array]:
    """Fields of a struct, or the items of lists, of these slots alone."""
    plain = array.storage if isinstance(array, pa.ExtensionArray) else array
    if isinstance(plain, pa.StructArray):
        return [plain.field(n) for n in range(plain.type.num_fields)]
    first, last = plain.offsets[0].as_py(), plain.offsets[-1].as_py()
    return [plain.values.slice(first, last - first)]


def _slot_bytes(node: ColumnNode, array: pa.Array, sizes: Mapping[int, NDArray[np.int64]]) -> NDArray[np.int64] | int:
    """Bytes of blobs in each slot of an array, ``(n,)``, or 0 where there are none."""
    if isinstance(node, LeafNode):
        return sizes[node.column] if node.bytes_field is not None else 0
    if node.shown is node.field:
        return 0
    below = [_slot_bytes(*pair, sizes) for pair in zip(node.children, _children(array), strict=True)]
    if node.kind is not NodeKind.LIST:
        return sum(below)
    offsets = array.offsets.to_numpy() - array.offsets[0].as_py()
    ends = np.concatenate([[0], np.cumsum(below[0])])
    return np.diff(ends[offsets])


def _filled(node: ColumnNode, array: pa.Array, values: Mapping[int, pa.Array]) -> pa.Array:
    if node.shown is node.field:
        return array
    if isinstance(node, LeafNode):
        return values[node.column]
    children = [_filled(child, items, values) for child, items in zip(node.children, _children(array), strict=True)]
    buffers = [array.is_valid().buffers()[1] if array.null_count else None]
    if node.kind is NodeKind.LIST:
        buffers.append(pc.subtract(array.offsets, array.offsets[0]).buffers()[1])
    return pa.Array.from_buffers(node.shown.type, len(array), buffers, array.null_count, children=children)
