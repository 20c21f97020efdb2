"""`delete`: rows by predicate, looked for in tasks, fragment by fragment; nothing but deletion files is written."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import SparkSession

from lance_arrow.io import Location
from lance_arrow.manifests.base_paths import DELETIONS
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import check_fragment_known, editable
from lance_arrow.proto.table_pb2 import DataFragment, DeletionFile
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.predicates import Predicate, as_expression, fitting
from lance_arrow.spark.jobs.report import JobReport, OnProgress, Stopwatch
from lance_arrow.spark.jobs.snapshots import STORED, TableSnapshot, opened
from lance_arrow.spark.jobs.spread import spread
from lance_arrow.table.deletion_files import write_deletions
from lance_arrow.table.operations.base import Delete
from lance_arrow.table.row_deletion import live_addresses, with_deleted
from lance_arrow.table.writable_branch import checked_message
from lance_arrow.table.written_files import WrittenFiles

# Of a fragment: how many rows more are gone, and its deletion file; None where no row is left, or none is gone.
_Found = tuple[int, bytes | None]


def delete(
    spark: SparkSession,
    uri: str,
    predicate: Predicate,
    *,
    num_tasks: int | None = None,
    message: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    unsafe_single_writer: bool = False,
    on_progress: OnProgress | None = None,
) -> JobReport:
    """Delete the rows that satisfy a predicate, in one version; fragments that zone maps exclude are not read.

    Parameters
    ----------
    spark
        The session.
    uri, storage_options, unsafe_single_writer
        The table, as for `LanceTable.open`.
    predicate, message
        As for `LanceTable.delete`.
    num_tasks
        How many tasks; one for each fragment when None.
    on_progress
        Told of each step.

    Raises
    ------
    LanceError
        As `LanceTable.delete`.
    """
    watch = Stopwatch("delete", on_progress)
    address, base, target = opened(uri, storage_options, unsafe_single_writer=unsafe_single_writer)
    counts = {"rows_deleted": 0, "fragments_changed": 0, "fragments_removed": 0, "retries": 0}

    def attempt(base: ManifestMeta, files: WrittenFiles) -> Delete:
        columns = TableColumns(base.facts, STORED)
        expression = as_expression(predicate, columns.full_schema)
        with fitting("the predicate {} does not fit the table", columns.full_schema, expression):
            columns.full_schema.empty_table().filter(expression)
        watch.step(f"looking at {len(base.fragments)} fragments")
        find = functools.partial(find_deleted, expression, TableSnapshot(address, base.facts))
        counts["retries"] = watch.attempt()
        with watch.shown(spark, target.root.name):
            found = spread(spark, find, base.fragments, num_tasks=num_tasks)
        updated: list[DataFragment] = []
        removed: list[int] = []
        for fragment, (num_gone, deletion) in zip(editable(base).fragments, found, strict=True):
            if not num_gone:
                continue
            if deletion is None:
                removed.append(fragment.id)
                continue
            check_fragment_known(fragment, base.facts.manifest_path)
            fragment.deletion_file.CopyFrom(DeletionFile.FromString(deletion))
            updated.append(fragment)
            kind = "bin" if fragment.deletion_file.file_type == DeletionFile.BITMAP else "arrow"
            name = f"{fragment.id}-{fragment.deletion_file.read_version}-{fragment.deletion_file.id}.{kind}"
            files.add(Location(target.line.filesystem, f"{target.line.path}/{DELETIONS}/{name}"))
        counts["rows_deleted"] = sum(num_gone for num_gone, _ in found)
        counts["fragments_changed"], counts["fragments_removed"] = len(updated), len(removed)
        text = predicate if isinstance(predicate, str) else str(expression)
        return Delete(updated=updated, removed=removed, predicate=text)

    after = target.retried(base, attempt, checked_message(message))
    return watch.report(target.root.name, base.version, after.version, counts)


def find_deleted(expression: pc.Expression, table: TableSnapshot, fragment: FragmentMeta) -> _Found:
    """Find the rows of one fragment that are to go, and write its deletion file; in a task."""
    reader = table.reader([fragment])
    found = live_addresses(reader, expression)
    if not found:
        return 0, None
    ((_, offsets),) = found.by_fragment()
    held = reader.fragment(0)
    gone = with_deleted(held, offsets)
    if len(gone) == held.num_physical:
        return len(offsets), None
    with WrittenFiles() as files:
        line = table.address.location()
        deletion = write_deletions(line, fragment.id, table.facts.version, gone, files)
    return len(offsets), deletion.SerializeToString()
