"""Write a file, open it as a pyarrow dataset, filter it, and read it with DuckDB."""

import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

import lance_arrow

path = Path(sys.argv[1]) / "numbers.lance"
lance_arrow.write_table(pa.table({"id": range(1000), "name": [f"n{row}" for row in range(1000)]}), path)
numbers = pads.dataset(path, format=lance_arrow.LanceFormat())
assert numbers.to_table(filter=pc.field("id") >= 990)["id"].to_pylist() == list(range(990, 1000))
assert duckdb.sql("SELECT sum(id) FROM numbers WHERE name = 'n7'").fetchall() == [(7,)]
assert lance_arrow.read_table(path, columns=["id"]).num_rows == 1000
