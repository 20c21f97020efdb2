"""Type strings, both ways."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.container.logical_types import child_fields, format_logical_type, parse_logical_type
from lance_arrow.errors import CorruptFileError, LanceError, UnsupportedError

PAIR = pa.struct([("x", pa.int8()), ("y", pa.string())])
SPELLINGS = [
    (pa.null(), "null"),
    (pa.bool_(), "bool"),
    (pa.int8(), "int8"),
    (pa.int16(), "int16"),
    (pa.int32(), "int32"),
    (pa.int64(), "int64"),
    (pa.uint8(), "uint8"),
    (pa.uint16(), "uint16"),
    (pa.uint32(), "uint32"),
    (pa.uint64(), "uint64"),
    (pa.float16(), "halffloat"),
    (pa.float32(), "float"),
    (pa.float64(), "double"),
    (pa.string(), "string"),
    (pa.large_string(), "large_string"),
    (pa.binary(), "binary"),
    (pa.large_binary(), "large_binary"),
    (pa.binary(7), "fixed_size_binary:7"),
    (pa.binary(0), "fixed_size_binary:0"),
    (pa.date32(), "date32:day"),
    (pa.date64(), "date64:ms"),
    (pa.time32("s"), "time32:s"),
    (pa.time32("ms"), "time32:ms"),
    (pa.time64("us"), "time64:us"),
    (pa.time64("ns"), "time64:ns"),
    (pa.timestamp("us"), "timestamp:us:-"),
    (pa.timestamp("s", "UTC"), "timestamp:s:UTC"),
    (pa.timestamp("ns", "+01:00"), "timestamp:ns:+01:00"),
    (pa.duration("ms"), "duration:ms"),
    (pa.decimal128(10, 2), "decimal:128:10:2"),
    (pa.decimal128(38, -3), "decimal:128:38:-3"),
    (pa.decimal256(76, 5), "decimal:256:76:5"),
    (pa.dictionary(pa.int16(), pa.string()), "dict:string:int16:false"),
    (pa.dictionary(pa.int8(), pa.timestamp("us", "+01:00")), "dict:timestamp:us:+01:00:int8:false"),
    (pa.list_(pa.float32(), 4), "fixed_size_list:float:4"),
    (pa.list_(pa.bool_(), 3), "fixed_size_list:bool:3"),
    (pa.list_(pa.null(), 3), "fixed_size_list:null:3"),
    (pa.list_(pa.list_(pa.int8(), 2), 3), "fixed_size_list:fixed_size_list:int8:2:3"),
    (pa.list_(pa.timestamp("us", "+01:00"), 2), "fixed_size_list:timestamp:us:+01:00:2"),
    (
        pa.list_(
            pa.field(
                "item",
                pa.binary(2),
                metadata={"ARROW:extension:name": "lance.bfloat16", "ARROW:extension:metadata": ""},
            ),
            8,
        ),
        "fixed_size_list:lance.bfloat16:8",
    ),
    (PAIR, "struct"),
    (pa.struct([]), "struct"),
    (pa.list_(pa.int8()), "list"),
    (pa.large_list(pa.string()), "large_list"),
    (pa.list_(PAIR), "list.struct"),
    (pa.large_list(PAIR), "large_list.struct"),
    (pa.list_(PAIR, 5), "fixed_size_list:struct:5"),
    (pa.map_(pa.string(), pa.int8()), "map"),
    (pa.list_(pa.list_(PAIR)), "list"),
]


@pytest.mark.parametrize(("type_", "text"), SPELLINGS, ids=[text for _, text in SPELLINGS])
def test_both_ways(type_, text):
    assert format_logical_type(type_) == text
    back = parse_logical_type(text, child_fields(type_))
    assert back.equals(type_, check_metadata=True)


def test_only_one_way():
    assert parse_logical_type("json", []) == pa.large_binary()
    assert format_logical_type(pa.string_view()) == "string"
    assert format_logical_type(pa.binary_view()) == "binary"
    assert format_logical_type(pa.dictionary(pa.int8(), pa.string(), ordered=True)) == "dict:string:int8:false"


@pytest.mark.parametrize(
    "text",
    [
        "fixed_size_list:float:0",
        "fixed_size_list:float:-1",
        "fixed_size_list:float:",
        "fixed_size_list:float:2147483648",
        "fixed_size_list:float:x",
        "fixed_size_list:struct:2",
        "fixed_size_binary:-1",
        "fixed_size_binary:99999999999",
        "fixed_size_binary:1_0",
        "fixed_size_binary:٣",
        "decimal:128:0:0",
        "decimal:128:39:0",
        "decimal:256:77:0",
        "decimal:64:5:0",
        "decimal:128:5",
        "decimal:128:5:1000",
        "timestamp:us",
        "timestamp:us:",
        "timestamp:min:-",
        "dict:string:int8",
        "dict:string:float:false",
        "dict:string:int8:maybe",
        "list",
        "map",
        "large_list.struct",
    ],
)
def test_malformed(text):
    with pytest.raises(CorruptFileError):
        parse_logical_type(text, [])


@pytest.mark.parametrize(
    ("text", "children"),
    [
        ("int8", [pa.field("x", pa.int8())]),
        ("list", [pa.field("x", pa.int8()), pa.field("y", pa.int8())]),
        ("list.struct", [pa.field("x", pa.int8())]),
        ("map", [pa.field("x", pa.int8())]),
        ("map", [pa.field("entries", PAIR)]),
        ("fixed_size_list:struct:2", [pa.field("x", pa.int8())]),
        ("fixed_size_list:float:2", [pa.field("x", PAIR)]),
        ("fixed_size_list:struct:0", [pa.field("x", PAIR)]),
    ],
)
def test_children_that_do_not_fit(text, children):
    with pytest.raises(CorruptFileError):
        parse_logical_type(text, children)


@pytest.mark.parametrize("text", ["", "string_view", "int128", "fixed_size_list:string:2", "union", "dict:"])
def test_unknown(text):
    with pytest.raises(UnsupportedError):
        parse_logical_type(text, [])


def test_nesting_ends():
    with pytest.raises(CorruptFileError, match="nested"):
        parse_logical_type("fixed_size_list:" * 100_000 + "int8" + ":1" * 100_000, [])


@pytest.mark.parametrize(
    "type_",
    [
        pa.list_view(pa.int8()),
        pa.month_day_nano_interval(),
        pa.run_end_encoded(pa.int32(), pa.int8()),
        pa.decimal32(5, 1),
        pa.list_(pa.list_(pa.int8()), 2),
        pa.list_(pa.string(), 2),
        pa.map_(pa.string(), pa.int8(), keys_sorted=True),
        pa.dense_union([pa.field("a", pa.int8())]),
    ],
    ids=str,
)
def test_types_the_format_has_not(type_):
    with pytest.raises(UnsupportedError):
        format_logical_type(type_)


@given(st.text(alphabet="fixed_sizlt:0123456789-.dcmaprtngubyo ", max_size=40) | st.text(max_size=20))
def test_any_text_is_a_type_or_our_error(text):
    try:
        parsed = parse_logical_type(text, [])
    except LanceError:
        return
    assert isinstance(parsed, pa.DataType)
