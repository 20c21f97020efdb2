"""`RowStream`: rows of sources, in order, decoded ahead by threads within the memory budget.

sources ─► windows of candidate rows ─► batches of wanted rows ─► cut to the batch size
        ─► blobs: small pieces, read ahead
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_arrow.errors import LanceError
from lance_arrow.runtime import FAR_THREADS, Runtime
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.windows import (
    SCAN_ROWS,
    WINDOW_ROWS,
    Window,
    Windows,
    late_window_rows,
    may_be_sliced,
)
from lance_arrow.settings import WAITING_PART

if TYPE_CHECKING:
    from lance_arrow.scan.blobs.pending_batch import PendingBatch
    from lance_arrow.scan.pages_ahead import ScanAhead


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A window to read."""

    found: FilteredReading
    windows: Windows
    window: Window
    slice_rows: int | None


@dataclass(frozen=True, slots=True, eq=False)
class _Done:
    """A window that was read: its batches and their bytes; None where it must be read one source at a time."""

    task: _Task
    batches: list[pa.RecordBatch] | None
    num_bytes: float = 0.0


# A batch, and what has read it.
_Read = tuple[FilteredReading, pa.RecordBatch]


class RowStream:
    """One pass over sources.

    Parameters
    ----------
    runtime
        Threads and memory.
    batch_size
        Rows of every batch but the last of a source, with a filter the most; as many as the budget allows when None.
    projection
        What the caller sees of the columns that sources read.
    wants_all
        Whether the caller waits for the last row. Else the first rows are made to come soon.
    is_held
        Whether the caller keeps all rows, so that the memory of windows matters no more.
    is_written
        Whether the caller writes the rows: those that wait to be pages are within the same budget.
    most_rows
        Most rows of a batch where `batch_size` is None; the budget may allow fewer.

    Attributes
    ----------
    has_begun
        Whether the caller wants more than the first rows.
    """

    def __init__(
        self,
        runtime: Runtime,
        batch_size: int | None,
        projection: Projection,
        *,
        wants_all: bool = False,
        is_held: bool = False,
        is_written: bool = False,
        most_rows: int = WINDOW_ROWS,
    ) -> None:
        self._runtime, self._batch_size, self._projection = runtime, batch_size, projection
        self._most_rows = most_rows
        self._is_held = is_held
        # Bytes of blobs take the other half of the budget, and rows that a writer holds a part of it.
        self._share = 2.0 if projection.has_blobs else 1.0
        if is_written:
            self._share *= WAITING_PART / (WAITING_PART - 1)
        self._wants_all = self.has_begun = wants_all or is_held

    def batches(self, sources: Iterable[FilteredReading], *, is_one: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield batches, as the caller sees them.

        A batch is cut short only where 32-bit offsets cannot count its bytes, and where its blobs have more bytes than
        `Settings.blob_piece_bytes`.

        Parameters
        ----------
        sources
            Opened when they are asked for.
        is_one
            Whether there is but one: few rows of it are not worth another thread.

        Raises
        ------
        LanceError, OSError
            As `FilteredReading.read`, and as `PendingBatch` of blobs.
        """
        read = self._read_all(sources, is_one=is_one)
        return self._filled(read) if self._projection.has_blobs else (batch for _, batch in read)

    def _filled(self, read: Iterator[_Read]) -> Iterator[pa.RecordBatch]:
        """Put the bytes of blobs in place of their descriptors, in pieces of few bytes, a few of them ahead."""
        most = self._runtime.settings.blob_piece_bytes
        pieces = (piece for found, batch in read for piece in found.reading.pending(batch).pieces(most))
        num_ahead = self._runtime.settings.windows_within_budget(most) - 1
        return iter(self._runtime.ahead(self._shown, pieces, num_ahead=num_ahead))

    def _shown(self, piece: PendingBatch) -> pa.RecordBatch:
        return self._projection.apply(piece.filled(), filled=True)

    def _read_all(self, sources: Iterable[FilteredReading], *, is_one: bool) -> Iterator[_Read]:
        rest = (task for found in sources for task in self._tasks(found))
        first = next(rest, None)
        if first is None:
            return
        tasks = chain((first,), rest)
        if is_one and first.windows.is_small:
            windows: Iterator[_Done] = map(self._read, tasks)
        else:
            settings = self._runtime.settings
            num_ahead = settings.windows_within_budget(self._weight(first)) - 1
            # Windows of many small far files wait for one request each. Who may stop early has asked for few then.
            is_far = first.found.reading.is_far
            if is_far:
                num_ahead = FAR_THREADS if self._wants_all else 2 * (settings.num_threads + 1)
            windows = self._runtime.ahead(
                self._read,
                tasks,
                num_ahead=num_ahead,
                is_far=is_far,
                weigh=self._weight if is_far else None,
                most_weight=settings.window_bytes(1),
                may_stop=is_far and not self._wants_all,
                # The next may be all other files of a group. With a filter, the first rows may be there.
                is_first_alone=is_far and not self._wants_all and not first.found.is_filtered,
            )
        del first
        for done in windows:
            if done.batches is None:
                yield from self._divided(done.task)
                continue
            # If a filter leaves no row of this window, the first rows are in a later one.
            self.has_begun = self.has_begun or not any(batch.num_rows for batch in done.batches)
            yield from self._sliced(done.task, done.batches, done.num_bytes)

    def _weight(self, task: _Task) -> float:
        """Estimate the bytes that a window takes until the consumer has it; 0 if the consumer keeps all rows."""
        return self._share * max(task.windows.batch_bytes(), task.window.estimated_bytes)

    def _divided(self, task: _Task) -> Iterator[_Read]:
        """Read what a window holds one source at a time: they tell which one is to blame, or can be read."""
        assert task.found.divided is not None
        for found in task.found.divided(task.window.rows):
            for own in self._tasks(found):
                yield from self._sliced(own, *self._batches_of(own))

    def _tasks(self, found: FilteredReading) -> Iterator[_Task]:
        if not found.rows.num_rows:
            return
        settings, reading = self._runtime.settings, found.reading
        if reading.is_far:
            found.ask_ahead(self._scan_ahead)
        most = WINDOW_ROWS if self._batch_size else self._most_rows
        slice_rows: int | None = self._batch_size or self._most_rows
        is_even = self._is_held and not found.has_filter
        if is_even:
            # Over a network, windows are decoded while later ones arrive.
            most, slice_rows = found.even_spans(WINDOW_ROWS if reading.is_far else SCAN_ROWS)[0][1], None
        elif not may_be_sliced(reading.nodes):
            most, slice_rows = self._batch_size or WINDOW_ROWS, self._batch_size
        elif found.has_filter:
            most = late_window_rows(found.rows.num_rows, settings.num_threads)
        windows = Windows(
            found.rows,
            self._batch_size,
            weights=None if is_even else found.weights(),
            max_bytes=settings.window_bytes(self._share * (settings.num_threads + 1), len(reading.nodes)),
            max_rows=most,
            borders=found.borders() if reading.is_far and not self._batch_size else None,
        )
        for window in windows:
            yield _Task(found, windows, window, slice_rows)

    @cached_property
    def _scan_ahead(self) -> ScanAhead:
        from lance_arrow.scan.pages_ahead import ScanAhead  # noqa: PLC0415 - for far files alone

        settings = self._runtime.settings
        return ScanAhead(settings.memory_budget_bytes, None if self._wants_all else settings.num_threads + 1)

    def _read(self, task: _Task) -> _Done:
        try:
            return _Done(task, *self._batches_of(task))
        except LanceError as error:
            if not task.found.may_divide(error):
                raise
            return _Done(task, None)

    def _batches_of(self, task: _Task) -> tuple[list[pa.RecordBatch], float]:
        """Read a window; returns what it took, too."""
        batches = task.found.read(task.window.rows)
        if not self._projection.has_blobs:
            batches = [self._projection.apply(batch) for batch in batches]
        num_bytes = sum(batch.nbytes for batch in batches) if task.window.estimated_bytes else 0
        # The filter's columns take memory even where no row is left.
        return batches, max(task.window.estimated_bytes, num_bytes) if task.found.has_filter else num_bytes

    def _sliced(self, task: _Task, batches: list[pa.RecordBatch], num_bytes: float) -> Iterator[_Read]:
        """Cut batches; the list is emptied, so that nothing of it is held once its last slice is out."""
        task.windows.learn(task.window, num_bytes)
        while batches:
            batch = batches.pop(0)
            step = task.slice_rows or max(1, batch.num_rows)
            for start in range(0, batch.num_rows, step):
                yield task.found, batch if step >= batch.num_rows else batch.slice(start, step)
                self.has_begun = True
