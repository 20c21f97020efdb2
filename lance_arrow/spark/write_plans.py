"""Plans and messages of a write, which are pickled: for tasks, from tasks, and for the commit.

Tasks, and the process that commits, unpickle these: so nothing is imported here but what they consist of.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from lance_arrow.choices import Durability
from lance_arrow.container.fields import SchemaField
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.spark.options import TableAddress
from lance_arrow.spark.same_version import SameVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlan(SameVersion):
    """How the tasks of one job write; travels to executors.

    Parameters
    ----------
    address
        The table.
    job
        Name of the job, unique; names of its files begin with it.
    schema, fields
        Of the rows as they are stored, and the same columns with the ids of the table.
    options
        Of data files.
    max_rows_per_file
        The most rows of a file.
    cluster_by
        Columns by which the rows of each file are sorted.
    partition_by
        Each file holds one combination of values of these columns.
    truncates_times
        As for `BatchFitting`.
    """

    address: TableAddress
    job: str
    schema: pa.Schema
    fields: tuple[SchemaField, ...]
    options: WriteOptions
    max_rows_per_file: int
    cluster_by: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    truncates_times: bool = False

    def check(self) -> None:
        """Refuse on the driver what would fail in every task.

        Raises
        ------
        InvalidArgumentError
            A column to sort by does not exist, or its values have no order.
        """
        for name in (*self.partition_by, *self.cluster_by):
            if name not in self.schema.names:
                raise InvalidArgumentError(
                    f"clusterBy and partitionBy name {name!r}; there are {self.schema.names}", column=name
                )
            type_ = self.schema.field(name).type
            if type_.num_fields or isinstance(type_, pa.BaseExtensionType):
                raise InvalidArgumentError(f"values of type {type_} have no order", column=name)


@dataclass
class TaskMessage(WriterCommitMessage):
    """The result of a task, sent to the driver.

    Parameters
    ----------
    job
        As in `FilePlan`.
    fragments
        A serialized DataFragment for each file.
    num_rows, num_bytes
        Of all files.
    query_id
        Name of the stream; None in batches.
    fields
        In streams, the columns that were written.
    """

    job: str
    fragments: tuple[bytes, ...] = ()
    num_rows: int = 0
    num_bytes: int = 0
    query_id: str | None = None
    fields: tuple[SchemaField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPlan:
    """Plan of the commit of a job; pickled by the process that plans, for the process that commits.

    Parameters
    ----------
    address
        The table.
    job
        Name of the job, and of its transaction.
    base_version
        The version that the job was planned on; None where there was no table.
    replaces
        Whether the rows replace all rows of the table.
    file_version
        Of data files.
    stable_row_ids, message, unsafe_single_writer, durability
        As for `LanceTable.create`.
    if_version
        The version that must be the newest one still; any when None.
    job_name
        Properties stored with the transaction.
    """

    address: TableAddress
    job: str
    base_version: int | None
    replaces: bool
    file_version: str
    stable_row_ids: bool
    message: str | None
    unsafe_single_writer: bool
    durability: Durability = "fsync"
    if_version: int | None = None
    job_name: str = ""
