"""`lance_arrow.integrations.dask.read`: partitions are shares of rows, in threads and in processes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_arrow
from lance_arrow import LanceTable, write_table
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.integrations.dask import read
from lance_arrow.spi import ReadReport

ROWS = 10_000
TABLE = pa.table(
    {
        "id": range(ROWS),
        "x": pa.array([one / 4 if one % 9 else None for one in range(ROWS)]),
        "word": [f"w{one % 17}" for one in range(ROWS)],
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dask")
    for number in range(2):
        write_table(TABLE.slice(number * 5000, 5000), folder / f"{number}.lance", rows_per_zone=500)
    return folder


def frame(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
def test_all_rows(folder: Path, scheduler: str) -> None:
    found = read(folder, partition_rows=1500)
    assert found.npartitions == 8
    actual = found.compute(scheduler=scheduler, num_workers=2).reset_index(drop=True)
    pd.testing.assert_frame_equal(actual, frame(TABLE))


def test_columns_and_filter_arrive(folder: Path, receipts: list[ReadReport]) -> None:
    condition = (pc.field("id") >= 4990) & (pc.field("id") < 5010)
    found = read(folder, columns=["word"], filter="id >= 4990 AND id < 5010", partition_rows=1500)
    actual = found.compute(scheduler="synchronous").reset_index(drop=True)
    pd.testing.assert_frame_equal(actual, frame(TABLE.filter(condition).select(["word"])))
    assert sum(one.zones_pruned for one in receipts) >= 18
    assert {column for one in receipts for column in one.columns} == {"id", "word"}


def test_pandas_own_types(folder: Path) -> None:
    found = read(folder, types="numpy")
    assert found.npartitions == 2
    assert found["x"].dtype == "float64"
    assert found["x"].mean().compute() == pytest.approx(pc.mean(TABLE["x"]).as_py())


def test_aggregates(folder: Path) -> None:
    counts = read(folder, partition_rows=1000).groupby("word")["id"].count().compute(scheduler="threads").to_dict()
    assert counts == {row["values"]: row["counts"] for row in pc.value_counts(TABLE["word"]).to_pylist()}


def test_tables_and_filtered_datasets(folder: Path, tmp_path: Path) -> None:
    made = LanceTable.create(tmp_path / "t.lance", TABLE)
    made.delete("id < 9000")
    assert len(read(tmp_path / "t.lance", partition_rows=100).compute(scheduler="synchronous")) == 1000
    filtered = lance_arrow.dataset(folder).filter(pc.field("id") < 700)
    assert len(read(filtered, partition_rows=1000).compute(scheduler="processes", num_workers=1)) == 700


def test_a_filter_that_does_not_fit(folder: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="nobody"):
        read(folder, filter="nobody > 3")
    with pytest.raises(InvalidArgumentError, match="id >"):
        read(folder, filter="id >")
