"""Stored zone maps: one Arrow IPC stream each (schema, one record batch, end), or one packed zone; read and checked.

From the messages of a stream, Arrow computes the places of its columns. Streams of the same length with the same
messages have them in the same places; similarly written files have such zone maps. `StreamLayout` caches the places.

    schema message │ batch message │ columns ...    key: both messages, the length, the type    value: places of columns
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.plain_numbers import as_numbers
from lance_arrow.errors import CorruptFileError
from lance_arrow.statistics.packed_zones import HEAD_BYTES, MAGIC, packed_places
from lance_arrow.statistics.zone_types import COUNTS, zones_schema

FLAGS = ("min_exact", "max_exact")
OPTIONAL = (*FLAGS, "null_count", "nan_count", "value_count")
COUNT_TYPES = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
_BOUNDS = ("min", "max")
_CONTINUATION = b"\xff\xff\xff\xff"
_PREFIX = struct.Struct("<4sI")
_MAX_HEAD_BYTES = 4 << 10
_MAX_LAYOUTS = 256
_INT64_MAX = np.iinfo(np.int64).max
_UNREADABLE = (
    pa.ArrowInvalid,
    pa.ArrowNotImplementedError,
    pa.ArrowTypeError,
    OSError,
    EOFError,
    UnicodeDecodeError,
)


@dataclass(frozen=True, slots=True, eq=False)
class StoredZones:
    """Stored columns of a zone map.

    Parameters
    ----------
    num_zones
        Length of each.
    arrays
        ``min``, ``max``; ``min_exact``, ``max_exact`` unless they have their default content.
    counts
        ``(num_zones,) int64``: ``row_count``; the others unless they have their default content.
    """

    num_zones: int
    arrays: Mapping[str, pa.Array]
    counts: Mapping[str, NDArray[np.int64]]


def read_stream(raw: bytes, bounds: pa.DataType) -> StoredZones | None:
    """Read a zone map.

    Parameters
    ----------
    raw
        The zone map buffer.
    bounds
        Type of the bounds.

    Returns
    -------
    StoredZones or None
        None if the data is in no form of this package, but another writer's zone map.

    Raises
    ------
    CorruptFileError
        The stream is damaged, or its columns are not those of a zone map with these bounds.
    """
    is_packed = raw.startswith(MAGIC)
    if not is_packed and not raw.startswith(_CONTINUATION):
        return None
    key = _head_of(raw), len(raw), bounds.id
    try:
        with _lock:
            layout = _layouts.get(key)
        if layout is not None and layout.bounds.equals(bounds):
            return layout.columns(raw)
        if is_packed:
            layout = StreamLayout.packed(raw, bounds)
            columns = layout.columns(raw)
            _remember(key, layout)
            return columns
        batch = _read_batch(pa.py_buffer(raw), bounds)
        batch.validate(full=True)
    except _UNREADABLE as error:
        raise CorruptFileError(f"the zone map is not a readable Arrow stream: {error}") from error
    if any(batch.column(name).null_count for name in batch.schema.names if name not in _BOUNDS):
        raise CorruptFileError("the zone map has nulls among its counts")
    names = batch.schema.names
    counts = {name: _signed(as_numbers(batch.column(name))) for name in COUNTS if name in names}
    if key[0]:
        found = StreamLayout.of(raw, bounds, batch)
        if found is not None:
            _remember(key, found)
    arrays = {name: batch.column(name) for name in (*_BOUNDS, *FLAGS) if name in names}
    return StoredZones(batch.num_rows, arrays, counts)


def _remember(key: tuple[bytes, int, int], layout: StreamLayout) -> None:
    with _lock:
        _layouts[key] = layout
        if len(_layouts) > _MAX_LAYOUTS:
            _layouts.popitem(last=False)


def stream_layout(raw: bytes, bounds: pa.DataType) -> tuple[bytes, StreamLayout] | None:
    """Return the messages of a zone map and the places of its columns; None if these cannot be reused.

    Raises the errors of `read_stream`.
    """
    key = _head_of(raw), len(raw), bounds.id
    found = _layouts.get(key)
    if found is None:
        read_stream(raw, bounds)
        found = _layouts.get(key)
    return None if found is None or not found.bounds.equals(bounds) else (key[0], found)


_Place = tuple[int, int] | None
"""Offset and size of a buffer in the stream; None if it is absent."""


@dataclass(frozen=True, slots=True, eq=False)
class StreamLayout:
    """Places of the columns in streams with the same messages and length.

    Parameters
    ----------
    bounds
        Type of the bounds.
    num_zones
        Number of zones.
    arrays
        By name: type and buffers of bounds and flags.
    counts
        By name: type and first byte of counts.
    has_checks
        Whether values of this type may be invalid, so that Arrow must validate them.
    """

    bounds: pa.DataType
    num_zones: int
    arrays: tuple[tuple[str, pa.DataType, tuple[_Place, ...]], ...]
    counts: tuple[tuple[str, np.dtype[np.unsignedinteger], int], ...]
    has_checks: bool

    @classmethod
    def of(cls, raw: bytes, bounds: pa.DataType, batch: pa.RecordBatch) -> StreamLayout | None:
        """Record where Arrow found the columns of a valid stream; None if it had to copy some."""
        whole = pa.py_buffer(raw)
        places: dict[str, tuple[_Place, ...]] = {}
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            buffers = column.buffers()
            starts = [None if one is None else one.address - whole.address for one in buffers]
            if column.offset or any(start is not None and not 0 <= start <= len(raw) for start in starts):
                return None
            places[name] = tuple(
                None if start is None or one is None else (start, one.size)
                for start, one in zip(starts, buffers, strict=True)
            )
        counts = []
        for name in COUNTS:
            if name in places:
                validity, values = places[name]
                if validity is not None or values is None:
                    return None
                counts.append((name, np.dtype(str(batch.column(name).type)), values[0]))
        names = [name for name in (*_BOUNDS, *FLAGS) if name in places]
        arrays = tuple((name, batch.column(name).type, places[name]) for name in names)
        is_plain = pa.types.is_integer(bounds) or pa.types.is_floating(bounds)
        return cls(bounds, batch.num_rows, arrays, tuple(counts), not is_plain)

    @classmethod
    def packed(cls, raw: bytes, bounds: pa.DataType) -> StreamLayout:
        """Find the columns of a map in packed form; raises `CorruptFileError` if they cannot be there."""
        arrays, counts = packed_places(raw, bounds)
        return cls(bounds, 1, arrays, counts, not (pa.types.is_integer(bounds) or pa.types.is_floating(bounds)))

    def columns(self, raw: bytes) -> StoredZones:
        """Slice the columns out of a stream; raises Arrow's errors for invalid values."""
        whole = pa.py_buffer(raw)
        arrays = {}
        for name, type_, places in self.arrays:
            buffers = [None if place is None else whole.slice(*place) for place in places]
            arrays[name] = array = pa.Array.from_buffers(type_, self.num_zones, buffers)
            if self.has_checks:
                array.validate(full=True)
        counts = {name: _signed(np.frombuffer(raw, type_, self.num_zones, start)) for name, type_, start in self.counts}
        return StoredZones(self.num_zones, arrays, counts)


