"""A cast that a value does not survive names file, column and both types; nothing is written."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import lance_arrow

folder = Path(sys.argv[1])
(folder / "in").mkdir()
pq.write_table(pa.table({"n": [1, 2]}), folder / "in" / "a.parquet")
pq.write_table(pa.table({"n": [3, 300]}), folder / "in" / "b.parquet")


def convert(type_: str) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    arguments = ["convert", str(folder / "in"), str(folder / "out.lance"), "--cast", f"n={type_}"]
    command = [sys.executable, "-m", "lance_arrow.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


failed = convert("int8")
assert failed.returncode == 1
for word in ("'n'", "b.parquet", "int64", "int8", "300"):
    assert word in failed.stderr, failed.stderr
assert sorted(path.name for path in folder.iterdir()) == ["in"]
assert convert("int16").returncode == 0
assert lance_arrow.read_schema(folder / "out.lance").field("n").type == pa.int16()
