"""`count_judged`: rows whose stored item satisfies a condition, counted by the engine; no flag of a row is made."""

from __future__ import annotations

import time
from collections.abc import Sequence

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.engine import PagesWithRows, ReadForms, Refusal
from lance_arrow.errors import LanceError, located
from lance_arrow.io import MeteredSource
from lance_arrow.scan.native_pages import positional_of
from lance_arrow.scan.read_counts import ReadCounts
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.spi.rows import RowRanges


def count_judged(reader: RowReader, nodes: Sequence[ColumnNode], rows: RowRanges) -> tuple[int, ReadCounts] | None:
    """Count rows of one column that is judged.

    Parameters
    ----------
    reader
        The file.
    nodes
        The column, as `FilterPlan.judging_nodes` has it.
    rows
        Which rows, at least one.

    Returns
    -------
    tuple or None
        Rows, and pages and leaves touched. None where the engine does not judge the column. Its pages are no
        dictionaries of few items then, the condition fails for an item, or the file is far.

    Raises
    ------
    LanceError
        As `RowReader.read`.
    """
    wanted = reader.plan_of(nodes)
    unjudged: set[int] = reader.file.derived("unjudged columns", set)
    if wanted.leaves[0].column in unjudged:
        return None
    if positional_of(reader.source) is None or len(wanted.plans) != len(wanted.leaves):
        return None
    begun = time.perf_counter()
    try:
        pages, found = reader.pages_with(wanted, rows)
        count = counted(reader, wanted.forms, pages, rows)
        if found is not None:
            found.keep_counted(reader.runtime.indices)
        if isinstance(count, Refusal):
            raise reader.error_of(count, wanted)
    except LanceError as error:
        located(path=reader.file.name).fill(error)
        raise
    if count is None and not wanted.forms.may_judge(pages):
        unjudged.add(wanted.leaves[0].column)
    return None if count is None else (count, ReadCounts(pages.num_pages, wanted.paths, time.perf_counter() - begun))


def counted(reader: RowReader, forms: ReadForms, pages: PagesWithRows, rows: RowRanges) -> int | Refusal | None:
    """Count rows of pages of a local file that were found, as `ReadForms.count` does."""
    source, begun = reader.source, time.perf_counter()
    place = positional_of(source)
    assert place is not None
    count, requests, ranges, wanted_bytes, read_bytes = forms.count(
        pages,
        rows.starts,
        rows.stops,
        rows.num_rows,
        place.descriptor,
        place.memory,
        place.size_bytes,
        place.checks,
        reader.runtime.settings.limits.max_batch_bytes,
        place.files,
    )
    if isinstance(source, MeteredSource):
        source.add(requests, ranges, wanted_bytes, read_bytes, time.perf_counter() - begun)
    found: int | Refusal | None = count
    return found
