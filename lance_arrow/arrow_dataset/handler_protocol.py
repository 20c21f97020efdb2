"""Protocol between the native bridge, for Arrow's scan machinery, and a reader of files in Python.

Callbacks run on threads of their own pool, several at once, or in the caller's thread (decision 0016). They may block.
They never run on threads that Arrow needs, or under a lock of Arrow's that they need. Returned batches must own memory
that Arrow allocated: from `ScanRequest.memory_pool`, or from a file that Arrow mapped. Memory owned by Python objects,
as in `pyarrow.py_buffer(bytes)` or a wrapped numpy array, is not allowed. The thread that drops the last reference
takes the GIL to release it, which aborts the process while the interpreter ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow
import pyarrow.compute

from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.scan_options import ScanOptions

FILE_PRUNER = "file_pruner"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRequest:
    """Request of one scan to one file.

    Parameters
    ----------
    columns
        Paths of the columns that projection and filter mention, once each: ``"a"``, ``"st.b"``. A backslash escapes a
        dot or backslash within a name. Skip columns that the file lacks: partition columns, columns added later,
        ``__filename``. Empty when only the number of rows matters.
    filter
        Expression bound to `dataset_schema`, simplified by the guarantee of the fragment: it mentions no partition
        column that has one value. Arrow applies it again to the returned rows. A handler may leave out rows that do not
        satisfy it, but need not.
    batch_size
        No batch may hold more rows.
    batch_readahead
        Tasks that may be in flight at once.
    use_threads
        Whether the caller wants parallel work; if not, tasks run one by one in the caller's thread.
    memory_pool
        The caller's pool, for every buffer of a result. Valid as long as a task runs, not longer.
    dataset_schema
        Schema of the whole dataset, which may differ from the file's.
    options
        Options of this scan that override those of the format; None if there are none.
    kept
        Cache of the handler for this request; files of one scan share it if their filter is the same. If it holds a
        `NativeFilePruner` under `FILE_PRUNER`, the bridge excludes files by it before it calls the handler.
    """

    columns: tuple[str, ...]
    filter: pyarrow.compute.Expression
    batch_size: int
    batch_readahead: int
    use_threads: bool
    memory_pool: pyarrow.MemoryPool
    dataset_schema: pyarrow.Schema
    options: ScanOptions | None = None
    kept: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)


class ScanTasks(Protocol):
    """Independent pieces of one file's scan, in row order."""

    def __len__(self) -> int: ...

    def run(self, index: int) -> Sequence[pyarrow.RecordBatch]:
        """Return the batches of one piece, in row order; when no column is wanted, batches of rows without columns."""
        ...


class FileGroup(ABC):
    """The payload of a fragment that stands for several files, or fragments of a table: it scans them itself."""

    __slots__ = ()

    @abstractmethod
    def plan(self, handler: Any, request: ScanRequest) -> ScanTasks:
        """Open the files and cut windows; `handler` scans single ones."""

    @abstractmethod
    def count_rows(self, handler: Any, request: ScanRequest) -> int | None:
        """Count rows; as `ScanHandler.count_rows`."""


class FileSink(Protocol):
    """One file that Arrow writes."""

    def write(self, batch: pyarrow.RecordBatch) -> None:
        """Add rows."""
        ...

    def finish(self) -> None:
        """Write what is left; the stream is closed by Arrow afterwards."""
        ...


class ScanHandler(Protocol):
    """Answers the bridge's questions; the options of a format, hence compared by value and picklable."""

    def adopt(self, place: FilePlace) -> object | None:
        """Return the payload of a file for which a fragment is made without one; must be cheap, need not read."""
        ...

    def inspect(self, place: FilePlace) -> pyarrow.Schema:
        """Return the schema of a file."""
        ...

    def supports(self, place: FilePlace) -> bool:
        """Return False if the file has another format; raise an error for other faults."""
        ...

    def plan(self, place: FilePlace, request: ScanRequest) -> ScanTasks:
        """Decide what to read; may read metadata."""
        ...

    def count_rows(self, place: FilePlace, request: ScanRequest) -> int | None:
        """Return the number of rows that satisfy the request's filter, or None to have Arrow count by a scan.

        The request names no columns.
        """
        ...

    def opened(self, place: FilePlace) -> OpenFile | None:
        """Return the open file, for what goes past scans (zones, rows by number); None where scans are all there is."""
        ...

    def make_writer(self, stream: pyarrow.NativeFile, schema: pyarrow.Schema, options: Any, path: str) -> FileSink:
        """Start a file on an open stream, which stays open; `options` is what the write options were made with."""
        ...

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...
