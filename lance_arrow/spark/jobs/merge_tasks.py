"""What a task of `merge` does with joined rows: writes those that are new or changed, tells which rows go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.manifests.row_id_writing import keep_rows
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.spark.task_files import write_task
from lance_arrow.spark.write_plans import FilePlan
from lance_arrow.spark.writer import task_name
from lance_arrow.table.row_addresses import RowAddresses

ADDRESS, ID, CREATED = "_rowaddr", "_rowid", "_row_created_at_version"
MARK = "_lance_arrow_target"
"""What names of columns begin with that are of the table's row; its address is null where there is none."""
GIVEN = "_lance_arrow_given"
"""A column that is true, or null where the source has no row."""


@dataclass(slots=True)
class MergeOutcome:
    """What tasks did.

    Parameters
    ----------
    fragments
        Written, without ids.
    num_updated, num_inserted
        Rows in these.
    updated, deleted
        Rows of the table that go: those that are written anew, and others.
    """

    fragments: list[DataFragment] = field(default_factory=list)
    num_updated: int = 0
    num_inserted: int = 0
    updated: RowAddresses = field(default_factory=RowAddresses)
    deleted: RowAddresses = field(default_factory=RowAddresses)

    def add(self, other: MergeOutcome) -> None:
        """Add what another task did."""
        self.fragments += other.fragments
        self.num_updated += other.num_updated
        self.num_inserted += other.num_inserted
        self.updated.update(other.updated)
        self.deleted.update(other.deleted)


def merge_rows(plan: FilePlan, batches: Iterator[pa.RecordBatch], *, updates: bool) -> MergeOutcome:
    """Do what becomes of the joined rows of one task.

    Parameters
    ----------
    plan
        How rows are written.
    batches
        Columns of `plan`, and columns of the table's rows with names that begin with `MARK`. These are `ADDRESS`, and
        for tables with stable row ids `ID` and `CREATED`; updated rows then come first. The last column is `GIVEN`.
    updates
        Whether rows that both have are updated; they are deleted when False.

    Raises
    ------
    LanceError, OSError
        As `write_task`.
    """
    done = MergeOutcome()
    ids: list[NDArray[np.uint64]] = []
    created: list[NDArray[np.uint64]] = []

    def rows() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            in_table, is_given = batch.column(f"{MARK}{ADDRESS}").is_valid(), batch.column(GIVEN).is_valid()
            matched = batch.filter(pc.and_(in_table, is_given))
            done.deleted.add(_numbers(batch.filter(pc.invert(is_given)), ADDRESS))
            if updates:
                done.updated.add(_numbers(matched, ADDRESS))
                done.num_updated += matched.num_rows
                if f"{MARK}{ID}" in batch.schema.names:
                    ids.append(_numbers(matched, ID))
                    created.append(_numbers(matched, CREATED))
            else:
                done.deleted.add(_numbers(matched, ADDRESS))
            done.num_inserted += batch.num_rows - in_table.true_count
            written = batch.filter(is_given if updates else pc.invert(in_table))
            if written.num_rows:
                yield written

    message = write_task(plan, rows(), task=task_name())
    done.fragments = [DataFragment.FromString(one) for one in message.fragments]
    if ids:
        keep_rows(done.fragments, np.concatenate(ids), np.concatenate(created))
    return done


def _numbers(batch: pa.RecordBatch, name: str) -> NDArray[np.uint64]:
    """Return a column of numbers of the table's rows, without nulls."""
    return batch.column(f"{MARK}{name}").to_numpy(zero_copy_only=False).astype(np.uint64)
