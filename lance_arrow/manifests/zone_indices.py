"""ZONEMAP indices of a version: the fields and fragments that they cover.

Source: table-format 12.1. An index is a hint: unknown or missing indices are ignored.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyroaring
from numpy.typing import NDArray

from lance_arrow.proto.table_pb2 import IndexMetadata, IndexSection

INDICES = "_indices"
ZONE_FILE = "zonemap.lance"
ZONE_TYPE = "zonemapindexdetails"
REUSE_TYPE = "fragmentreuseindexdetails"
_NEWEST_KNOWN = 0
_MOST_IDS = 1 << 32


@dataclass(frozen=True, slots=True, eq=False)
class ZoneIndexMeta:
    """One segment of a ZONEMAP index.

    Parameters
    ----------
    name
        Name of the index.
    field_id
        Field whose values it bounds.
    file
        Path of its file below the folder of indices.
    base_id
        Id of its base path; None for the table itself.
    fragments
        Ids of the fragments that it covers, a roaring bitmap: a few bytes may contain billions of ids. Test membership,
        or intersect it with existing ids; never iterate over it.
    """

    name: str
    field_id: int
    file: str
    base_id: int | None
    fragments: pyroaring.BitMap

    def covers(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the fragment ids that it covers, ``(n,) int64`` ascending."""
        known = ids[(ids >= 0) & (ids < _MOST_IDS)]
        return np.array((pyroaring.BitMap(known.astype(np.uint32)) & self.fragments).to_array(), np.int64)


def uuid_text(data: bytes) -> str:
    """Return 16 bytes as hyphenated text."""
    text = data.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def details_type(index: IndexMetadata) -> str:
    """Return the kind of an index: the last part of its type URL, in lower case."""
    found: str = index.index_details.type_url.rpartition(".")[2].lower()
    return found


def zone_indices(section: IndexSection) -> tuple[ZoneIndexMeta, ...]:
    """Return the usable ZONEMAP indices.

    Parameters
    ----------
    section
        All indices of a version.

    Returns
    -------
    tuple
        Empty if rows were moved without an update of the indices.
    """
    if any(details_type(index) == REUSE_TYPE for index in section.indices):
        return ()
    return tuple(_usable(section.indices))


def _usable(indices: Sequence[IndexMetadata]) -> list[ZoneIndexMeta]:
    found = []
    for index in indices:
        if details_type(index) != ZONE_TYPE or index.index_version > _NEWEST_KNOWN:
            continue
        if len(index.fields) != 1 or len(index.uuid.uuid) != 16 or not index.fragment_bitmap:
            continue
        try:
            covered = pyroaring.BitMap.deserialize(index.fragment_bitmap)
        except (ValueError, IndexError):
            continue
        base_id = index.base_id if index.HasField("base_id") else None
        file = posixpath.join(uuid_text(index.uuid.uuid), ZONE_FILE)
        found.append(ZoneIndexMeta(index.name, index.fields[0], file, base_id, covered))
    return found
