"""Cutting a file into windows: row ranges that one thread reads and decodes at a time."""

from __future__ import annotations

from collections.abc import Iterator

WINDOW_ROWS = 1 << 17
"""Rows of a window when the caller names no batch size: pyarrow's own default batch."""


def windows(num_rows: int, batch_rows: int, *, at_least: int = WINDOW_ROWS) -> Iterator[tuple[int, int]]:
    """Yield ``(start, stop)`` row ranges of whole batches, each of about `at_least` rows.

    Small batches share a window, so that fetching and planning are paid once for many of them.
    """
    step = batch_rows * max(1, at_least // batch_rows)
    for start in range(0, num_rows, step):
        yield start, min(start + step, num_rows)
