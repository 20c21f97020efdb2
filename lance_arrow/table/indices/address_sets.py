"""`address_sets_remake`: a BITMAP or NGRAM index whose sets of addresses become those that the rows have now.

Source: table-format 12.1 and 12.2. Both kinds are one file with a row for each value (or trigram) and the set of its
rows. BITMAP stores sets as `RowAddrTreeMap`. This is a count, then for each fragment its id, a length, and a portable
roaring bitmap of offsets. Length 0 stands for all rows. NGRAM stores portable roaring bitmaps of 64 bits.
"""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyroaring
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError, located
from lance_arrow.files.lance_file import LanceFile
from lance_arrow.io import Location
from lance_arrow.manifests.bitmaps import bitmap_of
from lance_arrow.manifests.zone_indices import details_type
from lance_arrow.proto.table_pb2 import IndexMetadata
from lance_arrow.runtime import default_runtime
from lance_arrow.table.indices.moves import RowMoves
from lance_arrow.table.indices.remake import WRITABLE_VERSIONS, IndexTarget, Remake

_BATCH_ROWS = 1024
# Addresses that are moved at once, unless one set has more.
_MOVED_AT_ONCE = 1 << 22
_ADDRESS_BYTES = 8
_COUNT, _ENTRY = struct.Struct("<I"), struct.Struct("<II")
_OFFSET_BITS = np.uint64(32)


@dataclass(frozen=True, slots=True)
class _Kind:
    """Where a kind of index keeps its sets: file, names of columns, known schema metadata, and how sets are stored."""

    file: str
    columns: tuple[str, str]
    metadata: frozenset[bytes]
    decode: Callable[[bytes, RowMoves], NDArray[np.uint64]]
    encode: Callable[[NDArray[np.uint64]], bytes]


def address_sets_remake(index: IndexMetadata, folder: Location) -> Remake | None:
    """Return what makes a BITMAP or NGRAM index again; None for other kinds, or where the file is not understood.

    Parameters
    ----------
    index
        The index, of a table without stable row ids: otherwise it holds these.
    folder
        Where its file lies.

    Raises
    ------
    LanceError, FileNotFoundError
        The file of the index is damaged, or not there.
    """
    kind = _KINDS.get(details_type(index))
    if kind is None or index.index_version != 0:
        return None
    # Releases before 4.0 do not list files.
    if index.files and [file.path for file in index.files] != [kind.file]:
        return None
    with LanceFile(_place(folder, kind.file)) as file:
        schema = file.schema
        if tuple(schema.names) != kind.columns or schema.types[1] != pa.binary():
            return None
        # Other content of the file may name rows, too.
        if not kind.metadata.issuperset(file.metadata) or file.version not in WRITABLE_VERSIONS:
            return None
        return _AddressSetsRemake(folder, kind, schema, file.version)


class _AddressSetsRemake(Remake):
    def __init__(self, folder: Location, kind: _Kind, schema: pa.Schema, file_version: str) -> None:
        self._folder = folder
        self._kind = kind
        self._schema = schema
        self._file_version = file_version

    def write(self, moves: RowMoves, covered: frozenset[int], target: IndexTarget) -> None:
        """See `Remake.write`."""
        target.write(self._kind.file, self._schema, self._rows(moves), self._file_version)

    def _rows(self, moves: RowMoves) -> Iterator[pa.RecordBatch]:
        place = _place(self._folder, self._kind.file)
        with LanceFile(place) as file, located(path=place.name):
            for batch in file.to_batches(batch_size=_BATCH_ROWS):
                sets = self._moved(batch.column(1).to_pylist(), moves)
                yield pa.RecordBatch.from_arrays([batch.column(0), pa.array(sets, pa.binary())], schema=self._schema)

    def _moved(self, stored: list[bytes | None], moves: RowMoves) -> list[bytes | None]:
        """Move many sets, few addresses at once: a set of few bytes may hold many."""
        none = np.empty(0, np.uint64)
        made: list[bytes | None] = []
        old: list[NDArray[np.uint64]] = []
        for number, one in enumerate(stored, start=1):
            old.append(none if one is None else self._kind.decode(one, moves))
            if number == len(stored) or sum(map(len, old)) >= _MOVED_AT_ONCE:
                made += self._encoded(stored[len(made) : number], old, moves)
                old = []
        return made

    def _encoded(
        self, stored: list[bytes | None], old: list[NDArray[np.uint64]], moves: RowMoves
    ) -> list[bytes | None]:
        none = np.empty(0, np.uint64)
        new, is_kept = moves.addresses(np.concatenate([none, *old]))
        ends = np.cumsum([len(one) for one in old])[:-1]
        parts = zip(stored, np.split(new, ends), np.split(is_kept, ends), strict=True)
        return [None if one is None else self._kind.encode(addresses[kept]) for one, addresses, kept in parts]


