"""Fragments of a table in a store are opened and read side by side, whether each is one request or two."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bucket_server import Bucket, bucket

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.container import joined_source
from lance_arrow.scan.fragments import fragment_groups

NUM_FRAGMENTS = 40
ROWS = {"small": 1_000, "large": 30_000}
"""Rows of a fragment: the file is read as a whole, or its end and then pages."""
WAIT_SECONDS = 0.05
LEAST_WAITING = 10
WAYS: dict[str, Callable[[Any], int]] = {
    "filter": lambda table: table.to_table(filter="id < 5").num_rows,
    "count": lambda table: table.count_rows("x < 100"),
    "column": lambda table: table.to_table(columns=["x"]).num_rows,
    "scan": lambda table: table.to_table().num_rows,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    folder = tmp_path_factory.mktemp("far")
    for size, num_rows in ROWS.items():
        count = NUM_FRAGMENTS * num_rows
        numbers = {name: np.random.default_rng(3).integers(0, 1 << 40, count) for name in ("x", "y", "z", "u", "v")}
        rows = pa.table({"id": np.arange(count), **numbers})
        LanceTable.create(folder / size, rows, max_rows_per_file=num_rows)
    with bucket(folder, seconds=WAIT_SECONDS) as started:
        yield started


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", ROWS)
def test_a_table_asks_many_fragments_at_once(size: str, way: str, server: Bucket) -> None:
    table = LanceTable.open(size, filesystem=server.store())
    server.most_waiting = 0
    found = WAYS[way](table)
    local = LanceTable.open(server.folder / size)
    assert found == WAYS[way](local)
    assert server.most_waiting >= LEAST_WAITING


@pytest.mark.parametrize("way", WAYS)
def test_a_dataset_asks_many_small_fragments_at_once(way: str, server: Bucket) -> None:
    dataset = lance_arrow.dataset("small", filesystem=server.store())
    server.most_waiting = 0
    WAYS[way](dataset)
    assert server.most_waiting >= LEAST_WAITING


def test_a_count_waits_for_the_pages_of_several_groups_at_once(server: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[int] = []
    seen: list[int] = []
    ask = joined_source.ask_files

    def watched(*args: Any) -> Any:
        waiting.append(1)
        seen.append(len(waiting))
        try:
            return ask(*args)
        finally:
            waiting.pop()

    monkeypatch.setattr(fragment_groups, "GROUP_ROWS", 8 * ROWS["large"])
    monkeypatch.setattr(joined_source, "ask_files", watched)
    table = LanceTable.open("large", filesystem=server.store())
    # No zone map decides.
    filter = f"x < {1 << 39}"
    assert table.count_rows(filter) == LanceTable.open(server.folder / "large").count_rows(filter)
    assert len(seen) >= NUM_FRAGMENTS // 8
    # More than two threads decode.
    assert max(seen) > 2


_SCAN = """
import sys

import pyarrow as pa
from obstore.store import S3Store

import lance_arrow

store = S3Store(
    "bucket", endpoint=sys.argv[1], access_key_id="key", secret_access_key="secret", region="us-east-1",
    client_options={"allow_http": True},
)
num_bytes = sum(batch.nbytes for batch in lance_arrow.LanceTable.open("large", filesystem=store).to_batches())
print(num_bytes, pa.default_memory_pool().max_memory())
"""


def test_a_scan_of_many_large_fragments_holds_what_the_budget_allows(server: Bucket) -> None:
    budget = 24 << 20
    told = subprocess.run(
        [sys.executable, "-c", _SCAN, server.endpoint],
        env={**os.environ, "LANCE_ARROW_MEMORY_BYTES": str(budget)},
        capture_output=True,
        text=True,
        check=True,
    )
    num_bytes, most_held = map(int, told.stdout.split())
    assert num_bytes > 2 * budget
    assert most_held < budget
