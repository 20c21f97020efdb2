"""`ReadAhead`: read small files together, before a scan asks for them.

Arrow asks for the files of datasets that pyarrow made one by one. After a few files in sequence, a group of the
following files is read at once. The rows of each are returned when Arrow asks for that file.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrow_dataset.ahead.table_files import TableFiles
from lance_arrow.arrow_dataset.asked import Asked, asked_of
from lance_arrow.arrow_dataset.file_group import BareFiles, ReadFiles, ScansFiles, usual_held_bytes
from lance_arrow.arrow_dataset.group_scan import GroupState
from lance_arrow.arrow_dataset.handler_protocol import READ_AHEAD, ReadyRows, ScanRequest, ScanTasks
from lance_arrow.arrow_dataset.table_session import FoundPart, TableSession
from lance_arrow.container.joined_files import JOINED_VERSIONS
from lance_arrow.io import AnyFileSystem, Location, locate, reads_small_files
from lance_arrow.pruning.zone_predicates import Tree
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.file_place import FilePlace, Following
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.groups.group_sizes import BareSizes
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.open_files import MOST_OPEN_FILES
from lance_arrow.scan.projection import have_blobs
from lance_arrow.scan.windows import LEAST_GROUPED, SMALL_FILE_BYTES, may_be_sliced

_ASKED_ALONE = 2
# Of larger files, codes are counted sooner than a scan makes values of them.
_MOST_COUNTED_BYTES = 4 << 20
MOST_AHEAD = 128
"""Most files of a group."""
# Arrow has so many files in flight: its threads ask for some of them before their group is read.
_MOST_OUT_OF_ORDER = 16
_TRUE = pc.scalar(True)
# Held for a moment: threads share what reads ahead.
_MAKING = Lock()
# These give an answer for every value.
_TOTAL = frozenset(
    ("and_kleene", "or_kleene", "invert", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    + ("is_null", "is_valid", "is_nan", "is_in", "starts_with")
)


class OpensFiles(ScansFiles, Protocol):
    """Opens files and scans single ones, as `FileScanHandler`."""

    def example(self, place: FilePlace, schema: pa.Schema) -> OpenFile | None:
        """Open a file; of a store, another one of the schema that is open may stand for it."""

    def table_files(self, session: TableSession, filesystem: AnyFileSystem | None) -> TableFiles:
        """Return what reads the files of a table together."""


class _ReadAlready:
    """The scan of a file whose rows are here."""

    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        self._batches = batches

    def __len__(self) -> int:
        return 1

    def run(self, index: int) -> Sequence[pa.RecordBatch]:
        """Return all rows."""
        return self._batches


class ReadAhead:
    """Rows that one scan has read ahead; threads share them.

    Parameters
    ----------
    request
        What the scan wants. Arrow applies its filter to the rows.
    handler
        Reads files.
    rows
        Where rows go; the bridge takes them from there.
    """

    def __init__(self, request: ScanRequest, handler: OpensFiles, rows: ReadyRows) -> None:
        self.rows = rows
        # This stays until another scan begins: open files are let go before.
        self._handler = weakref.ref(handler)
        self._lock = Lock()
        plan = asked_of(request).filter
        self._plan = plan
        # The scan's own request holds this object.
        self._judged = replace(request, kept={Asked: asked_of(request)})
        self._request = replace(request, filter=_TRUE, kept={})
        self._num_asked = 0
        # There are as many files, or more.
        self._num_files = 0
        self._is_far = False
        # Files that follow those that were asked for, or read.
        self._next: set[str] = set()
        # The first file after the last group.
        self._upcoming: FilePlace | None = None
        self._most = LEAST_GROUPED
        # If a filter may fail on a value, it is applied here: where it does, files are read one by one, so that those
        # before are read.
        self._whole = self._request if plan is None or _cannot_fail(plan) else self._judged
        self._is_off = not may_be_ahead(plan)

    @classmethod
    def of(cls, request: ScanRequest, handler: OpensFiles, following: Following) -> ReadAhead:
        """Return that of a scan for files of one origin: a union reads several versions, or filesystems."""
        with _MAKING:
            known: list[ReadAhead] = request.kept.setdefault(READ_AHEAD, [])
            for one in known:
                if one.rows.is_for(following):
                    return one
            known.append(cls(request, handler, following.ready_rows()))
            return known[-1]

    def scan(self, handler: OpensFiles, place: FilePlace) -> ScanTasks | None:
        """Return the scan of a file that was read, or is now, with others; None for one to be read by itself.

        Parameters
        ----------
        handler
            Reads files.
        place
            The file, with `following`.
        """
        following = place.following
        assert following is not None
        with self._lock:
            batches = self.rows.take(following)
            if batches is None and not self._is_off:
                self._look(handler, place)
                batches = self.rows.take(following)
        return None if batches is None else _ReadAlready(batches)

    def read_next(self) -> None:
        """Read the group after the last one."""
        with self._lock:
            handler, place, self._upcoming = self._handler(), self._upcoming, None
            if handler is not None and place is not None and not self._is_off:
                self._read_group(handler, place)

    def _look(self, handler: OpensFiles, place: FilePlace) -> None:
        """Read a group that begins with a file, if that is next in order."""
        assert place.following is not None
        self._num_asked += 1
        if not self._num_files:
            self._num_files = 1 + len(place.following(MOST_OPEN_FILES)[0])
            self._is_far = place.is_far
        # Far files one by one would be waited for one after another.
        alone, least = (1, 1) if self._is_far else (_ASKED_ALONE, LEAST_GROUPED)
        is_in_order = place.path in self._next and self._num_asked > alone
        num_following = len(place.following(self._most)[0])
        # Of so few files it pays to keep what is learnt of each.
        if not is_in_order or (self._most == LEAST_GROUPED and num_following < least):
            self._next.update(place.following(1)[0])
            return
        self._read_group(handler, place)

    def _read_group(self, handler: OpensFiles, place: FilePlace) -> None:
        """Read a group that begins with a file."""
        assert place.following is not None
        # More than that left of a former group is a scan that leaves out files.
        self._is_off = self.rows.begin() > _MOST_OUT_OF_ORDER
        found, sizes = place.following(self._most)
        paths, sizes = [place.path, *found], [-1 if place.size is None else place.size, *sizes]
        location = locate(place.path, filesystem=place.filesystem)  # type: ignore[arg-type]
        # The paths of a scan may be relative.
        own = place.path.removeprefix("./")
        count, read, before, dots = 0, iter(()), 0, len(place.path) - len(own)
        if not self._is_off and location is not None and location.path.endswith(own):
            before = len(location.path) - len(own)
            whole = [location.path[:before] + path[dots:] for path in paths[: self._most]]
            count, read = self._group(handler, place, location, whole, sizes[: self._most])
        self._is_off = True
        for one in read:
            names = [place.path[:dots] + path[before:] for path in one.paths]
            self.rows.add(names, one.num_rows.tolist(), one.batches)
            self._is_off = False
        self._next = set(paths[count : count + 1])
        self._most = MOST_AHEAD
        self._upcoming = None
        if count and len(paths) > count:
            following = _Skipping(place.following, count)
            self._upcoming = replace(place, path=paths[count], size=sizes[count], following=following)

    def _group(
        self,
        handler: OpensFiles,
        place: FilePlace,
        location: Location,
        paths: Sequence[str],
        sizes: Sequence[int],
    ) -> tuple[int, Iterator[ReadFiles]]:
        """Return how many files, from the first on, make a group, and what reads them; 0 for none."""
        if isinstance(place.payload, FoundPart):
            table = handler.table_files(place.payload.session, location.given)
            return table.read(paths, self._request, self._plan, self._num_files)
        count, ends_only = self._count_of(handler, place, location, sizes)
        if count < 2:
            return 0, iter(())
        first = replace(place, path=location.path, following=None)
        own_sizes = np.array(sizes[:count], np.int64)
        group = BareFiles(location.given, first, tuple(paths[:count]), own_sizes, GroupState(), ends_only)
        return count, group.read_files(handler, self._judged, self._whole)

    def _count_of(
        self, handler: OpensFiles, place: FilePlace, location: Location, sizes: Sequence[int]
    ) -> tuple[int, bool]:
        """Return how many bare files, from the first on, make a group, and whether it is opened by their ends."""
        filesystem = location.given
        opened = joinable(handler, place, filesystem, self._request.dataset_schema)
        if opened is None:
            return 0, False
        roots = opened.rows.roots
        nodes = asked_of(self._request).nodes.of(roots)
        # The rows of a file are slices of those of the group.
        if have_blobs(nodes) or not may_be_sliced(nodes):
            return 0, False
        limits = BareSizes(filesystem, roots, nodes, self._plan, self._num_files, default_runtime())
        count, ends_only = limits.fitting(sizes)
        if ends_only and self._plan is None:
            # All rows are held. Those of other files take about as much.
            row_bytes = float(opened.rows.weights(nodes).totals[-1]) / max(1, opened.source.size())
            held = np.cumsum(sizes[:count]) * row_bytes
            count = min(count, int(np.searchsorted(held, usual_held_bytes(), "right")))
        return count, ends_only


@dataclass(frozen=True, slots=True, eq=False)
class _Skipping:
    """What follows one of the files that follow another."""

    following: Following
    before: int

    def __call__(self, most: int, skipped: int = 0) -> tuple[list[str], list[int]]:
        return self.following(most, self.before + skipped)

    def ready_rows(self) -> ReadyRows:
        found: ReadyRows = self.following.ready_rows()
        return found


def joinable(
    handler: OpensFiles, place: FilePlace, filesystem: AnyFileSystem | None, schema: pa.Schema
) -> OpenFile | None:
    """Return an open file with the schema of the one at a place; None if such files cannot be read as one."""
    opened = handler.example(place, schema)
    if opened is None or opened.rows.file.version not in JOINED_VERSIONS or not reads_small_files(filesystem):
        return None
    return opened


def may_be_ahead(filter: FilterPlan | None) -> bool:
    """Whether files may be read before a scan with this filter asks for them: it finds the same rows each time."""
    return filter is None or filter.is_repeatable


def is_counted_by_scan(place: FilePlace, filter: FilterPlan) -> bool:
    """Whether a file is one of many, local or of a table, which a scan reads in groups and counts sooner."""
    if place.following is None or place.size is None or place.size > _MOST_COUNTED_BYTES or not may_be_ahead(filter):
        return False
    if place.is_far:
        return place.payload is not None and bool(place.following(1)[0])
    # Of files that stay open, what counting them took is kept.
    least = LEAST_GROUPED if place.size <= SMALL_FILE_BYTES else MOST_OPEN_FILES
    return len(place.following(least)[0]) >= least


def _cannot_fail(filter: FilterPlan) -> bool:
    """Whether a filter gives an answer for every value."""
    if filter.predicate is None:
        return False
    waiting: list[Tree] = [filter.predicate.tree]
    while waiting:
        node = waiting.pop()
        if node[0] == "call":
            if node[1] not in _TOTAL:
                return False
            waiting += node[2]
    return True