def _decoded_tree(data: bytes, moves: RowMoves) -> NDArray[np.uint64]:
    """Read a `RowAddrTreeMap`."""
    found = [np.empty(0, np.uint64)]
    for fragment, bitmap in _tree_entries(data):
        offsets = _offsets(bitmap, sum(map(len, found))) if bitmap else moves.live_offsets(fragment)
        found.append((np.uint64(fragment) << _OFFSET_BITS) | offsets.astype(np.uint64))
    return np.concatenate(found)


def _encoded_tree(addresses: NDArray[np.uint64]) -> bytes:
    ordered = np.sort(addresses)
    ids, firsts = np.unique(ordered >> _OFFSET_BITS, return_index=True)
    parts = [_COUNT.pack(len(ids))]
    stops = np.append(firsts, len(ordered))[1:]
    for number, first, stop in zip(ids.tolist(), firsts, stops, strict=True):
        bitmap = bitmap_of(ordered[first:stop]).serialize()
        parts += [_ENTRY.pack(number, len(bitmap)), bitmap]
    return b"".join(parts)


def _decoded_bitmap(data: bytes, moves: RowMoves) -> NDArray[np.uint64]:
    """Read a roaring bitmap of 64 bits."""
    try:
        found = pyroaring.BitMap64.deserialize(data)
    except (ValueError, IndexError) as error:
        raise CorruptFileError(f"an index holds a set of rows that is no roaring bitmap: {error}") from error
    _check_count(len(found))
    return np.fromiter(found, np.uint64, len(found))


def _encoded_bitmap(addresses: NDArray[np.uint64]) -> bytes:
    return bytes(pyroaring.BitMap64(addresses.tolist()).serialize())


_KINDS: Mapping[str, _Kind] = {
    "bitmapindexdetails": _Kind(
        "bitmap_page_lookup.lance", ("keys", "bitmaps"), frozenset({b"lance:index_stats"}), _decoded_tree, _encoded_tree
    ),
    "ngramindexdetails": _Kind(
        "ngram_postings.lance", ("tokens", "posting_list"), frozenset(), _decoded_bitmap, _encoded_bitmap
    ),
}


def _tree_entries(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield fragments, and the bitmaps of their offsets; an empty one stands for all rows."""
    try:
        (count,) = _COUNT.unpack_from(data)
        position = _COUNT.size
        for _ in range(count):
            fragment, length = _ENTRY.unpack_from(data, position)
            position += _ENTRY.size + length
            if position > len(data):
                raise CorruptFileError(f"an index holds a set of rows that is cut short, of {len(data)} bytes")
            yield fragment, data[position - length : position]
    except struct.error as error:
        raise CorruptFileError(f"an index holds a set of rows that is cut short: {error}") from error


def _offsets(data: bytes, num_before: int) -> NDArray[np.uint32]:
    try:
        found = pyroaring.BitMap.deserialize(data)
    except (ValueError, IndexError) as error:
        raise CorruptFileError(f"an index holds a set of rows that is no roaring bitmap: {error}") from error
    _check_count(num_before + len(found))
    return np.array(found.to_array(), np.uint32)


def _check_count(count: int) -> None:
    """Refuse to list more addresses of one set than a limit allows; raises `ResourceLimitError`."""
    default_runtime().settings.limits.check("max_expanded_bytes", count * _ADDRESS_BYTES)


def _place(folder: Location, name: str) -> Location:
    return folder.at(posixpath.join(folder.path, name))
