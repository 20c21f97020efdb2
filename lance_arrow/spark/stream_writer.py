"""`LanceStreamWriter`: micro-batches into a table, each exactly once, through restarts.

The transaction of a micro-batch is named after query and batch. A committed one is found by that name, and is not
committed again. Two drivers that try at the same time create only one version.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lance_arrow.errors import CommitConflictError, InvalidArgumentError, UnsupportedError
from lance_arrow.manifests.feature_flags import NO_TRANSACTION_FILES
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.versions import VersionChoice, is_table, open_version
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.spark.committing import checked, commit_files, discard, transactions_of
from lance_arrow.spark.options import WriteChoices
from lance_arrow.spark.same_version import SameVersion
from lance_arrow.spark.task_files import write_task
from lance_arrow.spark.write_planning import plan_write
from lance_arrow.spark.write_plans import TaskMessage
from lance_arrow.spark.writer import fragments_of, task_name

QUERY_KEY = "lance_arrow.spark.query"
BATCH_KEY = "lance_arrow.spark.batch"
_SPACE = uuid.UUID("6f1c2f6e-5f0e-5b5a-9d3e-1c4b7f0f2a11")
_QUERY_PROPERTY = "sql.streaming.queryId"


class LanceStreamWriter(SameVersion, DataSourceStreamArrowWriter):
    """Writes micro-batches; arguments and errors are those of `LanceWriter`.

    Notes
    -----
    Spark makes one of these where a query is planned, whose `write` runs in tasks, and one for each commit.
    """

    def __init__(self, choices: WriteChoices, schema: StructType, *, overwrite: bool) -> None:
        super().__init__()
        if choices.if_exists != "append":
            raise InvalidArgumentError("option ifExists is for batches: a stream always goes on")
        self._query_id = choices.query_id
        self._files, self._plan = plan_write(choices, schema, overwrite=overwrite, job=str(uuid.uuid4()))
        if self._plan.base_version is not None:
            root = self._plan.address.location()
            base = open_version(root, VersionChoice(version=self._plan.base_version))
            if base.writer_flags & NO_TRANSACTION_FILES:
                raise UnsupportedError(
                    "the table keeps no transaction files, by which batches would be known again", path=root.name
                )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskMessage:
        """Write the rows of one task."""
        query_id = self._query_id
        context = TaskContext.get()
        if query_id is None and context is not None:
            query_id = context.getLocalProperty(_QUERY_PROPERTY)
        message = write_task(self._files, iterator, task=task_name(), query_id=query_id)
        return replace(message, fields=self._files.fields)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # type: ignore[override]
        """Make one version of a micro-batch, unless there is one of it already."""
        checked(messages)
        told = [message for message in messages if isinstance(message, TaskMessage)]
        fragments = fragments_of(messages)
        root = self._plan.address.location()
        exists = is_table(root)
        if not told or (not fragments and exists and not self._plan.replaces):
            return
        query_id = told[0].query_id
        if query_id is None:
            raise InvalidArgumentError("Spark did not tell the id of the query: give it by option queryId")
        transaction_id = transaction_id_of(query_id, batchId)
        begun = transactions_of(root, transaction_id)
        base = begun[0] if begun else (self._plan.base_version or 0)
        self._check_fields(told, base)
        made = commit_files(
            self._plan,
            fragments,
            self._files.fields,
            self._files.schema,
            transaction_id=transaction_id,
            base_version=base or None,
            properties={QUERY_KEY: query_id, BATCH_KEY: str(batchId)},
        )
        if fragments and not _names(made, fragments):
            # The same batch had been committed before; these are the files of its second attempt.
            discard(self._plan.address, fragments)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # type: ignore[override]
        """Remove files of this attempt, unless its commit may have succeeded."""
        told = [message for message in messages if isinstance(message, TaskMessage) and message.query_id is not None]
        root = self._plan.address.location()
        if told and transactions_of(root, transaction_id_of(str(told[0].query_id), batchId)):
            return
        discard(self._plan.address, fragments_of(messages))

    def _check_fields(self, told: Sequence[TaskMessage], base: int) -> None:
        """Refuse files that were written for other columns than the table has now."""
        if any(message.fragments and message.fields != self._files.fields for message in told):
            raise CommitConflictError(
                f"the columns of the table changed while the batch was written (version {base})", retryable=True
            )


def transaction_id_of(query_id: str, batch_id: int) -> str:
    """Return the name of the transaction of a micro-batch."""
    return str(uuid.uuid5(_SPACE, f"{query_id}/{batch_id}"))


def _names(manifest: ManifestMeta, fragments: Sequence[bytes]) -> bool:
    """Whether a version names a data file; it is among the last ones that were added."""
    wanted = DataFragment.FromString(fragments[0]).files[0].path
    return any(file.path == wanted for one in reversed(manifest.fragments) for file in one.files)
