"""Every Arrow type becomes something JSON can hold, at the ends of its range too."""

from __future__ import annotations

import datetime as dt
import decimal
import json

import pyarrow as pa
import pytest

from lance_arrow.cli.render import plain
from lance_arrow.cli.row_values import plain_rows, plain_values

INT64_MAX = (1 << 63) - 1


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1, None]), [1, None]),
        (pa.array([True, None]), [True, None]),
        (pa.nulls(2), [None, None]),
        (pa.array([b"\x00\xff", None]), ["00ff", None]),
        (pa.array([b"ab"], pa.binary(2)), ["6162"]),
        (pa.array(["é", None], pa.large_string()), ["é", None]),
        (pa.array([b"a\xff"]).view(pa.string()), ["a\\xff"]),
        (pa.array([decimal.Decimal("1.50")], pa.decimal128(5, 2)), ["1.50"]),
        (pa.array([dt.date(2013, 1, 2)]), ["2013-01-02"]),
        (pa.array([dt.date(2013, 1, 2)], pa.date64()), ["2013-01-02"]),
        (pa.array([0, None], pa.timestamp("s")), ["1970-01-01T00:00:00", None]),
        (pa.array([1], pa.timestamp("ns", "UTC")), ["1970-01-01T00:00:00.000000001Z"]),
        (pa.array([INT64_MAX], pa.timestamp("us")), ["294247-01-10T04:00:54.775807"]),
        (pa.array([3_661_000_001], pa.time64("us")), ["01:01:01.000001"]),
        (pa.array([86_399], pa.time32("s")), ["23:59:59"]),
        (pa.array([-5, None], pa.duration("ms")), ["-5 ms", None]),
        (pa.array(["x", None, "x"]).dictionary_encode(), ["x", None, "x"]),
        (pa.array([[1, None], None, []], pa.list_(pa.int8())), [[1, None], None, []]),
        (pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), [[1, 2], None]),
        (pa.array([{"a": dt.date(1970, 1, 1)}, None]), [{"a": "1970-01-01"}, None]),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())), [[{"key": "k", "value": 1}]]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else None,
)
def test_plain_values(array: pa.Array, expected: list[object]) -> None:
    assert plain_values(array) == expected
    assert plain_values(pa.chunked_array([array, array])) == expected + expected
    assert (
        plain_values(pa.concat_arrays([array, array]).slice(1, len(array))) == (expected + expected)[1:][: len(array)]
    )
    json.dumps(plain_values(array), allow_nan=False)


def test_extension_types_show_their_storage() -> None:
    array = pa.array([b"\x01" * 16]).cast(pa.binary(16)).cast(pa.uuid())
    assert plain_values(array) == ["01" * 16]


def test_rows() -> None:
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    assert plain_rows(table) == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    assert plain_rows(table.select([])) == [{}, {}]


def test_floats_without_a_number_are_null() -> None:
    values = plain_values(pa.array([1.5, float("nan"), float("inf"), -float("inf")]))
    assert plain(values) == [1.5, None, None, None]
