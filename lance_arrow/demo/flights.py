"""Ingest the flights into a clustered table, query it with pyarrow and DuckDB, change it, and read old versions.

| Output | Content |
|---|---|
| `flights.csv.bz2`, `airlines.csv` | the sources |
| `trips.lance` | a table of all flights, with the tag `flown` and the branch `trial` |
| `flights.lance` | a file of all flights |
| `flights/2013-01.lance`, `flights/2013-02.lance` | a folder of files |
| `airlines.lance` | a small file to join with |
"""

from __future__ import annotations

import datetime
import importlib
import importlib.resources
import importlib.util
import shutil
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

from lance_arrow.demo.ingest import ROWS_PER_ZONE, Progress, choose_engine, ingest
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.lance_file import LanceFile
from lance_arrow.files.lance_writer import write_table
from lance_arrow.table.lance_table import LanceTable
from lance_arrow.watching import Receipts, receipts

# New York in winter.
_BEHIND_UTC = pa.scalar(datetime.timedelta(hours=5), pa.duration("us"))
DELAYS_SQL = """
SELECT name AS airline, count(*) AS flights, round(avg(arr_delay), 1) AS mean_delay_min,
       count(*) FILTER (WHERE arr_delay > 30) AS over_half_an_hour_late
FROM flights JOIN airlines USING (carrier)
WHERE origin = 'JFK' AND NOT cancelled
GROUP BY name ORDER BY mean_delay_min DESC
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStep:
    """One query: its text, the returned rows, and the report of its reads."""

    title: str
    asked: str
    rows: list[dict[str, Any]]
    receipt: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport:
    """Results of the demo, for `lance-arrow demo` to print.

    Parameters
    ----------
    source_bytes
        Size of the compressed CSV in bytes.
    engine
        Engine that read the CSV: ``"spark"`` or ``"pyarrow"``.
    files, num_rows, num_bytes
        Files, rows and bytes of the first version.
    convert_seconds
        Seconds of the ingest.
    steps
        Queries in order; that of DuckDB is missing if it is not installed.
    notes
        Why Spark or DuckDB is not used, each in one line with the remedy.
    kept
        Folder of the output; None if it was removed.
    """

    source_bytes: int
    engine: str
    files: list[str]
    num_rows: int
    num_bytes: int
    convert_seconds: float
    steps: list[DemoStep]
    notes: list[str]
    kept: str | None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, dates as text."""
        return _plain(asdict(self))


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """What the demo will use and skip, known before it writes anything.

    Parameters
    ----------
    engine
        Engine that will read the CSV: ``"spark"`` or ``"pyarrow"``.
    with_duckdb
        Whether DuckDB is installed.
    notes
        Why Spark or DuckDB will not be used, each in one line with the remedy.
    """

    engine: str
    with_duckdb: bool
    notes: tuple[str, ...]


def plan(engine: str | None = None) -> DemoPlan:
    """Find out what the demo can use here.

    Parameters
    ----------
    engine
        ``"spark"`` or ``"pyarrow"`` for the ingest; if None, Spark if it can run, otherwise pyarrow.

    Raises
    ------
    UnsupportedError
        Spark is requested and cannot run.
    """
    used, note = choose_engine(engine)
    with_duckdb = importlib.util.find_spec("duckdb") is not None
    skipped = None if with_duckdb else "DuckDB is skipped, not installed: python -m pip install 'lance-arrow[duckdb]'"
    return DemoPlan(used, with_duckdb, tuple(one for one in (note, skipped) if one is not None))


def data_directory() -> Path:
    """Return the folder of `flights.csv.bz2` and `airlines.csv`, in a source tree and in an installed wheel."""
    folder = importlib.resources.files("lance_arrow.demo")
    if not isinstance(folder, Path):
        raise NotADirectoryError(f"the demo's files are inside {folder}, expected an installed folder")
    return folder


def run(
    folder: Path | None = None, on_progress: Progress | None = None, *, engine: str | DemoPlan | None = None
) -> DemoReport:
    """Ingest the flights, query and change them, and return the results with their read reports.

    Parameters
    ----------
    folder
        Folder of the output, new or empty; it is kept. By default a temporary one, which is removed.
    on_progress
        Called while the CSV is being read.
    engine
        Engine of the ingest as for `plan`, or the plan to follow.

    Raises
    ------
    InvalidArgumentError
        The folder is not empty.
    UnsupportedError
        Spark is requested and cannot run. Nothing was written.
    LanceError
        Spark failed.
    """
    planned = engine if isinstance(engine, DemoPlan) else plan(engine)
    if folder is not None:
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise InvalidArgumentError("the demo needs a new or empty folder", path=str(folder))
        folder.mkdir(parents=True, exist_ok=True)
        return _run(folder, on_progress, planned, is_kept=True)
    with tempfile.TemporaryDirectory(prefix="lance-arrow-demo-") as temporary:
        return _run(Path(temporary), on_progress, planned, is_kept=False)


