"""What the first rows in an order cost: bytes and requests, beside those of the whole column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from outside import run

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.spi import ReadReport

NUM_ROWS, NUM_FRAGMENTS, LIMIT = 800_000, 4, 10
ZONE_BYTES = 8192 * 8
# The end of a file, with its zone maps, is read once.
END_BYTES = 16 << 10


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ordered") / "t"
    mixed = np.random.default_rng(4).permutation(NUM_ROWS) * (1 << 40)
    rows = pa.table({"up": np.arange(NUM_ROWS), "mixed": mixed, "other": np.random.default_rng(5).random(NUM_ROWS)})
    LanceTable.create(path, rows, max_rows_per_file=NUM_ROWS // NUM_FRAGMENTS)
    return path


@pytest.mark.parametrize(("column", "num_zones"), [("up", 1), ("mixed", LIMIT)])
@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_bytes_and_requests(path: Path, column: str, num_zones: int, order: str) -> None:
    with lance_arrow.receipts() as found:
        LanceTable.open(path).to_table(order_by=[(column, order)], limit=LIMIT)
    total = ReadReport.total(found)
    # A row that is taken reads a chunk of each of three columns.
    taken = LIMIT * 3 * (16 << 10)
    # The last zone of a column that ascends is a short one, beside which another may be read.
    assert total.fetched_bytes <= NUM_FRAGMENTS * END_BYTES + 2 * (num_zones + 1) * ZONE_BYTES + taken
    assert total.fetched_bytes < NUM_ROWS * 8 / 3
    assert total.requests <= 3 * NUM_FRAGMENTS + 2 * num_zones + LIMIT * 3 * 2


def test_a_limit_reads_its_rows(path: Path) -> None:
    with lance_arrow.receipts() as found:
        rows = LanceTable.open(path).to_table(limit=LIMIT, offset=NUM_ROWS // 2 + 3)
    total = ReadReport.total(found)
    assert rows["up"].to_pylist() == [NUM_ROWS // 2 + 3 + n for n in range(LIMIT)]
    assert total.files == 1
    assert total.decoded_rows == dict.fromkeys(("up", "mixed", "other"), LIMIT)


def test_a_filter_with_a_limit_stops(path: Path) -> None:
    with lance_arrow.receipts() as found:
        LanceTable.open(path).to_table(["up"], filter="other < 0.5", limit=LIMIT)
    assert ReadReport.total(found).decoded_rows["other"] <= 8192


def test_a_column_without_zone_maps_is_not_held(tmp_path: Path) -> None:
    num_rows = 6_000_000
    values = np.random.default_rng(6).permutation(num_rows)
    lance_arrow.write_table(pa.table({"a": values}), tmp_path / "f.lance", rows_per_zone=None)
    # A process of its own: the peak of a pool is that of its whole life.
    done = run(
        "import pyarrow, lance_arrow\n"
        f"found = lance_arrow.dataset({str(tmp_path / 'f.lance')!r}).to_table(order_by='a', limit=3)\n"
        "print(found['a'].to_pylist(), pyarrow.default_memory_pool().max_memory())"
    )
    assert done.returncode == 0, done.stderr
    values_found, _, peak = done.stdout.strip().rpartition(" ")
    assert values_found == "[0, 1, 2]"
    assert int(peak) < num_rows * 8 / 2
