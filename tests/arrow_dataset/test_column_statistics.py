"""`LanceDataset.statistics`: what it says is so, what is not sure is not said, and no value is read."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from values import seeded

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.spi import ReadReport

LONG = "x" * 200


def rows(count: int, name: str) -> pa.Table:
    rng = seeded(name)

    def some(values: list[Any], type_: pa.DataType) -> pa.Array:
        known = pa.array(values, type_)
        return known.take(pa.array(rng.integers(0, len(values), count), mask=rng.random(count) < 0.3))

    return pa.table(
        {
            "id": np.arange(count),
            "number": some([3, -7, 2**40, 0], pa.int64()),
            "real": some([1.5, float("nan"), -0.0, 2.25], pa.float64()),
            "text": some(["b", "a", "ü", ""], pa.string()),
            "long": some([LONG + "a", LONG + "b"], pa.string()),
            "day": some([datetime.date(2020, 1, 2), datetime.date(1999, 5, 5)], pa.date32()),
            "none": pa.nulls(count, pa.int32()),
            "list": pa.array([[1, 2]] * count),
            "st": pa.array([{"x": number % 5} if number % 7 else None for number in range(count)]),
        }
    )


def check(dataset: Any, column: str, *, are_known: bool) -> None:
    """Compare with the values themselves."""
    found = dataset.statistics(column)
    name, *field = column.split(".")
    values = dataset.to_table([name])[name].combine_chunks()
    values = pc.struct_field(values, field) if field else values
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    values = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
    is_nan = pc.is_nan(values) if pa.types.is_floating(values.type) else pa.array([False] * len(values), pa.bool_())
    bounds = pc.min_max(values.filter(pc.invert(is_nan.fill_null(False))))
    assert found.num_rows == len(values)
    assert found.null_count in (None, values.null_count)
    assert found.nan_count in (None, pc.sum(is_nan).as_py() or 0)
    for bound, least, is_exact, compare in (
        (found.minimum, bounds["min"], found.is_minimum_exact, pc.less_equal),
        (found.maximum, bounds["max"], found.is_maximum_exact, pc.greater_equal),
    ):
        if bound is not None and least.is_valid:
            assert compare(bound, least).as_py()
            assert bound.type == least.type
        assert not is_exact or bound == least
        assert not are_known or bound is None or is_exact
    assert not are_known or found.null_count == values.null_count


COLUMNS = ["id", "number", "real", "text", "day", "none"]


@pytest.mark.parametrize("column", [*COLUMNS, "st.x"])
def test_a_file_knows_all(tmp_path: Path, column: str) -> None:
    lance_arrow.write_table(rows(1000, "file"), tmp_path / "f.lance", rows_per_zone=64)
    dataset = lance_arrow.dataset(tmp_path / "f.lance", strings="dictionary")
    check(dataset, column, are_known=True)
    found = dataset.statistics(column)
    assert (found.minimum is None) == (column == "none")


@pytest.mark.cover(1)
@pytest.mark.parametrize("column", [*COLUMNS, "st.x"])
@pytest.mark.parametrize("deleted", ["id >= 128 AND id < 256", "id % 10 = 3", "number = 3", "id < 1000"])
def test_deleted_rows_leave_bounds(tmp_path: Path, column: str, deleted: str) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows(1000, "table"), rows_per_zone=64)
    table.append(rows(300, "more"), rows_per_zone=64)
    table.delete(deleted)
    check(table.dataset(), column, are_known=deleted == "id >= 128 AND id < 256")


def test_fields_of_structs_of_tables_have_bounds(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows(1000, "table"), rows_per_zone=64)
    table.append(pa.table({"id": [1000], "st": [{"x": 9}]}))
    found = table.dataset().statistics("st.x")
    assert (found.minimum.as_py(), found.maximum.as_py(), found.is_maximum_exact) == (0, 9, True)
    check(table.dataset(), "st.x", are_known=True)


def test_long_strings_have_bounds_that_are_no_values(tmp_path: Path) -> None:
    lance_arrow.write_table(rows(500, "long"), tmp_path / "f.lance", rows_per_zone=64)
    found = lance_arrow.dataset(tmp_path / "f.lance").statistics("long")
    assert found.minimum.as_py() < LONG + "a"
    assert found.maximum is None or found.maximum.as_py() > LONG + "b"
    assert not found.is_minimum_exact
    assert not found.is_maximum_exact


def test_files_without_a_column_or_a_zone_map_are_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    lance_arrow.write_table(pa.table({"a": [1, 2], "b": [5, 6]}), tmp_path / "files" / "0.lance")
    lance_arrow.write_table(pa.table({"a": [-1, None]}), tmp_path / "files" / "1.lance")
    dataset = lance_arrow.dataset(tmp_path / "files")
    a, b = dataset.statistics("a"), dataset.statistics("b")
    assert (a.minimum.as_py(), a.maximum.as_py(), a.null_count) == (-1, 2, 1)
    assert (b.num_rows, b.minimum, b.maximum, b.null_count) == (4, None, None, None)
    lance_arrow.write_table(pa.table({"a": [1]}), tmp_path / "none.lance", rows_per_zone=None)
    assert lance_arrow.dataset(tmp_path / "none.lance").statistics("a").minimum is None


def test_no_value_is_read(tmp_path: Path, receipts: list[ReadReport]) -> None:
    lance_arrow.write_table(rows(1000, "file"), tmp_path / "f.lance")
    assert lance_arrow.dataset(tmp_path / "f.lance").statistics("number").maximum.as_py() == 2**40
    assert not receipts


def test_what_has_no_statistics_is_refused(tmp_path: Path) -> None:
    lance_arrow.write_table(rows(10, "few"), tmp_path / "f.lance")
    dataset = lance_arrow.dataset(tmp_path / "f.lance")
    with pytest.raises(InvalidArgumentError, match="'absent' does not exist; columns: id"):
        dataset.statistics("absent")
    with pytest.raises(InvalidArgumentError, match="'list' is list"):
        dataset.statistics("list")
    with pytest.raises(InvalidArgumentError, match="has a filter"):
        dataset.filter(pc.field("id") > 3).statistics("id")
