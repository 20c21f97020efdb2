"""ZONEMAP indices of columns of every type that has an order: they prune, and hide no row."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.watching import receipts

NUMBERS = [7, 0, 86_400, 2]
VALUES = {
    **{str(kind): pa.array(NUMBERS[:2] + [None, 100], pa.int64()).cast(kind) for kind in (
        pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.float32(), pa.float64(),
    )},
    **{str(kind): pa.array(NUMBERS, pa.int64()).cast(kind) for kind in (
        pa.timestamp("us"), pa.timestamp("s", "UTC"), pa.duration("s"), pa.duration("ns"), pa.time64("us"),
    )},
    **{str(kind): pa.array([7, 0, None, 2], pa.int32()).cast(kind) for kind in (pa.date32(), pa.time32("s"))},
    "float with NaN": pa.array([1.5, float("nan"), None, -0.0]),
    "bool": pa.array([True, False, None, True]),
    "string": pa.array(["pear", "", None, "apple"]),
    "large_string": pa.array(["pear", "", None, "apple"], pa.large_string()),
    "binary": pa.array([b"\xff", b"", None, b"a"]),
    "decimal128": pa.array([Decimal("1.5"), Decimal("-2.5"), None, Decimal(0)], pa.decimal128(5, 1)),
    "decimal256": pa.array([Decimal("1.5"), Decimal("-2.5"), None, Decimal(0)], pa.decimal256(45, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_an_index_prunes_and_hides_no_row(name: str, tmp_path: Path) -> None:
    values = VALUES[name]
    # Files without zone maps: the index alone prunes.
    table = LanceTable.create(tmp_path / "t", pa.table({"x": values}), rows_per_zone=None)
    table.create_zone_map("x", rows_per_zone=1)
    assert lance_arrow.verify(tmp_path / "t").ok
    pruned = 0
    for value in [one for one in values if one.is_valid]:
        for condition in (pc.field("x") == value, pc.field("x") >= value, pc.field("x") < value):
            expected = pa.table({"x": values}).filter(condition)
            with receipts() as told:
                found = LanceTable.open(tmp_path / "t").to_table(filter=condition)
            assert found.num_rows == expected.num_rows, condition
            pruned += told.total.zones_pruned
    assert pruned >= len(values)
    assert LanceTable.open(tmp_path / "t").count_rows(pc.field("x").is_null()) == values.null_count
