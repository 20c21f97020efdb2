"""A toy file format for tests of the bridge: Arrow IPC files, one task per record batch of the file.

Importable in child processes; its `Log` counts what the bridge asked for.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from lance_arrow.arrow_dataset import pickling  # noqa: F401 (registers reducers)
from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.handler_protocol import ScanRequest
from lance_arrow.scan.file_place import FilePlace


@dataclass
class Log:
    """What happened, by all threads."""

    places: list[FilePlace] = field(default_factory=list)
    requests: list[ScanRequest] = field(default_factory=list)
    written: list[tuple[object, str]] = field(default_factory=list)
    calls: dict[str, list[list[int]]] = field(default_factory=dict)
    num_inspected: int = 0
    num_counted: int = 0
    started: list[int] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)
    running: int = 0
    max_running: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class ToySink:
    """One file that is written."""

    writer: pa.ipc.RecordBatchFileWriter
    most_bytes: int
    calls: list[list[int]]
    """Rows of each batch of each call."""

    def write(self, batches: Sequence[pa.RecordBatch], most_bytes: int) -> int:
        self.calls.append([batch.num_rows for batch in batches])
        for batch in batches:
            self.writer.write_batch(batch)
        return 0

    def finish(self, batches: Sequence[pa.RecordBatch]) -> None:
        self.write(batches, self.most_bytes)
        self.writer.close()


@dataclass(frozen=True)
class ToyHandler:
    """Equal by `name` alone; the rest are hooks for one process."""

    name: str = "toy"
    log: Log = field(default_factory=Log, compare=False, repr=False)
    on_run: Callable[[int], object] | None = field(default=None, compare=False, repr=False)
    on_plan: Callable[[], object] | None = field(default=None, compare=False, repr=False)
    delay_seconds: float = field(default=0.0, compare=False, repr=False)
    most_bytes: int = field(default=1 << 30, compare=False, repr=False)

    def __reduce__(self) -> tuple[object, ...]:
        return ToyHandler, (self.name,)

    def _open(self, place: FilePlace) -> pa.ipc.RecordBatchFileReader:
        self.log.places.append(place)
        if place.buffer is not None:
            return pa.ipc.open_file(place.buffer)
        if isinstance(place.filesystem, pa.fs.FileSystem):
            content = place.filesystem.open_input_file(place.path).read_buffer()
        else:
            content = arrow_copy(place.filesystem.cat_file(place.path))
        return pa.ipc.open_file(content)

    def inspect(self, place: FilePlace) -> pa.Schema:
        self.log.num_inspected += 1
        return self._open(place).schema

    def supports(self, place: FilePlace) -> bool:
        try:
            self._open(place)
        except pa.ArrowInvalid:
            return False
        return True

    def plan(self, place: FilePlace, request: ScanRequest) -> ToyTasks:
        if self.on_plan is not None:
            self.on_plan()
        self.log.requests.append(request)
        return ToyTasks(self, self._open(place), request)

    def opened(self, place: FilePlace) -> None:
        return None

    def make_writer(self, stream: pa.NativeFile, schema: pa.Schema, options: object, path: str) -> ToySink:
        self.log.written.append((options, path))
        self.log.calls[path] = []
        return ToySink(pa.ipc.new_file(stream, schema), self.most_bytes, self.log.calls[path])

    def count_rows(self, place: FilePlace, request: ScanRequest) -> int | None:
        self.log.num_counted += 1
        if not request.filter.equals(pc.scalar(True)):
            return None
        reader = self._open(place)
        return sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))


class ToyTasks:
    """One task per record batch."""

    def __init__(self, handler: ToyHandler, reader: pa.ipc.RecordBatchFileReader, request: ScanRequest) -> None:
        self.handler = handler
        self.reader = reader
        self.request = request
        self.reading = threading.Lock()

    def __len__(self) -> int:
        return self.reader.num_record_batches

    def run(self, index: int) -> Sequence[pa.RecordBatch]:
        log = self.handler.log
        with log.lock:
            log.started.append(index)
            log.threads.add(threading.get_ident())
            log.running += 1
            log.max_running = max(log.max_running, log.running)
        try:
            if self.handler.on_run is not None:
                self.handler.on_run(index)
            time.sleep(self.handler.delay_seconds)
            return self._batches(index)
        finally:
            with log.lock:
                log.running -= 1

    def _batches(self, index: int) -> Sequence[pa.RecordBatch]:
        # Arrow reads the dictionaries of a file with the first batch: two threads would read them twice.
        with self.reading:
            batch = self.reader.get_batch(index)
        tops = dict.fromkeys(top_name(path) for path in self.request.columns)
        batch = batch.select([name for name in tops if name in batch.schema.names])
        pieces = [
            batch.slice(start, self.request.batch_size) for start in range(0, batch.num_rows, self.request.batch_size)
        ]
        return [copy_batch(piece, self.request.memory_pool) for piece in pieces]


def top_name(path: str) -> str:
    """Return the first name of a column path, unescaped."""
    escaped = re.match(r"(?:\\.|[^.\\])*", path).group()
    return re.sub(r"\\(.)", r"\1", escaped)


def copy_batch(batch: pa.RecordBatch, memory_pool: pa.MemoryPool) -> pa.RecordBatch:
    """Copy into memory of the pool, as a decoder would."""
    if batch.num_columns == 0:
        return batch
    copies = [pa.concat_arrays([column.slice(0, 0), column], memory_pool=memory_pool) for column in batch.columns]
    return pa.RecordBatch.from_arrays(copies, schema=batch.schema)


def arrow_copy(content: bytes) -> pa.Buffer:
    """Move bytes into memory that Arrow owns."""
    sink = pa.BufferOutputStream()
    sink.write(content)
    return sink.getvalue()


class ToyFormat(bridge.BridgeFormat):
    """The toy format, as a user would hold it."""


def toy_format(**options: object) -> ToyFormat:
    """Make a format with a fresh log."""
    return ToyFormat(ToyHandler(**options))


def toy_bytes(table: pa.Table, *, rows_per_batch: int = 1 << 16) -> pa.Buffer:
    """Make the content of a toy file."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows_per_batch)
    return sink.getvalue()


def write_toy(path: object, table: pa.Table, *, rows_per_batch: int = 1 << 16) -> None:
    """Write a toy file."""
    with open(str(path), "wb") as file:
        file.write(toy_bytes(table, rows_per_batch=rows_per_batch))


def read_all(thing: pads.Dataset | pads.Fragment) -> dict[str, list[object]]:
    """Read everything; by name, so that another process finds it."""
    return thing.to_table().to_pydict()
