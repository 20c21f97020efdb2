"""Compactions that copy pages however small they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lance_arrow.files import copied_rows
from lance_arrow.files.copying_row_writer import CopyingRowWriter


@contextmanager
def copied_early(least_rows: int = 0, least_bytes: int = 0) -> Iterator[Counter[str]]:
    """Copy small pages too; what is yielded counts the pages that are copied of each column, by dotted path."""
    least, add_copy = (copied_rows.LEAST_PAGE_ROWS, copied_rows.LEAST_PAGE_BYTES), CopyingRowWriter._add_copy
    counts: Counter[str] = Counter()

    def counted(self: CopyingRowWriter, leaf: Any, page: Any) -> None:
        counts[leaf.of.leaf.path] += 1
        add_copy(self, leaf, page)

    copied_rows.LEAST_PAGE_ROWS, copied_rows.LEAST_PAGE_BYTES = least_rows, least_bytes
    CopyingRowWriter._add_copy = counted
    try:
        yield counts
    finally:
        copied_rows.LEAST_PAGE_ROWS, copied_rows.LEAST_PAGE_BYTES = least
        CopyingRowWriter._add_copy = add_copy
