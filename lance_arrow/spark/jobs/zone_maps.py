"""`zones`: zone maps beside the data files of a table that have none, built in tasks."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from lance_arrow.errors import InvalidArgumentError, did_you_mean
from lance_arrow.files.zone_building import BuiltZones, build_zones
from lance_arrow.spark.jobs.report import JobReport, OnProgress, Stopwatch
from lance_arrow.spark.jobs.snapshots import address_of, newest
from lance_arrow.spark.jobs.spread import spread
from lance_arrow.spark.options import TableAddress
from lance_arrow.statistics.zone_types import DEFAULT_ROWS_PER_ZONE


def zones(
    spark: SparkSession,
    uri: str,
    *,
    columns: Sequence[str] | None = None,
    rows_per_zone: int = DEFAULT_ROWS_PER_ZONE,
    num_tasks: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    on_progress: OnProgress | None = None,
) -> JobReport:
    """Build zone maps for files without; see `build_zones`. The table gets no new version.

    Parameters
    ----------
    spark
        The session.
    uri, storage_options
        The table, as for `LanceTable.open`.
    columns
        Top-level columns, as files name them; all when None.
    rows_per_zone
        As for `build_zones`.
    num_tasks
        How many tasks; one for each file when None.
    on_progress
        Told of each step.

    Raises
    ------
    InvalidArgumentError
        There is no such column.
    LanceError
        As `build_zones`.
    """
    watch = Stopwatch("zones", on_progress)
    address = address_of(uri, storage_options)
    manifest = newest(address)
    known = {field.name for field in manifest.fields}
    for name in columns or ():
        if name.split(".", 1)[0] not in known:
            offer = did_you_mean(name, known)
            raise InvalidArgumentError(
                f"the table has no column {name!r}; columns: {sorted(known)}{offer}", column=name
            )
    names = {field.id: top.name for top in manifest.fields for field in top.walk()}
    wanted = None if columns is None else set(columns)
    items: dict[str, tuple[str, list[str] | None]] = {}
    for fragment in manifest.fragments:
        for file in fragment.files:
            held = {names[one] for one in file.fields if one in names}
            chosen = None if wanted is None else sorted(name for name in wanted if name.split(".", 1)[0] in held)
            if chosen is None or chosen:
                path = manifest.facts.data_path(file)
                items[path] = path, chosen
    watch.step(f"{len(items)} files")
    build = functools.partial(_build, address, rows_per_zone)
    with watch.shown(spark, address.location().name):
        built = spread(spark, build, list(items.values()), num_tasks=num_tasks)
    counts = {
        "files": len(built),
        "sidecars_written": sum(one.sidecar is not None for one in built),
        "columns_built": sum(len(one.columns) for one in built),
        "columns_present": sum(len(one.present) for one in built),
        "rows_read": sum(one.num_rows for one in built if one.sidecar is not None),
        "bytes_written": sum(one.size_bytes for one in built),
    }
    return watch.report(address.location().name, manifest.version, manifest.version, counts)


def _build(address: TableAddress, rows_per_zone: int, item: tuple[str, list[str] | None]) -> BuiltZones:
    path, columns = item
    filesystem = address.location().filesystem
    (built,) = build_zones(path, columns=columns, rows_per_zone=rows_per_zone, filesystem=filesystem)
    return built
