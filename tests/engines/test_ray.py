"""Ray Data reads what pyarrow reads, with its columns and filter in our scan."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import ray
from same import assert_same

import lance_arrow
from lance_arrow import write_table
from lance_arrow.integrations.ray import LanceDatasource, read

ROWS = 20_000
TABLE = pa.table(
    {"id": range(ROWS), "word": [f"w{one % 13}" for one in range(ROWS)], "x": pa.array(range(ROWS)).cast("float64")}
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("ray")
    for number in range(2):
        write_table(TABLE.slice(number * ROWS // 2, ROWS // 2), folder / f"{number}.lance", rows_per_zone=1000)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield folder
    ray.shutdown()


def tables(found: ray.data.Dataset) -> pa.Table:
    return pa.concat_tables(ray.get(found.to_arrow_refs())).sort_by("id")


def test_all_rows(folder: Path) -> None:
    found = read(folder, parallelism=4)
    assert found.count() == ROWS
    assert_same(TABLE, tables(found))


def test_columns_and_filter(folder: Path) -> None:
    condition = (pc.field("id") >= 9990) & (pc.field("id") < 10_010)
    found = read(folder, columns=["id", "word"], filter="id >= 9990 AND id < 10010")
    assert_same(TABLE.filter(condition).select(["id", "word"]), tables(found))


def test_tasks_are_shares_of_rows(folder: Path) -> None:
    source = LanceDatasource(lance_arrow.dataset(folder))
    tasks = source.get_read_tasks(10)
    assert len(tasks) == 10
    assert sum(task.metadata.num_rows for task in tasks) == ROWS
    (block,) = {table.num_rows for task in tasks[:1] for table in task()}
    assert block == tasks[0].metadata.num_rows


def test_a_map_over_batches(folder: Path) -> None:
    found = read(folder, columns=["x"]).map_batches(lambda batch: {"y": batch["x"] * 2}, batch_format="numpy").sum("y")
    assert found == sum(range(ROWS)) * 2
