"""`ScannerOptions`: the options of a scan, by pyarrow's names and with pyarrow's defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs
from pyarrow.dataset import FragmentScanOptions

from lance_arrow.io import AnyFileSystem
from lance_arrow.scan.predicates import Predicate

BATCH_ROWS = 131_072
BATCH_READAHEAD = 16
FRAGMENT_READAHEAD = 4
_FAR_READAHEAD = 16
"""Fragments of a store that are read ahead if all rows are wanted: each waits for its end, and then for its pages."""
_FAR = ("s3", "gcs", "abfs")


class ScannerOptions(NamedTuple):
    """Options of a scan; methods that take them spell them out in their signatures, and pass them on as one object.

    Parameters
    ----------
    columns, filter, batch_size, batch_readahead, fragment_readahead
        As `pyarrow.dataset.Dataset.scanner`; `filter` may be any predicate where the receiver takes one.
    fragment_scan_options, use_threads, cache_metadata, memory_pool
        As `pyarrow.dataset.Dataset.scanner`.
    """

    columns: Sequence[str] | dict[str, pc.Expression] | None = None
    filter: Predicate | None = None
    batch_size: int = BATCH_ROWS
    batch_readahead: int = BATCH_READAHEAD
    fragment_readahead: int = FRAGMENT_READAHEAD
    fragment_scan_options: FragmentScanOptions | None = None
    use_threads: bool = True
    cache_metadata: bool = True
    memory_pool: pa.MemoryPool | None = None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> ScannerOptions:
        """Pick the options from the ``locals()`` of a method that has parameters of these names."""
        return cls(*_PICKED(arguments))

    def for_all(self, filesystem: AnyFileSystem) -> ScannerOptions:
        """Return the options for a scan whose caller waits for all rows: of a store, more fragments are read ahead."""
        if self.fragment_readahead != FRAGMENT_READAHEAD or not is_far(filesystem):
            return self
        return self._replace(fragment_readahead=_FAR_READAHEAD)

    def keywords(self) -> dict[str, Any]:
        """Return the options as keyword arguments of a method of pyarrow."""
        return self._asdict()


_PICKED = itemgetter(*ScannerOptions._fields)


def is_far(filesystem: AnyFileSystem) -> bool:
    """Return whether a filesystem is that of a store."""
    if isinstance(filesystem, fs.FileSystem):
        return filesystem.type_name in _FAR
    # Of fsspec, the filesystems of stores are asynchronous.
    return bool(getattr(filesystem, "async_impl", False))
