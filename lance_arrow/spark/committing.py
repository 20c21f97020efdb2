"""What the driver does with files that tasks wrote: plans them beforehand, makes one commit, or removes them again.

writer() ─► base version, schema, file plan ─► tasks ─► messages ─► commit: one version
                                                                └► abort: the job's own files, unless in doubt
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.types import StructType

from lance_arrow.choices import Durability
from lance_arrow.container.fields import SchemaField
from lance_arrow.container.schema import arrow_schema, fields_from_arrow
from lance_arrow.errors import CommitConflictError, InvalidArgumentError, TableExistsError, did_you_mean
from lance_arrow.files.stored_rows import StoredRows
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.io import Location, list_names, remove_file
from lance_arrow.manifests.base_paths import DATA
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.versions import VersionChoice, is_table, open_version
from lance_arrow.manifests.writing import editable
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.runtime import default_runtime
from lance_arrow.spark.fitting import BatchFitting
from lance_arrow.spark.options import TableAddress, WriteChoices
from lance_arrow.spark.task_files import FilePlan
from lance_arrow.spark.type_mapping import batch_schema, stored_schema
from lance_arrow.table.commit import commit
from lance_arrow.table.operations.base import Append, NextVersion, Operation, Overwrite
from lance_arrow.table.table_handle import line_of
from lance_arrow.table.transactions import MESSAGE_KEY, TRANSACTIONS
from lance_arrow.table.writable_branch import overwriting_version, refuse_blob_structs, writable_version
from lance_arrow.table.written_files import WrittenFiles

JOB_KEY = "lance_arrow.spark.job"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPlan:
    """What the commit of a job is to do; travels from where the job is planned to where it is committed.

    Parameters
    ----------
    address
        The table.
    job
        Name of the job, and of its transaction.
    base_version
        The version that the job was planned on; None where there was no table.
    replaces
        Whether the rows replace all that there is.
    file_version
        Of data files.
    stable_row_ids, message, unsafe_single_writer, durability
        As for `LanceTable.create`.
    if_version
        The version that must be the newest one still; any when None.
    job_name
        What is kept with the transaction.
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


def plan_write(choices: WriteChoices, schema: StructType, *, overwrite: bool, job: str) -> tuple[FilePlan, CommitPlan]:
    """Plan a job on the newest version; nothing is written.

    Parameters
    ----------
    choices
        What the options say.
    schema
        Of the rows, as Spark has it.
    overwrite
        Whether the rows replace all that there is.
    job
        Name of the job.

    Raises
    ------
    TableExistsError
        There is a table, and option ``ifExists`` says ``error`` or ``ignore``.
    InvalidArgumentError, UnsupportedError
        The rows do not fit the table; the table cannot be written here.
    """
    root = choices.address.location()
    if overwrite and choices.if_exists != "append":
        raise InvalidArgumentError("option ifExists is for mode('append'): mode('overwrite') says what to do already")
    line_of(root, None, unsafe_single_writer=choices.unsafe_single_writer)
    base: ManifestMeta | None = None
    fields: Sequence[SchemaField]
    if is_table(root):
        if choices.if_exists != "append":
            raise TableExistsError("there is a table here already; option ifExists says to write none", path=root.name)
        base = open_version(root, VersionChoice(), default_runtime().settings.limits)
        editable(base)
    if choices.if_version is not None and (base is None or not overwrite):
        raise InvalidArgumentError("option ifVersion is for mode('overwrite') of a table that is there")
    if base is not None and overwrite and choices.keep_schema:
        options = _write_options(choices, choices.file_version or overwriting_version(base))
        stored, fields = columns_of(base, schema)
        if len(fields) != len(base.fields):
            raise InvalidArgumentError(f"keepSchema needs all columns: {[field.name for field in base.fields]}")
    elif base is None or overwrite:
        file_version = choices.file_version or ("2.2" if base is None else overwriting_version(base))
        options = _write_options(choices, file_version)
        stored = StoredRows(stored_schema(schema), options.version).schema
        fields = fields_from_arrow(stored)
    else:
        options = _write_options(choices, _appended_version(base, choices.file_version))
        stored, fields = columns_of(base, schema)
    options.check_columns(stored)
    files = FilePlan(
        address=choices.address,
        job=job,
        schema=stored,
        fields=tuple(fields),
        options=options,
        max_rows_per_file=choices.max_rows_per_file,
        cluster_by=choices.cluster_by,
        partition_by=choices.partition_by,
        truncates_times=choices.truncates_times,
    )
    files.check()
    BatchFitting(stored, truncates_times=choices.truncates_times).check(batch_schema(schema))
    planned = CommitPlan(
        address=choices.address,
        job=job,
        base_version=None if base is None else base.version,
        replaces=overwrite,
        file_version=options.file_version,
        stable_row_ids=choices.stable_row_ids,
        message=choices.message,
        unsafe_single_writer=choices.unsafe_single_writer,
        durability=choices.durability,
        if_version=choices.if_version,
        job_name=choices.job_name or job,
    )
    return files, planned


