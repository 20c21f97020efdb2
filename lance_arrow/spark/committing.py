"""Commits the files that tasks wrote as one version, or removes them; runs on the driver.

writer() ─► base version, schema, file plan (`write_planning`) ─► tasks ─► messages ─► commit: one version
                                                                                   └► abort: the job's own files,
                                                                                      unless in doubt
"""

from __future__ import annotations

import logging
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lance_arrow.container.fields import SchemaField
from lance_arrow.errors import CommitConflictError
from lance_arrow.io import Location, list_names, remove_file
from lance_arrow.manifests.base_paths import DATA, TRANSACTIONS
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.versions import VersionChoice, open_version
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.spark.options import TableAddress
from lance_arrow.spark.write_plans import CommitPlan
from lance_arrow.table.commit import commit
from lance_arrow.table.operations.base import Append, NextVersion, Operation, Overwrite, schema_metadata
from lance_arrow.table.table_handle import line_of
from lance_arrow.table.transactions import MESSAGE_KEY
from lance_arrow.table.written_files import WrittenFiles, file_places

JOB_KEY = "lance_arrow.spark.job"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedOverwrite(Overwrite):
    """An `Overwrite` of exactly the version it was made from: what others added since would be lost.

    Parameters
    ----------
    expected
        That version.
    """

    expected: int

    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """See `Operation.apply`.

        Raises
        ------
        CommitConflictError
            The newest version is another one.
        """
        if base is None or base.version != self.expected:
            found = None if base is None else base.version
            raise CommitConflictError(
                f"version {self.expected} was to be replaced, but the newest one is {found}", retryable=True
            )
        # Zero-argument super() does not work in dataclasses with slots.
        return Overwrite.apply(self, base, version)


def commit_files(
    plan: CommitPlan,
    files: Iterable[bytes],
    fields: Sequence[SchemaField],
    schema: pa.Schema,
    *,
    transaction_id: str,
    base_version: int | None,
    properties: dict[str, str],
) -> ManifestMeta:
    """Make one version of the files of a job.

    Parameters
    ----------
    plan
        What to do.
    files
        Serialized DataFragments, in the order of tasks.
    fields, schema
        Columns of the rows.
    transaction_id, base_version
        As `commit` takes them; None where there is no table yet.
    properties
        To be kept with the transaction.

    Raises
    ------
    CommitConflictError, TableExistsError
        Concurrent commits conflict with this one; the files are removed.
    LanceError, OSError
        As `commit`.
    """
    root = plan.address.location()
    target = line_of(root, None, unsafe_single_writer=plan.unsafe_single_writer, durability=plan.durability)
    fragments = [DataFragment.FromString(one) for one in files]
    base = None
    if base_version is not None:
        base = open_version(root, VersionChoice(version=base_version), target.settings.limits)
    operation: Operation
    if plan.replaces or base is None:
        metadata = schema_metadata(schema)
        operation = Overwrite(
            fragments=fragments,
            fields=fields,
            schema_metadata=metadata,
            file_version=plan.file_version,
            stable_row_ids=plan.stable_row_ids,
            is_new=base is None,
        )
        if plan.if_version is not None:
            operation = GuardedOverwrite(
                fragments=fragments,
                fields=fields,
                schema_metadata=metadata,
                file_version=plan.file_version,
                expected=plan.if_version,
            )
    else:
        operation = Append(fragments)
    said = {} if plan.message is None else {MESSAGE_KEY: plan.message}
    with WrittenFiles() as written:
        for place in file_places(root, fragments):
            written.add(place)
        made = commit(
            target.line,
            operation,
            base,
            written,
            strategy=target.strategy,
            settings=target.settings,
            durability=target.durability,
            properties={**said, JOB_KEY: plan.job_name, **properties},
            transaction_id=transaction_id,
        )
    _log.info("table %s, job %s: version %d has %d new fragments", root.name, plan.job, made.version, len(fragments))
    return made


def discard(address: TableAddress, fragments: Iterable[bytes]) -> None:
    """Remove data files that no version names."""
    for place in file_places(address.location(), [DataFragment.FromString(one) for one in fragments]):
        remove_file(place)


def discard_job(plan: CommitPlan) -> None:
    """Remove all data files of a job, those of tasks that left no message among them, unless a commit is in doubt."""
    root = plan.address.location()
    if transactions_of(root, plan.job):
        return
    folder = posixpath.join(root.path, DATA)
    for name in list_names(root.given, folder):
        if name.startswith(f"{plan.job}-"):
            remove_file(root.at(posixpath.join(folder, name)))


def transactions_of(root: Location, transaction_id: str) -> list[int]:
    """Return the versions from which commits of one transaction began whose outcome is not "refused", ascending."""
    names = list_names(root.given, posixpath.join(root.path, TRANSACTIONS))
    marker = f"-{transaction_id}"
    return sorted(int(name.split("-", 1)[0]) for name in names if marker in name and name.split("-", 1)[0].isdigit())


def checked(messages: Sequence[object]) -> None:
    """Refuse to commit where a task left no message.

    Raises
    ------
    CommitConflictError
        Nothing is committed.
    """
    missing = sum(message is None for message in messages)
    if missing:
        raise CommitConflictError(f"{missing} of {len(messages)} tasks left no message; nothing was committed")
