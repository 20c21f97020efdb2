"""Memory of a conversion stays bounded, however large the row group of a Parquet file is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from resident import RETURNING

# 120 to 125 MiB as a rule; the row group takes 312 MB, as it is stored and as it is read.
GROWTH_BYTES = 176 << 20


_PROGRAM = """
import sys
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import lance_arrow

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))

folder = sys.argv[1]
lance_arrow.convert(f"{folder}/small.parquet", f"{folder}/small.lance")
before = peak()
report = lance_arrow.convert(f"{folder}/large.parquet", f"{folder}/large.lance")
assert report.num_rows == pq.read_metadata(f"{folder}/large.parquet").num_rows
print(peak() - before)
"""

_WRITER = """
import sys
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

random = np.random.default_rng(1)
for name, rows in (("small", 10_000), ("large", 6_500_000)):
    table = pa.table({f"c{number}": random.random(rows) for number in range(6)})
    pq.write_table(table, f"{sys.argv[1]}/{name}.parquet", row_group_size=rows, compression="none")
"""


@pytest.mark.whole
def test_a_large_row_group_takes_little_memory(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _WRITER, str(tmp_path)], check=True)
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **RETURNING})
    assert (tmp_path / "large.parquet").stat().st_size > GROWTH_BYTES
    assert int(done.stdout) < GROWTH_BYTES, int(done.stdout) >> 20
