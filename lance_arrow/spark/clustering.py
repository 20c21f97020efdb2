"""Rows brought into an order that makes zone maps selective: by Spark, which sorts more than fits in memory."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from lance_arrow.errors import InvalidArgumentError


def clustered(frame: DataFrame, columns: Sequence[str], *, num_files: int | None = None) -> DataFrame:
    """Sort rows so that equal and near values of some columns lie in the same files and zones.

    Parameters
    ----------
    frame
        The rows.
    columns
        By which, the most selective first.
    num_files
        How many files to make, about; as many as Spark makes partitions when None.

    Raises
    ------
    InvalidArgumentError
        There is no column, or none of that name.
    """
    names = list(columns)
    unknown = [name for name in names if name not in frame.columns]
    if not names or unknown:
        raise InvalidArgumentError(f"cluster by columns of {frame.columns}, not by {unknown or 'none'}")
    ranged = frame.repartitionByRange(*names) if num_files is None else frame.repartitionByRange(num_files, *names)
    return ranged.sortWithinPartitions(*names)
