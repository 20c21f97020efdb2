"""`CountAhead`: count far files together, before Arrow asks for them.

Arrow counts the files of a dataset one after another, and each far one takes waves of requests. When it asks for the
second file in sequence, a group of the following ones is counted at once.
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from lance_arrow.arrow_dataset.ahead.read_ahead import MOST_AHEAD, OpensFiles, joinable
from lance_arrow.arrow_dataset.asked import asked_of
from lance_arrow.arrow_dataset.file_group import BareFiles
from lance_arrow.arrow_dataset.group_scan import GroupState
from lance_arrow.arrow_dataset.handler_protocol import ScanRequest
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.groups.group_sizes import BareSizes


class CountAhead:
    """Counts of one scan that were made ahead; threads share them."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._next: str | None = None
        self._lock = Lock()

    @classmethod
    def of(cls, request: ScanRequest) -> CountAhead:
        """Return that of a scan."""
        found: CountAhead = request.kept.setdefault(cls, cls())
        return found

    def count(self, handler: OpensFiles, place: FilePlace, request: ScanRequest) -> int | None:
        """Return the wanted rows of a far bare file; None where it is to be counted by itself.

        Parameters
        ----------
        handler
            Opens files.
        place
            The file, with `following`.
        request
            Its filter gives the same answer each time.
        """
        assert place.following is not None
        with self._lock:
            if place.path not in self._known:
                is_next = place.path == self._next
                self._next = next(iter(place.following(1)[0]), None)
                if is_next:
                    self._count_group(handler, place, request)
            return self._known.pop(place.path, None)

    def _count_group(self, handler: OpensFiles, place: FilePlace, request: ScanRequest) -> None:
        location = place.location()
        assert place.following is not None
        if location is None or place.size is None or location.path != place.path:
            return
        opened = joinable(handler, place, location.given, request.dataset_schema)
        if opened is None:
            return
        paths, sizes = place.following(MOST_AHEAD)
        paths, sizes = [place.path, *paths], [place.size, *sizes]
        filter, roots = asked_of(request).filter, opened.rows.roots
        limits = BareSizes(location.given, roots, (), filter, len(paths), default_runtime())
        count, ends_only = limits.fitting(sizes)
        if count < 2:
            return
        group = BareFiles(
            location.given, place, tuple(paths[:count]), np.array(sizes[:count], np.int64), GroupState(), ends_only
        )
        for own, counts in group.counts(handler, request):
            self._known.update(zip(own, counts.tolist(), strict=True))
        self._next = paths[count] if count < len(paths) else None
