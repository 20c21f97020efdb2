"""`ZoneReader`: zone maps of one open file, read once: all wanted ones by one coalesced read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.errors import located
from lance_arrow.io import Location
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.statistics.zone_joining import joined_maps
from lance_arrow.statistics.zone_maps import ZoneMap, decode_zones
from lance_arrow.statistics.zone_sidecar import ZoneSidecar
from lance_arrow.statistics.zone_types import bounds_type

if TYPE_CHECKING:
    from lance_arrow.scan.legacy.v0_1_statistics import V01Statistics

_MOST_SHARED_BYTES = 64 << 10


class ZoneReader:
    """Zone maps of a file; safe to share between threads.

    Parameters
    ----------
    rows
        The file.
    sidecar
        Where maps are looked for that the file has not, or in part only; nowhere when None.
    """

    def __init__(self, rows: RowReader, sidecar: ZoneSidecar | None = None) -> None:
        self._rows = rows
        self._told: V01Statistics | None = None
        if rows.file.legacy is not None:
            from lance_arrow.scan.legacy.v0_1_statistics import V01Statistics  # noqa: PLC0415 - for 0.1 alone

            self._told = V01Statistics(rows)
        self._sidecar = sidecar
        self._held: dict[int, ZoneMap | None] = {}
        self._lock = Lock()

    def get(self, leaves: Sequence[LeafNode]) -> list[ZoneMap | None]:
        """Return the zone maps of leaves, None for those without one.

        Raises
        ------
        CorruptFileError
            A map is damaged; the column is named.
        UnknownEncodingError, TruncatedReadError, ResourceLimitError
            As reading goes.
        """
        missing = [leaf for leaf in leaves if leaf.column not in self._held]
        if missing:
            with located(path=self._rows.file.name):
                found = self._read(missing)
            with self._lock:
                self._held.update(found)
        return [self._held[leaf.column] for leaf in leaves]

    @cached_property
    def _shared(self) -> SharedMaps | None:
        # The checksums, which are known with the metadata, tell which bytes a map has.
        return None if self._rows.file.checks is None else self._rows.file.derived("zone maps", SharedMaps)

    def _read(self, leaves: Sequence[LeafNode]) -> dict[int, ZoneMap | None]:
        found: dict[int, ZoneMap | None] = {leaf.column: None for leaf in leaves}
        readable = [leaf for leaf in leaves if bounds_type(leaf) is not None]
        unmapped: list[LeafNode] = []
        places: list[tuple[LeafNode, int, int, int]] = []
        for leaf, meta in zip(readable, self._rows.described(readable), strict=True):
            bound = self._rows.runtime.binder.column(meta.message, meta.description, len(meta.buffer_sizes))
            elsewhere = self._rows.file.zone_maps.get(leaf.column)
            if bound.zone_map is None and elsewhere is not None:
                rows_per_zone, place = elsewhere
                self._rows.runtime.settings.limits.check("max_metadata_bytes", place.stop - place.start)
                places.append((leaf, rows_per_zone, place.start, place.stop))
            elif bound.zone_map is None:
                unmapped.append(leaf)
            elif not bound.holds_descriptors:
                start = int(meta.buffer_offsets[bound.zone_map.column_buffer])
                size = int(meta.buffer_sizes[bound.zone_map.column_buffer])
                self._rows.runtime.settings.limits.check("max_metadata_bytes", size)
                places.append((leaf, bound.zone_map.rows_per_zone, start, start + size))
        shared = self._shared
        if shared is not None:
            for leaf, *_ in places:
                found[leaf.column] = shared.get(leaf)
            places = [place for place in places if found[place[0].column] is None]
        buffers = self._rows.file.buffers([(start, stop) for _, _, start, stop in places])
        limits, num_rows = self._rows.runtime.settings.limits, self._rows.num_rows
        for (leaf, rows_per_zone, start, stop), data in zip(places, buffers, strict=True):
            with located(column=leaf.path, byte_range=(start, stop), stage="reading a zone map"):
                made = decode_zones(data, leaf, limits, rows_per_zone=rows_per_zone, num_rows=num_rows)
            found[leaf.column] = made
            if shared is not None and made is not None:
                shared.put(leaf, made, stop - start)
        if self._told is not None:
            found.update(self._told.get(unmapped))
        lacking = [leaf for leaf in unmapped if is_lacking(found[leaf.column])]
        if lacking and self._sidecar is not None:
            for column, beside in self._sidecar.get(lacking).items():
                own = found[column]
                found[column] = beside if own is None else joined_maps(own, beside)
        return found


class SharedMaps:
    """Zone maps of one file, each time that it is opened; as many as are small."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, pa.DataType | None], ZoneMap] = {}
        self._held_bytes = 0

    def get(self, leaf: LeafNode) -> ZoneMap | None:
        """Return the map of a column, as far as it is known."""
        return self._held.get((leaf.column, bounds_type(leaf)))

    def put(self, leaf: LeafNode, zone_map: ZoneMap, num_bytes: int) -> None:
        """Keep the map of a column that takes so many bytes, unless all together would take too many."""
        self._held_bytes += num_bytes
        if self._held_bytes <= _MOST_SHARED_BYTES:
            self._held[leaf.column, bounds_type(leaf)] = zone_map


def is_lacking(zone_map: ZoneMap | None) -> bool:
    """Whether reading the values would tell more than a map, or than none, does."""
    return zone_map is None or zone_map.is_partial


def zone_reader(rows: RowReader, location: Location | None) -> ZoneReader:
    """Make what reads zone maps of a file, also from beside it when it is known where that is."""
    if location is None:
        return ZoneReader(rows)
    return ZoneReader(rows, ZoneSidecar(rows.file, location, rows.runtime.settings.limits))
