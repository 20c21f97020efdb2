"""An existing target is refused; --overwrite replaces it."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import lance_arrow

folder = Path(sys.argv[1])
pq.write_table(pa.table({"id": [1, 2, 3]}), folder / "a.parquet")
target = folder / "out.lance"
lance_arrow.write_table(pa.table({"old": ["precious"]}), target)
before = target.read_bytes()
command = [sys.executable, "-m", "lance_arrow.cli", "convert", str(folder / "a.parquet"), str(target)]
refused = subprocess.run(command, capture_output=True, text=True, check=False)
assert refused.returncode == 1
assert "--overwrite" in refused.stderr, refused.stderr
assert target.read_bytes() == before
subprocess.run([*command, "--overwrite"], capture_output=True, check=True)
assert lance_arrow.read_table(target).to_pydict() == {"id": [1, 2, 3]}
