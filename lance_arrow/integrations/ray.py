"""Ray Data: `read` returns a `ray.data.Dataset` with a read task for each share of a dataset's rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import ray.data
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.integrations.wanted_rows import Source, WantedRows
from lance_arrow.scan.predicates import Predicate


class LanceDatasource(Datasource):
    """A dataset as a Ray datasource.

    Parameters
    ----------
    dataset
        The dataset. All nodes must find its files under the same names.
    columns, filter
        Columns and filter of each task; everything if None.
    """

    def __init__(
        self, dataset: LanceDataset, columns: Sequence[str] | None = None, filter: pc.Expression | None = None
    ) -> None:
        super().__init__()
        self._wanted = WantedRows.of(dataset, columns, filter)

    def get_name(self) -> str:
        """Name the source in Ray's displays."""
        return "Lance"

    def estimate_inmemory_data_size(self) -> int | None:
        """Return None: the encoded size does not show the decoded one."""
        return None

    def get_read_tasks(self, parallelism: int, *more: Any, **others: Any) -> list[ReadTask]:
        """Divide the rows among about `parallelism` tasks."""
        wanted = self._wanted
        num_rows = wanted.dataset.count_rows()
        shares = wanted.shares(max(1, -(-num_rows // max(1, parallelism))))
        schema = wanted.schema
        return [
            ReadTask(
                partial(_blocks, share, wanted.options),
                BlockMetadata(
                    num_rows=share.count_rows() if wanted.filter is None else None,
                    size_bytes=None,
                    input_files=share.files,
                    exec_stats=None,
                ),
                schema=schema,
            )
            for share in shares
        ]


def read(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    filter: Predicate | None = None,
    parallelism: int = -1,
) -> ray.data.Dataset:
    """Read a dataset with Ray.

    Parameters
    ----------
    source
        A dataset, or a path or URL as for `lance_arrow.dataset`.
    columns
        Columns to read; all if None.
    filter
        Applied by the read tasks: expression, DNF tuples or SQL. Zones it excludes are not read.
    parallelism
        Number of read tasks; Ray chooses it if -1.

    Returns
    -------
    ray.data.Dataset
        Lazy; its blocks are Arrow tables.

    Raises
    ------
    InvalidArgumentError
        The filter is not valid, or it or a column does not fit the dataset.
    """
    wanted = WantedRows.of(source, columns, filter)
    made = LanceDatasource(wanted.dataset, wanted.columns, wanted.filter)
    return ray.data.read_datasource(made, override_num_blocks=None if parallelism < 0 else parallelism)


def _blocks(share: LanceDataset, how: dict[str, Any]) -> Iterator[pa.Table]:
    is_empty = True
    for batch in share.to_batches(use_threads=False, **how):
        if batch.num_rows:
            is_empty = False
            yield pa.Table.from_batches([batch])
    if is_empty:
        yield share.scanner(**how).projected_schema.empty_table()
