"""`FileWriter`: encoded pages into one data file, which ends with what `file_reader` begins with.

Buffers go to the sink as they come, each at a multiple of 64 bytes; only the places of pages are kept in memory.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from google.protobuf.any_pb2 import Any as WrappedMessage
from google.protobuf.message import Message

from lance_arrow.container.buffer_places import ALIGNMENT_BYTES
from lance_arrow.container.descriptions import Description
from lance_arrow.container.fields import SchemaField
from lance_arrow.container.footer import FOOTER_BYTES, FileFooter, FileVersion, footer_bytes
from lance_arrow.container.schema import LEGACY_VERSIONS, LeafColumn, column_mapping, count_columns
from lance_arrow.container.schema_messages import file_descriptor, serialized
from lance_arrow.container.written_bytes import FileTail, TailBlock, WrittenBytes
from lance_arrow.errors import InternalError, InvalidArgumentError, UnsupportedError
from lance_arrow.io import Bytes, ByteSink
from lance_arrow.proto import file_schema_pb2, file_v2_pb2

_PADDING = b"\x48" * ALIGNMENT_BYTES
_WRITTEN_VERSIONS = (FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2, FileVersion.V2_3)
_ENTRY = struct.Struct("<QQ")


@dataclass(frozen=True, slots=True)
class _Place:
    position: int
    size_bytes: int


class FileWriter:
    """Writes the container of one file; for one thread at a time.

    Parameters
    ----------
    sink
        Where to; nothing has been written to it. The caller closes it after `finish`: until then no file exists.
    version
        2.0, 2.1, 2.2 or 2.3.
    fields
        Top-level fields of the schema, numbered.
    schema_metadata
        Metadata of the schema.
    block_sums
        Told of every buffer, and asked for a global buffer of its own at the end; None for none.

    Raises
    ------
    UnsupportedError
        Another version, or a type that this version has not; the column is named.
    """

    def __init__(
        self,
        sink: ByteSink,
        version: FileVersion,
        fields: Sequence[SchemaField],
        schema_metadata: Mapping[str, bytes] | None = None,
        *,
        block_sums: WrittenBytes | None = None,
    ) -> None:
        if version not in _WRITTEN_VERSIONS:
            raise UnsupportedError(f"files of version {version} are read, not written; expected 2.0 to 2.3")
        if sink.position:
            raise InvalidArgumentError(f"{sink.position} bytes precede the file in its sink", path=sink.name)
        leaves = column_mapping(fields, version)
        self.version = version
        self.num_columns = count_columns(leaves)
        self._sink = sink
        self._fields = tuple(fields)
        self._schema_metadata = dict(schema_metadata or {})
        self._block_sums = block_sums
        self._lengths_per_row: dict[int, int | None] = {}
        self._paths: dict[int, str] = {}
        self._leaves = {leaf.column: leaf for leaf in leaves}
        for leaf in leaves:
            self._expect(leaf)
        self._columns = [file_v2_pb2.ColumnMetadata() for _ in range(self.num_columns)]
        self._lengths = [0] * self.num_columns
        self._global_buffers: list[_Place] = []
        self._zone_maps: list[file_schema_pb2.GlobalZoneMap] = []
        self._is_finished = False

    def _expect(self, leaf: LeafColumn) -> None:
        """Note the columns of a leaf and of what lies above it; nothing tells how many items lists have in 2.0."""
        self._paths[leaf.column] = leaf.path
        is_legacy = self.version in LEGACY_VERSIONS
        in_list = is_legacy and any("list" in above.kind.value for above in leaf.ancestors)
        self._lengths_per_row[leaf.column] = None if in_list else leaf.lengths_per_row
        for depth, above in enumerate(leaf.ancestors):
            if above.header_column is not None:
                below_list = any("list" in outer.kind.value for outer in leaf.ancestors[depth + 1 :])
                self._paths[above.header_column] = above.path
                self._lengths_per_row[above.header_column] = None if below_list else 1

    def leaf(self, column: int) -> LeafColumn:
        """Return the leaf of a physical column."""
        return self._leaves[column]

    def place(self, buffer: Bytes) -> int:
        """Write bytes that no page counts among its buffers (a blob), and return their absolute position."""
        self._check_open()
        (place,) = self._append([buffer])
        if self._block_sums is not None:
            self._block_sums.placed(place.position, buffer)
        return place.position

    def add_page(
        self,
        column: int,
        message: Message | Description,
        buffers: Sequence[Bytes],
        *,
        length: int,
        priority: int,
        distribution: str = "",
    ) -> None:
        """Write the next page of a column.

        Parameters
        ----------
        column
            Number of the physical column.
        message
            Layout message of the page; of a page that is copied, its description.
        buffers
            Its buffers, in the layout's order; empty ones keep their place.
        length
            Rows, as the column counts them (`PageMeta.num_rows`). Source: Page.length.
        priority
            First top-level row. Source: Page.priority.
        distribution
            What to install to read the page, for layouts outside the format: the authority of the type URL.
        """
        meta = self._column(column)
        places = self._append(buffers)
        if self._block_sums is not None:
            for place, buffer in zip(places, buffers, strict=True):
                self._block_sums.page_buffer(column, place.position, buffer)
        meta.pages.add(
            buffer_offsets=[place.position for place in places],
            buffer_sizes=[place.size_bytes for place in places],
            length=length,
            encoding=_wrapped(message) if isinstance(message, Description) else _described(message, distribution),
            priority=priority,
        )
        self._lengths[column] += length

    def set_column(self, column: int, message: Message, buffers: Sequence[Bytes] = ()) -> None:
        """Say what the column as a whole is, and write the buffers of it; once for every column.

        Parameters
        ----------
        column
            Number of the physical column.
        message
            Column message (`ColumnEncoding`).
        buffers
            Buffers of the column. Source: ColumnMetadata.buffer_offsets.
        """
        meta = self._column(column)
        if meta.HasField("encoding"):
            raise InternalError("the column was described before", column=self._paths[column], path=self._sink.name)
        places = self._append(buffers)
        if self._block_sums is not None:
            for place, buffer in zip(places, buffers, strict=True):
                self._block_sums.column_buffer(column, place.position, buffer)
        meta.encoding.CopyFrom(_described(message))
        meta.buffer_offsets.extend(place.position for place in places)
        meta.buffer_sizes.extend(place.size_bytes for place in places)

    def add_global_buffer(self, data: Bytes) -> int:
        """Write a buffer that belongs to the whole file, and return its index; 0 is the descriptor's."""
        self._check_open()
        self._global_buffers.extend(self._append([data]))
        index = len(self._global_buffers)
        if self._block_sums is not None:
            self._block_sums.global_buffer(index, self._global_buffers[-1].position, data)
        return index

    def add_zone_map(self, column: int, rows_per_zone: int, data: Bytes) -> None:
        """Write the zone map of a column as a global buffer, and say so in the descriptor."""
        index = self.add_global_buffer(data)
        place = file_schema_pb2.GlobalZoneMap(column=column, rows_per_zone=rows_per_zone, global_buffer=index)
        self._zone_maps.append(place)

    def finish(self, num_rows: int) -> None:
        """Write everything behind the data region; nothing else may be called after this.

        Parameters
        ----------
        num_rows
            Rows of the file.

        Raises
        ------
        InternalError
            A column is not described, or its pages do not have as many rows.
        """
        self._check_open()
        self._check_columns(num_rows)
        self._is_finished = True
        descriptor = file_descriptor(self._fields, self._schema_metadata, num_rows)
        descriptor.zone_maps.extend(self._zone_maps)
        end = _FileEnd(self.version, descriptor, tuple(serialized(meta) for meta in self._columns))
        self._align()
        if self._block_sums is not None:
            self._append_sums(self._block_sums, end)
        tail = end.tail(self._sink.position, self._global_buffers)
        self._sink.write_many([block.data for block in tail.blocks()])

    def _append_sums(self, sums: WrittenBytes, end: _FileEnd) -> None:
        """Write the observer's buffer in front of what it covers."""
        position = self._sink.position
        sums.mark(end.descriptor, len(self._global_buffers) + 1)
        num_bytes = sums.num_bytes(end.tail(position, [*self._global_buffers, _Place(position, 0)]))
        buffers = [*self._global_buffers, _Place(position, num_bytes)]
        data = sums.encode(end.tail(position + _padded(num_bytes), buffers))
        if len(data) != num_bytes:
            raise InternalError(f"the checksums have {len(data)} bytes, {num_bytes} were announced")
        self._global_buffers += self._append([np.frombuffer(data, np.uint8)])

    def _append(self, buffers: Sequence[Bytes]) -> list[_Place]:
        """Write buffers, each at a multiple of 64 and filled up to the next one."""
        self._align()
        position = self._sink.position
        places: list[_Place] = []
        parts: list[Bytes | bytes] = []
        for buffer in buffers:
            size_bytes = buffer.nbytes
            places.append(_Place(position, size_bytes))
            parts += (buffer, _PADDING[: _padded(size_bytes) - size_bytes])
            position += _padded(size_bytes)
        self._sink.write_many(parts)
        return places

    def _align(self) -> None:
        """Go on at a multiple of 64."""
        position = self._sink.position
        self._sink.write(_PADDING[: _padded(position) - position])

    def _column(self, column: int) -> file_v2_pb2.ColumnMetadata:
        self._check_open()
        if not 0 <= column < self.num_columns:
            raise InternalError(f"there is no column {column}, the file has {self.num_columns}", path=self._sink.name)
        return self._columns[column]

    def _check_open(self) -> None:
        if self._is_finished:
            raise InvalidArgumentError("the file is finished", path=self._sink.name)

    def _check_columns(self, num_rows: int) -> None:
        for column, meta in enumerate(self._columns):
            path = self._paths[column]
            if not meta.HasField("encoding"):
                raise InternalError("the column was never described", column=path, path=self._sink.name)
            per_row = self._lengths_per_row[column]
            expected = None if per_row is None else num_rows * per_row
            if expected is not None and self._lengths[column] != expected:
                raise InternalError(
                    f"the pages have {self._lengths[column]} rows, expected {expected}",
                    column=path,
                    path=self._sink.name,
                )


