"""`ZoneMap`: stored bounds of runs of rows, checked when they are read.

A zone map is one Arrow IPC stream: schema, one record batch, end. Columns with default content are omitted
(`OPTIONAL`), and counts have the narrowest type. Source: docs/format/zone_maps.md;
ColumnEncoding.ZoneIndex.zone_map_buffer.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.arrays.plain_numbers import as_array, as_numbers
from lance_arrow.engine import NativeZones
from lance_arrow.errors import CorruptFileError
from lance_arrow.io import Bytes
from lance_arrow.late_arrow import pc
from lance_arrow.settings import Limits
from lance_arrow.statistics.zone_streams import COUNT_TYPES, FLAGS, OPTIONAL, StoredZones, read_stream
from lance_arrow.statistics.zone_types import COUNTS, bounds_type, form_of, is_repeated, zones_schema

_OPTIONS = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V5)


class ZoneMap:
    """Bounds of the zones of one leaf.

    Parameters
    ----------
    zones
        One row per zone, of `zones_schema`:

        ``min``, ``max``
            Lower and upper bound of all values that are neither null nor NaN. Null if there is no such value; ``max``
            is also null if no bound of the allowed length exists.
        ``min_exact``, ``max_exact``
            Whether the bound is a value of the zone.
        ``null_count``, ``nan_count``
            Visible items that are null (or inside a null struct), and that are NaN. Null if unknown.
        ``row_count``
            Rows of the file.
        ``value_count``
            Visible items: for leaves outside lists one per row. For leaves inside lists, those of all lists that are
            not null. Items under null or empty lists are not counted.
    rows_per_zone
        Rows of every zone but the last.
    is_repeated
        Whether the leaf is inside lists; counts and bounds are then of items, not of rows.
    is_partial
        Whether some values are unknown that could be computed from the column.

    Attributes
    ----------
    low, high
        Columns ``min`` and ``max`` of `zones`.
    num_zones
        Rows of `zones`.
    cast
        The same zones with bounds of other types, cached by users of the map; None if the cast is impossible.
    """

    is_partial = False

    def __init__(
        self, zones: pa.RecordBatch, rows_per_zone: int, is_repeated: bool, *, is_partial: bool = False
    ) -> None:
        self._of(StoredZones(zones.num_rows, dict(zip(zones.schema.names, zones.columns, strict=True)), {}))
        self.rows_per_zone = rows_per_zone
        self.is_repeated = is_repeated
        self.is_partial = is_partial
        self._zones: pa.RecordBatch | None = zones

    @classmethod
    def stored(cls, stored: StoredZones, rows_per_zone: int, is_repeated: bool) -> ZoneMap:
        """Build the map from stored columns; omitted columns get their default content."""
        made = cls.__new__(cls)
        made._of(stored)
        made.rows_per_zone, made.is_repeated, made._zones = rows_per_zone, is_repeated, None
        return made

    def _of(self, stored: StoredZones) -> None:
        self._stored = stored
        self.low, self.high = stored.arrays["min"], stored.arrays["max"]
        self.num_zones = stored.num_zones
        self._counts = dict(stored.counts)
        self.cast: dict[tuple[pa.DataType, ...], NativeZones | None] = {}

    @property
    def zones(self) -> pa.RecordBatch:
        """All columns; most zone predicates need few of them, and no batch."""
        if self._zones is None:
            arrays = dict(self._stored.arrays)
            arrays.setdefault("min_exact", _are_valid(self.low))
            arrays.setdefault("max_exact", _are_valid(self.high))
            arrays.update({name: as_array(self.counts(name)) for name in COUNTS})
            schema = zones_schema(self.low.type)
            self._zones = pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)
        return self._zones

    @property
    def nbytes(self) -> int:
        return int(self.zones.nbytes)

    def are_exact(self, bound: str) -> NDArray[np.bool_]:
        """Return flags of the zones that hold the bound, ``"min"`` or ``"max"``, as a value, ``(num_zones,) bool``."""
        stored = self._stored.arrays.get(f"{bound}_exact")
        flags = _are_valid(self._stored.arrays[bound]) if stored is None else stored
        found: NDArray[np.bool_] = flags.to_numpy(zero_copy_only=False).astype(np.bool_)
        return found

    def counts(self, name: str) -> NDArray[np.int64]:
        """Return one of the counts, ``(num_zones,) int64``; 0 if unknown."""
        found = self._counts.get(name)
        if found is None:
            if name in self._stored.arrays:
                column = self._stored.arrays[name]
                found = as_numbers(column.fill_null(0) if column.null_count else column)
            elif name == "value_count":
                found = self.counts("row_count")
            else:
                found = np.zeros(self.num_zones, np.int64)
            self._counts[name] = found
        return found

    def may_have(self, name: str) -> NDArray[np.bool_]:
        """Return flags of the zones with a count that is not 0, or unknown, ``(num_zones,) bool``."""
        found = self.counts(name) > 0
        stored = self._stored.arrays.get(name)
        if stored is not None and stored.null_count:
            found |= stored.is_null().to_numpy(zero_copy_only=False)
        return found

    @cached_property
    def flags(self) -> NDArray[np.uint8]:
        """Kinds of values that may occur in each zone, in the form of `NativeZones`."""
        if self.counts_nothing_but_values:
            return np.ones(self.num_zones, np.uint8)
        nulls = self.counts("null_count")
        flags = (self.counts("value_count") > nulls + self.counts("nan_count")).view(np.uint8)
        flags |= self.may_have("null_count").view(np.uint8) << 1
        if pa.types.is_floating(self.low.type):
            flags |= self.may_have("nan_count").view(np.uint8) << 2
        return flags

    @cached_property
    def native(self) -> NativeZones:
        """The zones for native predicates."""
        form = form_of(self.low.type)
        assert form is not None
        return NativeZones(self.low, self.high, *form, self.flags)

    @property
    def counts_nothing_but_values(self) -> bool:
        """Whether the map stores that no item is null or NaN, and that each row has one."""
        return self._stored.counts.keys() == {"row_count"}


def encode_zones(zones: pa.RecordBatch) -> bytes:
    """Serialize a zone map.

    Parameters
    ----------
    zones
        Result of `ZoneBuilder.finish`.

    Returns
    -------
    bytes
        An IPC stream; equal zones give equal bytes.
    """
    columns = {name: zones.column(name) for name in zones.schema.names}
    kept = {name: column for name, column in columns.items() if not _has_default_content(name, columns)}
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
        Leaf of the zone map.
    limits
        Its ``max_metadata_bytes`` limits the buffer.
    rows_per_zone, num_rows
        From the column's description, and from the file.

    Returns
    -------
    ZoneMap or None
        None if the data is not an Arrow stream (another writer's zone map), and for leaves without bounds.

    Raises
    ------
    CorruptFileError
        The stream is damaged, has other columns than a zone map of this leaf, or contradicts itself or the file.
    ResourceLimitError
        The buffer is larger than the limit.
    """
    limits.check("max_metadata_bytes", len(data))
    bounds = bounds_type(leaf)
    stored = None if bounds is None else read_stream(data.tobytes(), bounds)
    if bounds is None or stored is None:
        return None
    found = ZoneMap.stored(stored, rows_per_zone, is_repeated(leaf))
    _check_counts(found, num_rows)
    _check_bounds(found)
    return found


