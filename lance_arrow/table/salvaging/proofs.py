"""Whether manifests and deletion files have checksums: readers compare them, and accept files without any."""

from __future__ import annotations

import struct
from contextlib import closing

import numpy as np

from lance_arrow.io import Location, open_source
from lance_arrow.manifests.seals import DELETIONS, MANIFEST, RECORD, arrow_footer

_FOOTER = struct.Struct("<QHH4s")


def has_manifest_checksum(place: Location) -> bool:
    """Return whether a manifest, which was read before, has its checksum before its message."""
    data = _content(place)
    position = int(_FOOTER.unpack_from(data, len(data) - _FOOTER.size)[0])
    return _mark(data[max(position - RECORD.size, 0) : position]) == MANIFEST


def has_deletion_checksum(place: Location, *, is_bitmap: bool) -> bool:
    """Return whether a deletion file, which was read before, has a checksum."""
    data = _content(place)
    stop = len(data) if is_bitmap else arrow_footer(data)
    return stop is not None and _mark(data[max(stop - RECORD.size, 0) : stop]) == DELETIONS


def _mark(record: bytes) -> bytes:
    return bytes(RECORD.unpack(record)[1]) if len(record) == RECORD.size else b""


def _content(place: Location) -> bytes:
    """Read a file, whose reader has compared its size with the limits."""
    with closing(open_source(place)) as source:
        (data,) = source.read(np.array([0]), np.array([source.size()]))
        return data.tobytes()
