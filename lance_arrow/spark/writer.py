"""`LanceWriter`: batch writes: tasks write files, the driver makes one commit, or removes the files of the job."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lance_arrow.errors import TableExistsError
from lance_arrow.spark.options import WriteChoices
from lance_arrow.spark.same_version import SameVersion
from lance_arrow.spark.write_plans import CommitPlan, FilePlan, TaskMessage

if TYPE_CHECKING:
    import pyarrow as pa


class LanceWriter(SameVersion, DataSourceArrowWriter):
    """Appends rows to a table, creates a table, or replaces the rows of one.

    Parameters
    ----------
    choices
        What the options say.
    schema
        Of the rows.
    overwrite
        Whether the rows replace all rows of the table.

    Raises
    ------
    TableExistsError
        There is a table, and option ``ifExists`` says ``error``.
    InvalidArgumentError, UnsupportedError
        As `plan_write`.
    """

    def __init__(self, choices: WriteChoices, schema: StructType, *, overwrite: bool) -> None:
        # Each step runs in another process, which imports what the step needs: here, and below.
        from lance_arrow.spark.write_planning import plan_write  # noqa: PLC0415

        super().__init__()
        self._ignores = choices.if_exists == "ignore"
        self._job = str(uuid.uuid4())
        self._plans: tuple[FilePlan, CommitPlan] | None = None
        try:
            self._plans = plan_write(choices, schema, overwrite=overwrite, job=self._job)
        except TableExistsError:
            if not self._ignores:
                raise

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskMessage:
        """Write the rows of one task; with ``ifExists`` as ``ignore`` and an existing table, read no row."""
        if self._plans is None:
            return TaskMessage(self._job)
        from lance_arrow.spark.task_files import write_task  # noqa: PLC0415

        return write_task(self._plans[0], iterator, task=task_name())

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:  # type: ignore[override]
        """Commit the files of all tasks as one version."""
        if self._plans is None:
            return
        from lance_arrow.spark.committing import checked, commit_files  # noqa: PLC0415

        files, plan = self._plans
        checked(messages)
        try:
            commit_files(
                plan,
                fragments_of(messages),
                files.fields,
                files.schema,
                transaction_id=plan.job,
                base_version=plan.base_version,
                properties={},
            )
        except TableExistsError:
            # Another writer created the table meanwhile. The files are removed already.
            if not self._ignores:
                raise

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:  # type: ignore[override]
        """Remove the files of this job, and no others."""
        if self._plans is None:
            return
        from lance_arrow.spark.committing import discard_job  # noqa: PLC0415

        discard_job(self._plans[1])


def fragments_of(messages: Sequence[WriterCommitMessage | None]) -> list[bytes]:
    """Return the fragments of all tasks, in the order of tasks."""
    return [one for message in messages if isinstance(message, TaskMessage) for one in message.fragments]


def task_name() -> str:
    """Return a name for this attempt of a task."""
    context = TaskContext.get()
    return "0" if context is None else f"{context.partitionId():05}-{context.taskAttemptId()}"
