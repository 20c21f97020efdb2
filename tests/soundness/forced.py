"""How filters read their columns, by the number of a case: as they choose, always as flags, or always as values.

Flags come from codecs that compare values where they lie, and from the items of dictionaries. Which way is chosen must
not change which rows are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from lance_arrow.scan.filters import filter_plan, row_filter

WAYS = ("chosen", "flags", "values")


def way_of(number: int) -> str:
    """Return the way of a case."""
    return WAYS[number % len(WAYS)]


@contextmanager
def forced(way: str) -> Iterator[None]:
    """Let filters read their columns in one way."""
    if way == "flags":
        # Even if no other column is wanted beside those of the filter.
        with patch.object(row_filter, "_LEAST_WANTED", 0):
            yield
    elif way == "values":
        with patch.object(filter_plan, "_judged_columns", lambda paths, schema: frozenset()):
            yield
    else:
        yield
