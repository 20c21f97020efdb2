"""`ManifestDraft`: the next version of a table, under construction.

Unchanged fragments stay serialized: the cost of a commit grows with its changes, not with the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptManifestError, InternalError
from lance_arrow.proto.reading import parse
from lance_arrow.proto.table_pb2 import DataFragment, Manifest

# Source: lance.table.Manifest.fragments, a repeated message.
_TAG = b"\x12"
_VARINT_BITS = 7


class FragmentDraft:
    """Fragments of a manifest, in its order; changed and added ones are messages, the others are bytes.

    Parameters
    ----------
    body
        Message of the manifest that contains them.
    places
        ``(n, 2) int64``: first byte and size of each fragment's message in `body`.
    ids
        ``(n,) int64``, distinct.
    have_deletions
        ``(n,) bool``: flags of fragments with a deletion file.
    """

    def __init__(
        self, body: bytes, places: NDArray[np.int64], ids: NDArray[np.int64], have_deletions: NDArray[np.bool_]
    ) -> None:
        self._body = body
        self._places = places
        self._ids = ids
        self._have_deletions = have_deletions
        self._is_kept = np.ones(len(ids), np.bool_)
        self._changed: dict[int, DataFragment] = {}
        self._added: dict[int, DataFragment] = {}
        self._order = np.argsort(ids, kind="stable")

    @classmethod
    def empty(cls) -> FragmentDraft:
        """Return the fragments of an empty table."""
        return cls(b"", np.empty((0, 2), np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))

    @property
    def ids(self) -> NDArray[np.int64]:
        """``(m,) int64``: ids of the current fragments, in any order."""
        return np.concatenate([self._ids[self._is_kept], np.fromiter(self._added, np.int64, len(self._added))])

    @property
    def have_deletions(self) -> bool:
        """Whether a fragment has a deletion file."""
        is_same = self._is_kept.copy()
        is_same[list(self._changed)] = False
        messages = [*self._changed.values(), *self._added.values()]
        return bool(self._have_deletions[is_same].any()) or any(one.HasField("deletion_file") for one in messages)

    def __iter__(self) -> Iterator[DataFragment]:
        """Yield a copy of each fragment."""
        for number in np.flatnonzero(self._is_kept).tolist():
            yield self._message(number)
        for fragment in self._added.values():
            yield _copied(fragment)

    def get(self, fragment_id: int) -> DataFragment:
        """Return a copy of the fragment with an id; raises `InternalError` if there is none."""
        if fragment_id in self._added:
            return _copied(self._added[fragment_id])
        return self._message(self._number(fragment_id))

    def put(self, fragment: DataFragment) -> None:
        """Replace the fragment with the same id; raises `InternalError` if there is none."""
        if fragment.id in self._added:
            self._added[fragment.id] = fragment
        else:
            self._changed[self._number(fragment.id)] = fragment

    def add(self, fragment: DataFragment) -> None:
        """Add a fragment with a new id at the end."""
        self._added[fragment.id] = fragment

    def drop(self, ids: Iterable[int]) -> None:
        """Remove the fragments with some ids; raises `InternalError` if one does not exist."""
        for fragment_id in ids:
            if self._added.pop(fragment_id, None) is None:
                number = self._number(fragment_id)
                self._is_kept[number] = False
                self._changed.pop(number, None)

    def clear(self) -> None:
        """Remove all fragments."""
        self._is_kept[:] = False
        self._changed.clear()
        self._added.clear()

    def encoded(self) -> list[bytes]:
        """Return the fragments in ascending order of their ids, in the form of a manifest's message."""
        numbers = np.flatnonzero(self._is_kept)
        added = list(self._added.values())
        if not len(numbers) + len(added):
            return []
        # Messages have negative numbers, from -1 downwards.
        sources = np.concatenate([numbers, -1 - np.arange(len(added))])
        ids = self.ids
        if (ids[1:] < ids[:-1]).any():
            sources = sources[np.argsort(ids, kind="stable")]
        is_bytes = sources >= 0
        if self._changed:
            is_bytes &= ~np.isin(sources, list(self._changed))
        starts, sizes = self._places[:, 0], self._places[:, 1]
        stops = starts + sizes
        before = np.concatenate([np.zeros(1, np.int64), stops[:-1]]) if len(stops) else stops
        # If only one message header lies between two fragments, both are copied at once.
        follows = starts - before == _head_bytes(sizes)
        joins = is_bytes[1:] & is_bytes[:-1] & (sources[1:] == sources[:-1] + 1)
        joins[joins] = follows[sources[1:][joins]]
        begins = np.flatnonzero(np.concatenate([np.ones(1, np.bool_), ~joins]))
        ends = np.append(begins[1:], len(sources))
        parts: list[bytes] = []
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            number, last = int(sources[begin]), int(sources[end - 1])
            if is_bytes[begin]:
                parts += (_head(int(sizes[number])), self._body[int(starts[number]) : int(stops[last])])
            else:
                data = (self._changed[number] if number >= 0 else added[-1 - number]).SerializeToString()
                parts += (_head(len(data)), data)
        return parts

    def _number(self, fragment_id: int) -> int:
        at = int(np.searchsorted(self._ids, fragment_id, sorter=self._order))
        number = int(self._order[at]) if at < len(self._order) else -1
        if number < 0 or self._ids[number] != fragment_id or not self._is_kept[number]:
            raise InternalError("a fragment is missing, and no transaction removed it")
        return number

    def _message(self, number: int) -> DataFragment:
        if number in self._changed:
            return _copied(self._changed[number])
        start, size = self._places[number].tolist()
        data = self._body[start : start + size]
        return parse(DataFragment, data, what="a fragment", error=CorruptManifestError)


@dataclass(frozen=True, slots=True, eq=False)
class ManifestDraft:
    """A manifest under construction.

    Parameters
    ----------
    head
        Its message without fragments.
    fragments
        Its fragments.
    """

    head: Manifest
    fragments: FragmentDraft

    @classmethod
    def empty(cls) -> ManifestDraft:
        """Return the draft of a new table."""
        return cls(Manifest(), FragmentDraft.empty())

    def body(self) -> bytes:
        """Return the message."""
        return b"".join((self.head.SerializeToString(deterministic=True), *self.fragments.encoded()))


def _copied(fragment: DataFragment) -> DataFragment:
    copy = DataFragment()
    copy.CopyFrom(fragment)
    return copy


def _head_bytes(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bytes of the headers of messages with these sizes."""
    found = np.full(len(sizes), len(_TAG) + 1)
    for bits in range(_VARINT_BITS, 64, _VARINT_BITS):
        is_longer = sizes >= 1 << bits
        if not is_longer.any():
            break
        found += is_longer
    return found


def _head(size: int) -> bytes:
    """Return the header of a message with a size."""
    found = bytearray(_TAG)
    while size >> _VARINT_BITS:
        found.append(size & 0x7F | 0x80)
        size >>= _VARINT_BITS
    found.append(size)
    return bytes(found)
