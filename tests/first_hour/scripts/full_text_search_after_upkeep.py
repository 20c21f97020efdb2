"""Compact and clean up a table with a full-text index of the reference: its search still finds the right rows."""

import datetime
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
SEARCH = """
import lance, sys
for path in sys.argv[1:]:
    found = lance.dataset(path).to_table(columns=["id"], full_text_query="word3", limit=1000)
    print(*sorted(found["id"].to_pylist()))
"""
rows = pa.table({"id": range(300), "note": [f"note about word{row % 10}" for row in range(300)]})
paths = {stable: str(Path(sys.argv[1]) / f"notes-{stable}.lance") for stable in (False, True)}
for stable, path in paths.items():
    LanceTable.create(path, rows, max_rows_per_file=100, enable_stable_row_ids=stable)
# The reference runs in a process of its own.
subprocess.run([sys.executable, "-c", MAKE, *paths.values()], check=True)
for path in paths.values():
    table = LanceTable.open(path)
    table.delete("id < 100")
    table.update({"note": "'word3, rather'"}, "id = 200")
    table.append(pa.table({"id": [300], "note": ["one more with word3"]}))
    table.compact()
    table.cleanup(older_than=datetime.timedelta(), delete_unverified=True, dry_run=False)
    assert table.indices == {"note_idx": ("note",)}
done = subprocess.run([sys.executable, "-c", SEARCH, *paths.values()], check=True, capture_output=True, text=True)
expected = sorted([row for row in range(100, 300) if row % 10 == 3] + [200, 300])
assert [[int(row) for row in line.split()] for line in done.stdout.splitlines()] == [expected, expected], done.stdout
