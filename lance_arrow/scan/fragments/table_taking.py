"""`TableTaking`: rows of many fragments at once, by fragment and row or by id; fragments of small files go together.

ids ─► index of all row ids ─► (fragment, row) ─┬─► joined fragments ─┬─► batches, and which row each one is
                        live rows by number ────┴─► single fragments ─┘
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from threading import Lock
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.errors import CorruptManifestError, InternalError, InvalidArgumentError, LanceError
from lance_arrow.io import AnyFileSystem, ReadStats, coalescing_of
from lance_arrow.manifests.fragments import FragmentMeta, fragment_ids, have_deletions, physical_counts
from lance_arrow.manifests.row_id_index import AddressIndex, RowIdIndex
from lance_arrow.manifests.row_ids import RowIds
from lance_arrow.runtime import Runtime
from lance_arrow.scan.blobs.pending_batch import filled
from lance_arrow.scan.fragments.fragment_reading import FragmentReading
from lance_arrow.scan.fragments.joined_fragments import (
    FilesOpening,
    HeldFragments,
    JoinedFragments,
    OpensFragment,
    alike,
    files_with,
)
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.groups.group_sizes import may_read_ends
from lance_arrow.scan.projection import Projection, have_blobs
from lance_arrow.scan.read_counts import Receipt
from lance_arrow.scan.windows import ENDS_BYTES, SMALL_FILE_BYTES
from lance_arrow.structure.row_selection import take_order

# Fewer fragments are read one by one: what is learnt of each then serves all reads of it.
LEAST_JOINED = 8
_GROUP_BYTES = 32 << 20
# Fewer than readings that are kept.
_MOST_AHEAD = 32


class OpensFragments(OpensFragment, Protocol):
    """Opens fragments and readings of them, for takes."""

    def reading(self, number: int, projection: Projection) -> FragmentReading:
        """Return a reading of a fragment."""


class TableTaking:
    """Takes rows of one version of a table; may be shared by threads.

    Parameters
    ----------
    columns, filesystem
        The table's.
    fragments
        Its fragments.
    reader
        What opens fragments; it holds the taking, not the other way round.
    runtime
        Threads, limits, and the budget of what is kept between takes.
    """

    def __init__(
        self,
        columns: TableColumns,
        filesystem: AnyFileSystem | None,
        fragments: Sequence[FragmentMeta],
        reader: OpensFragments,
        runtime: Runtime,
    ) -> None:
        self._columns = columns
        self._filesystem = filesystem
        self._fragments = fragments
        # Files close with their reader, not when circles of references are looked for.
        self._reader: OpensFragments = weakref.proxy(reader)
        self._runtime = runtime
        self._group_of: dict[int, tuple[object, int]] = {}
        self._held: OrderedDict[object, HeldFragments] = OrderedDict()
        # Settings allow no more than a part of the memory budget.
        self._budget_bytes = runtime.indices.budget_bytes
        self._lock = Lock()

    def find(self, ids: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of the fragment and the row of its files that each id is of; ids ascend.

        Raises
        ------
        InvalidArgumentError
            No live row has such an id; it is named.
        CorruptManifestError
            Row ids of a fragment contradict the manifest, or two live rows have one id.
        """
        numbers, offsets = np.full(len(ids), -1, np.int64), np.full(len(ids), -1, np.int64)
        for found, rows in self._index.candidates(ids):
            is_live = (found >= 0) & self._are_live(found, rows)
            twice = np.flatnonzero(is_live & (numbers >= 0))
            if len(twice) and self._columns.facts.has_stable_row_ids:
                self._refuse_twice(int(ids[twice[0]]), int(numbers[twice[0]]), int(found[twice[0]]))
            # One historical table names a fragment twice: its last one is read.
            numbers, offsets = np.where(is_live, found, numbers), np.where(is_live, rows, offsets)
        missing = np.flatnonzero(numbers < 0)
        if len(missing):
            wrong = int(ids[missing[0]])
            raise InvalidArgumentError(f"no row has the id {wrong}", detail=wrong)
        return numbers, offsets

    def has_joined(self, number: int) -> bool:
        """Whether a fragment was joined with others, which were kept."""
        return number in self._group_of

    def open(self, wanted: NDArray[np.int64], projection: Projection) -> None:
        """Open files of fragments, which ascend, as `read` will want them; errors are left to it."""
        together = [held.group.numbers for held, _, _, _ in self._groups(wanted, projection)]
        alone = np.setdiff1d(wanted, np.concatenate(together)) if together else wanted

        def begin(number: int) -> None:
            with suppress(LanceError, OSError):
                self._reader.reading(number, projection)

        for _ in self._runtime.ahead(begin, alone[:_MOST_AHEAD].tolist(), is_far=True):
            pass

    def read(
        self,
        numbers: NDArray[np.int64],
        offsets: NDArray[np.int64],
        projection: Projection,
        receipt: Receipt,
    ) -> tuple[list[pa.RecordBatch], NDArray[np.intp]]:
        """Read rows.

        Parameters
        ----------
        numbers, offsets
            ``(n,) int64``: fragments, ascending, and rows of their files, ascending within each.
        projection
            What is wanted.
        receipt
            Counts files, pages and requests.

        Returns
        -------
        batches
            The rows, in some order.
        order
            ``(n,) int64``: which of the wanted rows each row of the batches is.
        """
        borders = np.flatnonzero(np.diff(numbers, prepend=-1))
        wanted = numbers[borders]
        ends = np.append(borders[1:], len(numbers))
        batches: list[pa.RecordBatch] = []
        order = []
        alone = np.ones(len(wanted), bool)
        for held, members, places, fetched in self._groups(wanted, projection):
            rows = _spread(borders[places], ends[places])
            counts = ends[places] - borders[places]
            try:
                reading = held.reading(projection)
                before = held.group.read_since
                found, read_counts = held.group.read(np.repeat(members, counts), offsets[rows], reading)
                batches += found
            except LanceError:
                # Read one by one, they tell what is wrong, and where; or they can be read.
                continue
            alone[places] = False
            order.append(rows)
            receipt.see_held(len(places) * len(reading.opened), fetched + held.group.read_since - before)
            receipt.tally.add(read_counts, len(rows))
        rest = np.flatnonzero(alone)

        def read(place: int) -> list[pa.RecordBatch]:
            reading = self._reader.reading(int(wanted[place]), projection)
            receipt.see(reading.opened)
            rows = take_order(offsets[borders[place] : ends[place]], reading.rows.num_physical).rows
            found, counts = reading.take(rows)
            receipt.tally.add(counts, rows.num_rows)
            return list(filled(reading, found, self._runtime.settings.blob_piece_bytes))

        # Fragments of a store mostly wait.
        is_far = coalescing_of(self._filesystem).is_far
        made = (
            self._runtime.ahead(read, rest.tolist(), is_far=True) if is_far else self._runtime.map(read, rest.tolist())
        )
        for found in made:
            batches += found
        order.append(_spread(borders[rest], ends[rest]))
        return batches, np.concatenate(order)

    @cached_property
    def _index(self) -> RowIdIndex | AddressIndex:
        if not self._columns.facts.has_stable_row_ids:
            return AddressIndex(fragment_ids(self._fragments))
        return RowIdIndex(self._fragments, self._row_ids, self._columns.facts.next_row_id)

    def _refuse_twice(self, row_id: int, first: int, second: int) -> None:
        """Refuse an id that two live rows have."""
        one, other = sorted((self._fragments[first].id, self._fragments[second].id))
        raise CorruptManifestError(
            f"the row id {row_id} is of two rows, in the fragments {one} and {other}",
            path=self._columns.facts.manifest_path,
            detail=row_id,
        )

    def _row_ids(self, number: int) -> RowIds:
        found = self._reader.fragment(number).row_ids
        if found is None:
            # A fragment of such a table that has none is refused when the manifest is read.
            raise InternalError(f"fragment {number} of a table of stable row ids has none")
        return found

    @cached_property
    def _num_physical(self) -> NDArray[np.int64]:
        """Rows of each fragment's files; -1 where only the files tell."""
        return physical_counts(self._fragments)

    @cached_property
    def _has_deletions(self) -> NDArray[np.bool_]:
        return have_deletions(self._fragments)

    def _are_live(self, numbers: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether rows of fragments exist and are not deleted; fragments of -1 may give anything."""
        if not len(self._fragments):
            return np.zeros(len(numbers), bool)
        counts = self._num_physical[numbers]
        for number in np.unique(numbers[(counts < 0) & (numbers >= 0)]).tolist():
            counts[numbers == number] = self._reader.fragment(number).num_physical
        is_live: NDArray[np.bool_] = rows < counts
        with_deletions = np.unique(numbers[self._has_deletions[numbers] & (numbers >= 0)]).tolist()
        for number, fragment in zip(with_deletions, self._reader.with_deletions(with_deletions), strict=True):
            deletions = fragment.deletions
            if deletions is not None and len(deletions.offsets):
                mine = np.flatnonzero(numbers == number)
                at = np.minimum(np.searchsorted(deletions.offsets, rows[mine]), len(deletions.offsets) - 1)
                is_live[mine[deletions.offsets[at] == rows[mine]]] = False
        return is_live

    def _groups(
        self, wanted: NDArray[np.int64], projection: Projection
    ) -> list[tuple[HeldFragments, NDArray[np.int64], NDArray[np.intp], ReadStats]]:
        """Find, or open, groups of fragments.

        Returns
        -------
        list
            Groups; which of their members are wanted; at which places of `wanted`; what it took to open the group now.
        """
        if have_blobs(projection.nodes) or (len(wanted) < LEAST_JOINED and not self._group_of):
            return []
        places = {number: place for place, number in enumerate(wanted.tolist())}
        found: dict[object, tuple[HeldFragments, list[int], list[int]]] = {}
        left = []
        with self._lock:
            for number, place in places.items():
                key, member = self._group_of.get(number, (None, 0))
                group = self._held.get(key)
                if group is None:
                    left.append(number)
                    continue
                known = found.setdefault(key, (group, [], []))
                known[1].append(member)
                known[2].append(place)
            for key in found:
                self._held.move_to_end(key)
        groups = [(group, np.array(members), np.array(at), ReadStats()) for group, members, at in found.values()]
        for made in self._opened(left, projection) if len(left) >= LEAST_JOINED else ():
            at = np.array([places[number] for number in made.group.numbers.tolist()])
            groups.append((made, np.arange(len(at)), at, made.group.fetched))
        return groups

    def _opened(self, numbers: Sequence[int], projection: Projection) -> list[HeldFragments]:
        """Open what can be opened of fragments, in groups that are kept."""
        limits = self._runtime.settings.limits
        most_bytes = min(SMALL_FILE_BYTES, limits.max_metadata_bytes, limits.max_description_bytes)
        made = self._opened_as(FilesOpening(self._columns, self._filesystem), numbers, projection, most_bytes)
        if may_read_ends(self._filesystem, limits, len(self._fragments)):
            # Of larger files, the ends are read in one wave, and the rows in others.
            known = {number for held in made for number in held.group.numbers.tolist()}
            left = [number for number in numbers if number not in known]
            ends = FilesOpening(self._columns, self._filesystem, ends_only=True)
            made += self._opened_as(ends, left, projection, None)
        return made

    def _opened_as(
        self, opening: FilesOpening, numbers: Sequence[int], projection: Projection, most_bytes: int | None
    ) -> list[HeldFragments]:
        """Open fragments whose files have at most so many bytes."""
        made = []
        group_bytes = ENDS_BYTES if opening.ends_only else _GROUP_BYTES
        for some in alike(self._fragments, numbers, most_bytes, group_bytes):
            if len(some) < LEAST_JOINED:
                continue
            fragments = [self._fragments[number] for number in some]
            try:
                files = files_with(self._columns, fragments[0], projection.nodes)
                opened = opening.joined(fragments, files) if files else []
            except LanceError:
                continue
            for members, joined in opened:
                chosen = [fragments[member] for member in members.tolist()]
                known = np.array(some)[members]
                group = JoinedFragments(opening, chosen, known, self._reader)
                group.adopt(joined)
                made.append(self._kept(group))
        return made

    def _kept(self, group: JoinedFragments) -> HeldFragments:
        key, made = object(), HeldFragments(group)
        with self._lock:
            self._held[key] = made
            for member, number in enumerate(group.numbers.tolist()):
                self._group_of[number] = key, member
            while len(self._held) > 1 and sum(one.group.nbytes for one in self._held.values()) > self._budget_bytes:
                self._held.popitem(last=False)
        return made


def _spread(starts: NDArray[np.intp], stops: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return every number of ranges."""
    counts = stops - starts
    before = np.cumsum(counts) - counts
    spread: NDArray[np.intp] = np.repeat(starts - before, counts) + np.arange(int(counts.sum()))
    return spread
