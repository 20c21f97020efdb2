"""Convert the flights to Lance, open them as a `pyarrow.dataset`, ask pyarrow and DuckDB, keep every receipt."""

from __future__ import annotations

import importlib
import importlib.resources
import importlib.util
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from lance_arrow.datasets.format import LanceFormat
from lance_arrow.datasets.lance_file import LanceFile
from lance_arrow.demo.ingest import Progress, ingest
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import ReadReport, hookimpl

DELAYS_SQL = """
SELECT name AS airline, count(*) AS flights, round(avg(arr_delay), 1) AS mean_delay_min,
       count(*) FILTER (WHERE arr_delay > 30) AS over_half_an_hour_late
FROM flights JOIN airlines USING (carrier)
WHERE origin = 'JFK' AND NOT cancelled
GROUP BY name ORDER BY mean_delay_min DESC
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStep:
    """One question: what was asked, the rows that came back, and the receipt of the reads it caused."""

    title: str
    asked: str
    rows: list[dict[str, Any]]
    receipt: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport:
    """Everything the demo did, for `lance-arrow demo` to print.

    Parameters
    ----------
    source_bytes
        Bytes of the CSV, compressed.
    files, num_rows, num_bytes
        What was written.
    convert_seconds
        How long that took.
    steps
        Questions in the order they were asked; DuckDB's is missing when it is not installed.
    notes
        What was left out and why.
    """

    source_bytes: int
    files: list[str]
    num_rows: int
    num_bytes: int
    convert_seconds: float
    steps: list[DemoStep]
    notes: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, dates as text."""
        return _plain(asdict(self))


class Receipts:
    """A plugin object that keeps the receipt of each finished read."""

    def __init__(self) -> None:
        self.reports: list[ReadReport] = []

    @hookimpl
    def lance_read_finished(self, report: ReadReport) -> None:
        self.reports.append(report)


def data_directory() -> Path:
    """Folder that holds `flights.csv.gz` and `airlines.csv`, in a source tree and in an installed wheel."""
    folder = importlib.resources.files("lance_arrow.demo")
    if not isinstance(folder, Path):
        raise NotADirectoryError(f"the demo's files are inside {folder}, expected an installed folder")
    return folder


def run(folder: Path | None = None, on_progress: Progress | None = None) -> DemoReport:
    """Convert the flights, query them, and return the answers with their receipts.

    Parameters
    ----------
    folder
        Where the Lance files go and stay; an empty folder. By default a temporary one, removed afterwards.
    on_progress
        Called while the CSV is read.
    """
    if folder is not None:
        return _run(folder, on_progress)
    with tempfile.TemporaryDirectory(prefix="lance-arrow-demo-") as temporary:
        return _run(Path(temporary), on_progress)


def _run(folder: Path, on_progress: Progress | None) -> DemoReport:
    begun = time.perf_counter()
    files = ingest(data_directory(), folder, on_progress)
    convert_seconds = time.perf_counter() - begun
    receipts = Receipts()
    manager = default_runtime().plugins.manager
    manager.register(receipts)
    try:
        steps, notes = _ask(folder, receipts)
    finally:
        manager.unregister(receipts)
    flights = pads.dataset(str(folder / "flights"), format=LanceFormat())
    return DemoReport(
        source_bytes=(data_directory() / "flights.csv.gz").stat().st_size,
        files=[str(path.relative_to(folder)) for path in files],
        num_rows=flights.count_rows(),
        num_bytes=sum(path.stat().st_size for path in files),
        convert_seconds=round(convert_seconds, 3),
        steps=steps,
        notes=notes,
    )


def _ask(folder: Path, receipts: Receipts) -> tuple[list[DemoStep], list[str]]:
    flights = pads.dataset(str(folder / "flights"), format=LanceFormat())

    def first_rows() -> pa.Table:
        with LanceFile(flights.files[0]) as file:
            return file.take(range(5), columns=_SHOWN)

    steps = [
        _step("Five rows of one file", "LanceFile(...).take([0, 1, 2, 3, 4], columns=...)", receipts, first_rows),
        _step(
            "Long delays out of LaGuardia, by pyarrow",
            "dataset.to_table(columns=..., filter=(origin == 'LGA') & (dep_delay > 240))",
            receipts,
            lambda: _long_delays(flights),
        ),
    ]
    if importlib.util.find_spec("duckdb") is None:
        return steps, ["DuckDB was left out: install it with the extra 'duckdb'"]
    asked = " ".join(DELAYS_SQL.split())
    return [*steps, _step("Delays by airline, by DuckDB", asked, receipts, lambda: _delays(flights, folder))], []


_SHOWN = ["time_hour", "carrier", "flight", "origin", "dest", "dep_delay", "arr_delay", "distance"]


def _long_delays(flights: pads.Dataset) -> pa.Table:
    late = flights.to_table(
        columns=["time_hour", "carrier", "flight", "dest", "dep_delay"],
        filter=(pc.field("origin") == "LGA") & (pc.field("dep_delay") > 240),
    )
    return late.sort_by([("dep_delay", "descending")]).slice(0, 5)


def _delays(flights: pads.Dataset, folder: Path) -> pa.Table:
    # An optional dependency: its absence was reported before.
    duckdb = importlib.import_module("duckdb")
    with LanceFile(folder / "airlines.lance") as file:
        airlines = file.read()
    with duckdb.connect() as connection:
        connection.register("flights", flights)
        connection.register("airlines", airlines)
        return connection.sql(DELAYS_SQL).to_arrow_table()


def _step(title: str, asked: str, receipts: Receipts, ask: Callable[[], pa.Table]) -> DemoStep:
    receipts.reports.clear()
    started = time.perf_counter()
    rows = ask().to_pylist()
    seconds = time.perf_counter() - started
    reports = list(receipts.reports)
    receipt = {
        "reads": len(reports),
        "files": sum(report.files for report in reports),
        "pages": sum(report.pages for report in reports),
        "rows": sum(report.rows for report in reports),
        "requests": sum(report.requests for report in reports),
        "bytes": sum(report.fetched_bytes for report in reports),
        "columns": sorted({column for report in reports for column in report.columns}),
        "filters": sorted({report.filter for report in reports if report.filter is not None}),
        "seconds": round(seconds, 4),
    }
    return DemoStep(title=title, asked=asked, rows=rows, receipt=receipt)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_plain(held) for held in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
