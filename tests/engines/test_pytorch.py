"""Loaders of PyTorch see every row once: rows by number and scanned shares, forked and spawned workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
from torch.utils.data import DataLoader

import lance_arrow
from lance_arrow import write_table
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.integrations.pytorch import BatchDataset, RowDataset, tensors

ROWS = 6000
TABLE = pa.table(
    {
        "id": range(ROWS),
        "x": pa.array([one / 3 for one in range(ROWS)], pa.float32()),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(range(ROWS * 4), pa.float32()), 4),
        "word": [f"w{one}" for one in range(ROWS)],
        "holes": [one if one % 5 else None for one in range(ROWS)],
    }
)
STARTS = ["fork", "spawn"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("torch")
    for number in range(3):
        write_table(TABLE.slice(number * 2000, 2000), folder / f"{number}.lance", rows_per_zone=500)
    return folder


def ids(batches: Any) -> list[int]:
    return sorted(int(one) for batch in batches for one in batch["id"])


def test_rows_by_number(folder: Path) -> None:
    rows = RowDataset(folder, ["id", "vector", "word", "holes"])
    assert len(rows) == ROWS
    assert rows[-1]["word"] == "w5999"
    found = rows.__getitems__([5, 1999, 5])
    assert [int(one["id"]) for one in found] == [5, 1999, 5]
    assert found[1]["vector"].tolist() == [7996.0, 7997.0, 7998.0, 7999.0]
    assert found[0]["holes"] is None
    with pytest.raises(InvalidArgumentError, match="6000"):
        rows[ROWS]


@pytest.mark.parametrize("start", [None, *STARTS])
def test_loaders_of_rows(folder: Path, start: str | None) -> None:
    rows = RowDataset(folder, ["id", "x"])
    # Used before the workers begin: what they inherit has threads that they do not.
    assert float(rows[3]["x"]) == 1.0
    workers = {} if start is None else {"num_workers": 2, "multiprocessing_context": start}
    loader = DataLoader(rows, batch_size=512, shuffle=True, **workers)
    for _ in range(2):
        assert ids(loader) == list(range(ROWS))


@pytest.mark.parametrize("start", [None, *STARTS])
def test_loaders_of_batches(folder: Path, start: str | None) -> None:
    batches = BatchDataset(folder, ["id", "x"], batch_rows=300, share_rows=1000)
    assert ids(batches) == list(range(ROWS))
    workers = {} if start is None else {"num_workers": 2, "multiprocessing_context": start}
    loader = DataLoader(batches, batch_size=None, **workers)
    for _ in range(2):
        found = list(loader)
        assert all(len(batch["id"]) <= 300 for batch in found)
        assert ids(found) == list(range(ROWS))


def test_ranks_divide_the_rows(folder: Path) -> None:
    parts = [ids(BatchDataset(folder, ["id"], share_rows=500, rank=rank, world_size=3)) for rank in range(3)]
    assert sorted(one for part in parts for one in part) == list(range(ROWS))
    assert all(parts)
    with pytest.raises(InvalidArgumentError, match="rank is 3"):
        BatchDataset(folder, rank=3, world_size=3)


def test_epochs_have_their_own_order(folder: Path) -> None:
    batches = BatchDataset(folder, ["id"], share_rows=500, seed=1)
    orders = []
    for epoch in (0, 1, 0):
        batches.set_epoch(epoch)
        orders.append([int(one) for batch in batches for one in batch["id"]])
    assert orders[0] == orders[2] != orders[1]
    assert sorted(orders[1]) == list(range(ROWS))


def test_filters_arrive(folder: Path) -> None:
    found = list(BatchDataset(folder, ["id", "word"], "id >= 3990 AND id < 4010"))
    assert ids(found) == list(range(3990, 4010))
    assert found[0]["word"][0] == "w3990"
    dataset = lance_arrow.dataset(folder)
    assert ids(BatchDataset(dataset, ["id"], [("id", "<", 3)])) == [0, 1, 2]


def test_tensors_own_their_memory() -> None:
    found = tensors(TABLE.slice(10, 5))
    found["x"] += 1
    assert found["id"].dtype == torch.int64
    assert found["vector"].shape == (5, 4)
    assert found["holes"] == [None, 11, 12, 13, 14]
    assert TABLE["x"][10].as_py() == pytest.approx(10 / 3)
