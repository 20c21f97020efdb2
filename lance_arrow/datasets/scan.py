"""`FileScanHandler`: what the bridge asks when pyarrow scans Lance files; a request becomes windows of rows.

Order of a scan: find the open file (or open it), prune columns, cut windows; each window is read, decoded and sliced to
batches by one task, on whatever thread the bridge runs it. Arrow applies the filter; it is noted in the receipt.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.assembly.column_tree import ColumnNode
from lance_arrow.assembly.pruning import project
from lance_arrow.assembly.row_reader import RowReader
from lance_arrow.container.footer import NOT_LANCE
from lance_arrow.datasets.handler import FilePlace, ScanRequest
from lance_arrow.datasets.open_files import OpenFile, OpenFiles
from lance_arrow.datasets.table_guard import refuse_table_file
from lance_arrow.datasets.windows import WINDOW_ROWS, Windows, may_be_sliced
from lance_arrow.errors import CorruptFileError, InvalidArgumentError
from lance_arrow.io import ReadStats
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import ReadReport, RowRanges

_TRUE = pc.scalar(True)


class FileScanHandler:
    """Scans Lance files; the options of a `LanceFormat`, compared by value and picklable.

    Parameters
    ----------
    version, tag, as_of
        Which version of a table to read; only meaningful for table directories.
    """

    def __init__(self, version: int | None = None, tag: str | None = None, as_of: Any = None) -> None:
        if sum(option is not None for option in (version, tag, as_of)) > 1:
            raise InvalidArgumentError("give one of version, tag and as_of")
        self.version = version
        self.tag = tag
        self.as_of = as_of
        self._files = OpenFiles()

    def inspect(self, place: FilePlace) -> pa.Schema:
        """Return the schema of a file."""
        return self._open(place).rows.schema

    def supports(self, place: FilePlace) -> bool:
        """Tell whether the file ends like a Lance file; other faults raise."""
        try:
            self._open(place)
        except CorruptFileError as error:
            if error.detail == NOT_LANCE:
                return False
            raise
        return True

    def plan(self, place: FilePlace, request: ScanRequest) -> FileScan:
        """Prune columns and cut windows."""
        file = self._open(place)
        paths = [parse_dot_path(column) for column in request.columns]
        return FileScan(file, project(file.rows.roots, paths, missing_ok=True), request)

    def count_rows(self, place: FilePlace, filter: pc.Expression) -> int | None:
        """Return the row count when nothing is filtered."""
        return self._open(place).rows.num_rows if filter.equals(_TRUE) else None

    def _open(self, place: FilePlace) -> OpenFile:
        refuse_table_file(place)
        if self._key() != (None, None, None):
            raise InvalidArgumentError(
                "version, tag and as_of choose a version of a table, but this file is not part of one", path=place.path
            )
        return self._files.get(place)

    def _key(self) -> tuple[Any, Any, Any]:
        return self.version, self.tag, self.as_of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileScanHandler) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return FileScanHandler, self._key()

    def __repr__(self) -> str:
        names = ("version", "tag", "as_of")
        given = [f"{name}={value!r}" for name, value in zip(names, self._key(), strict=True) if value is not None]
        return f"FileScanHandler({', '.join(given)})"


class FileScan:
    """Windows of one file, in row order; `run` may be called from several threads at once.

    The receipt goes to the runtime when the last window is done, or when the scan is dropped before.
    """

    def __init__(self, file: OpenFile, nodes: Sequence[ColumnNode], request: ScanRequest) -> None:
        self._file = file
        self._nodes = nodes
        self._request = request
        self._windows = list(self._cut())
        self._lock = Lock()
        self._started = time.perf_counter()
        self._before = file.source.snapshot()
        self._done = self._pages = self._rows = 0
        self._reported = False

    def __len__(self) -> int:
        return len(self._windows)

    def run(self, index: int) -> list[pa.RecordBatch]:
        """Read one window and cut it to batches of at most the wanted size."""
        rows = self._windows[index].rows
        reader: RowReader = self._file.rows
        read, counts = reader.read(self._nodes, rows, self._request.memory_pool)
        size = self._request.batch_size
        batches = [batch.slice(start, size) for batch in read for start in range(0, batch.num_rows, size)]
        with self._lock:
            self._done += 1
            self._pages += counts.pages
            self._rows += rows.num_rows
            finished = self._done == len(self._windows)
        if finished:
            self._report()
        return batches

    def _cut(self) -> Windows:
        """Cut the file so that all tasks in flight stay within the budget, batches too where they would not."""
        request, reader = self._request, self._file.rows
        settings = reader.runtime.settings
        in_flight = request.batch_readahead if request.use_threads else 1
        batch_rows = min(request.batch_size, max(1, reader.num_rows))
        return Windows(
            RowRanges.one(0, reader.num_rows),
            batch_rows,
            weights=reader.weights(self._nodes),
            # Those that wait are decoded; those that run are encoded too.
            max_bytes=settings.memory_budget_bytes / (max(1, in_flight) + settings.num_threads),
            max_rows=WINDOW_ROWS if may_be_sliced(self._nodes) else batch_rows,
            whole_batches=False,
        )

    def _report(self) -> None:
        if self._reported:
            return
        self._reported = True
        stats: ReadStats = self._file.source.snapshot() - self._before
        default_runtime().finished(
            ReadReport(
                files=1,
                pages=self._pages,
                rows=self._rows,
                requests=stats.requests,
                requested_bytes=stats.bytes_wanted,
                fetched_bytes=stats.bytes_fetched,
                columns=tuple(leaf.path for node in self._nodes for leaf in node.leaves()),
                filter=None if self._request.filter.equals(_TRUE) else str(self._request.filter),
                seconds=time.perf_counter() - self._started,
            )
        )

    def __del__(self) -> None:
        if not self._reported:
            self._report()


def parse_dot_path(text: str) -> tuple[str, ...]:
    """Split ``a.b`` at unescaped dots; a backslash keeps the next character.

    Brackets are part of a name: the bridge has turned indices into names before.
    """
    parts = [""]
    characters = iter(text)
    for character in characters:
        if character == "\\":
            parts[-1] += next(characters, "")
        elif character == ".":
            parts.append("")
        else:
            parts[-1] += character
    return tuple(parts)
