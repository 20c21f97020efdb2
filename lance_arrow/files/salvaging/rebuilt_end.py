"""The end of a damaged file, rebuilt from what its table of checksums proves.

A file ends with its table of checksums, the file descriptor, and the metadata of columns. The table of columns, the
table of global buffers, and the footer follow. These three only repeat where the others lie. So they are computed
again, and each is compared with its checksum. What does not match is not used.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lance_arrow.container.buffer_places import ALIGNMENT_BYTES
from lance_arrow.container.checksums import HEADER_BYTES, MAGIC, BufferKind, ChecksumTable, announced_bytes
from lance_arrow.container.footer import FOOTER_BYTES, TABLE_ENTRY_BYTES, FileFooter, FileVersion, footer_bytes
from lance_arrow.errors import CorruptFileError, LanceError
from lance_arrow.io import Bytes, Coalescing, Positions, RangeSource, read_end
from lance_arrow.io.source import joined
from lance_arrow.kernels import crc32c
from lance_arrow.settings import Limits

_ENTRY = struct.Struct("<QQ")
ENCODING_TAG = 0x0A
"""The first field of the metadata of every column, and of no other field there."""
_MOST_VARINT_BYTES = 10
_MOST_FIELDS = 1 << 22
_MOST_SEARCHED = 4
"""Tables that may be found in a file are compared with their checksums for so many times its bytes."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_VERSIONS = (FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2, FileVersion.V2_3)


