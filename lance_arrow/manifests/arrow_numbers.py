"""Numbers of a small Arrow file, counted before decompression: a file of 25 KB may hold two hundred million.

"ARROW1", padding   messages: schema, record batches   footer: where these lie   i32 size of the footer   "ARROW1"
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.errors import CorruptManifestError

_MAGIC = b"ARROW1"
_BLOCK_BYTES = 24
_TYPES = (pa.uint32(), pa.int32())
_VALUE_BYTES = 4
# Buffers are padded, and validity takes one bit per value.
_SLACK_BYTES = 1024
_I32, _I64, _U16, _U32 = (struct.Struct(f"<{code}") for code in "iqHI")
# Source: File.fbs, Footer; Message.fbs, Message and RecordBatch: positions of fields in their vtables.
_BATCHES = 3
_HEADER = 2
_LENGTH, _BUFFERS, _COMPRESSION = 0, 2, 3


def read_numbers(data: bytes, check_count: Callable[[int], None]) -> NDArray[np.int64]:
    """Read the one column of an Arrow file of 32-bit numbers.

    Parameters
    ----------
    data
        The file.
    check_count
        Called with the number of values that the file declares, before any is read; raises if there are too many.

    Returns
    -------
    ndarray
        ``(n,) int64`` in the order of the file.

    Raises
    ------
    CorruptManifestError
        The bytes are not such a file, or its buffers do not have the size of its counts.
    """
    try:
        with pa.ipc.open_file(pa.BufferReader(data)) as reader:
            schema = reader.schema
        if len(schema) != 1 or schema.field(0).type not in _TYPES:
            raise CorruptManifestError(f"deleted rows are {len(schema)} columns, expected one of uint32")
        messages = [pa.ipc.read_message(pa.BufferReader(memoryview(data)[start:])) for start in _blocks(data)]
        counts = [_checked_length(message) for message in messages]
        check_count(sum(counts))
        batches = [pa.ipc.read_record_batch(message, schema) for message in messages]
        table = pa.Table.from_batches(batches, schema)
        table.validate(full=True)
    except (pa.ArrowException, OSError, EOFError, struct.error, UnicodeDecodeError) as error:
        raise CorruptManifestError(f"not an Arrow file of row offsets: {type(error).__name__}") from error
    column = table.column(0)
    if column.null_count:
        raise CorruptManifestError(f"{column.null_count} of the deleted rows are null")
    # `to_numpy` would import pandas.
    found = [np.from_dlpack(chunk) for chunk in column.chunks if len(chunk)]
    return np.concatenate([np.empty(0, np.int64), *found]).astype(np.int64)


def _blocks(data: bytes) -> list[int]:
    """Return the offsets of the record batches of an Arrow file, from its footer."""
    stop = len(data) - len(_MAGIC) - _I32.size
    start = stop - _I32.unpack_from(data, stop)[0]
    footer = data[max(start, 0) : stop]
    vector = _table(footer, _U32.unpack_from(footer, 0)[0]).get(_BATCHES)
    if vector is None:
        return []
    vector += _U32.unpack_from(footer, vector)[0]
    number = _U32.unpack_from(footer, vector)[0]
    if number > len(footer) // _BLOCK_BYTES:
        raise CorruptManifestError(f"a deletion file declares {number} record batches in {len(footer)} bytes")
    found = [_I64.unpack_from(footer, vector + 4 + _BLOCK_BYTES * at)[0] for at in range(number)]
    if any(not 0 <= start < stop for start in found):
        raise CorruptManifestError("a record batch of a deletion file lies outside of it")
    return found


def _checked_length(message: pa.ipc.Message) -> int:
    """Return the declared rows of a record batch; raises for buffers that would be larger than these rows."""
    if message.type != "record batch":
        raise CorruptManifestError(f"a deletion file has a {message.type}, expected record batches only")
    metadata, body = message.metadata.to_pybytes(), message.body
    batch = _table(metadata, _U32.unpack_from(metadata, 0)[0]).get(_HEADER)
    if batch is None:
        raise CorruptManifestError("a record batch of a deletion file has no header")
    fields = _table(metadata, batch + _U32.unpack_from(metadata, batch)[0])
    length = _I64.unpack_from(metadata, fields[_LENGTH])[0] if _LENGTH in fields else 0
    if length < 0:
        raise CorruptManifestError(f"a record batch of a deletion file has {length} rows")
    if _COMPRESSION in fields and _BUFFERS in fields:
        vector = fields[_BUFFERS] + _U32.unpack_from(metadata, fields[_BUFFERS])[0]
        data = memoryview(body)
        for number in range(_U32.unpack_from(metadata, vector)[0]):
            offset, size = struct.unpack_from("<qq", metadata, vector + 4 + 16 * number)
            declared = _I64.unpack_from(data, offset)[0] if size else 0
            if declared > length * _VALUE_BYTES + _SLACK_BYTES:
                raise CorruptManifestError(
                    f"a buffer of a deletion file declares {declared} bytes for {length} rows", detail=declared
                )
    return length


def _table(data: bytes, position: int) -> dict[int, int]:
    """Return the positions of the fields that are present in a table of a flatbuffer."""
    vtable = position - _I32.unpack_from(data, position)[0]
    if vtable < 0:
        raise CorruptManifestError("the metadata of a deletion file contradict themselves")
    size = _U16.unpack_from(data, vtable)[0]
    offsets = [_U16.unpack_from(data, vtable + at)[0] for at in range(4, size, 2)]
    return {number: position + offset for number, offset in enumerate(offsets) if offset}
