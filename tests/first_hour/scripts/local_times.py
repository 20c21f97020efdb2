"""Filter a column of times in a zone by SQL without naming the zone."""

import datetime
import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow

path = Path(sys.argv[1]) / "events.lance"
# 23:00 UTC is midnight in Berlin.
times = [datetime.datetime(2023, 12, 31, hour, tzinfo=datetime.UTC) for hour in (22, 23)]
lance_arrow.write_table(pa.table({"at": pa.array(times, pa.timestamp("us", "Europe/Berlin"))}), path)
events = lance_arrow.dataset(path)
for condition in ("at >= '2024-01-01'", "at >= TIMESTAMP '2024-01-01 00:00:00'", "at >= '2023-12-31 23:00:00Z'"):
    assert events.count_rows(filter=condition) == 1, condition