@dataclass(frozen=True, slots=True)
class _FileEnd:
    """What the file ends with, places left open."""

    version: FileVersion
    descriptor: file_schema_pb2.FileDescriptor
    columns: tuple[bytes, ...]

    def tail(self, position: int, global_buffers: Sequence[_Place]) -> FileTail:
        """Lay the blocks from `position` on; `global_buffers` are all but the descriptor."""
        descriptor = TailBlock(position, serialized(self.descriptor))
        columns, stop = [], descriptor.stop
        for data in self.columns:
            columns.append(TailBlock(stop, data))
            stop += len(data)
        column_table = TailBlock(stop, b"".join(_ENTRY.pack(one.position, len(one.data)) for one in columns))
        buffers = [_Place(position, len(descriptor.data)), *global_buffers]
        buffer_table = TailBlock(
            column_table.stop, b"".join(_ENTRY.pack(one.position, one.size_bytes) for one in buffers)
        )
        footer = FileFooter(
            version=self.version,
            file_size=buffer_table.stop + FOOTER_BYTES,
            first_column_position=descriptor.stop,
            column_table_position=column_table.position,
            buffer_table_position=buffer_table.position,
            num_columns=len(columns),
            num_global_buffers=len(buffers),
        )
        return FileTail(
            descriptor=descriptor,
            columns=tuple(columns),
            column_table=column_table,
            buffer_table=buffer_table,
            footer=TailBlock(buffer_table.stop, footer_bytes(footer)),
        )


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def _described(message: Message, distribution: str = "") -> file_v2_pb2.Encoding:
    return _wrapped(Description(message.DESCRIPTOR.full_name, serialized(message), distribution))


def _wrapped(description: Description) -> file_v2_pb2.Encoding:
    """Wrap a description as pages and columns hold it. Source: DirectEncoding.encoding."""
    type_url = f"{description.distribution}/{description.message}"
    wrapped = WrappedMessage(type_url=type_url, value=description.value)
    return file_v2_pb2.Encoding(direct=file_v2_pb2.DirectEncoding(encoding=serialized(wrapped)))
