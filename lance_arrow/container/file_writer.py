"""`FileWriter`: writes encoded pages into one data file, then the metadata that `file_reader` reads.

Buffers go to the sink as they come, each at a multiple of 64 bytes; only the places of pages are kept in memory.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from google.protobuf.any_pb2 import Any as WrappedMessage
from google.protobuf.message import Message

from lance_arrow.container.buffer_places import ALIGNMENT_BYTES
from lance_arrow.container.descriptions import Description
from lance_arrow.container.file_form import FileForm
from lance_arrow.container.footer import FOOTER_BYTES, FileFooter, FileVersion, footer_bytes
from lance_arrow.container.schema_messages import serialized
from lance_arrow.container.written_bytes import FileTail, TailBlock, WrittenBytes
from lance_arrow.errors import InternalError, InvalidArgumentError
from lance_arrow.io import Bytes, ByteSink
from lance_arrow.proto import file_schema_pb2, file_v2_pb2

_PADDING = b"\x48" * ALIGNMENT_BYTES
_ENTRY = struct.Struct("<QQ")


class _Place(NamedTuple):
    position: int
    size_bytes: int


class FileWriter:
    """Writes the container of one file; for one thread at a time.

    Parameters
    ----------
    sink
        Sink of the file, empty so far. The caller closes it after `finish`: until then no file exists.
    form
        Version, columns and descriptor.
    block_sums
        Observes every buffer, and may add a global buffer at the end; None for none.
    """

    def __init__(self, sink: ByteSink, form: FileForm, *, block_sums: WrittenBytes | None = None) -> None:
        if sink.position:
            raise InvalidArgumentError(f"{sink.position} bytes precede the file in its sink", path=sink.name)
        self.form = form
        self._sink = sink
        self._block_sums = block_sums
        self._columns = [file_v2_pb2.ColumnMetadata() for _ in range(form.num_columns)]
        self._lengths = [0] * form.num_columns
        self._global_buffers: list[_Place] = []
        self._zone_maps: list[file_schema_pb2.GlobalZoneMap] = []
        self._is_finished = False

    @property
    def num_columns(self) -> int:
        """Physical columns."""
        return self.form.num_columns

    def place(self, buffer: Bytes) -> int:
        """Write bytes that are not buffers of a page (a blob), and return their absolute position."""
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
            Layout message of the page, or the description of a page that is copied.
        buffers
            Its buffers, in the layout's order; empty ones keep their number.
        length
            Rows, as the column counts them (`PageMeta.num_rows`). Source: Page.length.
        priority
            First top-level row. Source: Page.priority.
        distribution
            Name of the distribution that reads the page, for layouts outside the format: the authority of the type URL.
        """
        meta = self._column(column)
        places = self._append(buffers)
        if self._block_sums is not None:
            for place, buffer in zip(places, buffers, strict=True):
                self._block_sums.page_buffer(column, place.position, buffer)
        page = meta.pages.add(
            buffer_offsets=[place.position for place in places],
            buffer_sizes=[place.size_bytes for place in places],
            length=length,
            priority=priority,
        )
        page.encoding.direct.encoding = _described(message, distribution)
        self._lengths[column] += length

    def set_column(self, column: int, message: Message, buffers: Sequence[Bytes] = ()) -> None:
        """Set the description of the column as a whole, and write its buffers; once for every column.

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
            raise InternalError("the column was described before", column=self.form.paths[column], path=self._sink.name)
        places = self._append(buffers)
        if self._block_sums is not None:
            for place, buffer in zip(places, buffers, strict=True):
                self._block_sums.column_buffer(column, place.position, buffer)
        meta.encoding.direct.encoding = _described(message)
        meta.buffer_offsets.extend([place.position for place in places])
        meta.buffer_sizes.extend([place.size_bytes for place in places])

    def add_global_buffer(self, data: Bytes) -> int:
        """Write a buffer of the whole file, and return its index; 0 is the descriptor."""
        self._check_open()
        self._global_buffers.extend(self._append([data]))
        index = len(self._global_buffers)
        if self._block_sums is not None:
            self._block_sums.global_buffer(index, self._global_buffers[-1].position, data)
        return index

    def add_zone_map(self, column: int, rows_per_zone: int, data: Bytes) -> None:
        """Write the zone map of a column as a global buffer, and record it in the descriptor."""
        index = self.add_global_buffer(data)
        place = file_schema_pb2.GlobalZoneMap(column=column, rows_per_zone=rows_per_zone, global_buffer=index)
        self._zone_maps.append(place)

    def finish(self, num_rows: int) -> None:
        """Write everything behind the data region; no other method may be called afterwards.

        Parameters
        ----------
        num_rows
            Rows of the file.

        Raises
        ------
        InternalError
            A column is not described, or its pages have another number of rows.
        """
        self._check_open()
        self._check_columns(num_rows)
        self._is_finished = True
        descriptor = self.form.descriptor(num_rows)
        descriptor.zone_maps.extend(self._zone_maps)
        end = _FileEnd(self.form.version, descriptor, tuple(serialized(meta) for meta in self._columns))
        if self._block_sums is None:
            tail = end.tail(self._sink.position, self._global_buffers)
        else:
            tail = self._append_sums(self._block_sums, end)
        self._sink.write_many([block.data for block in tail.blocks()])

    def _append_sums(self, sums: WrittenBytes, end: _FileEnd) -> FileTail:
        """Write the observer's buffer before the blocks that it covers, and return these blocks."""
        position = self._sink.position
        sums.mark(end.descriptor, len(self._global_buffers) + 1)
        num_bytes = sums.num_bytes(end.tail(position, [*self._global_buffers, _Place(position, 0)]))
        tail = end.tail(position + _padded(num_bytes), [*self._global_buffers, _Place(position, num_bytes)])
        data = sums.encode(tail)
        if len(data) != num_bytes:
            raise InternalError(f"the checksums have {len(data)} bytes, {num_bytes} were announced")
        self._append([np.frombuffer(data, np.uint8)])
        return tail

    def _append(self, buffers: Sequence[Bytes]) -> list[_Place]:
        """Write buffers, each padded to the next multiple of 64, where the next one begins."""
        position = self._sink.position
        places: list[_Place] = []
        parts: list[Bytes | bytes] = []
        for buffer in buffers:
            size_bytes = buffer.nbytes
            padding = -size_bytes % ALIGNMENT_BYTES
            places.append(_Place(position, size_bytes))
            parts += (buffer, _PADDING[:padding]) if padding else (buffer,)
            position += size_bytes + padding
        self._sink.write_many(parts)
        return places

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
            path = self.form.paths[column]
            if not meta.HasField("encoding"):
                raise InternalError("the column was never described", column=path, path=self._sink.name)
            per_row = self.form.lengths_per_row[column]
            expected = None if per_row is None else num_rows * per_row
            if expected is not None and self._lengths[column] != expected:
                raise InternalError(
                    f"the pages have {self._lengths[column]} rows, expected {expected}",
                    column=path,
                    path=self._sink.name,
                )


@dataclass(frozen=True, slots=True)
class _FileEnd:
    """The end of the file, without places."""

    version: FileVersion
    descriptor: file_schema_pb2.FileDescriptor
    columns: tuple[bytes, ...]

    def tail(self, position: int, global_buffers: Sequence[_Place]) -> FileTail:
        """Place the blocks from `position` on; `global_buffers` are all but the descriptor."""
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


def _described(message: Message | Description, distribution: str = "") -> bytes:
    """Wrap a message as in pages and columns. Source: DirectEncoding.encoding."""
    if isinstance(message, Description):
        name, value, distribution = message.message, message.value, message.distribution
    else:
        name, value = message.DESCRIPTOR.full_name, serialized(message)
    return serialized(WrappedMessage(type_url=f"{distribution}/{name}", value=value))
