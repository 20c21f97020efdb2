"""Zone maps beside a file without its own: ``_<file>.zones``, bound to the file from which it was built.

header (40 bytes) ─► entries (32 bytes each) ─► CRC32C of both ─► zone maps from `encode_zones`

Source: docs/format/zone_maps.md, "Beside the file". A sidecar is a hint: a damaged sidecar, or that of another file, is
ignored, and the scan reads all rows.
"""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from threading import Lock

import numpy as np

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.errors import LanceError
from lance_arrow.io import Location, RangeSource, open_source, read_coalesced
from lance_arrow.io.trees import modified_ns
from lance_arrow.kernels import crc32c
from lance_arrow.settings import Limits
from lance_arrow.statistics.zone_maps import ZoneMap, decode_zones

MAGIC = b"LAZONES\x01"
_HEADER = struct.Struct("<8sQQIIII")
_ENTRY = struct.Struct("<IIQQII")
_CRC_BYTES = 4
_HEAD_BYTES = 64 << 10
_TAIL_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class FileBinding:
    """Properties of the file from which a sidecar was built.

    Parameters
    ----------
    size_bytes, num_rows
        Size and rows of the file.
    tail_crc, tail_bytes
        CRC32C of the file's last bytes, and their number: footer, tables and most metadata.
    """

    size_bytes: int
    num_rows: int
    tail_crc: int
    tail_bytes: int

    @classmethod
    def of(cls, file: LanceFileReader) -> FileBinding:
        """Return the properties of an open file."""
        tail, size = file.tail, file.footer.file_size
        if len(tail) < min(size, _TAIL_BYTES):
            (tail,) = file.source.read(np.array([max(size - _TAIL_BYTES, 0)]), np.array([size]))
        return cls(size, file.num_rows, crc32c(tail), len(tail))


@dataclass(frozen=True, slots=True)
class StoredMap:
    """One zone map of a sidecar: physical column, rows per zone, and its bytes."""

    column: int
    rows_per_zone: int
    data: bytes


def sidecar_location(location: Location) -> Location:
    """Return the place of a file's sidecar: beside it, with a name that is hidden in folders of data files."""
    folder, name = posixpath.split(location.path)
    return location.at(posixpath.join(folder, f"_{name}.zones"))


def encode_sidecar(binding: FileBinding, maps: Sequence[StoredMap]) -> bytes:
    """Serialize zone maps; the same file and maps give the same bytes."""
    start = _HEADER.size + len(maps) * _ENTRY.size + _CRC_BYTES
    entries = []
    for one in maps:
        crc = crc32c(np.frombuffer(one.data, np.uint8))
        entries.append(_ENTRY.pack(one.column, one.rows_per_zone, start, len(one.data), crc, 0))
        start += len(one.data)
    head = b"".join(
        [
            _HEADER.pack(
                MAGIC, binding.size_bytes, binding.num_rows, binding.tail_crc, binding.tail_bytes, len(maps), 0
            ),
            *entries,
        ]
    )
    return b"".join([head, struct.pack("<I", crc32c(np.frombuffer(head, np.uint8))), *(one.data for one in maps)])


class ZoneSidecar:
    """The sidecar of one open file, opened at its first use; safe to share between threads.

    Parameters
    ----------
    file
        The file.
    location
        Place of the file.
    limits
        Its ``max_metadata_bytes`` limits the bytes of one read.
    """

    def __init__(self, file: LanceFileReader, location: Location, limits: Limits) -> None:
        self._file = file
        self._location = location
        self._limits = limits
        self._entries: dict[int, tuple[int, int, int, int]] | None = None
        self._lock = Lock()

    def get(self, leaves: Sequence[LeafNode]) -> dict[int, ZoneMap]:
        """Return the maps of leaves, by physical column; empty without an intact sidecar of this file."""
        with self._lock:
            if self._entries == {}:
                return {}
            try:
                with closing(open_source(sidecar_location(self._location), may_be_missing=True)) as source:
                    if self._entries is None:
                        self._entries = self._read_entries(source)
                    return self._read_maps(source, leaves, self._entries)
            except (LanceError, OSError):
                # Sidecars are optional, and may not be readable.
                self._entries = {}
                return {}

    def _read_entries(self, source: RangeSource) -> dict[int, tuple[int, int, int, int]]:
        """Return rows per zone, place and CRC by column; empty if the sidecar belongs to another file."""
        (head,) = read_coalesced(source, np.array([0]), np.array([min(source.size(), _HEAD_BYTES)]))
        raw = head.tobytes()
        if len(raw) < _HEADER.size + _CRC_BYTES:
            return {}
        magic, size_bytes, num_rows, tail_crc, tail_bytes, count, _ = _HEADER.unpack_from(raw)
        stop = _HEADER.size + count * _ENTRY.size
        if magic != MAGIC or stop + _CRC_BYTES > source.size():
            return {}
        if stop + _CRC_BYTES > len(raw):
            self._limits.check("max_metadata_bytes", stop)
            (head,) = read_coalesced(source, np.array([0]), np.array([stop + _CRC_BYTES]))
            raw = head.tobytes()
        (crc,) = struct.unpack_from("<I", raw, stop)
        if crc32c(np.frombuffer(raw[:stop], np.uint8)) != crc:
            return {}
        if FileBinding(size_bytes, num_rows, tail_crc, tail_bytes) != FileBinding.of(self._file) or self._is_older():
            return {}
        found = {}
        for number in range(count):
            column, rows_per_zone, start, size, map_crc, _ = _ENTRY.unpack_from(
                raw, _HEADER.size + number * _ENTRY.size
            )
            found[column] = rows_per_zone, start, start + size, map_crc
        return found

    def _is_older(self) -> bool:
        """Return whether the file may be newer than the sidecar: values can change while the tail stays the same."""
        of_sidecar, of_file = modified_ns(sidecar_location(self._location)), modified_ns(self._location)
        return of_sidecar is None or of_file is None or of_sidecar < of_file

    def _read_maps(
        self, source: RangeSource, leaves: Sequence[LeafNode], entries: dict[int, tuple[int, int, int, int]]
    ) -> dict[int, ZoneMap]:
        wanted = [leaf for leaf in leaves if leaf.column in entries and entries[leaf.column][0] > 0]
        places = [entries[leaf.column] for leaf in wanted]
        starts = np.array([start for _, start, _, _ in places], np.int64)
        stops = np.array([stop for _, _, stop, _ in places], np.int64)
        if len(stops) and (stops.max() > source.size() or starts.min() < 0):
            return {}
        self._limits.check("max_metadata_bytes", int((stops - starts).sum()))
        found = {}
        for leaf, (rows_per_zone, _, _, crc), data in zip(
            wanted, places, read_coalesced(source, starts, stops), strict=True
        ):
            if crc32c(data) != crc:
                continue
            one = decode_zones(data, leaf, self._limits, rows_per_zone=rows_per_zone, num_rows=self._file.num_rows)
            if one is not None:
                found[leaf.column] = one
        return found
