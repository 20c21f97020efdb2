"""Send a table to another process: it reads the version the table was at, even if newer versions exist."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

from lance_arrow import LanceTable

table = LanceTable.create(Path(sys.argv[1]) / "t.lance", pa.table({"id": [1, 2, 3]}))
stored = pickle.dumps(table)
LanceTable.open(table.uri).append(pa.table({"id": [4]}))
assert pickle.loads(stored).to_table()["id"].to_pylist() == [1, 2, 3]
assert copy.copy(table).version == 1
task = "import pickle, sys; print(pickle.load(sys.stdin.buffer).count_rows())"
done = subprocess.run([sys.executable, "-c", task], input=stored, capture_output=True, check=True)
assert done.stdout.strip() == b"3"
