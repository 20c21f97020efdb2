"""`JoinedFragments`: fragments whose small files are read together: as many requests as files, one decoding for all.

fragments ─► files of the wanted columns, whole ─► those of one schema as one file ─► rows of many fragments at once
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_paths import Path, leaf_at
from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.joined_files import JOINED_VERSIONS, JoinedFiles, SmallFiles
from lance_arrow.errors import CorruptFileError
from lance_arrow.io import AnyFileSystem, ReadStats
from lance_arrow.manifests.fragments import DataFileMeta, FragmentMeta
from lance_arrow.pruning.zone_predicates import ZonePredicate
from lance_arrow.pruning.zone_pruning import PruneResult
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.fragments.fragment_reading import FragmentReading
from lance_arrow.scan.fragments.fragment_rows import ADDRESS_BITS, FragmentRows, TableSource, owned_ids
from lance_arrow.scan.fragments.table_columns import TableColumns, VirtualColumn
from lance_arrow.scan.joined_rows import JoinedRowReader, opened_as_one
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.read_counts import ReadCounts
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.zone_types import bounds_type
from lance_arrow.structure.row_selection import by_page, joined_ranges, take_order

if TYPE_CHECKING:
    from lance_arrow.scan.fragments.table_zones import BoundedZones

_KEPT_READINGS = 8


class OpensFragment(Protocol):
    """Returns the rows of a fragment by its number."""

    def fragment(self, number: int) -> FragmentRows:
        """Return them."""

    def with_deletions(self, numbers: Sequence[int]) -> list[FragmentRows]:
        """Return those of several fragments, whose deletion files are read at once."""


@dataclass(frozen=True, slots=True, eq=False)
class FilesOpening:
    """How the files of many fragments are opened together.

    Parameters
    ----------
    columns, filesystem
        The table's.
    ends_only
        Whether only the ends of files are read at first, and pages when they are wanted. Else files are read whole.
    """

    columns: TableColumns
    filesystem: AnyFileSystem | None
    ends_only: bool = False

    def joined(
        self, fragments: Sequence[FragmentMeta], files: Sequence[int], *, in_order: bool = False
    ) -> list[tuple[NDArray[np.intp], dict[int, JoinedFiles]]]:
        """Read some files of fragments that have as many, and join those of one schema.

        Parameters
        ----------
        fragments
            Fragments whose numbers of rows and sizes of files are known.
        files
            Which of the files of each fragment; at least one.
        in_order
            Whether only fragments that follow each other are joined.

        Returns
        -------
        list
            Which of the fragments, ascending, and their files, by number. Fragments with a file that cannot be joined
            are in none.
        """
        rows = np.array([fragment.physical_rows for fragment in fragments], np.int64)
        opened = []
        keys: list[list[int]] = [[] for _ in fragments]
        left = np.ones(len(fragments), bool)
        for number in files:
            small = self._opened([fragment.files[number] for fragment in fragments])
            left &= (small.flags == 1) & (small.num_rows == rows)
            schemas = small.schemas()
            for schema, (_, _, members) in enumerate(schemas):
                for member in members.tolist():
                    keys[member].append(schema)
            opened.append((number, small, schemas))
        groups: dict[tuple[int, ...], list[int]] = {}
        for member in np.flatnonzero(left).tolist():
            groups.setdefault(tuple(keys[member]), []).append(member)
        found = list(groups.items())
        if in_order:
            from lance_arrow.scan.groups.opened_together import runs_of  # noqa: PLC0415 - for many fragments alone

            found = [(key, run.tolist()) for key, members in found for run in runs_of(np.array(members))]
            found.sort(key=lambda one: one[1])
        return [(np.array(members), _joined(opened, key, np.array(members))) for key, members in found]

    def _opened(self, files: Sequence[DataFileMeta]) -> SmallFiles:
        from lance_arrow.scan.groups.opened_together import open_together  # noqa: PLC0415 - as above

        options = self.columns.options
        sizes = np.array([file.size_bytes for file in files], np.int64)
        paths = self.columns.facts.data_paths(files, allow_external_bases=options.allow_external_bases)
        return open_together(
            self.filesystem,
            paths,
            sizes,
            default_runtime(),
            options,
            ends_only=self.ends_only,
            may_change=False,
            num_columns=max(len(file.columns) for file in files),
        )


class JoinedFragments(TableSource):
    """Fragments of one version whose files have the same fields and schemas; has of `FragmentRows` what a reading asks.

    Parameters
    ----------
    opening
        How their files are opened.
    fragments
        The fragments.
    numbers
        ``(n,) int64``: their numbers, ascending.
    reader
        What opens a fragment by itself.
    """

    row_starts: NDArray[np.int64]

    def __init__(
        self,
        opening: FilesOpening,
        fragments: Sequence[FragmentMeta],
        numbers: NDArray[np.int64],
        reader: OpensFragment,
    ) -> None:
        self._opening = opening
        self.columns = opening.columns
        self.numbers = numbers
        self.meta = fragments[0]
        self._fragments = fragments
        self._reader = reader
        self._opened: dict[int, OpenFile] = {}
        self._lock = Lock()
        self.row_starts = np.zeros(len(fragments) + 1, np.int64)
        np.cumsum([fragment.physical_rows or 0 for fragment in fragments], out=self.row_starts[1:])

    @property
    def num_physical(self) -> int:
        """Rows of all files, deleted ones included."""
        return int(self.row_starts[-1])

    @cached_property
    def live(self) -> RowRanges:
        """Live rows, as ranges of rows of the files; errors are those of deletion files."""
        found = [
            number
            for number, fragment in zip(self.numbers.tolist(), self._fragments, strict=True)
            if fragment.deletion is not None
        ]
        if not found:
            return RowRanges.one(0, self.num_physical)
        left = iter(self._reader.with_deletions(found))
        return self.placed(
            [
                RowRanges.one(0, fragment.physical_rows or 0) if fragment.deletion is None else next(left).live
                for fragment in self._fragments
            ]
        )

    def placed(self, parts: Sequence[RowRanges]) -> RowRanges:
        """Return rows of each fragment as rows of all of them."""
        starts = [part.starts + start for part, start in zip(parts, self.row_starts, strict=False)]
        stops = [part.stops + start for part, start in zip(parts, self.row_starts, strict=False)]
        return joined_ranges(np.concatenate(starts), np.concatenate(stops))

    def parts(self, rows: RowRanges) -> Iterator[tuple[int, RowRanges]]:
        """Yield the numbers of the fragments that hold rows, and which of their rows these are."""
        for member, part in by_page(rows, self.row_starts):
            yield int(self.numbers[member]), part

    def prune(self, predicate: ZonePredicate | None, within: RowRanges) -> PruneResult:
        """Ask the zone maps of far files that are read piece by piece, which came with their ends.

        Of small files all rows are left: decoding so few takes less time than looking at the zone maps of each.
        """
        from lance_arrow.scan.fragments.table_zones import prune_fragment  # noqa: PLC0415 - for filters alone

        zones = {}
        for path in () if predicate is None else predicate.fields:
            found = self.bounded_zones(path)
            if found is not None:
                zones[path] = found
        return prune_fragment(zones, self.num_physical, predicate, within)

    def bounded_zones(self, path: Path) -> BoundedZones | None:
        """Return the zones of a column in all files; None for fields of structs, and where there are none.

        Nor are there some of files that are held whole: to decode all rows takes less time.
        """
        if not self._opening.ends_only:
            return None
        from lance_arrow.scan.fragments.table_zones import BoundedZones  # noqa: PLC0415 - for filters alone

        leaf = leaf_at(self.columns.all_roots, path) if len(path) == 1 else None
        found = None if leaf is None or leaf.column < 0 else self.meta.file_of(self.columns.field_id(leaf))
        if leaf is None or found is None:
            return None
        file, column = found
        rows = self.open_file(next(at for at, one in enumerate(self.meta.files) if one is file)).rows
        top = rows.roots.place_with(column)
        leaves = () if top is None else rows.roots[top].leaves()
        own = next((one for one in leaves if one.column == column), None)
        if own is None or bounds_type(own) is None or bounds_type(own) != bounds_type(leaf):
            return None
        assert isinstance(rows, JoinedRowReader)
        zones = rows.zones(own)
        return None if zones is None else BoundedZones(*zones)

    @property
    def fetched(self) -> ReadStats:
        """Statistics of reading the files: each is read whole, with one request."""
        return sum((one.fetched for one in self._opened.values() if one.fetched is not None), ReadStats())

    @property
    def read_since(self) -> ReadStats:
        """Statistics of reading far files after their ends, up to now."""
        opened = self._opened.values() if self._opening.ends_only else ()
        return sum((one.source.snapshot() for one in opened), ReadStats())

    @property
    def nbytes(self) -> int:
        """Memory that is held."""
        if self._opening.ends_only:
            return self.fetched.bytes_fetched
        return sum(one.source.size() for one in self._opened.values())

    def open_file(self, number: int) -> OpenFile:
        """Return one of the files of every fragment, as one.

        Raises
        ------
        CorruptFileError
            One of them must be read by itself.
        """
        with self._lock:
            opened = self._opened.get(number)
            if opened is None:
                groups = self._opening.joined(self._fragments, [number])
                if len(groups) != 1 or len(groups[0][0]) != len(self._fragments):
                    raise CorruptFileError("the files of fragments cannot be read together")
                opened = self._opened[number] = opened_as_one(groups[0][1][number], self.runtime, self.columns.options)
            return opened

    def adopt(self, files: Mapping[int, JoinedFiles]) -> None:
        """Take over files that were opened already, by their numbers."""
        for number, joined in files.items():
            self._opened[number] = opened_as_one(joined, self.runtime, self.columns.options)

    def virtual(self, number: int, offsets: NDArray[np.int64], pool: pa.MemoryPool | None) -> pa.Array:
        """Return a virtual column for rows, which ascend."""
        kind = VirtualColumn(number)
        members = np.searchsorted(self.row_starts, offsets, side="right") - 1
        within = offsets - self.row_starts[members]
        if kind is VirtualColumn.ROW_ADDRESS or (kind is VirtualColumn.ROW_ID and self.meta.row_ids is None):
            ids = np.array([fragment.id for fragment in self._fragments], np.uint64)
            return owned_ids((ids[members] << np.uint64(ADDRESS_BITS)) + within.astype(np.uint64), pool)
        borders = np.flatnonzero(np.diff(members)) + 1
        parts = [
            self._reader.fragment(int(self.numbers[member[0]])).virtual(number, part, pool)
            for member, part in zip(np.split(members, borders), np.split(within, borders), strict=True)
            if len(part)
        ]
        return pa.concat_arrays(parts or [pa.array([], pa.uint64())], memory_pool=pool)

    def read(
        self, members: NDArray[np.int64], offsets: NDArray[np.int64], reading: FragmentReading
    ) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Read rows; returns batches and counts, as `FragmentReading.take`.

        Parameters
        ----------
        members, offsets
            ``(n,) int64``: which of the fragments, ascending, and rows of its files, ascending within it.
        reading
            A reading of these fragments; without blobs.

        Raises
        ------
        LanceError
            A row cannot be read so; the fragments, one by one, tell what is wrong, if anything is.
        """
        rows = take_order(self.row_starts[members] + offsets, self.num_physical).rows
        return reading.take(rows)


