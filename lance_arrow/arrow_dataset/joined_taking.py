"""Rows by number of many local bare files: they are counted natively, and the ends of wanted ones are read together.

files ─► rows of each                    wanted files ─► their ends ─► those of one schema as one file ─► rows
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment, as_stored
from lance_arrow.arrow_dataset.scan_handler import FileScanHandler
from lance_arrow.arrow_dataset.scanner_options import ScannerOptions
from lance_arrow.errors import LanceError
from lance_arrow.io import AnyFileSystem, locate
from lance_arrow.pruning.file_pruner import FileCounter
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.groups.group_sizes import may_read_ends
from lance_arrow.scan.groups.opened_together import as_one, open_together
from lance_arrow.scan.joined_rows import opened_as_one
from lance_arrow.scan.projection import have_blobs
from lance_arrow.scan.row_taking import take_rows
from lance_arrow.scan.scan_options import ScanOptions
from lance_arrow.scan.windows import ENDS_BYTES, LEAST_GROUPED

# Files of other schemas are counted one by one, and shown to the native counter, up to so many.
_MOST_SHOWN = 8


class JoinedTaking:
    """Counts files and takes rows of them.

    Parameters
    ----------
    fragments
        Whole bare files.
    handler
        Opens files.
    filesystem, paths
        Where they are.
    """

    def __init__(
        self,
        fragments: Sequence[LanceFileFragment],
        handler: FileScanHandler,
        filesystem: AnyFileSystem,
        paths: Sequence[str],
    ) -> None:
        self._fragments, self._handler, self._filesystem, self._paths = fragments, handler, filesystem, paths

    @classmethod
    def of(cls, fragments: Sequence[LanceFileFragment]) -> JoinedTaking | None:
        """Return that of some files; None where they are few, far, parts of files, or of a table."""
        limits = default_runtime().settings.limits
        handler = fragments[0].format.handler
        if not isinstance(handler, FileScanHandler) or handler.options.verify == "full":
            return None
        if handler.scan_options != ScanOptions():
            return None
        paths = []
        filesystem: AnyFileSystem | None = None
        for fragment in fragments:
            place = fragment.place
            location = (
                None
                if place.payload is not None or place.rows is not None
                else locate(place.path, filesystem=place.filesystem)
            )
            if location is None or not location.is_local:
                return None
            filesystem = location.filesystem
            paths.append(location.path)
        may = filesystem is not None and may_read_ends(filesystem, limits, len(fragments))
        return cls(fragments, handler, filesystem, paths) if may else None

    def num_rows(self) -> NDArray[np.int64]:
        """Count the rows of each file, ``(n,) int64``.

        Raises
        ------
        LanceError, OSError
            A file cannot be read.
        """
        counter = FileCounter(has_checks=self._handler.options.verify != "off")
        counts = np.full(len(self._paths), -1, np.int64)
        for _ in range(_MOST_SHOWN):
            unknown = np.flatnonzero(counts < 0)
            if not len(unknown):
                break
            first = int(unknown[0])
            opened = self._handler.opened(self._fragments[first].place)
            if opened is None:
                break
            counts[first] = opened.rows.num_rows
            counter.register(opened.rows)
            counts[unknown[1:]] = counter.native.counts([self._paths[number] for number in unknown[1:].tolist()])
        for number in np.flatnonzero(counts < 0).tolist():
            counts[number] = self._fragments[number].num_rows
        return counts

    def take(
        self,
        numbers: Sequence[int],
        offsets: Callable[[int], NDArray[np.int64]],
        counts: NDArray[np.int64],
        options: ScannerOptions,
        schema: pa.Schema,
    ) -> Iterator[tuple[list[int], pa.Table]]:
        """Take rows of files that can be read together; others are left out.

        Parameters
        ----------
        numbers
            Which of the files.
        offsets
            Returns wanted rows of a file, in any order.
        counts
            ``(n,) int64`` rows of all files, as they were counted.
        options, schema
            What is wanted, and the schema of the dataset.

        Yields
        ------
        numbers, rows
            Files, and their rows one after the other.
        """
        runtime = default_runtime()
        if len(numbers) < LEAST_GROUPED or runtime.is_watched:
            return
        try:
            for some, sizes in self._groups(numbers):
                paths, how = [self._paths[number] for number in some], self._handler.options
                small = open_together(self._filesystem, paths, sizes, runtime, how, ends_only=True, may_change=True)
                small.flags[small.num_rows != counts[some]] = 0
                for members, files in as_one(small, in_order=False):
                    file = opened_as_one(files, runtime, how)
                    projection = as_stored(file, options, schema)
                    if projection is None or have_blobs(projection.nodes):
                        continue
                    own = [some[member] for member in members.tolist()]
                    starts = files.row_starts[:-1].tolist()
                    rows = [start + offsets(number) for start, number in zip(starts, own, strict=True)]
                    yield own, take_rows(file, projection, np.concatenate(rows))
        except (LanceError, OSError):
            # Read one by one, the files tell what is wrong; or they can be read.
            return

    def _groups(self, numbers: Sequence[int]) -> Iterator[tuple[list[int], NDArray[np.int64]]]:
        """Divide files into groups whose ends may be read together; yield them and their sizes."""
        sizes = np.array([os.stat(self._paths[number]).st_size for number in numbers], np.int64)
        group_of = np.cumsum(sizes) // ENDS_BYTES
        for group in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(group_of)) + 1):
            yield [numbers[place] for place in group.tolist()], sizes[group]
