"""Clone a table beside itself and elsewhere: the first opens as it is, the other where its reader says so."""

import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.errors import UnsupportedError

folder = Path(sys.argv[1])
table = LanceTable.create(folder / "lake" / "t.lance", pa.table({"a": range(100)}))
table.shallow_clone(folder / "lake" / "near.lance")
table.shallow_clone(folder / "far.lance").delete("a < 10")
assert lance_arrow.dataset(folder / "lake" / "near.lance").count_rows() == 100
assert LanceTable.open(folder / "far.lance", allow_external_bases=True).to_table().num_rows == 90
table.shallow_clone(folder / "elsewhere" / "far.lance")
said = ""
try:
    lance_arrow.dataset(folder / "elsewhere" / "far.lance")
except UnsupportedError as error:
    said = str(error)
assert "allow_external_bases=True" in said
