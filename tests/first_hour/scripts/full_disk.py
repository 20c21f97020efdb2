"""Write to a disk that fills up: errors name the file, nothing half-written stays, and the table still reads."""

import resource
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

import lance_arrow

folder = Path(sys.argv[1])
rows = pa.table({"n": np.random.default_rng(1).integers(0, 1 << 60, 1_000_000)})
table = lance_arrow.LanceTable.create(folder / "t.lance", rows.slice(0, 100))
before = sorted(folder.rglob("*.*"))


def refused(write):
    """Run a write that may make no file above 1 MB, and return its error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        write()
    except OSError as error:
        return error
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    raise AssertionError("the disk was not full")


assert "one.lance" in str(refused(lambda: lance_arrow.write_table(rows, folder / "one.lance")))
format = lance_arrow.LanceFormat()
assert "part-0.lance" in str(refused(lambda: pads.write_dataset(rows, folder / "many", format=format)))
assert "t.lance" in str(refused(lambda: table.append(rows)))
assert sorted(folder.rglob("*.*")) == before
assert lance_arrow.LanceTable.open(folder / "t.lance").to_table() == rows.slice(0, 100)