_layouts: OrderedDict[tuple[bytes, int, int], StreamLayout] = OrderedDict()
_lock = Lock()


def _head_of(raw: bytes) -> bytes:
    """Return both messages of a stream, or the head of a packed zone; empty if they are missing or long."""
    if raw.startswith(MAGIC):
        return raw[:HEAD_BYTES]
    stop = 0
    for _ in range(2):
        if stop + _PREFIX.size > len(raw):
            return b""
        mark, size = _PREFIX.unpack_from(raw, stop)
        stop += _PREFIX.size + size
        if mark != _CONTINUATION or stop > min(len(raw), _MAX_HEAD_BYTES):
            return b""
    return raw[:stop]


def _signed(counts: NDArray[np.unsignedinteger]) -> NDArray[np.int64]:
    if counts.dtype == np.uint64 and len(counts) and int(counts.max()) > _INT64_MAX:
        raise CorruptFileError("the zone map counts more than 63 bits hold")
    return counts.astype(np.int64)


def _read_batch(data: pa.Buffer, bounds: pa.DataType) -> pa.RecordBatch:
    messages = pa.ipc.MessageReader.open_stream(data)
    try:
        first, second = messages.read_next_message(), messages.read_next_message()
    except StopIteration as error:
        raise CorruptFileError("the zone map ends before its record batch") from error
    if first.type != "schema" or second.type != "record batch":
        raise CorruptFileError("the zone map is not one record batch")
    schema = pa.ipc.read_schema(first)
    _check_schema(schema, bounds)
    # Compressed buffers declare their own sizes, which Arrow would allocate.
    if _is_compressed(second.metadata):
        raise CorruptFileError("the zone map is compressed")
    return pa.ipc.read_record_batch(second, schema)


def _check_schema(schema: pa.Schema, bounds: pa.DataType) -> None:
    expected = [name for name in zones_schema(bounds).names if name not in OPTIONAL or name in schema.names]
    if schema.names != expected:
        raise CorruptFileError(f"the zone map has columns {schema.names}, expected {expected}")
    for field in schema:
        if field.name in _BOUNDS:
            is_right = field.type == bounds
        elif field.name in FLAGS:
            is_right = pa.types.is_boolean(field.type)
        else:
            is_right = field.type in COUNT_TYPES
        if not is_right:
            raise CorruptFileError(f"the zone map has {field.name} of type {field.type}, but the values are {bounds}")


def _is_compressed(metadata: pa.Buffer) -> bool:
    """Return whether a record batch message (a flatbuffer) has field 3, ``RecordBatch.compression``.

    Source: Arrow's format/Message.fbs: ``Message.header`` is field 2.
    """
    raw = metadata.to_pybytes()
    try:
        (root,) = struct.unpack_from("<I", raw, 0)
        header = root + _field(raw, root, 2)
        (step,) = struct.unpack_from("<I", raw, header)
        return _field(raw, header + step, 3) != 0
    except struct.error as error:
        raise CorruptFileError("the zone map's message ends early") from error


def _field(raw: bytes, table: int, number: int) -> int:
    """Return the offset of a flatbuffer table's field from the table; 0 if it is absent."""
    (back,) = struct.unpack_from("<i", raw, table)
    vtable = table - back
    if vtable < 0:
        raise CorruptFileError("the zone map's message points before itself")
    (size,) = struct.unpack_from("<H", raw, vtable)
    place = 4 + 2 * number
    if place + 2 > size:
        return 0
    (offset,) = struct.unpack_from("<H", raw, vtable + place)
    return int(offset)
