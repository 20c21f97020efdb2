"""Cutting rows into windows: what one thread reads and decodes at a time.

A window holds whole batches, so that fetching and planning are paid once for many small ones; it is bounded in rows
and in bytes. Bytes are estimated from column metadata, and corrected by what earlier windows turned out to take.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, storage_type
from lance_arrow.scan.row_weights import USUAL_EXPANSION, RowWeights
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import cut

LEAST_GROUPED = 8
"""Of so few fragments it pays to keep what is learnt of each: they are opened one by one."""
WINDOW_ROWS = 1 << 17
"""Most rows of a window of small rows: pyarrow's own default batch."""
SMALL_FILE_BYTES = 512 << 10
"""Reading so much of a file takes less time than reading it piece by piece."""
GROUP_BYTES = 8 << 20
"""The most bytes of the files of a group."""
ENDS_BYTES = 1 << 30
"""The most bytes of files whose ends are read together: each byte has a place in memory, and hardly any is used."""
GROUP_ROWS = 1 << 20
"""The most rows of a group of files; they are cut to windows."""

SCAN_ROWS = 1 << 18
"""Most rows of a window where the caller wants no batches of a certain size."""

ROWS_FOR_ONE = 1 << 15
"""Handing so few small rows to other threads takes longer than decoding them."""

_MOST_JUDGED = 1 << 20
"""Rows of a window for which a filter is evaluated before any other column is read."""

