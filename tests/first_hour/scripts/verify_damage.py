"""Verify a file whose values lie outside their types: a report that names columns and pages, no exception."""

import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow

path = Path(sys.argv[1]) / "times.lance"
# Bits that no time of day has, as a damaged file holds them.
noon, never = 43_200, 90_000
times = pa.Array.from_buffers(pa.time32("s"), 2, pa.array([noon, never], pa.int32()).buffers())
lance_arrow.write_table(pa.table({"id": [1, 2], "at": times}), path)
report = lance_arrow.verify(path)
assert not report.ok
assert [(one.column, one.page) for one in report.errors] == [("at", 0)]
assert report.checked.columns == 1
assert lance_arrow.read_table(path, columns=["id"]).num_rows == 2
