"""Ingest the flights into a clustered table, ask pyarrow and DuckDB, change it, look back; keep every receipt."""

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
import pyarrow.csv
import pyarrow.dataset as pads

from lance_arrow.datasets.lance_file import LanceFile
from lance_arrow.datasets.lance_writer import write_table
from lance_arrow.demo.ingest import Progress, ingest
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import ReadReport, hookimpl
from lance_arrow.table.lance_table import LanceTable

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
    engine
        What read the CSV: ``"spark"`` or ``"pyarrow"``.
    files, num_rows, num_bytes
        What was written at first.
    convert_seconds
        How long that took.
    steps
        Questions in the order they were asked; DuckDB's is missing when it is not installed.
    notes
        What was left out and why.
    """

    source_bytes: int
    engine: str
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


def run(folder: Path | None = None, on_progress: Progress | None = None, *, engine: str | None = None) -> DemoReport:
    """Ingest the flights, query and change them, and return the answers with their receipts.

    Parameters
    ----------
    folder
        Where the table goes and stays; an empty folder. By default a temporary one, removed afterwards.
    on_progress
        Called while the CSV is read.
    engine
        ``"spark"`` or ``"pyarrow"`` for the ingest; Spark where it can run, else pyarrow, when None.
    """
    if folder is not None:
        return _run(folder, on_progress, engine)
    with tempfile.TemporaryDirectory(prefix="lance-arrow-demo-") as temporary:
        return _run(Path(temporary), on_progress, engine)


def _run(folder: Path, on_progress: Progress | None, engine: str | None) -> DemoReport:
    begun = time.perf_counter()
    source, place = data_directory(), folder / "flights.lance"
    used, note = ingest(source, place, engine=engine, on_progress=on_progress)
    write_table(pyarrow.csv.read_csv(source / "airlines.csv"), folder / "airlines.lance")
    convert_seconds = time.perf_counter() - begun
    flights = LanceTable.open(place)
    files = sorted((place / "data").iterdir())
    report = DemoReport(
        source_bytes=(source / "flights.csv.gz").stat().st_size,
        engine=used,
        files=[str(path.relative_to(folder)) for path in files],
        num_rows=flights.count_rows(),
        num_bytes=sum(path.stat().st_size for path in files),
        convert_seconds=round(convert_seconds, 3),
        steps=[],
        notes=[] if note is None else [note],
    )
    receipts = Receipts()
    manager = default_runtime().plugins.manager
    manager.register(receipts)
    try:
        _ask(folder, flights, receipts, report)
        _change(flights, receipts, report)
    finally:
        manager.unregister(receipts)
    return report


def _ask(folder: Path, flights: LanceTable, receipts: Receipts, report: DemoReport) -> None:
    dataset = flights.dataset()
    report.steps.append(
        _step(
            "Five rows anywhere",
            "table.take([0, 10000, 20000, 30000, 40000], columns=...)",
            receipts,
            lambda: flights.take([0, 10_000, 20_000, 30_000, 40_000], columns=_SHOWN),
        )
    )
    report.steps.append(
        _step(
            "Long delays out of LaGuardia, by pyarrow",
            "dataset.to_table(columns=..., filter=(origin == 'LGA') & (dep_delay > 240))",
            receipts,
            lambda: _long_delays(dataset),
        )
    )
    if importlib.util.find_spec("duckdb") is None:
        report.notes.append("DuckDB was left out: install it with the extra 'duckdb'")
        return
    asked = " ".join(DELAYS_SQL.split())
    report.steps.append(_step("Delays by airline, by DuckDB", asked, receipts, lambda: _delays(dataset, folder)))


def _change(flights: LanceTable, receipts: Receipts, report: DemoReport) -> None:
    """Delete, compact, and look back."""

    def counted(version: int | None = None) -> pa.Table:
        table = flights if version is None else flights.checkout(version)
        rows = table.to_table(columns=["cancelled"])
        return pa.table({
            "version": [table.version], "fragments": [len(table.manifest.fragments)], "flights": [rows.num_rows],
            "cancelled": [pc.sum(rows["cancelled"]).as_py() or 0],
        })  # fmt: skip

    def delete() -> pa.Table:
        flights.delete(pc.field("cancelled"), message="cancelled flights")
        return counted()

    def compact() -> pa.Table:
        flights.compact(materialize_deletions_threshold=0.0, message="all in one file")
        return counted()

    report.steps.append(_step("Without cancelled flights", "table.delete(cancelled)", receipts, delete))
    report.steps.append(_step("In one file", "table.compact()", receipts, compact))
    report.steps.append(
        _step(
            "As it was in the beginning", "table.checkout(1)", receipts, lambda: counted(flights.history()[-1].version)
        )
    )


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
        "zones": sum(report.zones_total for report in reports),
        "zones_pruned": sum(report.zones_pruned for report in reports),
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
