"""Types and schemas as text."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_arrow.conversion.type_names import parse_schema, parse_type
from lance_arrow.errors import InvalidArgumentError

TYPES = [
    pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.large_string(),
    pa.binary(), pa.binary(7), pa.date32(), pa.date64(), pa.time32("ms"), pa.time64("ns"), pa.timestamp("s"),
    pa.timestamp("us", "Europe/Paris"), pa.timestamp("ns", "+05:30"), pa.duration("ns"), pa.decimal128(10, 2),
    pa.decimal256(50, -3), pa.list_(pa.int32()), pa.large_list(pa.string()), pa.list_(pa.float32(), 3),
    pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]), pa.map_(pa.string(), pa.int64()),
    pa.dictionary(pa.int8(), pa.string()), pa.null(), pa.struct([]),
    pa.list_(pa.struct([pa.field("x", pa.int8(), False)])),
]  # fmt: skip


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_what_pyarrow_prints(type_: pa.DataType) -> None:
    assert parse_type(str(type_)) == type_


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("double", pa.float64()),
        ("float", pa.float32()),
        ("date", pa.date32()),
        ("timestamp[ns, tz='UTC']", pa.timestamp("ns", "UTC")),
        ("decimal(5)", pa.decimal128(5, 0)),
        (" list < string > ", pa.list_(pa.string())),
        ("dictionary", pa.dictionary(pa.int32(), pa.string())),
    ],
)
def test_shorter_ways(text: str, type_: pa.DataType) -> None:
    assert parse_type(text) == type_


@pytest.mark.parametrize(
    "text",
    ["", "int", "int65", "timestamp", "timestamp[h]", "list<", "list<int8", "struct<a>", "int8 x", "decimal128(99, 1)",
     "fixed_size_list<int8>", "time32[ns]", "date32[us, tz=UTC]", "dictionary<keys=int8>"],
)  # fmt: skip
def test_nonsense(text: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse_type(text)
    assert repr(text) in str(caught.value)


def test_schemas() -> None:
    expected = pa.schema([pa.field("id", pa.int64(), False), ("a name", pa.list_(pa.string())), ("x.y", pa.float32())])
    assert parse_schema("id: int64 not null, 'a name': list<string>, x.y: float") == expected
    with pytest.raises(InvalidArgumentError, match="expected ':'"):
        parse_schema("id")
