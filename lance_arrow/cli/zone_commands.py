"""`zones build`: zone maps beside files, with progress."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lance_arrow.cli.progress import progress
from lance_arrow.datasets.zone_building import BuiltZones, build_zones


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltReport:
    """What was built, file by file."""

    files: list[BuiltZones]


def build_reports(files: Sequence[str], *, columns: Sequence[str] | None, rows_per_zone: int) -> BuiltReport:
    """Build the zone maps of files, one after another; see `build_zones` for the errors."""
    built = []
    for file in files:
        with progress(f"Building zones of {file}", "rows") as on_progress:
            built += build_zones(file, columns=columns, rows_per_zone=rows_per_zone, on_progress=on_progress)
    return BuiltReport(files=built)
