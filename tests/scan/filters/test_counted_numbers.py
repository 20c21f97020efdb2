"""Counts by conditions on numbers whose pages are dictionaries: items are judged, as those of strings."""

from __future__ import annotations

import datetime
import decimal
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

import lance_arrow
from lance_arrow import LanceFile, LanceTable
from lance_arrow.scan.filters import judged_counts

ROWS = 30_000
number = pc.field("x")
DAY = datetime.date(2020, 1, 1)
VALUES: dict[str, tuple[pa.DataType, list[Any], list[pc.Expression]]] = {
    "double": (
        pa.float64(),
        [1e300, -0.0, 0.0, math.nan, 7.25, math.inf, 1e-300],
        [
            number < 7,
            number == 0,
            number != 7.25,
            pc.is_nan(number),
            number.isin([7.25, 1e300]),
            pc.divide(pc.scalar(1.0), number) < 0,
            number.is_null(),
        ],
    ),
    "int64": (
        pa.int64(),
        [1 << 62, -(1 << 62), 3, 2_000_000_011, -9_000_000_000_003],
        [number > 3, number == 3, ~number.isin([3]), (number > -5) & (number < 5), number.is_null(), number.is_valid()],
    ),
    "date": (
        pa.date32(),
        [DAY + datetime.timedelta(days=9001 * one) for one in range(6)],
        [number == DAY, number > DAY, number.is_valid()],
    ),
    "timestamp": (
        pa.timestamp("us"),
        [datetime.datetime(2020, 1, 1, one, 7, 9, 123456) for one in range(12)],
        [number > datetime.datetime(2020, 1, 1, 5), number == datetime.datetime(2020, 1, 1, 3, 7, 9, 123456)],
    ),
    "decimal": (
        pa.decimal128(30, 2),
        [decimal.Decimal("12345678901234567890.25"), decimal.Decimal("-3.10"), decimal.Decimal(0)],
        [number < decimal.Decimal(1), number == decimal.Decimal("-3.10")],
    ),
}


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Results of native counts."""
    seen: list[Any] = []
    own = judged_counts.counted

    def noted(*given: Any) -> Any:
        seen.append(own(*given))
        return seen[-1]

    monkeypatch.setattr(judged_counts, "counted", noted)
    return seen


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("has_nulls", [False, True])
def test_counts_are_those_of_rows(tmp_path: Path, counts: list[Any], kind: str, *, has_nulls: bool) -> None:
    type_, values, conditions = VALUES[kind]
    random = np.random.default_rng(5)
    codes = pa.array(random.integers(0, len(values), ROWS), mask=random.random(ROWS) < 0.2 if has_nulls else None)
    rows = pa.table({"x": pa.array(values, type_).take(codes), "id": range(ROWS)})
    lance_arrow.write_table(rows, tmp_path / "a.lance", rows_per_zone=None)
    LanceTable.create(tmp_path / "t.lance", rows, rows_per_zone=None, max_rows_per_file=ROWS // 2)
    with LanceFile(tmp_path / "a.lance") as file:
        for condition in conditions:
            expected = rows.filter(condition).num_rows
            for _ in range(2):
                assert file.count_rows(condition) == expected, condition
                assert lance_arrow.dataset(tmp_path / "t.lance").count_rows(filter=condition) == expected, condition
            assert file.read(["id"], filter=condition).num_rows == expected
    # Dates are packed, and are compared as they are decoded.
    assert [one for one in counts if one is not None]


def test_a_condition_that_fails_for_an_item_that_no_row_has(tmp_path: Path) -> None:
    """Deleted rows have the item; all items of a page are looked at, but only rows decide whether a filter fails."""
    values = pa.array([1e18 + 1e6, -5e17, 3e16, 0.0] * 5000)
    table = LanceTable.create(tmp_path / "t.lance", pa.table({"x": values, "id": range(20_000)}))
    condition = pc.divide(pc.scalar(1), number.cast(pa.int64())) == 0
    with pytest.raises(lance_arrow.errors.InvalidArgumentError):
        table.count_rows(condition)
    table.delete("x = 0")
    assert table.count_rows(condition) == LanceTable.open(tmp_path / "t.lance").count_rows(condition) == 15_000


def test_files_without_the_column(tmp_path: Path) -> None:
    lance_arrow.write_table(pa.table({"id": range(100)}), tmp_path / "a.lance")
    lance_arrow.write_table(pa.table({"id": range(100), "x": [1.0, 2.0] * 50}), tmp_path / "b.lance")
    lance_arrow.write_table(pa.table({"id": range(100), "s": ["a", "b"] * 50}), tmp_path / "c.lance")
    schema = pa.schema([("id", pa.int64()), ("x", pa.float64()), ("s", pa.string())])
    dataset = pads.dataset(tmp_path, format=lance_arrow.LanceFormat(), schema=schema)
    for _ in range(2):
        assert dataset.count_rows(filter=number == 1) == 50
        assert dataset.count_rows(filter=number.is_null()) == 200
        assert dataset.count_rows(filter=pc.field("s") == "a") == 50
        assert dataset.count_rows(filter=pc.field("s").is_null()) == 200


def test_a_column_of_another_type_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    rows = pa.table({"x": pa.array([100_003, 7, -2_000_000_000] * 5000, pa.int32())})
    LanceTable.create(path, rows).alter_columns({"path": "x", "data_type": pa.int64()})
    LanceTable.open(path).append(pa.table({"x": pa.array([7, 1 << 40] * 5000, pa.int64())}))
    for _ in range(3):
        for dataset in (lance_arrow.dataset(path), LanceTable.open(path).dataset()):
            assert dataset.count_rows(filter=number == 7) == 10_000
            assert dataset.count_rows(filter=number > 100_003) == 5000
    with LanceFile(next((path / "data").iterdir())) as file:
        assert file.count_rows(number > 5) == 10_000