def _write_options(choices: WriteChoices, file_version: str) -> WriteOptions:
    return WriteOptions(
        file_version=file_version,
        preset=choices.preset,
        rows_per_zone=choices.rows_per_zone,
        checksums=choices.checksums,
        column_options=choices.column_options,
    )


def _appended_version(base: ManifestMeta, wanted: str | None) -> str:
    found = writable_version(base)
    if wanted not in (None, found):
        raise InvalidArgumentError(f"the table's files are of version {found}, not {wanted}", path=base.facts.root)
    return found


def columns_of(base: ManifestMeta, schema: StructType) -> tuple[pa.Schema, list[SchemaField]]:
    """Return those columns of a table that rows of Spark have, as the table stores them."""
    wanted = arrow_schema(base.fields, base.facts.schema_metadata)
    for name in schema.names:
        if name not in wanted.names:
            offer = did_you_mean(name, wanted.names)
            raise InvalidArgumentError(f"the table has no column {name!r}; columns: {wanted.names}{offer}", column=name)
    for field in wanted:
        if not field.nullable and field.name not in schema.names:
            raise InvalidArgumentError("the column is not given, but may not be null", column=field.name)
    fields = [field for field in base.fields if field.name in schema.names]
    if not fields:
        raise InvalidArgumentError("the rows have no columns")
    refuse_blob_structs(fields)
    return pa.schema([wanted.field(field.name) for field in fields], wanted.metadata), fields


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
        What others did since cannot be combined with this; the files are removed.
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
        metadata = {key.decode(): value for key, value in (schema.metadata or {}).items()}
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
        for place in _places(root, fragments):
            written.add(place)
        return commit(
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


def discard(address: TableAddress, fragments: Iterable[bytes]) -> None:
    """Remove data files that no version names."""
    for place in _places(address.location(), [DataFragment.FromString(one) for one in fragments]):
        remove_file(place)


def discard_job(plan: CommitPlan) -> None:
    """Remove all data files of a job, those of tasks that left no message among them, unless a commit is in doubt."""
    root = plan.address.location()
    if transactions_of(root, plan.job):
        return
    folder = posixpath.join(root.path, DATA)
    for name in list_names(root.filesystem, folder):
        if name.startswith(f"{plan.job}-"):
            remove_file(Location(root.filesystem, posixpath.join(folder, name)))


def transactions_of(root: Location, transaction_id: str) -> list[int]:
    """Return the versions from which commits of one transaction began whose outcome is not "refused", ascending."""
    names = list_names(root.filesystem, posixpath.join(root.path, TRANSACTIONS))
    marker = f"-{transaction_id}"
    return sorted(int(name.split("-", 1)[0]) for name in names if marker in name and name.split("-", 1)[0].isdigit())


def _places(root: Location, fragments: Sequence[DataFragment]) -> list[Location]:
    folder = posixpath.join(root.path, DATA)
    return [Location(root.filesystem, posixpath.join(folder, file.path)) for one in fragments for file in one.files]


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
