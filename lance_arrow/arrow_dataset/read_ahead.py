"""`ReadAhead`: read small files together, before a scan asks for them.

Arrow asks for the files of datasets that pyarrow made one by one. After a few files in sequence, a group of the
following files is read at once. The rows of each are returned when Arrow asks for that file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrow_dataset.asked import asked_of
from lance_arrow.arrow_dataset.file_group import BareFiles, ScansFiles
from lance_arrow.arrow_dataset.group_scan import GroupState
from lance_arrow.arrow_dataset.handler_protocol import ScanRequest, ScanTasks
from lance_arrow.container.joined_files import JOINED_VERSIONS
from lance_arrow.io import locate
from lance_arrow.pruning.zone_predicates import Tree
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.fragments.fragment_groups import GroupSizes, share_of
from lance_arrow.scan.fragments.joined_fragments import SMALL_FILE_BYTES
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.projection import have_blobs
from lance_arrow.scan.windows import LEAST_GROUPED, may_be_sliced

_ASKED_ALONE = 2
# Arrow asks for the files that it reads ahead before the file pruner has seen a file.
_JUDGED_ALONE = 24
_MOST_FILES = 64
# Arrow has so many files in flight: its threads ask for some of them before their group is read.
_MOST_OUT_OF_ORDER = 16
_KEY = "read_ahead"
_TRUE = pc.scalar(True)
# These give an answer for every value.
_TOTAL = frozenset(
    ("and_kleene", "or_kleene", "invert", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    + ("is_null", "is_valid", "is_nan", "is_in", "starts_with")
)


class OpensFiles(ScansFiles, Protocol):
    """Opens files and scans single ones, as `FileScanHandler`."""

    def opened(self, place: FilePlace) -> OpenFile | None:
        """Open a file."""


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
    """

    def __init__(self, request: ScanRequest) -> None:
        self._lock = Lock()
        plan = asked_of(request).filter
        # The scan's own request holds this object.
        self._unfiltered = None if plan is None else replace(request, filter=_TRUE, kept={})
        self._is_judged = plan is not None
        self._num_asked = 0
        # Files that follow those that were asked for, or read.
        self._next: set[str] = set()
        # By path, of the last group and of the one before: threads ask for files in about their order.
        self._ready: dict[str, Sequence[pa.RecordBatch]] = {}
        self._before: dict[str, Sequence[pa.RecordBatch]] = {}
        self._most = LEAST_GROUPED
        # If a filter may fail on a value, files are read one by one, so that the error names the file.
        self._is_off = plan is not None and (plan.predicate is None or not _is_total(plan.predicate.tree))

    @classmethod
    def of(cls, request: ScanRequest) -> ReadAhead:
        """Return that of a scan."""
        found: ReadAhead = request.kept.get(_KEY) or request.kept.setdefault(_KEY, cls(request))
        return found

    def scan(self, handler: OpensFiles, place: FilePlace, request: ScanRequest) -> ScanTasks | None:
        """Return the scan of a file that was read, or is now, with others; None for one to be read by itself.

        Parameters
        ----------
        handler
            Reads files.
        place
            The file, with `following`.
        request
            That of the scan.
        """
        with self._lock:
            batches = self._taken(place.path)
            if batches is None and not self._is_off:
                self._look(handler, place, request if self._unfiltered is None else self._unfiltered)
                batches = self._taken(place.path)
        return None if batches is None else _ReadAlready(batches)

    def _taken(self, path: str) -> Sequence[pa.RecordBatch] | None:
        found = self._ready.pop(path, None)
        return self._before.pop(path, None) if found is None else found

    def _look(self, handler: OpensFiles, place: FilePlace, request: ScanRequest) -> None:
        """Read a group that begins with a file, if that is next in order."""
        assert place.following is not None
        self._num_asked += 1
        found, sizes = place.following(self._most)
        is_in_order = place.path in self._next and self._num_asked > (
            _JUDGED_ALONE if self._is_judged else _ASKED_ALONE
        )
        # Of so few files it pays to keep what is learnt of each.
        if not is_in_order or (self._most == LEAST_GROUPED and len(found) < LEAST_GROUPED):
            self._next.update(found[:1])
            return
        # More than that left of the group before is a scan that leaves out files.
        self._is_off = len(self._before) > _MOST_OUT_OF_ORDER
        most_bytes = 0 if self._is_off else self._most_bytes(handler, place, request)
        paths, sizes = [place.path, *found], [place.size or most_bytes + 1, *sizes]
        count = _fitting(sizes[: self._most], most_bytes)
        if count < 2:
            self._is_off = True
            return
        location = locate(place.path, filesystem=place.filesystem)  # type: ignore[arg-type]
        assert location is not None
        own_sizes = np.array(sizes[:count], np.int64)
        group = BareFiles(location.filesystem, place, tuple(paths[:count]), own_sizes, GroupState())
        read = group.batches_of_files(handler, request)
        self._before, self._ready = self._ready, {paths[number]: batches for number, batches in read.items()}
        self._is_off = not read
        self._next = set(paths[count : count + 1])
        self._most = _MOST_FILES

    def _most_bytes(self, handler: OpensFiles, place: FilePlace, request: ScanRequest) -> int:
        """Return the most bytes of a file that is read so; 0 for none."""
        location = locate(place.path, filesystem=place.filesystem)  # type: ignore[arg-type]
        if location is None or not location.is_local or location.path != place.path:
            return 0
        opened = handler.opened(place)
        if opened is None or opened.rows.file.version not in JOINED_VERSIONS:
            return 0
        roots = opened.rows.roots
        nodes = asked_of(request).nodes.of(roots)
        # The rows of a file are slices of those of the group.
        if have_blobs(nodes) or not may_be_sliced(nodes):
            return 0
        most_bytes = _sizes().most_of_a_file(share_of(nodes, roots), is_judged=False)
        # Of larger files zone maps may leave out parts.
        return min(most_bytes, SMALL_FILE_BYTES) if self._is_judged else most_bytes


def _is_total(tree: Tree) -> bool:
    """Whether a filter cannot fail."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node[0] == "call":
            if node[1] not in _TOTAL:
                return False
            waiting += node[2]
    return True


def _sizes() -> GroupSizes:
    return GroupSizes(default_runtime(), is_local=True)


def _fitting(sizes: Sequence[int], most_bytes: int) -> int:
    """Return how many of some files, from the first on, make a group."""
    total, group_bytes = 0, _sizes().group_bytes
    for number, size in enumerate(sizes):
        total += size
        if size > most_bytes or total > group_bytes:
            return number
    return len(sizes)