class RebuiltSource:
    """A file with another end.

    Parameters
    ----------
    inner
        The file; `close` closes it.
    start, end
        Where the new end begins, and its bytes. What follows in the file is ignored.
    """

    def __init__(self, inner: RangeSource, start: int, end: bytes) -> None:
        self.name = inner.name
        self.coalescing: Coalescing = inner.coalescing
        self._inner = inner
        self._start = start
        self._end: Bytes = np.frombuffer(end, np.uint8)

    def size(self) -> int:
        """Return the number of bytes."""
        return self._start + len(self._end)

    def identity(self) -> Hashable | None:
        """Return None: no other source has this content."""
        return None

    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        """Read each range; see `RangeSource.read`."""
        before = self._inner.read(np.minimum(starts, self._start), np.minimum(stops, self._start))
        found = []
        for start, stop, data in zip(starts.tolist(), stops.tolist(), before, strict=True):
            end = self._end[max(start - self._start, 0) : max(stop - self._start, 0)]
            found.append(np.concatenate((data, end)) if len(end) else data)
        return found

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Read into one array; see `RangeSource.read_arena`."""
        return joined(self.read(starts, stops))

    def close(self) -> None:
        """Close the file."""
        self._inner.close()


@dataclass(frozen=True, slots=True)
class FileEnd:
    """The last bytes of a file.

    Parameters
    ----------
    start
        Where they begin in the file.
    data
        The bytes.
    """

    start: int
    data: Bytes

    @property
    def stop(self) -> int:
        """Size of the file."""
        return self.start + len(self.data)

    def cut(self, start: int, stop: int) -> bytes:
        """Return bytes by their places in the file."""
        return self.data[start - self.start : stop - self.start].tobytes()

    def crc(self, start: int, stop: int, before: int = 0) -> int:
        """Return the checksum of bytes by their places in the file, which follow bytes of the checksum `before`."""
        return crc32c(self.data[start - self.start : stop - self.start], before)


def rebuild_end(source: RangeSource, limits: Limits) -> tuple[RebuiltSource, list[str]] | None:
    """Rebuild the tables and the footer of a file with checksums.

    Parameters
    ----------
    source
        The file.
    limits
        `max_metadata_bytes` bounds the bytes that are searched for the table of checksums.

    Returns
    -------
    tuple or None
        The file with an end that matches its checksums, and what was rebuilt. None if no table of checksums is found.

    Raises
    ------
    CorruptFileError
        The descriptor contradicts its checksum, or the borders of the metadata of columns cannot be found.
    """
    size = source.size()
    data = read_end(source, min(size, limits.max_metadata_bytes))
    end = FileEnd(size - len(data), data)
    found = _find_table(end)
    if found is None:
        return None
    start, table = found
    stop = start + table.num_bytes
    first_descriptor = -(-stop // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    first_column = _stop_of_descriptor(end, first_descriptor, table)
    columns = _column_places(end, first_column, table)
    column_table_position = columns[-1][0] + columns[-1][1] if columns else first_column
    column_table = packed(columns)
    others = table.kinds == BufferKind.GLOBAL
    buffers = [
        (first_descriptor, first_column - first_descriptor),
        *zip(table.starts[others].tolist(), table.sizes[others].tolist(), strict=True),
        (start, table.num_bytes),
    ]
    buffer_table = packed(buffers)
    _prove(column_table, table.metadata.column_table, "the table of columns")
    _prove(buffer_table, table.metadata.buffer_table, "the table of global buffers")
    buffer_table_position = column_table_position + len(column_table)
    footer = _footer(table, first_column, column_table_position, buffer_table_position, len(columns), len(buffers))
    rebuilt = column_table + buffer_table + footer
    return RebuiltSource(source, column_table_position, rebuilt), _differences(
        end, column_table_position, (column_table, buffer_table, footer)
    )


def _find_table(end: FileEnd) -> tuple[int, ChecksumTable] | None:
    """Return the last table that its own checksum proves, and its position."""
    content = end.data.tobytes()
    at, left = len(content), _MOST_SEARCHED * len(content)
    while (at := content.rfind(MAGIC, 0, at)) >= 0 and left > 0:
        position = end.start + at
        num_bytes = announced_bytes(content[at : at + HEADER_BYTES])
        if position % ALIGNMENT_BYTES == 0 and num_bytes is not None and num_bytes <= len(content) - at:
            left -= num_bytes
            try:
                return position, ChecksumTable.parse(end.data[at : at + num_bytes], position, end.stop)
            except LanceError:
                # Values may hold the magic, too.
                continue
    return None


def _stop_of_descriptor(end: FileEnd, start: int, table: ChecksumTable) -> int:
    crc, at = 0, start
    for stop, _ in message_fields(end, start):
        crc, at = end.crc(at, stop, crc), stop
        if crc == table.metadata.descriptor:
            return stop
    raise CorruptFileError("the file descriptor contradicts its checksum, so that the schema is lost")


def _column_places(end: FileEnd, start: int, table: ChecksumTable) -> list[tuple[int, int]]:
    """Return position and size of the metadata of each column.

    Metadata that its checksum does not prove ends where the next field of the first kind begins. The table of columns
    proves it, or not.
    """
    places: list[tuple[int, int]] = []
    crcs = table.metadata.columns.tolist()
    first = at = start
    crc = 0
    for stop, next_tag in message_fields(end, start):
        if len(places) == len(crcs):
            break
        crc, at = end.crc(at, stop, crc), stop
        if crc == crcs[len(places)] or (next_tag == ENCODING_TAG and len(places) + 1 < len(crcs)):
            places.append((first, stop - first))
            first, crc = stop, 0
    if len(places) < len(crcs):
        raise CorruptFileError("the borders of the metadata of columns are lost", byte_range=(start, at))
    return places


def message_fields(end: FileEnd, start: int) -> Iterator[tuple[int, int]]:
    """Yield where each field of protobuf messages stops, and the byte that follows; ends where none can be read.

    Parameters
    ----------
    end
        Bytes of the file.
    start
        Where the first message begins in the file.
    """
    content, at = memoryview(end.data.tobytes()), start - end.start
    for _ in range(_MOST_FIELDS):
        if not 0 <= at < len(content):
            return
        tag, at = _varint(content, at)
        kind = tag & 7
        if kind == _VARINT:
            _, at = _varint(content, at)
        elif kind == _BYTES:
            size, at = _varint(content, at)
            at += size
        elif kind in {_FIXED64, _FIXED32}:
            at += 8 if kind == _FIXED64 else 4
        else:
            return
        if at > len(content):
            return
        yield end.start + at, content[at] if at < len(content) else -1


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    """Return a number and where it stops; behind the end where it is none."""
    number = 0
    for shift, byte in enumerate(content[at : at + _MOST_VARINT_BYTES]):
        number |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return number, at + shift + 1
    return 0, len(content) + 1


def _footer(table: ChecksumTable, first: int, columns: int, buffers: int, num_columns: int, num_buffers: int) -> bytes:
    """Return the footer of the version that its checksum proves."""
    for version in _VERSIONS:
        data = footer_bytes(
            FileFooter(
                version=version,
                file_size=buffers + TABLE_ENTRY_BYTES * num_buffers + FOOTER_BYTES,
                first_column_position=first,
                column_table_position=columns,
                buffer_table_position=buffers,
                num_columns=num_columns,
                num_global_buffers=num_buffers,
            )
        )
        if _crc(data) == table.metadata.footer:
            return data
    raise CorruptFileError("the rebuilt footer contradicts its checksum")


def packed(places: Sequence[tuple[int, int]]) -> bytes:
    """Return a table of positions and sizes."""
    return b"".join(_ENTRY.pack(*place) for place in places)


def _prove(data: bytes, crc: int, what: str) -> None:
    if _crc(data) != crc:
        raise CorruptFileError(f"{what} cannot be rebuilt: it contradicts its checksum")


def _crc(data: bytes) -> int:
    return crc32c(np.frombuffer(data, np.uint8))


def _differences(end: FileEnd, position: int, parts: Sequence[bytes]) -> list[str]:
    """Name the parts that differ from what the file holds."""
    said = []
    for name, part in zip(("the table of columns", "the table of global buffers", "the footer"), parts, strict=True):
        first = position - end.start
        if end.data[first : first + len(part)].tobytes() != part:
            said.append(name)
        position += len(part)
    if position != end.start + len(end.data):
        said.append("the size of the file")
    return said
