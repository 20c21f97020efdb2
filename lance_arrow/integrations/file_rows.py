"""`FileRows`: rows of bare files, in order, filtered once by our own scan; of files with another schema, by Arrow's.

files ─► neighbours with the columns of the dataset ─► one stream, decoded ahead across their borders
      └► others: partitions, missing or cast columns ─► Arrow's scan of each
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.filters.kept_plans import kept_plan
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.open_files import stay_open
from lance_arrow.scan.projection import Projection, joined_nodes
from lance_arrow.scan.read_counts import receipt_for
from lance_arrow.scan.row_stream import RowStream
from lance_arrow.scan.windows import GROUP_BYTES, LEAST_GROUPED, SMALL_FILE_BYTES
from lance_arrow.spi.rows import RowRanges

_TRUE = pc.scalar(True)
# A query of a few rows wants one of them.
_FAR_FILES_AHEAD = 8


class _Part(NamedTuple):
    """A fragment; its file and rows where the file has the columns of the dataset."""

    fragment: LanceFileFragment
    own: tuple[OpenFile, RowRanges] | None


class FileRows:
    """Rows of a dataset of bare files.

    Parameters
    ----------
    dataset
        The dataset, without a filter of its own.
    """

    def __init__(self, dataset: LanceDataset) -> None:
        self._dataset = dataset

    @property
    def may_be_read(self) -> bool:
        """Whether files are so few, or so large, that reading each by itself takes no more than reading groups."""
        _, sizes, _, _ = bridge.files_of(self._dataset)
        most_bytes = SMALL_FILE_BYTES if stay_open(None, len(sizes)) else GROUP_BYTES // 2
        return len(sizes) < LEAST_GROUPED or sum(sizes) > most_bytes * len(sizes)

    def batches(
        self, columns: Sequence[str], filter: pc.Expression | None, most_rows: int, *, wants_all: bool
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the schema of some columns, and batches of the rows that satisfy a filter.

        Parameters and errors are those of `EngineRows.batches`; files are opened while iterating.
        """
        schema = self._dataset.schema
        plan = None if filter is None else kept_plan(filter, schema)
        wanted = pa.schema([schema.field(name) for name in columns], schema.metadata)
        _, _, _, guarantees = bridge.files_of(self._dataset)
        # Without partitions there is nothing to ask Arrow, which lacks functions of text over dictionaries.
        is_plain = filter is None or all(guarantee.equals(_TRUE) for guarantee in guarantees)
        left = self._dataset.fragments if is_plain else self._dataset._left_by_guarantees(filter)
        return wanted, self._rows(left, columns, plan, filter, most_rows, wants_all=wants_all)

    def _rows(
        self,
        fragments: Sequence[LanceFileFragment],
        columns: Sequence[str],
        plan: FilterPlan | None,
        filter: pc.Expression | None,
        most_rows: int,
        *,
        wants_all: bool,
    ) -> Iterator[pa.RecordBatch]:
        is_one = len(fragments) == 1
        # Far files one by one would be waited for one after another.
        is_far = len(fragments) > 1 and fragments[0].place.is_far
        opened = default_runtime().each(self._part, fragments, is_far=is_far, num_ahead=_FAR_FILES_AHEAD)
        for is_own, parts in groupby(opened, key=lambda part: part.own is not None):
            if is_own:
                files = (part.own for part in parts if part.own is not None)
                yield from self._stream(files, columns, plan, most_rows, is_one=is_one, wants_all=wants_all)
                continue
            for part in parts:
                scanner = self._dataset._over([part.fragment]).scanner(
                    columns={name: pc.field(name) for name in columns}, filter=filter, batch_size=most_rows
                )
                yield from scanner.to_batches()

    def _part(self, fragment: LanceFileFragment) -> _Part:
        opened = fragment.opened_rows() if fragment.partition_expression.equals(_TRUE) else None
        is_own = opened is not None and opened[0].rows.schema.equals(self._dataset.schema)
        return _Part(fragment, opened if is_own else None)

    def _stream(
        self,
        files: Iterator[tuple[OpenFile, RowRanges]],
        columns: Sequence[str],
        plan: FilterPlan | None,
        most_rows: int,
        *,
        is_one: bool,
        wants_all: bool,
    ) -> Iterator[pa.RecordBatch]:
        """Read files with the columns of the dataset as one stream."""
        first = next(files)
        runtime = default_runtime()
        projection = _projection(first[0], columns)
        nodes = projection.nodes if plan is None else joined_nodes(projection.nodes, plan.nodes(first[0].rows.roots))
        receipt = receipt_for(runtime, nodes, None if plan is None else plan.expression)

        def readings() -> Iterator[FilteredReading]:
            for file, rows in chain((first,), files):
                receipt.see((file,))
                yield FilteredReading(file, _projection(file, columns).nodes, plan, rows, receipt=receipt)

        stream = RowStream(runtime, None, projection, wants_all=wants_all, most_rows=most_rows)
        return receipt.sent_after(stream.batches(readings(), is_one=is_one))


def _projection(file: OpenFile, columns: Sequence[str]) -> Projection:
    return Projection.of(file.rows.roots, file.rows.metadata, columns)
