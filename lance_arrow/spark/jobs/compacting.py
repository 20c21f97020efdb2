"""`compact`: small fragments become large ones, and deleted rows go, group by group in tasks; rows keep their ids."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from lance_arrow.files.write_options import WriteOptions
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import check_fragment_known, editable
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.spark.jobs.report import JobReport, OnProgress, Stopwatch
from lance_arrow.spark.jobs.snapshots import TableSnapshot, data_files, opened
from lance_arrow.spark.jobs.spread import spread
from lance_arrow.spark.options import TableAddress
from lance_arrow.table.compaction import CompactionPlan, carry_rows, number_fragments
from lance_arrow.table.indices.movable import MovableGroups, kept_out_lines
from lance_arrow.table.method_arguments import DEFAULT_ROWS_PER_FILE, checked_message
from lance_arrow.table.operations.base import Operation
from lance_arrow.table.operations.rewriting import RewriteGroup
from lance_arrow.table.rewritten_rows import rewritten_fragments
from lance_arrow.table.table_handle import PLAIN
from lance_arrow.table.writable_branch import refuse_blob_structs, writable_version
from lance_arrow.table.written_files import WrittenFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentRewrite:
    """How tasks write rows of fragments again.

    Parameters
    ----------
    options
        Of data files.
    max_rows_per_file
        The most rows of a file.
    prefix
        What names of files begin with.
    copies
        Whether pages are copied that need no change; those of a rewrite are to be encoded as `options` say.
    """

    options: WriteOptions
    max_rows_per_file: int
    prefix: str
    copies: bool = False


def compact(
    spark: SparkSession,
    uri: str,
    *,
    target_rows_per_fragment: int = DEFAULT_ROWS_PER_FILE,
    materialize_deletions_threshold: float = 0.1,
    drop_indices: bool = False,
    num_tasks: int | None = None,
    message: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    unsafe_single_writer: bool = False,
    on_progress: OnProgress | None = None,
) -> JobReport:
    """Compact a table, as `LanceTable.compact` does, with tasks for the groups of fragments.

    Parameters
    ----------
    spark
        The session.
    uri, storage_options, unsafe_single_writer
        The table, as for `LanceTable.open`.
    target_rows_per_fragment, materialize_deletions_threshold, drop_indices, message
        As for `LanceTable.compact`.
    num_tasks
        How many tasks; one for each group of fragments when None.
    on_progress
        Told of each step.

    Raises
    ------
    LanceError
        As `LanceTable.compact`.
    """
    watch = Stopwatch("compact", on_progress)
    plan = CompactionPlan(target_rows=target_rows_per_fragment, deleted_part=materialize_deletions_threshold)
    address, base, target = opened(uri, storage_options, unsafe_single_writer=unsafe_single_writer)
    counts = {"fragments_rewritten": 0, "fragments_made": 0, "rows_written": 0, "bytes_written": 0, "retries": 0}
    notes: list[str] = []

    def attempt(base: ManifestMeta, files: WrittenFiles) -> Operation | None:
        reader = TableSnapshot(address, base.facts).reader(base.fragments)
        found = plan.choose(target, base, reader, drop_indices=drop_indices)
        notes[:] = index_notes(found)
        groups = found.groups
        if not groups:
            return None
        how = FragmentRewrite(
            options=PLAIN.of(writable_version(base)),
            max_rows_per_file=plan.target_rows,
            prefix=f"{uuid.uuid4()}-",
            copies=True,
        )
        watch.step(f"{sum(map(len, groups))} of {len(base.fragments)} fragments in {len(groups)} groups")
        counts["retries"] = watch.attempt()
        with watch.shown(spark, target.root.name):
            made = rewrite_groups(spark, address, base, groups, how, files, num_tasks=num_tasks)
        counts["fragments_rewritten"] = sum(map(len, groups))
        counts["fragments_made"] = sum(len(group.new) for group in made)
        counts["rows_written"] = sum(one.physical_rows for group in made for one in group.new)
        counts["bytes_written"] = sum(file.file_size_bytes for group in made for one in group.new for file in one.files)
        number_fragments(target, base, made)
        return found.operation(made, files)

    after = target.retried(base, attempt, checked_message(message))
    return watch.report(target.root.name, base.version, after.version, counts, notes=tuple(notes))


def index_notes(found: MovableGroups) -> list[str]:
    """Say what became of indices, a line each."""
    return [
        *(f"index {name!r} was carried along" for name in found.carried),
        *(f"index {name!r} was dropped" for name in sorted(found.dropped)),
        *kept_out_lines(found.kept_out),
    ]


def rewrite_groups(
    spark: SparkSession,
    address: TableAddress,
    base: ManifestMeta,
    groups: Sequence[range],
    how: FragmentRewrite,
    files: WrittenFiles,
    *,
    num_tasks: int | None,
) -> list[RewriteGroup]:
    """Write groups of fragments again, in tasks.

    Parameters
    ----------
    groups
        Numbers of fragments.
    files
        Told of the files, once they are there.

    Returns
    -------
    list of RewriteGroup
        New fragments have no ids.
    """
    refuse_blob_structs(base.fields)
    messages = list(editable(base).fragments)
    for group in groups:
        for number in group:
            check_fragment_known(messages[number], base.facts.manifest_path)
    items = [[base.fragments[number] for number in one] for one in groups]
    rewrite = functools.partial(rewrite_group, how, TableSnapshot(address, base.facts))
    written = spread(spark, rewrite, items, num_tasks=num_tasks)
    root = address.location()
    made = []
    for group, found in zip(groups, written, strict=True):
        new = [DataFragment.FromString(one) for one in found]
        for place in data_files(root, new):
            files.add(place)
        made.append(RewriteGroup([messages[number] for number in group], new))
    return made


def rewrite_group(how: FragmentRewrite, table: TableSnapshot, fragments: Sequence[FragmentMeta]) -> list[bytes]:
    """Write the live rows of some fragments to new files; in a task."""
    reader = table.reader(fragments)
    numbers = range(len(fragments))
    with WrittenFiles() as files:
        new = rewritten_fragments(
            table.address.location(),
            table.facts,
            reader,
            numbers,
            files,
            options=how.options,
            max_rows_per_file=how.max_rows_per_file,
            prefix=how.prefix,
            copies=how.copies,
        )
        if table.facts.has_stable_row_ids:
            carry_rows(reader, numbers, new)
    return [one.SerializeToString() for one in new]
