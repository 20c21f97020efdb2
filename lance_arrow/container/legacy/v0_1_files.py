"""Files of the first version (0.1): page tables and an embedded manifest, converted to columns and pages of 2.x.

    pages        (position, length) for every field id and batch of rows, at `Metadata.page_table_position`
    schema       fields of the manifest at `Metadata.manifest_position`
    rows         `Metadata.batch_offsets`

Each batch becomes a page, each field a column, in pre-order as in 2.0 files. The types of the schema define the content
of the pages. `LegacyPage` is the description by which plugins are bound. Source: spec 0.1.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.container.buffer_places import check_places
from lance_arrow.container.columns import ColumnMeta
from lance_arrow.container.descriptions import Description
from lance_arrow.container.fields import SchemaField
from lance_arrow.container.footer import FileFooter
from lance_arrow.container.metadata_bytes import MetadataBytes
from lance_arrow.container.pages import PageTable
from lance_arrow.container.schema import LeafColumn
from lance_arrow.errors import CorruptFileError, UnsupportedError, located
from lance_arrow.io import Bytes
from lance_arrow.proto import file_schema_pb2, table_pb2
from lance_arrow.proto.legacy_pb2 import Dictionary, LegacyPage, ListOffsets, Nothing, Plain, VarBinary
from lance_arrow.proto.reading import MessageT, parse

_TAIL_BYTES = 16
_LENGTH_BYTES = 4
_OFFSET_BYTES = 8
_ENTRY_BYTES = 16
_PAGE_MESSAGE = "lance_arrow.legacy.LegacyPage"
_COLUMN_MESSAGE = "lance.encodings.ColumnEncoding"
_VALUES = b"\x0a\x00"
"""`ColumnEncoding.values`, the only kind of column in these files."""

_Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LegacyFile:
    """Replaces footer tables and descriptor.

    Parameters
    ----------
    metadata
        Bytes of the file.
    message
        The message to which the footer points.
    manifest
        The embedded manifest.
    place
        Half-open byte range of `message` in the file.
    """

    metadata: MetadataBytes
    message: file_schema_pb2.Metadata
    manifest: table_pb2.Manifest
    place: tuple[int, int]

    @classmethod
    def open(cls, metadata: MetadataBytes) -> LegacyFile:
        """Read the messages to which the footer points.

        Raises
        ------
        CorruptFileError
            A position is outside of the file, or the message there is not valid.
        UnsupportedError
            The file has no schema, or a column is encoded by RLE.
        """
        (position,) = struct.unpack("<Q", metadata.tail[-_TAIL_BYTES : -_TAIL_BYTES + 8].tobytes())
        message, place = _message(metadata, position, file_schema_pb2.Metadata, "the metadata of the file")
        if not message.manifest_position:
            raise UnsupportedError("the file has no schema: only its table has the types of its columns")
        manifest, manifest_place = _message(
            metadata, message.manifest_position, table_pb2.Manifest, "the manifest in the file"
        )
        for field in manifest.fields:
            if field.encoding == file_schema_pb2.RLE:
                with located(column=field.name, byte_range=manifest_place):
                    raise UnsupportedError(
                        "the column is encoded by RLE, which no specification describes for version 0.1"
                    )
        return cls(metadata, message, manifest, place)

    @property
    def schema(self) -> file_schema_pb2.Schema:
        """The schema as a message of later files."""
        return file_schema_pb2.Schema(fields=self.manifest.fields, metadata=self.manifest.schema_metadata)

    def batch_starts(self) -> _Counts:
        """Return ``(num_batches + 1,)``: first row of each batch, then the number of rows; ``[0]`` if empty."""
        starts = np.array(self.message.batch_offsets or [0], np.int64)
        if starts[0] != 0 or (np.diff(starts) < 0).any():
            raise CorruptFileError(f"batches begin at rows {starts[:20].tolist()}", byte_range=self.place)
        return starts

    def statistics(self, metadata: MetadataBytes) -> LegacyFile | None:
        """Return the statistics of the batches, as a file of one batch in which each batch is a row.

        Parameters
        ----------
        metadata
            Bytes of the file, to read the statistics.

        Returns
        -------
        LegacyFile or None
            None for files without statistics, or with another form. Ids of the fields are their positions, so that the
            page table begins like that of a file. Source: Metadata.statistics; spec 0.1, 7.
        """
        told = self.message.statistics
        num_batches = len(self.batch_starts()) - 1
        if not num_batches or not told.schema or [one.id for one in told.schema] != list(range(len(told.schema))):
            return None
        message = file_schema_pb2.Metadata(batch_offsets=[0, num_batches], page_table_position=told.page_table_position)
        return LegacyFile(metadata, message, table_pb2.Manifest(fields=told.schema), self.place)

    def footer(self, footer: FileFooter, num_columns: int) -> FileFooter:
        """Return a footer with empty tables that begin where values end."""
        stop = min(self.message.page_table_position, self.place[0])
        return FileFooter(
            version=footer.version,
            file_size=footer.file_size,
            first_column_position=stop,
            column_table_position=stop,
            buffer_table_position=stop,
            num_columns=num_columns,
            num_global_buffers=0,
        )


def _message(
    metadata: MetadataBytes, position: int, kind: type[MessageT], what: str
) -> tuple[MessageT, tuple[int, int]]:
    """Read a message after its length."""
    start = position + _LENGTH_BYTES
    if start > metadata.file_size:
        raise CorruptFileError(f"{what} is declared at {position}, but the file has {metadata.file_size} bytes")
    (head,) = metadata.read([(position, start)])
    stop = start + int.from_bytes(head.tobytes(), "little")
    if stop > metadata.file_size:
        raise CorruptFileError(f"{what} at {position} ends at {stop}, the file at {metadata.file_size}")
    (data,) = metadata.read([(start, stop)])
    limit = metadata.limits.max_metadata_bytes
    return parse(kind, data.data, what=what, byte_range=(start, stop), max_bytes=limit), (position, stop)


class LegacyColumns:
    """The columns of a file, by page table; numbered as those of a 2.0 file.

    Parameters
    ----------
    file
        The opened file.
    fields
        Its top-level fields.
    leaves
        Its leaf columns.

    Raises
    ------
    CorruptFileError
        The page table exceeds the file, or the lengths of its pages contradict the rows or each other.
    UnsupportedError
        Structs without fields within lists: their number is not stored.
    """

    def __init__(self, file: LegacyFile, fields: Sequence[SchemaField], leaves: Sequence[LeafColumn]) -> None:
        self._file = file
        self._nodes = [node for top in fields for node in top.walk()]
        self._leaves = {leaf.column: leaf for leaf in leaves}
        self._batch_starts = file.batch_starts()
        self._items: dict[int, _Counts] = {}
        self._counts: dict[int, _Counts] = {}
        self._dictionaries = {field.id: field.dictionary for field in file.manifest.fields}
        self._place, self._entries = self._read_table()
        position = 0
        for top in fields:
            with located(column=top.name, byte_range=self._place):
                position, _ = self._count(position, np.diff(self._batch_starts))

    def _read_table(self) -> tuple[tuple[int, int], dict[int, NDArray[np.int64]]]:
        """Return the place of the page table, and by field id ``(num_batches, 2)``: position and length of pages."""
        numbers = [node.id for node in self._nodes if node.id >= 0]
        num_batches = len(self._batch_starts) - 1
        if not numbers or not num_batches:
            return self._file.place, {number: np.zeros((0, 2), np.int64) for number in numbers}
        first, last = min(numbers), max(numbers)
        start = self._file.message.page_table_position
        stop = start + (last - first + 1) * num_batches * _ENTRY_BYTES
        file_size = self._file.metadata.file_size
        if stop > file_size:
            raise CorruptFileError(
                f"the page table of {last - first + 1} fields and {num_batches} batches at {start} ends at {stop}, "
                f"the file at {file_size}",
                byte_range=self._file.place,
            )
        (table,) = self._file.metadata.read([(start, stop)])
        entries = np.frombuffer(table.tobytes(), "<i8").reshape(-1, num_batches, 2)
        if int(entries.min()) < 0:
            raise CorruptFileError("the page table holds negative numbers", byte_range=(start, stop))
        return (start, stop), {number: entries[number - first] for number in numbers}

    def _count(self, column: int, expected: _Counts | None) -> tuple[int, _Counts]:
        """Count the values of each batch of a field, and of fields below; also returns the next column.

        `expected` is None for items, which are counted only by their own pages.
        """
        node = self._nodes[column]
        lengths = self._entries[node.id][:, 1] if node.id in self._entries else np.zeros(0, np.int64)
        position = column + 1
        if node.logical_type == "struct":
            counts = expected
            for _ in node.children:
                position, counts = self._count(position, counts)
            if counts is None:
                raise UnsupportedError("structs without fields within lists: the file does not store their number")
        elif node.children:
            counts = np.maximum(lengths - 1, 0)
            position, self._items[column] = self._count(position, None)
        else:
            counts = lengths
        if expected is not None and not np.array_equal(counts, expected):
            raise CorruptFileError(f"the lengths of pages of field {node.name!r} differ from their batches")
        self._counts[column] = counts
        return position, counts

    def place(self, column: int) -> tuple[int, int]:
        """Return the place of the page table; all columns share it."""
        return self._place

    def stored(self, column: int) -> Bytes:
        """Return the page table as stored."""
        return self._file.metadata.read([self._place])[0]

    def read(self, columns: Sequence[int], names: Sequence[str]) -> list[ColumnMeta]:
        """Return the pages of columns; for byte strings, their first and last offsets are read.

        Raises
        ------
        CorruptFileError
            Pages lie outside of the file; the column is named.
        """
        found = []
        for column, name in zip(columns, names, strict=True):
            with located(column=name, byte_range=self._place, stage="reading the page table"):
                found.append(self._column(column))
        return found

    def span(self, columns: Sequence[int]) -> tuple[int, int]:
        """Return the half-open byte range of the pages of leaf columns; byte strings may lie outside of it."""
        starts, stops = [], []
        for column in columns:
            positions, counts = self._positions(self._nodes[column]), self._counts[column]
            leaf = self._leaves[column]
            if _is_variable(leaf.type):
                sizes = _checked_product(counts + 1, _OFFSET_BYTES)
            else:
                sizes = (_checked_product(counts, _value_bits(leaf.type)) + 7) // 8
            starts += positions.tolist()
            stops += [position + size for position, size in zip(positions.tolist(), sizes.tolist(), strict=True)]
        return min(starts), max(stops)

    def _column(self, column: int) -> ColumnMeta:
        counts = self._counts[column]
        page_starts = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=page_starts[1:])
        descriptions, offsets, sizes = self._pages(column)
        places = check_places(
            offsets.ravel().astype(np.uint64),
            sizes.ravel().astype(np.uint64),
            file_size=self._file.metadata.file_size,
            what="page",
        )
        pages = PageTable(
            page_starts,
            np.arange(len(counts) + 1) * places.offsets.size // max(1, len(counts)),
            places.offsets,
            places.sizes,
            [Description(_PAGE_MESSAGE, one.SerializeToString()) for one in descriptions],
            np.arange(len(counts)),
        )
        none = np.empty(0, np.int64)
        return ColumnMeta(
            column=column,
            message=_COLUMN_MESSAGE,
            description=_VALUES,
            buffer_offsets=none,
            buffer_sizes=none,
            byte_range=self._place,
            open_pages=lambda: pages,
        )

    def _pages(self, column: int) -> tuple[list[LegacyPage], _Counts, _Counts]:
        """Describe the pages of a column; offsets and sizes of their buffers are ``(num_batches, num_buffers)``."""
        counts = self._counts[column]
        leaf, node = self._leaves.get(column), self._nodes[column]
        if leaf is None:
            if column not in self._items:
                return _alike(LegacyPage(nothing=Nothing()), counts), _no_buffers(counts), _no_buffers(counts)
            bits = 64 if node.logical_type.startswith("large") else 32
            pages = [
                LegacyPage(list_offsets=ListOffsets(offset_bits=bits, num_items=items))
                for items in self._items[column].tolist()
            ]
            sizes = np.where(counts > 0, (counts + 1) * (bits // 8), 0)
            return pages, self._positions(node)[:, np.newaxis], sizes[:, np.newaxis]
        if pa.types.is_null(leaf.type) or isinstance(leaf.type, pa.StructType):
            page = LegacyPage(nothing=Nothing(is_null=pa.types.is_null(leaf.type)))
            return _alike(page, counts), _no_buffers(counts), _no_buffers(counts)
        if isinstance(leaf.type, pa.DictionaryType):
            return self._keys(leaf.type, node, counts)
        page, offsets, sizes = self._values(leaf.type, self._positions(node), counts, empty_is_null=leaf.nullable)
        return _alike(page, counts), offsets, sizes

    def _positions(self, node: SchemaField) -> _Counts:
        return self._entries[node.id][:, 0]

    def _keys(
        self, type_: pa.DictionaryType, node: SchemaField, counts: _Counts
    ) -> tuple[list[LegacyPage], _Counts, _Counts]:
        """Return plain keys of each batch, and the items that all of them share."""
        if not len(counts):
            return [], _no_buffers(counts), _no_buffers(counts)
        place = self._dictionaries[node.id]
        if place.offset < 0 or place.length < 0:
            raise CorruptFileError(f"the items of a dictionary: {place.length} at {place.offset}")
        keys, *of_keys = self._values(type_.index_type, self._positions(node), counts, empty_is_null=False)
        items, *of_items = self._values(
            type_.value_type, np.array([place.offset]), np.array([place.length]), empty_is_null=node.nullable, first=1
        )
        page = LegacyPage(dictionary=Dictionary(keys=keys, items=items, num_items=place.length))
        # All batches read the same items.
        offsets, sizes = (
            np.hstack([own, np.repeat(shared, len(counts), axis=0)])
            for own, shared in zip(of_keys, of_items, strict=True)
        )
        return _alike(page, counts), offsets, sizes

    def _values(
        self, type_: pa.DataType, positions: _Counts, counts: _Counts, *, empty_is_null: bool, first: int = 0
    ) -> tuple[LegacyPage, _Counts, _Counts]:
        """Describe values whose buffers begin at number `first`."""
        positions = positions[: len(counts)]
        if not _is_variable(type_):
            sizes = (_checked_product(counts, _value_bits(type_)) + 7) // 8
            return LegacyPage(plain=Plain(buffer=first)), positions[:, np.newaxis], sizes[:, np.newaxis]
        sizes = np.where(counts > 0, _checked_product(counts + 1, _OFFSET_BYTES), 0)
        places = check_places(
            positions.astype(np.uint64),
            sizes.astype(np.uint64),
            file_size=self._file.metadata.file_size,
            what="page",
        )
        starts, stops = self._borders(places.offsets, places.sizes)
        page = LegacyPage(var_binary=VarBinary(buffer=first, empty_is_null=empty_is_null))
        return page, np.stack([positions, starts], 1), np.stack([sizes, stops - starts], 1)

    def _borders(self, positions: _Counts, sizes: _Counts) -> tuple[_Counts, _Counts]:
        """Read the range of the byte strings of each page: its first and its last offset."""
        filled = sizes > 0
        wanted = [
            (place, place + _OFFSET_BYTES)
            for start, size in zip(positions[filled].tolist(), sizes[filled].tolist(), strict=True)
            for place in (start, start + size - _OFFSET_BYTES)
        ]
        read = b"".join(part.tobytes() for part in self._file.metadata.read(wanted))
        borders = np.zeros((len(sizes), 2), np.int64)
        borders[filled] = np.frombuffer(read, "<i8").reshape(-1, 2)
        descends = (borders[:, 0] < 0) | (borders[:, 1] < borders[:, 0])
        if descends.any():
            bad = int(np.argmax(descends))
            raise CorruptFileError(f"byte strings are declared from {borders[bad, 0]} to {borders[bad, 1]}", page=bad)
        return borders[:, 0], borders[:, 1]


def _alike(page: LegacyPage, counts: _Counts) -> list[LegacyPage]:
    return [page] * len(counts)


def _no_buffers(counts: _Counts) -> _Counts:
    return np.zeros((len(counts), 0), np.int64)


def _checked_product(counts: _Counts, factor: int) -> _Counts:
    most = int(counts.max(initial=0))
    if most * factor > np.iinfo(np.int64).max:
        raise CorruptFileError(f"a page declares {most} values of {factor} bits, more than a file can hold")
    return counts * factor


def _is_variable(type_: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(type_) or types.is_binary(type_) or types.is_large_string(type_) or types.is_large_binary(type_)
    )


def _value_bits(type_: pa.DataType) -> int:
    while isinstance(type_, pa.BaseExtensionType):
        type_ = type_.storage_type
    if isinstance(type_, pa.FixedSizeListType):
        return int(type_.list_size) * _value_bits(type_.value_type)
    if isinstance(type_, pa.StructType) or pa.types.is_nested(type_) or pa.types.is_null(type_):
        raise UnsupportedError(f"columns of type {type_} in files of version 0.1")
    return int(type_.bit_width)
