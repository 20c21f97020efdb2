"""`verify`: every checksum compared and every page decoded of all data files of a version, and its deletion files."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.spark.jobs.report import JobReport, OnProgress, Stopwatch
from lance_arrow.spark.jobs.snapshots import TableSnapshot, address_of, newest
from lance_arrow.spark.jobs.spread import spread
from lance_arrow.table.verifying import verify_fragment


@dataclass(frozen=True, slots=True)
class FragmentVerdict:
    """Problems of a fragment, and counts of checked parts."""

    problems: tuple[str, ...]
    num_files: int
    num_rows: int
    num_blocks: int
    files_without_checksums: int


def verify(
    spark: SparkSession,
    uri: str,
    *,
    version: int | None = None,
    num_tasks: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    on_progress: OnProgress | None = None,
) -> JobReport:
    """Check all files of a version; problems are listed in the report, not raised.

    Parameters
    ----------
    spark
        The session.
    uri, storage_options
        The table, as for `LanceTable.open`.
    version
        Which one; the newest when None.
    num_tasks
        How many tasks; one for each fragment when None.
    on_progress
        Told of each step.

    Raises
    ------
    LanceError
        The manifest cannot be read.
    """
    watch = Stopwatch("verify", on_progress)
    address = address_of(uri, storage_options)
    manifest: ManifestMeta = newest(address, version)
    watch.step(f"{len(manifest.fragments)} fragments of version {manifest.version}")
    verdict = functools.partial(_verdict, TableSnapshot(address, manifest.facts))
    with watch.shown(spark, address.location().name):
        found = spread(spark, verdict, manifest.fragments, num_tasks=num_tasks)
    counts = {
        "fragments": len(found),
        "files": sum(one.num_files for one in found),
        "rows": sum(one.num_rows for one in found),
        "blocks_compared": sum(one.num_blocks for one in found),
        "files_without_checksums": sum(one.files_without_checksums for one in found),
    }
    return watch.report(
        address.location().name,
        manifest.version,
        manifest.version,
        counts,
        problems=tuple(problem for one in found for problem in one.problems),
    )


def _verdict(table: TableSnapshot, fragment: FragmentMeta) -> FragmentVerdict:
    """Check one fragment; in a task."""
    report = verify_fragment(table.reader([fragment]).fragment(0), table.address.location().filesystem)
    return FragmentVerdict(
        tuple(f"fragment {fragment.id}: {one.type}: {one}" for one in [*report.errors, *report.unchecked]),
        report.checked.files,
        report.checked.rows,
        report.checked.blocks,
        report.checked.files_without_checksums,
    )