class HeldFragments:
    """Joined fragments that are kept, and readings of them, which do not know of it: it goes when its holder does.

    Parameters
    ----------
    group
        The fragments.
    """

    def __init__(self, group: JoinedFragments) -> None:
        self.group = group
        self._readings: OrderedDict[int, tuple[Projection, FragmentReading]] = OrderedDict()
        self._lock = Lock()

    def reading(self, projection: Projection) -> FragmentReading:
        """Return a reading of what is wanted; those of the last few projections are kept. Errors are its own."""
        with self._lock:
            held = self._readings.get(id(projection))
        if held is None or held[0] is not projection:
            held = projection, self.group.reading(projection.nodes)
            with self._lock:
                self._readings[id(projection)] = held
                while len(self._readings) > _KEPT_READINGS:
                    self._readings.popitem(last=False)
        return held[1]


def _joined(
    opened: Sequence[tuple[int, SmallFiles, Sequence[tuple[FileVersion, bytes, NDArray[np.intp]]]]],
    key: tuple[int, ...],
    members: NDArray[np.intp],
) -> dict[int, JoinedFiles]:
    made = {}
    for (number, small, schemas), which in zip(opened, key, strict=True):
        version, schema, _ = schemas[which]
        made[number] = JoinedFiles(small, version, schema, members)
    return made


