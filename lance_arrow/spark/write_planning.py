"""`plan_write`: what a job is going to write, checked on the newest version before any task starts."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql.types import StructType

from lance_arrow.container.fields import SchemaField
from lance_arrow.container.schema import arrow_schema, fields_from_arrow
from lance_arrow.errors import InvalidArgumentError, TableExistsError, did_you_mean
from lance_arrow.files.stored_rows import StoredRows
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.versions import VersionChoice, is_table, open_version
from lance_arrow.manifests.writing import editable
from lance_arrow.runtime import default_runtime
from lance_arrow.spark.fitting import BatchFitting
from lance_arrow.spark.options import WriteChoices
from lance_arrow.spark.type_mapping import batch_schema, stored_schema
from lance_arrow.spark.write_plans import CommitPlan, FilePlan
from lance_arrow.table.row_fitting import lacked_below
from lance_arrow.table.table_handle import line_of
from lance_arrow.table.writable_branch import (
    overwriting_version,
    refuse_blob_structs,
    refuse_lacked,
    writable_version,
)


def plan_write(choices: WriteChoices, schema: StructType, *, overwrite: bool, job: str) -> tuple[FilePlan, CommitPlan]:
    """Plan a job on the newest version; nothing is written.

    Parameters
    ----------
    choices
        What the options say.
    schema
        Of the rows, as Spark has it.
    overwrite
        Whether the rows replace all rows of the table.
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
    given = batch_schema(schema)
    BatchFitting(stored, truncates_times=choices.truncates_times).check(given)
    below = (lacked_below(given.field(one.name).type, one.type, one.name, casts=True) for one in stored)
    refuse_lacked([path for paths in below for path in paths or ()])
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
    names, known = set(schema.names), wanted.names
    unknown = names - set(known)
    if unknown:
        name = min(unknown, key=schema.names.index)
        offer = did_you_mean(name, known)
        raise InvalidArgumentError(f"the table has no column {name!r}; columns: {known}{offer}", column=name)
    refuse_lacked([field.name for field in wanted if not field.nullable and field.name not in names])
    fields = [field for field in base.fields if field.name in names]
    if not fields:
        raise InvalidArgumentError("the rows have no columns")
    refuse_blob_structs(fields)
    return pa.schema([wanted.field(field.name) for field in fields], wanted.metadata), fields
