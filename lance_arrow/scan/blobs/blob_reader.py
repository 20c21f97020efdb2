"""Batches with descriptors to batches with bytes: the values of blob columns, read in a wave of their own.

stored batch ─► find_places (checked, nothing read) ─► pieces of few bytes ─► one allocation and one read per
                                                                              source, straight into it
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.arrays.column_destination import Allocator
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, storage_type, type_over
from lance_arrow.errors import ResourceLimitError, located
from lance_arrow.io import Location, MeteredSource, fetch_into
from lance_arrow.scan.blobs.native_blobs import read_blobs
from lance_arrow.scan.projection import shown_field
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.spi import NodeKind, RowRanges
from lance_arrow.structure.row_selection import cut

if TYPE_CHECKING:
    from lance_arrow.scan.blobs.blob_places import BlobPlaces
    from lance_arrow.scan.blobs.blob_sources import BlobSources

_INT32_MAX = np.iinfo(np.int32).max


class BlobReader:
    """Blobs of one open file; shared by threads.

    Parameters
    ----------
    rows
        The file's rows, which come with descriptors.
    place
        Where the file is; None for a file in memory.
    """

    def __init__(self, rows: RowReader, place: Location | None) -> None:
        self._rows = rows
        self._file = rows.file
        self._settings = rows.runtime.settings
        self._place = place
        self._opened: BlobSources | None = None
        self._is_closed = False
        self._lock = Lock()

    def places(self, node: LeafNode, descriptors: pa.StructArray) -> BlobPlaces:
        """Find the bytes of every blob of one column; see `find_places` for the errors."""
        from lance_arrow.scan.blobs.blob_places import find_places  # noqa: PLC0415 - for blobs alone

        with located(path=self._file.name, column=node.path):
            return find_places(descriptors, self._sources, self._file.footer.data_stop)

    def pending(
        self, nodes: Sequence[ColumnNode], batch: pa.RecordBatch, piece_bytes: int | None = None
    ) -> PendingBatch:
        """Find the bytes of all blobs of a batch that callers see as bytes; nothing is read yet.

        Parameters
        ----------
        nodes
            What each column of the batch is.
        batch
            Rows as `RowReader.read` gives them.
        piece_bytes
            Bytes of blobs that a piece should not exceed, unless one row does; `Settings.blob_batch_bytes` when None.

        Raises
        ------
        CorruptFileError, MissingFileError, UnsupportedError
            As `find_places`, with file and column.
        """
        columns = [
            _BlobColumn(leaf, self.places(leaf, descriptors))
            for node, array in zip(nodes, batch.columns, strict=True)
            for leaf, descriptors in _blob_arrays(node, array)
        ]
        piece_bytes = self._settings.blob_batch_bytes if piece_bytes is None else piece_bytes
        return PendingBatch(self, tuple(nodes), batch, tuple(columns), piece_bytes)

    def windows(
        self, nodes: Sequence[ColumnNode], windows: Iterable[RowRanges], piece_bytes: int | None = None
    ) -> Iterator[RowRanges]:
        """Cut windows so that the blobs of each have few bytes; nothing but their descriptors is read for that."""
        thin = only_blobs(nodes)
        for rows in windows:
            batches, _ = self._rows.read(thin, rows)
            read = 0
            for batch in batches:
                for first, last in self.pending(thin, batch, piece_bytes).spans():
                    yield cut(rows, read + first, read + last)
                read += batch.num_rows

    def read(self, column: _BlobColumn, pool: pa.MemoryPool | None) -> pa.Array:
        """Read the bytes of one column into one allocation."""
        with located(path=self._file.name, column=column.leaf.path):
            return _read(column.places, column.leaf.shown.type, Allocator(self._settings.limits, pool))

    def read_few(self, leaf: LeafNode, descriptors: pa.StructArray, most_bytes: int) -> pa.Array | None:
        """Read blobs that callers see as bytes, at once; None where `pending` must find and read the same blobs.

        Parameters
        ----------
        leaf
            What the descriptors are of.
        most_bytes
            More than that are left to `pending`, which cuts them to pieces.
        """
        source = self._file.source
        if not isinstance(source, MeteredSource):
            return None
        return read_blobs(
            descriptors, leaf.shown.type, source, self._file.footer.data_stop, most_bytes, self._rows.runtime
        )

    def close(self) -> None:
        """Close sidecars and whatever else was opened."""
        with self._lock:
            self._is_closed = True
            if self._opened is not None:
                self._opened.close()

    @property
    def _sources(self) -> BlobSources:
        with self._lock:
            if self._opened is None:
                from lance_arrow.scan.blobs.blob_sources import BlobSources  # noqa: PLC0415 - for blobs alone

                allowed = self._rows.options.allow_external_blobs
                self._opened = BlobSources(self._file.source, self._place, allow_external=allowed)
                if self._is_closed:
                    self._opened.close()
            return self._opened


@dataclass(frozen=True, slots=True, eq=False)
class _BlobColumn:
    leaf: LeafNode
    places: BlobPlaces


@dataclass(frozen=True, slots=True, eq=False)
class PendingBatch:
    """A batch whose blobs were found, not read."""

    reader: BlobReader
    nodes: tuple[ColumnNode, ...]
    batch: pa.RecordBatch
    columns: tuple[_BlobColumn, ...]
    piece_bytes: int

    def spans(self) -> list[tuple[int, int]]:
        """Cut the rows so that the blobs of each span together, or of its one row, have few bytes."""
        num_rows, limit = self.batch.num_rows, self.piece_bytes
        # Clipped, so that no sum wraps; a row of that size is a span of its own anyhow.
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

    def pieces(self) -> Iterator[PendingBatch]:
        """Yield the batch cut by `spans`."""
        spans = self.spans()
        if len(spans) == 1:
            yield self
            return
        for start, stop in spans:
            yield self.reader.pending(self.nodes, self.batch.slice(start, stop - start), self.piece_bytes)

    def filled(self, pool: pa.MemoryPool | None = None) -> pa.RecordBatch:
        """Read the blobs, and return the batch as callers see it.

        Raises
        ------
        ResourceLimitError
            A row has more bytes than `Limits.max_batch_bytes`, or than its type can hold.
        TruncatedReadError, OSError
            As reading goes.
        """
        values = {column.leaf.column: self.reader.read(column, pool) for column in self.columns}
        arrays = [_filled(node, array, values) for node, array in zip(self.nodes, self.batch.columns, strict=True)]
        fields = [shown_field(node, field) for node, field in zip(self.nodes, self.batch.schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, self.batch.schema.metadata))


def only_blobs(nodes: Iterable[ColumnNode]) -> tuple[ColumnNode, ...]:
    """Prune columns to the blobs that callers see as bytes."""
    kept = []
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


def _read(places: BlobPlaces, type_: pa.DataType, allocator: Allocator) -> pa.Array:
    storage = storage_type(type_)
    width = 4 if pa.types.is_binary(storage) else 8
    # In floating point: sums of 64-bit sizes may wrap.
    about = float(places.sizes.sum(dtype=np.float64))
    if width == 4 and about > _INT32_MAX:
        raise ResourceLimitError(f"{about:.0f} bytes of blobs in a column of type {storage}")
    allocator.limits.check("max_batch_bytes", int(about))
    offset_buffer, offsets = allocator.allocate((len(places) + 1) * width)
    ends = offsets.view(f"i{width}")
    ends[0] = 0
    np.cumsum(places.sizes, out=ends[1:])
    buffer, out = allocator.allocate(int(ends[-1]))
    _fetch(places, ends[:-1].astype(np.int64, copy=False), out)
    validity, null_count = _validity(places.valid, allocator)
    array = pa.Array.from_buffers(storage, len(places), [validity, offset_buffer, buffer], null_count)
    return type_.wrap_array(array) if isinstance(type_, pa.BaseExtensionType) else array


def _fetch(places: BlobPlaces, out_starts: NDArray[np.int64], out: NDArray[np.uint8]) -> None:
    for number, source in enumerate(places.sources):
        rows = np.flatnonzero((places.source_of == number) & (places.sizes > 0))
        if len(rows):
            starts = places.starts[rows]
            fetch_into(source, starts, starts + places.sizes[rows], out, out_starts[rows])


def _validity(valid: NDArray[np.bool_] | None, allocator: Allocator) -> tuple[pa.Buffer | None, int]:
    if valid is None or valid.all():
        return None, 0
    buffer, bits = allocator.bitmap(len(valid))
    bits[:] = np.packbits(valid, bitorder="little")
    return buffer, int(len(valid) - np.count_nonzero(valid))
