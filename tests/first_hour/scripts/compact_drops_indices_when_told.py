"""Compact a table whose full-text index keeps its fragments small, and drop that index on purpose."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa

from lance_arrow import LanceTable

if find_spec("lance") is None:
    print("pylance is not installed")
    sys.exit(77)

MAKE = """
import lance, sys
for path in sys.argv[1:]:
    lance.dataset(path).create_scalar_index("note", "INVERTED")
"""
rows = pa.table({"id": range(300), "note": [f"note about word{row % 10}" for row in range(300)]})
first, second = paths = [str(Path(sys.argv[1]) / name) for name in ("first.lance", "second.lance")]
for path in paths:
    LanceTable.create(path, rows, max_rows_per_file=100)
# The reference runs in a process of its own.
subprocess.run([sys.executable, "-c", MAKE, *paths], check=True)

table = LanceTable.open(first)
assert table.compact().kept_out == {"note_idx": (0, 1, 2)}
assert len(table.manifest.fragments) == 3
report = table.compact(drop_indices=True)
assert report.dropped_indices == ("note_idx",)
assert (len(table.manifest.fragments), table.indices) == (1, {})
assert table.to_table().equals(rows)

command = [sys.executable, "-m", "lance_arrow.cli", "table", "compact", second, "--drop-indices", "--json"]
said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
assert (said["dropped_indices"], said["new_fragments"]) == (["note_idx"], 1)
