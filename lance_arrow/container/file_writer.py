"""`FileWriter`: writes encoded pages into one data file, then the metadata that `file_reader` reads.

Buffers go to the sink as they come, each at a multiple of 64 bytes; only the places of pages are kept in memory.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from lance_arrow.container.buffer_places import ALIGNMENT_BYTES
from lance_arrow.container.checksums import NO_COLUMN
from lance_arrow.container.descriptions import Description
from lance_arrow.container.file_form import FileForm
from lance_arrow.container.footer import FOOTER_BYTES, FileFooter, footer_bytes
from lance_arrow.container.schema_messages import serialized
from lance_arrow.container.written_bytes import ColumnBlocks, FileTail, TailBlock, WrittenBytes
from lance_arrow.engine import BlockSums, ColumnRecords, any_message
from lance_arrow.errors import InternalError, InvalidArgumentError
from lance_arrow.io import Bytes, ByteSink
from lance_arrow.proto import file_schema_pb2

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

    Attributes
    ----------
    records
        Metadata of the columns. What is placed natively (`append`) is recorded there by its writer.
    """

    def __init__(self, sink: ByteSink, form: FileForm, *, block_sums: WrittenBytes | None = None) -> None:
        if sink.position:
            raise InvalidArgumentError(f"{sink.position} bytes precede the file in its sink", path=sink.name)
        self.form = form
        self._sink = sink
        self._block_sums = block_sums
        self.records = ColumnRecords(form.num_columns)
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
        (position,), _ = self._append([buffer])
        if self._block_sums is not None:
            self._block_sums.placed(position, buffer)
        return position

    @property
    def position(self) -> int:
        """Where the next bytes are placed, a multiple of 64."""
        return self._sink.position

    @property
    def sums(self) -> BlockSums | None:
        """Checksums of what was placed so far; None if the file has none."""
        return None if self._block_sums is None else self._block_sums.sums

    def append_zone_maps(self, data: bytes) -> None:
        """Write zone maps of several columns, whose places were recorded in `records` for `position`."""
        self._check_open()
        buffer = np.frombuffer(data, np.uint8)
        (position,), _ = self._append([buffer])
        if self._block_sums is not None:
            self._block_sums.column_buffer(NO_COLUMN, position, buffer)

    def append(self, data: bytes) -> None:
        """Write bytes whose content was recorded in `records`, and in the observer, for `position`."""
        self._check_open()
        self._append([np.frombuffer(data, np.uint8)])

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
        self._check_column(column)
        positions, sizes = self._append(buffers)
        if self._block_sums is not None:
            for position, buffer in zip(positions, buffers, strict=True):
                self._block_sums.page_buffer(column, position, buffer)
        self.records.add_page(column, described(message, distribution), positions, sizes, length, priority)

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
        self._check_column(column)
        if self.records.is_described(column):
            raise InternalError("the column was described before", column=self.form.paths[column], path=self._sink.name)
        positions, sizes = self._append(buffers)
        if self._block_sums is not None:
            for position, buffer in zip(positions, buffers, strict=True):
                self._block_sums.column_buffer(column, position, buffer)
        self.records.describe(column, described(message), positions, sizes)

    def add_global_buffer(self, data: Bytes) -> int:
        """Write a buffer of the whole file, and return its index; 0 is the descriptor."""
        self._check_open()
        self._global_buffers.extend(map(_Place, *self._append([data])))
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
        end = _FileEnd(self.form, descriptor, *self.records.serialized())
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

    def _append(self, buffers: Sequence[Bytes]) -> tuple[list[int], list[int]]:
        """Write buffers, each padded to the next multiple of 64, where the next one begins; return places and sizes."""
        position = self._sink.position
        positions, sizes = [], []
        parts: list[Bytes | bytes] = []
        for buffer in buffers:
            size_bytes = buffer.nbytes
            padding = -size_bytes % ALIGNMENT_BYTES
            positions.append(position)
            sizes.append(size_bytes)
            parts += (buffer, _PADDING[:padding]) if padding else (buffer,)
            position += size_bytes + padding
        self._sink.write_many(parts)
        return positions, sizes

    def _check_column(self, column: int) -> None:
        self._check_open()
        if not 0 <= column < self.num_columns:
            raise InternalError(f"there is no column {column}, the file has {self.num_columns}", path=self._sink.name)

    def _check_open(self) -> None:
        if self._is_finished:
            raise InvalidArgumentError("the file is finished", path=self._sink.name)

    def _check_columns(self, num_rows: int) -> None:
        expected = self.form.lengths(num_rows)
        column = self.records.first_wrong(expected)
        if column < 0:
            return
        path = self.form.paths[column]
        if not self.records.is_described(column):
            raise InternalError("the column was never described", column=path, path=self._sink.name)
        raise InternalError(
            f"the pages have {self.records.length(column)} rows, expected {expected[column]}",
            column=path,
            path=self._sink.name,
        )


@dataclass(frozen=True, slots=True)
class _FileEnd:
    """The end of the file, without places."""

    form: FileForm
    descriptor: file_schema_pb2.FileDescriptor
    columns: bytes
    column_sizes: NDArray[np.int64]

    def tail(self, position: int, global_buffers: Sequence[_Place]) -> FileTail:
        """Place the blocks from `position` on; `global_buffers` are all but the descriptor."""
        # Messages one after another are one message: its fields come in the order of their numbers.
        descriptor = TailBlock(position, self.form.described_schema + serialized(self.descriptor))
        columns = ColumnBlocks(descriptor.stop, self.columns, self.column_sizes)
        column_table = TailBlock(columns.stop, columns.table())
        buffers = [_Place(position, len(descriptor.data)), *global_buffers]
        buffer_table = TailBlock(
            column_table.stop, b"".join(_ENTRY.pack(one.position, one.size_bytes) for one in buffers)
        )
        footer = FileFooter(
            version=self.form.version,
            file_size=buffer_table.stop + FOOTER_BYTES,
            first_column_position=descriptor.stop,
            column_table_position=column_table.position,
            buffer_table_position=buffer_table.position,
            num_columns=len(self.column_sizes),
            num_global_buffers=len(buffers),
        )
        return FileTail(
            descriptor=descriptor,
            columns=columns,
            column_table=column_table,
            buffer_table=buffer_table,
            footer=TailBlock(buffer_table.stop, footer_bytes(footer)),
        )


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def described(message: Message | Description, distribution: str = "") -> bytes:
    """Wrap a message as in pages and columns. Source: DirectEncoding.encoding."""
    if isinstance(message, Description):
        name, value, distribution = message.message, message.value, message.distribution
    else:
        name, value = message.DESCRIPTOR.full_name, serialized(message)
    return any_message(f"{distribution}/{name}".encode(), value)
