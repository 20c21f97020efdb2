"""Filters of datasets whose strings come as views: Arrow cannot filter views, so they are made of rows that are left.

filter ─► the same fragments with strings as such ─► Arrow's filter ─► views of the strings that are left
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.dataset import FileSystemDataset, Scanner

from lance_arrow.arrays.view_arrays import in_views, without_views
from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.lance_format import LanceFormat
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment
from lance_arrow.arrow_dataset.scanner_options import ScannerOptions

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.lance_dataset import LanceDataset


class ViewedScans:
    """Scans of a dataset with views that need a filter, or the rows in another order.

    Parameters
    ----------
    dataset
        The dataset.
    """

    def __init__(self, dataset: LanceDataset) -> None:
        self._shown = FileSystemDataset.replace_schema(dataset, dataset.schema)
        self._plain = _with_plain_strings(dataset)

    def scanner(self, options: ScannerOptions) -> Scanner:
        """Build a scan that can be read once; errors are those of `LanceDataset.scanner`."""
        scanner = self._plain.scanner(**options.keywords())
        schema = self._shown.scanner(columns=options.columns).projected_schema
        return Scanner.from_batches(_in_views(scanner.to_batches(), schema, options.memory_pool), schema=schema)

    def count(self, options: ScannerOptions) -> int:
        """Count rows that satisfy a filter."""
        keywords = options.keywords()
        del keywords["columns"]
        return self._plain.count_rows(**keywords)

    def take(self, offsets: NDArray[np.int64], options: ScannerOptions) -> pa.Table:
        """Read rows by number; errors are those of `LanceDataset.take`."""
        found = self._plain.take(offsets, **options.keywords())
        schema = self._shown.scanner(columns=options.columns).projected_schema
        return pa.Table.from_batches(_in_views(iter(found.to_batches()), schema, options.memory_pool), schema)


def _in_views(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, pool: pa.MemoryPool | None
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = [in_views(column, field.type, pool) for column, field in zip(batch.columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema) if columns else batch


def _with_plain_strings(dataset: LanceDataset) -> LanceDataset:
    """Return the same fragments with strings as such."""
    own = dataset.format
    made = LanceFormat(
        version=own.version,
        tag=own.tag,
        as_of=own.as_of,
        read_options=replace(own.read_options, strings="plain"),
        default_fragment_scan_options=own.default_fragment_scan_options,
    )
    fragments = [_with_format(fragment, made) for fragment in dataset.fragments]
    kind = type(dataset)
    found = kind(
        fragments, without_views(dataset.schema), made, bridge.filesystem_of(dataset), dataset.partition_expression
    )
    return found if dataset._own_filter is None else found.filter(dataset._own_filter)


def _with_format(fragment: LanceFileFragment, made: LanceFormat) -> LanceFileFragment:
    is_file = fragment.filesystem is not None
    return made.make_fragment(
        fragment.path if is_file else fragment.buffer,
        fragment.filesystem,
        fragment.partition_expression,
        file_size=fragment.file_size if is_file else None,
        payload=fragment.payload,
    )