WORTH_A_THREAD_BYTES = 1 << 20
"""Fewer bytes of a file are decoded sooner than another thread begins."""
_WINDOW_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Rows to read at once.

    Parameters
    ----------
    rows
        Which rows of the file.
    estimated_bytes
        What column metadata says they take.
    """

    rows: RowRanges
    estimated_bytes: float


class Windows:
    """Windows over selected rows, in order, each cut when it is asked for.

    Parameters
    ----------
    rows
        Which rows of the file.
    batch_rows
        Every window but the last holds a multiple of them; None: as many as the bytes allow.
    weights
        What the rows of the file weigh.
    max_bytes
        What a window may take, unless one batch, or one row, takes more.
    max_rows
        What a window may hold, unless one batch holds more.
    whole_batches
        Whether a batch comes whole even if it takes more than `max_bytes`; else it is cut.
    borders
        ``(n,) int64``, ascending: after how many rows a window is to end rather than a little later.
    """

    def __init__(
        self,
        rows: RowRanges,
        batch_rows: int | None,
        *,
        weights: RowWeights | None = None,
        max_bytes: float = float("inf"),
        max_rows: int = WINDOW_ROWS,
        whole_batches: bool = True,
        borders: NDArray[np.int64] | None = None,
    ) -> None:
        self._rows = rows
        self._borders = borders
        self._num_rows = rows.num_rows
        self._batch_rows = batch_rows or 1
        self._weights = None if weights is None else weights.within(rows)
        self._max_bytes = max_bytes
        self._whole_batches = whole_batches
        self._max_rows = max(max_rows, self._batch_rows)
        self._correction = 1.0

    def __iter__(self) -> Iterator[Window]:
        start = 0
        while start < self._num_rows:
            stop = min(self._at_border(start, start + self._length(start)), self._num_rows)
            estimated = 0.0 if self._weights is None else self._weights.bytes_between(start, stop)
            yield Window(cut(self._rows, start, stop), estimated)
            start = stop

    def listed(self) -> WindowList:
        """Return the windows, of what is known now, as a sequence."""
        runs: list[tuple[int, int]] = []
        start = 0
        while start < self._num_rows:
            step = self._length(start)
            runs.append((start, step))
            # Rows of one page weigh the same: windows within it are equally long.
            even = self._num_rows if self._weights is None else self._weights.even_until(start)
            start += step * max(1, (even - start) // step)
        return WindowList(self._rows, runs)

    @property
    def is_small(self) -> bool:
        """Whether other threads would be of no help; False for rows without weights."""
        if self._weights is None or self._num_rows > ROWS_FOR_ONE:
            return False
        return float(self._weights.totals[-1]) <= WORTH_A_THREAD_BYTES

    def learn(self, window: Window, num_bytes: float) -> None:
        """Tell what a window took, so that the next ones fit better."""
        if window.estimated_bytes > 0:
            self._correction = max(1 / USUAL_EXPANSION, num_bytes / window.estimated_bytes)

    def batch_bytes(self) -> float:
        """Estimate the bytes of the first batch."""
        if self._weights is None:
            return 0.0
        return self._weights.bytes_between(0, min(self._batch_rows, self._num_rows)) * self._correction

    def _at_border(self, start: int, stop: int) -> int:
        if self._borders is None:
            return stop
        before = int(np.searchsorted(self._borders, stop, "right")) - 1
        border = int(self._borders[before]) if before >= 0 else 0
        return border if border > start else stop

    def _length(self, start: int) -> int:
        length = self._max_rows
        if self._weights is not None:
            length = min(length, self._weights.rows_within(start, self._max_bytes / self._correction))
        if length < self._batch_rows and not self._whole_batches:
            return max(1, length)
        return self._batch_rows * max(1, length // self._batch_rows)


class _CutWhenAsked(Sequence[RowRanges]):
    """Base of sequences whose windows are cut when they are asked for."""

    @abstractmethod
    def _at(self, index: int) -> RowRanges:
        """Return the window of a number from 0 on."""

    @overload
    def __getitem__(self, index: int) -> RowRanges: ...

    @overload
    def __getitem__(self, index: slice) -> list[RowRanges]: ...

    def __getitem__(self, index: int | slice) -> RowRanges | list[RowRanges]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        return self._at(range(len(self))[index])


class WindowList(_CutWhenAsked):
    """Rows of windows, each cut when it is asked for: a file may claim any number of rows without a byte of them.

    Parameters
    ----------
    rows
        All rows.
    runs
        ``(start, step)``, ascending: from the start-th row on, until the next run starts, windows hold `step` rows.
    """

    def __init__(self, rows: RowRanges, runs: Sequence[tuple[int, int]]) -> None:
        self._rows = rows
        self._num_rows = rows.num_rows
        self._runs = runs
        ends = [start for start, _ in runs[1:]] + [self._num_rows]
        # How many windows there are before each run, and all of them at the end.
        self._before = [0]
        for (start, step), end in zip(runs, ends, strict=False):
            self._before.append(self._before[-1] + -(-(end - start) // step))

    def __len__(self) -> int:
        return self._before[-1]

    def _at(self, index: int) -> RowRanges:
        run = bisect_right(self._before, index) - 1
        first, step = self._runs[run]
        start = first + (index - self._before[run]) * step
        return cut(self._rows, start, min(start + step, self._num_rows))


class SlowStart(_CutWhenAsked):
    """Windows of a source, whose first rows come in a small window and small batches.

    Arrow asks for several batches ahead, also after its caller has stopped: nothing tells a format that no more are
    wanted. The first batch has what a caller of a few rows takes, and as many follow as Arrow asks for meanwhile. The
    bridge reads on when Arrow asks for more.

    Parameters
    ----------
    windows
        The windows; at least one.
    """

    FIRST_ROWS = 1 << 10
    """Rows of the first batch."""
    FIRST_WINDOW = 1 << 11
    _SECOND_WINDOW = 1 << 14
    _LEAST_STEPPED = 4 * WINDOW_ROWS
    """Of fewer rows, the second step takes more time than a caller of some rows saves."""
    ASKED_AHEAD = 7
    """What Arrow asks for besides, before its caller gets a batch and stops: its `fragment_readahead`, and three."""

    def __init__(self, windows: Sequence[RowRanges]) -> None:
        self._windows = windows
        first = windows[0]
        steps: tuple[int, ...] = ()
        if len(windows) > 1 or first.num_rows > self._SECOND_WINDOW:
            is_long = len(windows) * first.num_rows >= self._LEAST_STEPPED
            steps = (self.FIRST_WINDOW, self._SECOND_WINDOW) if is_long else (self.FIRST_WINDOW,)
        self._pieces: list[RowRanges] = []
        start = 0
        for step in steps:
            if first.num_rows - start > step:
                self._pieces.append(cut(first, start, start + step))
                start += step
        self._rest = cut(first, start, first.num_rows)

    @classmethod
    def batch_spans(cls, num_rows: int) -> list[tuple[int, int]]:
        """Return ``(start, stop)`` of the batches of the first window."""
        first = min(cls.FIRST_ROWS, max(1, num_rows - cls.ASKED_AHEAD))
        step = max(1, -(-(num_rows - first) // cls.ASKED_AHEAD))
        return [(0, first), *((start, min(start + step, num_rows)) for start in range(first, num_rows, step))]

    def __len__(self) -> int:
        return len(self._pieces) + len(self._windows)

    def _at(self, index: int) -> RowRanges:
        after = index - len(self._pieces)
        return self._pieces[index] if after < 0 else self._windows[after] if after else self._rest


def even_windows(
    num_rows: int, stored_bytes: int, num_threads: int, max_rows: int = SCAN_ROWS
) -> list[tuple[int, int]]:
    """Return ``(start, stop)`` row ranges that keep all threads busy to the end, and are few: each costs some planning.

    Parameters
    ----------
    num_rows
        Rows to cut.
    stored_bytes
        What they take in the file; too few are not worth a second thread.
    num_threads
        The number of windows is a multiple of it.
    max_rows
        Most rows of a window.
    """
    count = 1
    if num_threads > 1 and stored_bytes >= WORTH_A_THREAD_BYTES:
        count = max(-(-num_rows // max_rows), -(-stored_bytes // _WINDOW_BYTES))
        count = -(-count // num_threads) * num_threads
    elif num_rows > max_rows:
        count = -(-num_rows // max_rows)
    step = -(-num_rows // count)
    # Chunks of fixed-width values hold powers of two: borders among them are borders of chunks.
    grain = 4096 if step >= 1 << 16 else 1024 if step >= 1 << 14 else 1
    step = max(-(-step // grain) * grain, 1)
    return [(start, min(start + step, num_rows)) for start in range(0, num_rows, step)]


def late_window_rows(num_rows: int, num_threads: int) -> int:
    """Return the rows of a window of a filtered scan: few reads, but work for each thread."""
    return min(_MOST_JUDGED, max(WINDOW_ROWS, -(-num_rows // max(1, num_threads))))


def may_be_sliced(nodes: Sequence[ColumnNode]) -> bool:
    """Whether batches may be slices of a window.

    pyarrow 26 filters and takes *slices* of fixed-size lists of lists wrongly, and its scanner may filter batches. So
    columns with such lists get a window for each batch.
    """
    # Leaves of one type are alike.
    kinds = {id(node.leaf if isinstance(node, LeafNode) else node): node for node in nodes}
    return not any(_has_lists_in_fixed_size_lists(node.field.type) for node in kinds.values())


def _has_lists_in_fixed_size_lists(type_: pa.DataType) -> bool:
    type_ = storage_type(type_)
    if not type_.num_fields:
        return False
    children = [type_.field(i).type for i in range(type_.num_fields)]
    if isinstance(type_, pa.FixedSizeListType) and storage_type(children[0]).num_fields:
        return True
    return any(_has_lists_in_fixed_size_lists(child) for child in children)
