"""`IndexCoverage`: which fragments each index covers, and which indices stay right when rows move to other fragments.

Source: table-format 11. Entries of an index name rows by row id or by address. Addresses change when a row moves; row
ids do too, unless they are stable. The entries of each kind were read from files of the reference, releases 1.0.0 to
14.0.2. With stable row ids, BITMAP, LABEL_LIST, NGRAM, INVERTED and vector indices hold ids, as does BTREE of
version 0. BTREE of version 1 (14.0.2), ZONEMAP and BLOOMFILTER hold addresses in any table. A kind, or a version of a
kind, that is not known here is taken for addresses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import pyroaring

from lance_arrow.errors import CorruptManifestError
from lance_arrow.manifests.zone_indices import details_type
from lance_arrow.proto.table_pb2 import IndexMetadata, IndexSection

_SYSTEM = "__lance_"
_NEWEST_BY_ROW_ID: Mapping[str, int] = MappingProxyType(
    {
        "btreeindexdetails": 0,
        "bitmapindexdetails": 0,
        "labellistindexdetails": 1,
        "ngramindexdetails": 0,
        "invertedindexdetails": 2,
        "vectorindexdetails": 2,
    }
)


def fragments_of(data: bytes) -> pyroaring.BitMap | None:
    """Read which fragments an index covers; None where its bitmap is absent, so that the coverage is unknown.

    Raises
    ------
    CorruptManifestError
        It is no roaring bitmap.
    """
    if not data:
        return None
    try:
        return pyroaring.BitMap.deserialize(data)
    except (ValueError, IndexError) as error:
        raise CorruptManifestError(f"the fragment bitmap of an index is no roaring bitmap: {error}") from error


def is_system(index: IndexMetadata) -> bool:
    """Whether an index is bookkeeping of the reference, which has no entries for rows."""
    return index.name.startswith(_SYSTEM) and not index.fields


def has_row_ids(index: IndexMetadata, *, stable_row_ids: bool) -> bool:
    """Whether the entries of an index stay right when rows move to other fragments."""
    newest = _NEWEST_BY_ROW_ID.get(details_type(index))
    return stable_row_ids and newest is not None and index.index_version <= newest


class IndexCoverage:
    """Indices of a version by the fragments that they cover.

    Parameters
    ----------
    section
        All indices of the version.
    fragments
        Ids of its fragments, in order.
    stable_row_ids
        Whether the table has stable row ids.
    ignored
        Names of indices that are left out of account.
    remakable
        UUIDs of indices that are made again where their entries become wrong.

    Raises
    ------
    CorruptManifestError
        A fragment bitmap is damaged.
    """

    def __init__(
        self,
        section: IndexSection,
        fragments: Sequence[int],
        *,
        stable_row_ids: bool,
        ignored: Iterable[str] = (),
        remakable: Collection[bytes] = (),
    ) -> None:
        left_out = frozenset(ignored)
        everything = pyroaring.BitMap(fragments)
        self._fragments = fragments
        self._covered: list[tuple[IndexMetadata, pyroaring.BitMap, bool]] = []
        for index in section.indices:
            if is_system(index) or index.name in left_out:
                continue
            known = fragments_of(index.fragment_bitmap)
            covered = everything if known is None else known & everything
            moves = known is not None and (
                has_row_ids(index, stable_row_ids=stable_row_ids) or index.uuid.uuid in remakable
            )
            self._covered.append((index, covered, moves))

    def keys(self) -> list[tuple[int, ...]]:
        """Return, for each fragment, which indices cover it: fragments of different keys must not be put together."""
        return [
            tuple(at for at, (_, covered, _) in enumerate(self._covered) if fragment in covered)
            for fragment in self._fragments
        ]

    def broken_by_moving(self, fragments: Iterable[int]) -> list[str]:
        """Return the names of indices that have wrong entries for good once rows of these fragments move, sorted."""
        moved = pyroaring.BitMap(fragments)
        return sorted({index.name for index, covered, moves in self._covered if not moves and covered & moved})

    def covering(self, fragments: Iterable[int]) -> list[str]:
        """Return the names of indices that cover any of these fragments, sorted."""
        wanted = pyroaring.BitMap(fragments)
        return sorted({index.name for index, covered, _ in self._covered if covered & wanted})


def moved_coverage(section: IndexSection, groups: Iterable[tuple[pyroaring.BitMap, pyroaring.BitMap]]) -> None:
    """Make indices cover new fragments instead of the old ones that their rows moved from, in place.

    An index that covered only a part of a group no longer covers its fragments. An index without a bitmap stays.

    Parameters
    ----------
    section
        Indices whose entries stay right.
    groups
        Ids of old and of new fragments.
    """
    for index in section.indices:
        covered = None if is_system(index) else fragments_of(index.fragment_bitmap)
        if covered is None:
            continue
        after = covered.copy()
        for old, new in groups:
            after -= old
            if old <= covered:
                after |= new
        if after != covered:
            index.fragment_bitmap = bytes(after.serialize())
