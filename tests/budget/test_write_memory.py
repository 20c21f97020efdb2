"""Memory of a streamed write stays bounded: pages that fill up and a few batches, however many rows there are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from resident import RETURNING

# 80 MiB as a rule, whatever the length; the rows are 448 MB.
GROWTH_BYTES = 128 << 20

_PROGRAM = """
import sys
import numpy as np
import pyarrow as pa
import lance_arrow

ROWS, BATCHES = 100_000, 160

def batches(count):
    random = np.random.default_rng(1)
    for number in range(count):
        letters = random.integers(97, 123, ROWS * 8, dtype=np.uint8)
        offsets = np.arange(ROWS + 1, dtype=np.int32) * 8
        yield pa.record_batch({
            "key": np.arange(number * ROWS, (number + 1) * ROWS),
            "number": random.random(ROWS),
            "text": pa.StringArray.from_buffers(ROWS, pa.py_buffer(offsets), pa.py_buffer(letters)),
        })

def peak():
    # Of this program alone: the peak that getrusage tells begins with that of the process which started it.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))

# Modules, threads and kernels of a small write are no part of what grows.
lance_arrow.write_table(pa.Table.from_batches(batches(1)), sys.argv[1])
before = peak()
lance_arrow.write_table(batches(BATCHES), sys.argv[1])
growth = peak() - before
with lance_arrow.LanceFile(sys.argv[1]) as file:
    assert file.num_rows == ROWS * BATCHES
print(growth)
"""


def test_a_stream_of_400_mb_takes_little_memory(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path / "streamed.lance")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **RETURNING})
    assert (tmp_path / "streamed.lance").stat().st_size > GROWTH_BYTES
    assert int(done.stdout) < GROWTH_BYTES
