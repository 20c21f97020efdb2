"""Memory of streaming reads: files ten times larger than the budget, in fresh processes whose peak is measured.

    growth of the resident set <= budget + one batch + margin

The margin is what a process grows by anyway.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from outside import run
from resident import RESIDENT, RETURNING
from values import seeded
from witness import Witness

import lance_arrow
from lance_arrow.settings import MEBIBYTE

BUDGET_BYTES = 16 * MEBIBYTE
MARGIN_BYTES = 12 * MEBIBYTE

WRITE = """
import sys
import lance.file
import numpy as np
import pyarrow as pa

rng, rows, written = np.random.default_rng(1), 4096, 0
with lance.file.LanceFileWriter(sys.argv[1], None, version="2.2") as writer:
    while written < int(sys.argv[2]):
        letters = rng.integers(97, 123, rows * 400, dtype=np.uint8)
        starts = np.arange(rows + 1, dtype=np.int32)
        batch = pa.record_batch({
            "number": pa.array(np.arange(rows) + written),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(rows * 768, dtype=np.float32)), 768),
            "text": pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(starts * 400), pa.py_buffer(letters)]),
            "list": pa.ListArray.from_arrays(pa.array(starts * 50), pa.array(rng.integers(0, 2**62, rows * 50))),
        })
        writer.write_batch(batch)
        written += batch.nbytes
"""

READ = (
    RESIDENT
    + """
import sys
import pyarrow.dataset as pads
import lance_arrow

path, how, batch_size = sys.argv[1], sys.argv[2], int(sys.argv[3])

def batches():
    if how == "file":
        return file.to_batches(batch_size=batch_size or None)
    sizes = {"batch_size": batch_size} if batch_size else {}
    scanner = dataset.scanner(batch_readahead=4, fragment_readahead=1, **sizes)
    return scanner.to_batches()

file = lance_arrow.LanceFile(path)
dataset = pads.dataset(path, format=lance_arrow.LanceFormat())
# Plugins, threads and pools exist before anything is counted.
file.take([0, 1])
next(iter(batches()))
Path("/proc/self/clear_refs").write_text("5")
before = resident("VmRSS")
num_rows = largest = 0
for batch in batches():
    num_rows += batch.num_rows
    largest = max(largest, batch.nbytes)
assert num_rows == file.num_rows
print(resident("VmHWM") - before, largest)
"""
)


@pytest.fixture(scope="module")
def large(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten times the budget, written as it is made."""
    path = tmp_path_factory.mktemp("memory") / "large.lance"
    done = run(WRITE, path, str(10 * BUDGET_BYTES))
    assert done.returncode == 0, done.stderr
    assert path.stat().st_size > 9 * BUDGET_BYTES
    return path


@pytest.mark.interop
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(("how", "batch_size"), [("file", 0), ("scan", 1000)])
def test_a_stream_stays_within_its_budget(large: Path, how: str, batch_size: int) -> None:
    variables = {"LANCE_ARROW_MEMORY_BYTES": str(BUDGET_BYTES), "LANCE_ARROW_THREADS": "2", **RETURNING}
    done = run(READ, large, how, str(batch_size), **variables)
    assert done.returncode == 0, done.stderr
    growth, largest_batch = map(int, done.stdout.split())
    assert largest_batch > 0
    # A scan may hold its readahead of batches; ours are cut so that they fit the budget.
    assert growth <= BUDGET_BYTES + (1 if how == "file" else 4) * largest_batch + MARGIN_BYTES


@pytest.mark.interop
def test_batches_of_large_values_hold_few_rows(witness: Witness, tmp_path: Path) -> None:
    """50 kB a row: a batch of the usual number of rows would take gigabytes. Widths differ from page to page."""
    rng = seeded("large values")
    sizes = [50_000] * 200 + [100] * 4000 + [200_000] * 40
    values = pa.array([rng.bytes(size) for size in sizes], pa.binary())
    table = pa.table({"value": values, "id": pa.array(np.arange(len(sizes)))})
    slices = [(0, 200), (200, 4200), (4200, 4240)]
    path = witness.write(table, tmp_path / "file.lance", "2.2", slices=slices, data_cache_bytes=1)
    runtime = lance_arrow.Runtime(lance_arrow.Settings(memory_budget_bytes=12 * MEBIBYTE, num_threads=2))
    with lance_arrow.LanceFile(path, runtime=runtime) as file:
        batches = list(file.to_batches())
        assert pa.Table.from_batches(batches) == table
        window_bytes = runtime.settings.window_bytes(3)
        assert window_bytes == MEBIBYTE
        assert max(batch.nbytes for batch in batches) <= window_bytes
        assert max(batch.num_rows for batch in batches) > 2000, "small values share a batch"
        # A size that the caller chose is kept, whatever it takes.
        assert [batch.num_rows for batch in file.to_batches(batch_size=1500)] == [1500, 1500, 1240]