def alike(
    fragments: Sequence[FragmentMeta], numbers: Sequence[int], most_bytes: int | None, group_bytes: int
) -> Iterator[list[int]]:
    """Divide fragments into groups whose files have the same fields at the same places.

    Parameters
    ----------
    fragments, numbers
        All fragments of a version, and which of them, ascending.
    most_bytes
        Fragments with a larger file, or one without a recorded size, are in no group. None: there is no limit.
    group_bytes
        About the most bytes of a group.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    held: dict[tuple[object, ...], int] = {}
    for number in numbers:
        fragment = fragments[number]
        key = joining_key(fragment)
        sizes = [file.size_bytes or 0 for file in fragment.files]
        if key is None or (most_bytes is not None and max(sizes) > most_bytes):
            continue
        groups.setdefault(key, []).append(number)
        held[key] = held.get(key, 0) + sum(sizes)
        if held[key] >= group_bytes:
            yield groups.pop(key)
            held[key] = 0
    yield from groups.values()


def joining_key(fragment: FragmentMeta) -> tuple[object, ...] | None:
    """Return what is equal for fragments whose files may be joined; None for one whose manifest tells too little.

    Files of generations before 2.1 are not joined.
    """
    if fragment.physical_rows is None or not fragment.files:
        return None
    key: tuple[object, ...] = ()
    for file in fragment.files:
        if file.size_bytes is None or file.version not in JOINED_VERSIONS:
            return None
        # Equal tuples of most manifests are one object.
        key = (*key, id(file.fields), id(file.columns), id(file.version))
    return key


def files_with(columns: TableColumns, fragment: FragmentMeta, nodes: Sequence[ColumnNode]) -> list[int]:
    """Number the files of a fragment that hold some of (pruned) columns of the table."""
    leaves = [leaf for node in nodes for leaf in node.leaves() if leaf.column >= 0]
    found = [fragment.file_of(columns.field_id(leaf)) for leaf in leaves]
    held = [place[0] for place in found if place is not None]
    return [number for number, file in enumerate(fragment.files) if any(file is one for one in held)]
