"""`delete`: rows by predicate, looked for in tasks, fragment by fragment; nothing but deletion files is written."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import SparkSession

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
from lance_arrow.table.method_arguments import checked_message
from lance_arrow.table.operations.base import Delete
from lance_arrow.table.row_deletion import live_addresses, with_deleted
from lance_arrow.table.written_files import WrittenFiles
from lance_arrow.watching import receipts


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRows:
    """What a task found in one fragment.

    Parameters
    ----------
    num_rows
        Rows that the predicate deletes.
    deletion
        The new deletion file, a serialized DeletionFile; None if the fragment loses no row or all of its rows.
    zones, zones_pruned
        As in `ReadReport`: zones of the fragment, and those that zone maps excluded.
    """

    num_rows: int
    deletion: bytes | None = None
    zones: int = 0
    zones_pruned: int = 0


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
    counts = dict.fromkeys(
        ("rows_deleted", "fragments_changed", "fragments_removed", "zones", "zones_pruned", "retries"), 0
    )

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
        for fragment, one in zip(editable(base).fragments, found, strict=True):
            if not one.num_rows:
                continue
            if one.deletion is None:
                removed.append(fragment.id)
                continue
            check_fragment_known(fragment, base.facts.manifest_path)
            fragment.deletion_file.CopyFrom(DeletionFile.FromString(one.deletion))
            updated.append(fragment)
            kind = "bin" if fragment.deletion_file.file_type == DeletionFile.BITMAP else "arrow"
            name = f"{fragment.id}-{fragment.deletion_file.read_version}-{fragment.deletion_file.id}.{kind}"
            files.add(target.line.at(f"{target.line.path}/{DELETIONS}/{name}"))
        counts["rows_deleted"] = sum(one.num_rows for one in found)
        counts["zones"] = sum(one.zones for one in found)
        counts["zones_pruned"] = sum(one.zones_pruned for one in found)
        counts["fragments_changed"], counts["fragments_removed"] = len(updated), len(removed)
        text = predicate if isinstance(predicate, str) else str(expression)
        return Delete(updated=updated, removed=removed, predicate=text)

    after = target.retried(base, attempt, checked_message(message))
    return watch.report(target.root.name, base.version, after.version, counts)


def find_deleted(expression: pc.Expression, table: TableSnapshot, fragment: FragmentMeta) -> FoundRows:
    """Find the rows of one fragment that a predicate deletes, and write its deletion file; runs in a task."""
    reader = table.reader([fragment])
    with receipts() as reads:
        found = live_addresses(reader, expression)
    zones, zones_pruned = reads.total.zones_total, reads.total.zones_pruned
    if not found:
        return FoundRows(num_rows=0, zones=zones, zones_pruned=zones_pruned)
    ((_, offsets),) = found.by_fragment()
    held = reader.fragment(0)
    gone = with_deleted(held, offsets)
    deletion = None
    if len(gone) < held.num_physical:
        with WrittenFiles() as files:
            line = table.address.location()
            entry, _ = write_deletions(line, fragment.id, table.facts.version, gone, files)
            deletion = entry.SerializeToString()
    return FoundRows(num_rows=len(offsets), deletion=deletion, zones=zones, zones_pruned=zones_pruned)