def _run(folder: Path, on_progress: Progress | None, planned: DemoPlan, *, is_kept: bool) -> DemoReport:
    for name in ("flights.csv.bz2", "airlines.csv"):
        shutil.copyfile(data_directory() / name, folder / name)
    begun = time.perf_counter()
    place = folder / "trips.lance"
    ingest(folder, place, engine=planned.engine, on_progress=on_progress)
    convert_seconds = time.perf_counter() - begun
    write_table(pyarrow.csv.read_csv(folder / "airlines.csv"), folder / "airlines.lance")
    trips = LanceTable.open(place)
    _write_files(trips, folder)
    files = sorted((place / "data").iterdir())
    report = DemoReport(
        source_bytes=(folder / "flights.csv.bz2").stat().st_size,
        engine=planned.engine,
        files=[str(path.relative_to(folder)) for path in files],
        num_rows=trips.count_rows(),
        num_bytes=sum(path.stat().st_size for path in files),
        convert_seconds=round(convert_seconds, 3),
        steps=[],
        notes=list(planned.notes),
        kept=str(folder) if is_kept else None,
    )
    with receipts() as found:
        _ask(folder, trips, found, report, with_duckdb=planned.with_duckdb)
        _change(trips, found, report)
    trips.branches.create("trial", message="a place to try changes")
    return report


def _write_files(trips: LanceTable, folder: Path) -> None:
    """Write the flights in order of time as files without a table: all in one file, and one file per month."""
    rows = trips.to_table().sort_by("time_hour")
    write_table(rows, folder / "flights.lance", rows_per_zone=ROWS_PER_ZONE)
    (folder / "flights").mkdir()
    months = pc.month(pc.subtract(rows["time_hour"], _BEHIND_UTC))
    for month in pc.unique(months).to_pylist():
        path = folder / "flights" / f"2013-{month:02}.lance"
        write_table(rows.filter(pc.equal(months, month)), path, rows_per_zone=ROWS_PER_ZONE)


def _ask(folder: Path, flights: LanceTable, receipts: Receipts, report: DemoReport, *, with_duckdb: bool) -> None:
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
    if with_duckdb:
        asked = " ".join(DELAYS_SQL.split())
        report.steps.append(_step("Delays by airline, by DuckDB", asked, receipts, lambda: _delays(dataset, folder)))


def _change(flights: LanceTable, receipts: Receipts, report: DemoReport) -> None:
    """Delete, compact, and read an old version."""

    def counted(version: int | None = None) -> pa.Table:
        table = flights if version is None else flights.checkout(version)
        rows = table.to_table(columns=["cancelled"])
        return pa.table({
            "version": [table.version], "fragments": [len(table.manifest.fragments)], "flights": [rows.num_rows],
            "cancelled": [pc.sum(rows["cancelled"]).as_py() or 0],
        })  # fmt: skip

    def delete() -> pa.Table:
        flights.delete(pc.field("cancelled"), message="cancelled flights")
        flights.tags.create("flown", flights.version)
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
    # An optional dependency; the plan says whether it is there.
    duckdb = importlib.import_module("duckdb")
    with LanceFile(folder / "airlines.lance") as file:
        airlines = file.read()
    with duckdb.connect() as connection:
        connection.register("flights", flights)
        connection.register("airlines", airlines)
        return connection.sql(DELAYS_SQL).to_arrow_table()


def _step(title: str, asked: str, receipts: Receipts, ask: Callable[[], pa.Table]) -> DemoStep:
    receipts.clear()
    started = time.perf_counter()
    rows = ask().to_pylist()
    seconds = time.perf_counter() - started
    total = receipts.total
    receipt = {
        "reads": len(receipts),
        "files": total.files,
        "zones": total.zones_total,
        "zones_pruned": total.zones_pruned,
        "pages": total.pages,
        "rows": total.rows,
        "requests": total.requests,
        "bytes": total.fetched_bytes,
        "columns": sorted(total.columns),
        "filters": sorted({report.filter for report in receipts if report.filter is not None}),
        "seconds": round(seconds, 4),
    }
    return DemoStep(title=title, asked=asked, rows=rows, receipt=receipt)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_plain(held) for held in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