def _has_default_content(name: str, columns: dict[str, pa.Array]) -> bool:
    """Return whether a column has the default content of an omitted column."""
    if name not in OPTIONAL:
        return False
    column = columns[name]
    if name == "value_count":
        return bool(column.equals(columns["row_count"]))
    if name in FLAGS:
        has_values = columns[name.removesuffix("_exact")].is_valid()
        return bool(column.equals(has_values))
    return not pc.max(column).as_py()


def _are_valid(column: pa.Array) -> pa.Array:
    """Return flags of the values that are not null, as `Array.is_valid` does, which imports `pyarrow.compute`."""
    if column.null_count in (0, len(column)):
        flags = pa.py_buffer((b"\0" if column.null_count else b"\xff") * (len(column) // 8 + 1))
        return pa.Array.from_buffers(pa.bool_(), len(column), [None, flags])
    return pa.Array.from_buffers(pa.bool_(), len(column), [None, column.buffers()[0]], offset=column.offset)


def _narrow(column: pa.Array) -> pa.Array:
    largest = pc.max(column).as_py() or 0
    return column.cast(next(type_ for type_ in COUNT_TYPES if largest < 1 << type_.bit_width))


def _compact(column: pa.Array) -> pa.Array:
    """Copy a column without unused bytes around slices, and with zeros in the slots of nulls."""
    if not column.null_count:
        return pa.concat_arrays([column])
    return column.take(pa.array(np.arange(len(column))))


def _check_counts(found: ZoneMap, num_rows: int) -> None:
    rows, items = found.counts("row_count"), found.counts("value_count")
    num_zones, step = -(-num_rows // found.rows_per_zone), found.rows_per_zone
    if found.num_zones != num_zones:
        raise CorruptFileError(f"the zone map has {found.num_zones} zones, expected {num_zones} for {num_rows} rows")
    if num_zones and ((rows[:-1] != step).any() or rows[-1] != num_rows - (num_zones - 1) * step):
        raise CorruptFileError(f"the zones of the zone map do not have {step} rows each")
    if found.counts_nothing_but_values:
        return
    nulls, nans = found.counts("null_count"), found.counts("nan_count")
    # Each is checked separately first, so that their sum cannot overflow.
    if ((nulls > items) | (nans > items - np.minimum(nulls, items))).any():
        raise CorruptFileError("the zone map counts more nulls than items")
    if not found.is_repeated and (items != rows).any():
        raise CorruptFileError("the zone map does not count one item per row")


def _check_bounds(found: ZoneMap) -> None:
    if not pa.types.is_floating(found.low.type) and found.counts("nan_count").any():
        raise CorruptFileError("the zone map counts NaN among values that cannot be NaN")
    fault = found.native.fault
    if fault is not None:
        raise CorruptFileError(f"the zone map has {fault}")
