"""Plans of scans of tables: zones and rows that the scan then reads, and why no more is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.spi import ReadReport

ROWS = pa.table(
    {
        "id": np.arange(6000),
        "mixed": np.random.default_rng(2).permutation(6000),
        "s": [f"{n % 50:03}" for n in range(6000)],
        "tags": [["a"]] * 6000,
    }
)


@pytest.mark.parametrize("filter", ["id < 700", "id >= 2100 AND mixed < 3000", "mixed = 77", "id < 0", "s = '007'"])
@pytest.mark.parametrize("deletes", [False, True])
def test_plans_count_what_scans_read(tmp_path: Path, filter: str, deletes: bool) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS, max_rows_per_file=2000, rows_per_zone=500)
    if deletes:
        table.delete("id < 600 OR id % 3 = 0")
    dataset = table.dataset()
    plan = dataset.explain(filter, ["s"])
    with lance_arrow.receipts() as found:
        dataset.to_table(["s"], filter=filter)
    read = ReadReport.total(found)
    assert (plan.total("zones"), plan.total("zones_pruned")) == (read.zones_total, read.zones_pruned)
    assert plan.total("num_rows") == table.count_rows()
    decoded = max(read.decoded_rows.values(), default=0)
    # Deleted rows between others may be decoded, too.
    assert plan.total("rows_to_read") <= decoded if deletes else plan.total("rows_to_read") == decoded
    assert plan.total("is_opaque") == 0
    assert (plan.total("bytes_to_read") > 0) == (plan.total("rows_to_read") > 0)


def test_reasons_name_columns_without_zone_maps(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS, rows_per_zone=None)
    plan = table.dataset().explain("id < 10 AND mixed < 10")
    assert [one.reasons for one in plan.conjuncts] == [("no zone map for id",), ("no zone map for mixed",)]
    table.create_zone_map("id")
    plan = table.dataset().explain("id < 10 AND mixed < 10")
    assert plan.conjuncts[1].reasons == ("no zone map for mixed",)


def test_columns_in_several_files_and_added_ones(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS.select(["id"]), max_rows_per_file=3000, rows_per_zone=500)
    table.add_columns({"twice": "id * 2"})
    plan = table.dataset().explain("twice < 100", ["id", "_rowid"])
    # Files of added columns have zones of their own, here one each.
    assert (plan.total("rows_to_read"), plan.total("zones_pruned")) == (3000, 1)
    assert plan.total("pages") == 4
    assert plan.total("pages_to_read") == 2
