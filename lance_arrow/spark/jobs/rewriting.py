"""`rewrite`: all data files of a table anew: of another version, by other codecs, in another order of rows."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from lance_arrow.choices import FileVersionName, Preset
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.write_options import DEFAULT_ROWS_PER_ZONE, WriteOptions
from lance_arrow.manifests.index_section import read_indices
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.spark.clustering import clustered
from lance_arrow.spark.committing import GuardedOverwrite
from lance_arrow.spark.jobs.compacting import FragmentRewrite, index_notes, rewrite_groups
from lance_arrow.spark.jobs.frames import read_options, written_counts
from lance_arrow.spark.jobs.report import JobReport, OnProgress, Stopwatch
from lance_arrow.spark.jobs.snapshots import TableSnapshot, opened
from lance_arrow.spark.options import TableAddress
from lance_arrow.table.compaction import indices_to_move, number_fragments
from lance_arrow.table.indices.movable import MovableGroups, movable_groups
from lance_arrow.table.indices.remaking import IndexRemaking
from lance_arrow.table.method_arguments import DEFAULT_ROWS_PER_FILE, checked_message
from lance_arrow.table.operations.base import Operation
from lance_arrow.table.operations.rewriting import RewriteGroup
from lance_arrow.table.writable_branch import WritableBranch, overwriting_version
from lance_arrow.table.written_files import WrittenFiles


def rewrite(
    spark: SparkSession,
    uri: str,
    *,
    file_version: FileVersionName | None = None,
    preset: Preset = "default",
    rows_per_zone: int = DEFAULT_ROWS_PER_ZONE,
    checksums: bool = True,
    column_options: Mapping[str, Mapping[str, Any]] | None = None,
    max_rows_per_file: int = DEFAULT_ROWS_PER_FILE,
    cluster_by: Sequence[str] = (),
    num_files: int | None = None,
    num_tasks: int | None = None,
    drop_indices: bool = False,
    message: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    unsafe_single_writer: bool = False,
    on_progress: OnProgress | None = None,
) -> JobReport:
    """Write all rows of a table again, in one version (two where rows keep their places and file version).

    Columns and their types stay. Without `cluster_by`, and with the table's file version, fragments are replaced one by
    one. Rows keep their stable ids, and rows that others append meanwhile stay. Fragments whose rows an
    index names by address are left as they are, and the report names both. Otherwise the table is overwritten, rows get
    new ids, no index stays, and any other commit meanwhile makes the job fail.

    Parameters
    ----------
    spark
        The session.
    uri, storage_options, unsafe_single_writer
        The table, as for `LanceTable.open`.
    file_version, preset, rows_per_zone, checksums, column_options, max_rows_per_file, message
        As for `LanceTable.create`.
    cluster_by
        Columns to sort all rows by, the most selective first; they stay in their order when empty.
    num_files
        With `cluster_by`: how many files to make, about.
    num_tasks
        Without: how many tasks; one for each fragment when None.
    drop_indices
        Whether indices are dropped that the rewritten rows would make wrong.
    on_progress
        Told of each step.

    Raises
    ------
    CommitConflictError
        Others committed meanwhile.
    UnsupportedError, InvalidArgumentError
        The table cannot be written; with `cluster_by`, Spark cannot hold a type or a value of it. The table would be
        overwritten and has indices, and `drop_indices` is not set.
    """
    watch = Stopwatch("rewrite", on_progress)
    address, base, target = opened(uri, storage_options, unsafe_single_writer=unsafe_single_writer)
    options = WriteOptions(
        file_version=file_version or overwriting_version(base),
        preset=preset,
        rows_per_zone=rows_per_zone,
        checksums=checksums,
        column_options=column_options or {},
    )
    overwrites = bool(cluster_by) or options.file_version != base.data_format
    lost = indices_lost_by_overwriting(target, base, drop_indices=drop_indices) if overwrites else ()
    notes = [f"index {one!r} was dropped" for one in lost]
    if cluster_by:
        name = str(uuid.uuid4())
        frame = spark.read.format("lance").options(**read_options(address), version=str(base.version)).load(address.uri)
        watch.step(f"sorting by {', '.join(cluster_by)}")
        writer = clustered(frame, cluster_by, num_files=num_files).write.format("lance").mode("overwrite")
        writer = writer.options(**read_options(address)).options(
            ifVersion=base.version, keepSchema=True, fileVersion=options.file_version, preset=preset, jobName=name,
            rowsPerZone=rows_per_zone, checksums=checksums, maxRowsPerFile=max_rows_per_file,
            columnOptions=_json(column_options), unsafeSingleWriter=unsafe_single_writer, message=message or "",
        )  # fmt: skip
        with watch.shown(spark, target.root.name):
            writer.save(address.uri)
        after, counts = written_counts(address, name)
    else:
        how = FragmentRewrite(options=options, max_rows_per_file=max_rows_per_file, prefix=f"{uuid.uuid4()}-")
        if overwrites:
            found = MovableGroups(groups=tuple(range(at, at + 1) for at in range(len(base.fragments))))
        else:
            reader = TableSnapshot(address, base.facts).reader(base.fragments)
            found = fragments_to_rewrite(target, base, reader, drop_indices=drop_indices)
            notes = index_notes(found)
        watch.step(f"{len(found.groups)} of {len(base.fragments)} fragments")
        after, counts = base.version, {"rows_written": 0, "files_written": 0, "bytes_written": 0}
        if found.groups or overwrites:
            with watch.shown(spark, target.root.name):
                after, made = _in_place(spark, address, target, base, how, found, num_tasks, checked_message(message))
            new = [fragment for group in made for fragment in group.new]
            counts = {
                "rows_written": sum(one.physical_rows for one in new),
                "files_written": len(new),
                "bytes_written": sum(file.file_size_bytes for one in new for file in one.files),
            }
    return watch.report(target.root.name, base.version, after, counts, notes=tuple(notes))


def indices_lost_by_overwriting(target: WritableBranch, base: ManifestMeta, *, drop_indices: bool) -> tuple[str, ...]:
    """Return the names of the indices that an overwrite would drop.

    Raises
    ------
    InvalidArgumentError
        The table has indices, and `drop_indices` is False.
    """
    section = read_indices(target.line, base, target.settings.limits)
    names = tuple(sorted({index.name for index in section.indices}))
    if names and not drop_indices:
        raise InvalidArgumentError(
            f"rows in another order or file version need an overwrite, which drops the indices {', '.join(names)}: "
            "set drop_indices to say so, and make them again afterwards",
            path=base.facts.root,
            detail=names,
        )
    return names


def fragments_to_rewrite(
    target: WritableBranch, base: ManifestMeta, reader: TableReader, *, drop_indices: bool
) -> MovableGroups:
    """Choose the fragments that may be rewritten where they are: all that no index keeps as they are."""
    section = indices_to_move(target, base)
    remaking = IndexRemaking(section, base, reader, target.line)

    def groups_of(keys: Sequence[tuple[int, ...]]) -> list[range]:
        return [range(at, at + 1) for at in range(len(keys))]

    return movable_groups(section, base, groups_of, remaking, drop_indices=drop_indices)


def _in_place(
    spark: SparkSession,
    address: TableAddress,
    target: WritableBranch,
    base: ManifestMeta,
    how: FragmentRewrite,
    found: MovableGroups,
    num_tasks: int | None,
    message: str | None,
) -> tuple[int, list[RewriteGroup]]:
    """Write fragments again one by one, and return the version that has them."""
    with WrittenFiles() as files:
        made = rewrite_groups(spark, address, base, found.groups, how, files, num_tasks=num_tasks)
        operation: Operation
        if how.options.file_version == base.data_format:
            number_fragments(target, base, made)
            operation = found.operation(made, files)
        else:
            fragments = [fragment for group in made for fragment in group.new]
            for fragment in fragments:
                # Numbered anew: an overwrite has rows of its own.
                fragment.ClearField("row_id_sequence")
                fragment.ClearField("created_at_version_sequence")
                fragment.ClearField("last_updated_at_version_sequence")
            operation = GuardedOverwrite(
                fragments=fragments,
                fields=base.fields,
                schema_metadata=base.facts.schema_metadata,
                file_version=how.options.file_version,
                expected=base.version,
            )
        return target.commit(operation, base, files, message).version, made


def _json(column_options: Mapping[str, Mapping[str, Any]] | None) -> str:
    return json.dumps({name: dict(one) for name, one in (column_options or {}).items()})
