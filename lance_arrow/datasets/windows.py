"""Cutting a file into windows: row ranges that one thread reads and decodes at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import pyarrow as pa

from lance_arrow.assembly.column_tree import ColumnNode, storage_type

WINDOW_ROWS = 1 << 17
"""Rows of a window when the caller names no batch size: pyarrow's own default batch."""

SCAN_ROWS = 1 << 18
"""Most rows of a window where nobody asked for batches of a size."""

_WORTH_A_THREAD_BYTES = 1 << 20
_WINDOW_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Windows(Sequence[tuple[int, int]]):
    """Row ranges ``(start, stop)`` of `step` rows, the last one shorter; none is made before it is asked for.

    A file may claim any number of rows without holding a byte of them.
    """

    num_rows: int
    step: int

    def __len__(self) -> int:
        return (self.num_rows + self.step - 1) // self.step

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...

    @overload
    def __getitem__(self, index: slice) -> list[tuple[int, int]]: ...

    def __getitem__(self, index: int | slice) -> tuple[int, int] | list[tuple[int, int]]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        start = range(0, self.num_rows, self.step)[index]
        return start, min(start + self.step, self.num_rows)


def windows(
    num_rows: int, batch_rows: int, nodes: Sequence[ColumnNode] = (), *, at_least: int = WINDOW_ROWS
) -> Windows:
    """Cut ``(start, stop)`` row ranges of whole batches, each of about `at_least` rows.

    Small batches share a window, so that fetching and planning are paid once for many of them, and are cut out of it
    afterwards. Columns of fixed-size lists of lists get a window for each batch: pyarrow 26 filters and takes *slices*
    of these wrongly, and its scanner would filter what it is given.
    """
    if any(_has_lists_in_fixed_size_lists(node.field.type) for node in nodes):
        at_least = 1
    return Windows(num_rows, batch_rows * max(1, at_least // batch_rows))


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
    if num_threads > 1 and stored_bytes >= _WORTH_A_THREAD_BYTES:
        count = max(-(-num_rows // max_rows), -(-stored_bytes // _WINDOW_BYTES))
        count = -(-count // num_threads) * num_threads
    elif num_rows > max_rows:
        count = -(-num_rows // max_rows)
    step = -(-num_rows // count)
    # Chunks of fixed-width values hold powers of two: borders among them are borders of chunks.
    grain = 4096 if step >= 1 << 16 else 1024 if step >= 1 << 14 else 1
    step = max(-(-step // grain) * grain, 1)
    return [(start, min(start + step, num_rows)) for start in range(0, num_rows, step)]


def _has_lists_in_fixed_size_lists(type_: pa.DataType) -> bool:
    type_ = storage_type(type_)
    children = [type_.field(i).type for i in range(type_.num_fields)]
    if isinstance(type_, pa.FixedSizeListType) and storage_type(children[0]).num_fields:
        return True
    return any(_has_lists_in_fixed_size_lists(child) for child in children)
