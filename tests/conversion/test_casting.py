"""Casts that lose nothing, and refusals that say where."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from lance_arrow.conversion.casting import cast_column, fitted_batch, without_views
from lance_arrow.errors import InvalidArgumentError

VIEWS = [
    pa.array([["a", None], [], None, ["b", "c"], ["d"]], pa.list_view(pa.string_view())),
    pa.array(
        [{"l": [[1], None]}, None, {"l": None}, {"l": []}], pa.struct([("l", pa.list_view(pa.list_view(pa.int8())))])
    ),
    pa.array([[["a"], ["b"]], None, [None, ["c"]]], pa.list_(pa.list_view(pa.string()), 2)),
    pa.array([[1, 2], None, []], pa.large_list_view(pa.int64())),
]  # fmt: skip


@pytest.mark.parametrize("array", VIEWS, ids=lambda array: str(array.type))
@pytest.mark.parametrize("start", [0, 1, 2])
def test_views_become_lists(array: pa.Array, start: int) -> None:
    made = without_views(array[start:])
    made.validate(full=True)
    assert made.to_pylist() == array.to_pylist()[start:]
    assert "view" not in str(made.type)


def test_a_time_of_day_is_not_cut() -> None:
    noon = pa.array([datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 12)], pa.timestamp("us"))
    assert cast_column(noon[:1], pa.date32(), column="c", path="f").to_pylist() == [datetime.date(2024, 1, 1)]
    with pytest.raises(InvalidArgumentError, match=r"timestamp\[us\] cannot become date32") as caught:
        cast_column(noon, pa.date32(), column="c", path="f")
    assert (caught.value.column, caught.value.path) == ("c", "f")


def test_the_field_that_does_not_fit() -> None:
    array = pa.array([{"a": {"b": "x"}}])
    with pytest.raises(InvalidArgumentError) as caught:
        cast_column(array, pa.struct([("a", pa.struct([("b", pa.int8())]))]), column="c", path="f")
    assert caught.value.column == "c.a.b"


def test_columns_of_folders() -> None:
    schema = pa.schema([("a", pa.int64()), ("k", pa.int32()), ("z", pa.string())])
    batch = pa.record_batch({"a": [1, 2]})
    made = fitted_batch(batch, schema, {"k": pa.scalar(7, pa.int32())}, path="f")
    assert made.to_pylist() == [{"a": 1, "k": 7, "z": None}, {"a": 2, "k": 7, "z": None}]
    given = pa.record_batch({"k": pa.array([7, None], pa.int32())})
    with pytest.raises(InvalidArgumentError, match="the folder says 7") as caught:
        fitted_batch(given, schema, {"k": pa.scalar(7, pa.int32())}, path="f")
    assert caught.value.column == "k"
