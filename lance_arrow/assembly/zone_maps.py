"""`ZoneMap`: bounds of runs of rows as they are stored, checked when they are read.

A zone map is one Arrow IPC stream: schema, one record batch, end. Columns that say nothing are left out (`_OPTIONAL`),
counts are as narrow as they can be. Source: docs/format/zone_maps.md; ColumnEncoding.ZoneIndex.zone_map_buffer.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.assembly.column_tree import LeafNode
from lance_arrow.assembly.zone_types import COUNTS, bounds_type, is_repeated, is_variable, zones_schema
from lance_arrow.errors import CorruptFileError
from lance_arrow.io import Bytes
from lance_arrow.settings import Limits

_CONTINUATION = b"\xff\xff\xff\xff"
_FLAGS = ("min_exact", "max_exact")
_OPTIONAL = (*_FLAGS, "null_count", "nan_count", "value_count")
_COUNT_TYPES = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
_OPTIONS = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V5)


@dataclass(frozen=True, slots=True, eq=False)
class ZoneMap:
    """Bounds of the zones of one leaf.

    Parameters
    ----------
    zones
        One row per zone, of `zones_schema`:

        ``min``, ``max``
            Not above, not below, any value that is neither null nor NaN. Null where there is no such value, and in
            ``max`` where no bound of the wanted length exists.
        ``min_exact``, ``max_exact``
            Whether the bound is a value of the zone.
        ``null_count``, ``nan_count``
            Visible items that are null (or below a null struct), and that are NaN.
        ``row_count``
            Rows of the file.
        ``value_count``
            Visible items: for leaves outside lists one per row; for leaves inside lists those of all lists that are
            not null. What a null or empty list hides is counted nowhere.
    rows_per_zone
        Rows of every zone but the last.
    is_repeated
        Whether the leaf lies inside lists, so that counts and bounds are of items, not of rows.
    """

    zones: pa.RecordBatch
    rows_per_zone: int
    is_repeated: bool

    @property
    def num_zones(self) -> int:
        return int(self.zones.num_rows)

    @property
    def nbytes(self) -> int:
        return int(self.zones.nbytes)

    def counts(self, name: str) -> NDArray[np.int64]:
        """Return one of the counts, ``(num_zones,) int64``."""
        found: NDArray[np.int64] = self.zones.column(name).to_numpy()
        return found


def encode_zones(zones: pa.RecordBatch) -> bytes:
    """Serialise a zone map.

    Parameters
    ----------
    zones
        As `ZoneBuilder.finish` returns it.

    Returns
    -------
    bytes
        An IPC stream; the same for the same zones.
    """
    columns = {name: zones.column(name) for name in zones.schema.names}
    kept = {name: column for name, column in columns.items() if not _says_nothing(name, columns)}
    stored = {name: _narrow(column) if name in COUNTS else _compact(column) for name, column in kept.items()}
    schema = pa.schema(
        [pa.field(name, column.type, nullable=name in ("min", "max")) for name, column in stored.items()]
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=_OPTIONS) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(list(stored.values()), schema=schema))
    return bytes(sink.getvalue().to_pybytes())


def decode_zones(data: Bytes, leaf: LeafNode, limits: Limits, *, rows_per_zone: int, num_rows: int) -> ZoneMap | None:
    """Parse and check a zone map.

    Parameters
    ----------
    data
        The zone map buffer.
    leaf
        Whose bounds they are.
    limits
        ``max_metadata_bytes`` bounds the buffer.
    rows_per_zone, num_rows
        As the column's description and the file say.

    Returns
    -------
    ZoneMap or None
        None for what is no Arrow stream, a map in somebody else's form, and for leaves that have no bounds here.

    Raises
    ------
    CorruptFileError
        The stream is damaged, has other columns than a zone map of this leaf, or contradicts itself or the file.
    ResourceLimitError
        The buffer is larger than the limit.
    """
    limits.check("max_metadata_bytes", len(data))
    bounds = bounds_type(leaf)
    raw = bytes(data)
    if bounds is None or not raw.startswith(_CONTINUATION):
        return None
    try:
        stored = _read_batch(pa.py_buffer(raw), bounds)
        stored.validate(full=True)
    except (
        pa.ArrowInvalid,
        pa.ArrowNotImplementedError,
        pa.ArrowTypeError,
        OSError,
        EOFError,
        UnicodeDecodeError,
    ) as error:
        raise CorruptFileError(f"the zone map is no Arrow stream that can be read: {error}") from error
    if any(stored.column(name).null_count for name in stored.schema.names if name not in ("min", "max")):
        raise CorruptFileError("the zone map has nulls among its counts")
    zones = _completed(stored, bounds)
    found = ZoneMap(zones, rows_per_zone, is_repeated(leaf))
    _check_counts(found, num_rows)
    _check_bounds(found, bounds)
    return found


def _says_nothing(name: str, columns: dict[str, pa.Array]) -> bool:
    """Whether a column holds what is assumed of a column that is left out."""
    if name not in _OPTIONAL:
        return False
    column = columns[name]
    if name == "value_count":
        return bool(column.equals(columns["row_count"]))
    if name in _FLAGS:
        has_values = columns[name.removesuffix("_exact")].is_valid()
        return bool(column.equals(has_values))
    return not column.to_numpy().any()


def _completed(stored: pa.RecordBatch, bounds: pa.DataType) -> pa.RecordBatch:
    """Put back what was left out, and widen the counts."""
    columns = {name: stored.column(name) for name in stored.schema.names}
    try:
        columns.update({name: columns[name].cast(pa.int64()) for name in COUNTS if name in columns})
    except pa.ArrowInvalid as error:
        raise CorruptFileError(f"the zone map counts more than 63 bits hold: {error}") from error
    zeros = pa.array(np.zeros(stored.num_rows, np.int64))
    defaults = {
        "min_exact": columns["min"].is_valid(),
        "max_exact": columns["max"].is_valid(),
        "null_count": zeros,
        "nan_count": zeros,
        "value_count": columns["row_count"],
    }
    schema = zones_schema(bounds)
    return pa.RecordBatch.from_arrays([columns.get(name, defaults.get(name)) for name in schema.names], schema=schema)


def _narrow(column: pa.Array) -> pa.Array:
    largest = int(column.to_numpy().max(initial=0))
    return column.cast(next(type_ for type_ in _COUNT_TYPES if largest < 1 << type_.bit_width))


def _compact(column: pa.Array) -> pa.Array:
    """Copy a column without what slices leave around it, and with nothing in the slots of nulls."""
    if not column.null_count:
        return pa.concat_arrays([column])
    return column.take(pa.array(np.arange(len(column))))


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
    # Compressed buffers claim sizes of their own: Arrow would allocate whatever they say.
    if _is_compressed(second.metadata):
        raise CorruptFileError("the zone map is compressed")
    return pa.ipc.read_record_batch(second, schema)


def _check_schema(schema: pa.Schema, bounds: pa.DataType) -> None:
    expected = [name for name in zones_schema(bounds).names if name not in _OPTIONAL or name in schema.names]
    if schema.names != expected:
        raise CorruptFileError(f"the zone map has columns {schema.names}, expected {expected}")
    for field in schema:
        if field.name in ("min", "max"):
            is_right = field.type == bounds
        elif field.name in _FLAGS:
            is_right = pa.types.is_boolean(field.type)
        else:
            is_right = field.type in _COUNT_TYPES
        if not is_right:
            raise CorruptFileError(f"the zone map has {field.name} of type {field.type}, the values are {bounds}")


def _is_compressed(metadata: pa.Buffer) -> bool:
    """Whether a record batch message (a flatbuffer) has field 3, ``RecordBatch.compression``.

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
    """Offset of a flatbuffer table's field from the table; 0 when it is absent."""
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


