"""`zones build`: zone maps beside files, with progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lance_arrow.cli.progress import progress
from lance_arrow.files.zone_building import BuiltZones, build_zones
from lance_arrow.statistics.zone_types import DEFAULT_ROWS_PER_ZONE


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltReport:
    """Zone maps that were built, file by file."""

    files: list[BuiltZones]


def build_reports(
    files: Sequence[str],
    *,
    columns: Sequence[str] | None,
    rows_per_zone: int | None,
    storage_options: Mapping[str, Any] | None,
) -> BuiltReport:
    """Build the zone maps of files, one after another; see `build_zones` for the errors."""
    rows = DEFAULT_ROWS_PER_ZONE if rows_per_zone is None else rows_per_zone
    built = []
    for file in files:
        with progress(f"Building zones of {file}", "rows") as on_progress:
            built += build_zones(
                file, columns=columns, rows_per_zone=rows, storage_options=storage_options, on_progress=on_progress
            )
    return BuiltReport(files=built)
