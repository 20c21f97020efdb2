"""Convert to a table, append to it, overwrite it: a version each."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import lance_arrow

folder = Path(sys.argv[1])
pq.write_table(pa.table({"id": [1, 2], "s": ["a", "b"]}), folder / "a.parquet")
pq.write_table(pa.table({"id": pa.array([3], pa.int16())}), folder / "b.parquet")
table = folder / "t.lance"


def convert(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    command = [sys.executable, "-m", "lance_arrow.cli", "convert", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


assert convert(str(folder / "a.parquet"), str(table), "--table").returncode == 0
again = convert(str(folder / "a.parquet"), str(table), "--table")
assert again.returncode == 1
assert "--append" in again.stderr, again.stderr
assert convert(str(folder / "b.parquet"), str(table), "--append").returncode == 0
made = lance_arrow.LanceTable.open(table)
assert made.version == 2
assert made.to_table().to_pydict() == {"id": [1, 2, 3], "s": ["a", "b", None]}
assert convert(str(folder / "b.parquet"), str(table), "--table", "--overwrite").returncode == 0
assert lance_arrow.LanceTable.open(table).to_table().to_pydict() == {"id": [3]}
assert lance_arrow.LanceTable.open(table, version=2).count_rows() == 3