def _check_counts(found: ZoneMap, num_rows: int) -> None:
    rows, items = found.counts("row_count"), found.counts("value_count")
    num_zones, step = -(-num_rows // found.rows_per_zone), found.rows_per_zone
    if found.num_zones != num_zones:
        raise CorruptFileError(f"the zone map has {found.num_zones} zones, {num_rows} rows make {num_zones}")
    if num_zones and ((rows[:-1] != step).any() or rows[-1] != num_rows - (num_zones - 1) * step):
        raise CorruptFileError(f"the zone map has zones of other than {step} rows")
    nulls, nans = found.counts("null_count"), found.counts("nan_count")
    # Each is checked by itself first, so that their sum cannot overflow.
    if ((nulls > items) | (nans > items - np.minimum(nulls, items))).any():
        raise CorruptFileError("the zone map counts more nulls than items")
    if not found.is_repeated and (items != rows).any():
        raise CorruptFileError("the zone map counts other than one item per row")


def _check_bounds(found: ZoneMap, bounds: pa.DataType) -> None:
    zones = found.zones
    has_values = found.counts("value_count") > found.counts("null_count") + found.counts("nan_count")
    has_min, has_max = (zones.column(name).is_valid().to_numpy(zero_copy_only=False) for name in ("min", "max"))
    may_be_unbounded = is_variable(bounds)
    if (has_min != has_values).any() or (has_max & ~has_values).any():
        raise CorruptFileError("the zone map has bounds of nothing, or none of something")
    if not may_be_unbounded and (has_max != has_values).any():
        raise CorruptFileError("the zone map has no upper bound of something")
    if pa.types.is_floating(bounds):
        nans = [pc.is_nan(_comparable(zones.column(name))) for name in ("min", "max")]
        if any(pc.any(one).as_py() for one in nans):
            raise CorruptFileError("the zone map has NaN for a bound")
    elif found.counts("nan_count").any():
        raise CorruptFileError("the zone map counts NaN among values that cannot be NaN")
    order = pc.greater(_comparable(zones.column("min")), _comparable(zones.column("max")))
    if pc.any(order).as_py():
        raise CorruptFileError("the zone map has a lower bound above the upper one")


def _comparable(column: pa.Array) -> pa.Array:
    return column.cast(pa.float32()) if pa.types.is_float16(column.type) else column
