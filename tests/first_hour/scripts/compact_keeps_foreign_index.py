"""Compact a table with a BTREE and a full-text index of the reference: both stay, and the report says so."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa

from lance_arrow import LanceTable

if find_spec("lance") is None:
    print("pylance is not installed")
    sys.exit(77)

path = Path(sys.argv[1]) / "notes.lance"
rows = pa.table({"id": range(300), "note": [f"note about word{row % 10}" for row in range(300)]})
LanceTable.create(path, rows, max_rows_per_file=100)
MAKE = "import lance, sys; lance.dataset(sys.argv[1]).create_scalar_index(sys.argv[2], sys.argv[3])"
FIND = """
import lance, sys
found = lance.dataset(sys.argv[1])
assert found.count_rows("id >= 295") == 5
assert "ScalarIndexQuery" in found.scanner(filter="id >= 295").explain_plan()
found.create_scalar_index("note", "INVERTED")
"""
# The reference runs in a process of its own.
subprocess.run([sys.executable, "-c", MAKE, str(path), "id", "BTREE"], check=True)

table = LanceTable.open(path)
table.delete("id < 50")
report = table.compact()
assert report.carried_indices == ("id_idx",)
assert len(table.manifest.fragments) == 1
assert table.indices == {"id_idx": ("id",)}
subprocess.run([sys.executable, "-c", FIND, str(path)], check=True)

# A full-text index names rows by address, as row ids of this table are: its fragments stay as they are.
table = LanceTable.open(path)
table.delete("id < 150")
report = table.compact()
(fragment,) = table.manifest.fragments
assert report.kept_out == {"note_idx": (fragment.id,)}
assert "index 'note_idx'" in str(report)
command = [sys.executable, "-m", "lance_arrow.cli", "table", "compact", str(path)]
said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
assert "index note_idx kept 1 fragment out" in said, said
