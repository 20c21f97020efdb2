"""`cleanup`: old versions, and files that no version names: those of tasks and drivers that died, among others."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from lance_arrow.spark.jobs.report import JobReport, OnProgress, Stopwatch
from lance_arrow.table.lance_table import LanceTable
from lance_arrow.table.method_arguments import DEFAULT_AGE


def cleanup(
    spark: SparkSession | None,
    uri: str,
    *,
    older_than: datetime.timedelta = DEFAULT_AGE,
    retain_versions: int | None = None,
    delete_unverified: bool = False,
    dry_run: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    unsafe_single_writer: bool = False,
    on_progress: OnProgress | None = None,
) -> JobReport:
    """Remove what `LanceTable.cleanup` removes; by default, only tell.

    Parameters
    ----------
    spark
        Not needed: all is done on the driver, which lists the folder and reads manifests.
    uri, storage_options, unsafe_single_writer
        The table, as for `LanceTable.open`.
    older_than, retain_versions, delete_unverified, dry_run
        As for `LanceTable.cleanup`.
    on_progress
        Told of each step.

    Raises
    ------
    LanceError
        As `LanceTable.cleanup`.
    """
    watch = Stopwatch("cleanup", on_progress)
    table = LanceTable.open(uri, storage_options=storage_options, unsafe_single_writer=unsafe_single_writer)
    watch.step("looking" if dry_run else "removing")
    found = table.cleanup(
        older_than=older_than, retain_versions=retain_versions, delete_unverified=delete_unverified, dry_run=dry_run
    )
    done = "would_go" if dry_run else "gone"
    counts = {
        f"versions_{done}": len(found.versions),
        f"files_{done}": len(found.files),
        f"bytes_{done}": found.num_bytes,
        f"unnamed_files_{done}": sum(file.reason == "no version" for file in found.files),
        "versions_kept": len(found.kept),
    }
    return watch.report(table.uri, table.version, table.version, counts)
