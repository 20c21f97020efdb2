"""Protocol between the native bridge, for Arrow's scan machinery, and a reader of files in Python.

Callbacks run on threads of their own pool, several at once, or in the caller's thread (decision 0016). They may block.
They never run on threads that Arrow needs, or under a lock of Arrow's that they need. Returned batches must own memory
that Arrow allocated: from `ScanRequest.memory_pool`, or from a file that Arrow mapped. Memory owned by Python objects,
as in `pyarrow.py_buffer(bytes)` or a wrapped numpy array, is not allowed. The thread that drops the last reference
takes the GIL to release it, which aborts the process while the interpreter ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow
import pyarrow.compute

from lance_arrow.scan.file_place import FilePlace, Following
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.scan_options import ScanOptions

FILE_PRUNER = "file_pruner"
READ_AHEAD = "read_ahead"
COUNTED_BY_SCAN = "counted_by_scan"


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
        Cache of the handler for this request; files of one scan share it if their filter is the same. The bridge looks
        at three entries. By a `NativeFilePruner` under `FILE_PRUNER` it excludes files before it calls the handler. Of
        each `ReadsAhead` in the list under `READ_AHEAD` it hands out rows instead of calling the handler. With anything
        under `COUNTED_BY_SCAN` it has Arrow count rows that satisfy a filter by scanning for them.
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


class FoundFiles(Protocol):
    """Files of one dataset that belong to one version of a table; that of the bridge is native."""

    @property
    def is_used(self) -> bool:
        """Whether the version is fixed."""
        ...

    def adopt(self, path: str) -> bool:
        """Take in a file; False when it must belong to another dataset."""
        ...

    def has(self, path: str) -> bool:
        """Whether a file was taken in."""
        ...

    def use(self, rows: Mapping[str, int]) -> None:
        """Fix the version: the rows of its files by path, -1 for files that are to be asked; others have none."""
        ...


class SharedPart(Protocol):
    """The payload of one of several files."""

    @property
    def path(self) -> str:
        """The whole path, as `FoundFiles` have it; that of Arrow may be relative."""
        ...


class SharedPayload:
    """Base of payloads of several files that were found in one folder.

    Attributes
    ----------
    found_files
        The files. The bridge adopts further ones of the folder, and counts rows, without asking the handler.
    """

    # No abstract class: those are asked for instances in Python, once a file.
    found_files: FoundFiles

    def at(self, path: str, filesystem: Any) -> SharedPart:
        """Return the payload of one of the files; its place has that one."""
        raise NotImplementedError


class ReadyRows(Protocol):
    """Rows of files that a scan has read before it asks for them; those of the bridge are native."""

    def begin(self) -> int:
        """Begin a group; return how many files with rows are left of the one that is given up for it."""
        ...

    def add(self, paths: Sequence[str], num_rows: Sequence[int], batches: Sequence[pyarrow.RecordBatch]) -> None:
        """Add neighbours to the group, with the rows that each has of the batches."""
        ...

    def is_for(self, following: Following) -> bool:
        """Whether the file of a place with `following` has the filesystem, table version and format of these."""
        ...

    def take(self, following: Following) -> list[pyarrow.RecordBatch] | None:
        """Return the rows of the file of a place with `following`, once; None where it was not read."""
        ...


class ReadsAhead(Protocol):
    """Reads files of a scan in groups.

    Attributes
    ----------
    rows
        What was read.
    """

    rows: ReadyRows

    def read_next(self) -> None:
        """Read the next group; the bridge calls it when the scan has asked for the first file of the last one."""
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
    """One file that Arrow writes.

    The bridge joins the batches of Arrow before it hands them over: a file that fits into memory gets one call.
    """

    @property
    def most_bytes(self) -> int:
        """Bytes of rows that all open files of the process may hold, this one and the bridge's own included."""
        ...

    def write(self, batches: Sequence[pyarrow.RecordBatch], most_bytes: int) -> int:
        """Add rows, hold at most `most_bytes` of rows afterwards, and return how many bytes are held."""
        ...

    def finish(self, batches: Sequence[pyarrow.RecordBatch]) -> None:
        """Add the last rows, and write what is left; the stream is closed by Arrow afterwards."""
        ...


class ScanHandler(Protocol):
    """Answers the bridge's questions; the options of a format, hence compared by value and picklable."""

    def adopt(self, place: FilePlace) -> object | None:
        """Return the payload of a file for which a fragment is made without one; must be cheap, need not read.

        None is the answer for all files of its folder until a dataset is inspected; a `SharedPayload` for those that
        its `found_files` adopt. Both only for the same thread.
        """
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
