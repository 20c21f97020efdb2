"""Binary JSON as text: encoded text decodes to the same text; invalid bytes are rejected."""

from __future__ import annotations

import json
import math
import random
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.arrays.json_texts import text_of
from lance_arrow.container.binary_json import encode_json
from lance_arrow.engine import JsonTexts
from lance_arrow.errors import CorruptPageError, InternalError

SCALAR, ARRAY, OBJECT = 0x20000000, 0x80000000, 0x40000000
NULL, STRING, NUMBER, FALSE, TRUE, CONTAINER = (kind << 28 for kind in range(6))

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=30,
)


def texts(values: list[bytes | None]) -> list[str | None]:
    found: list[str | None] = text_of(pa.array(values, pa.large_binary())).to_pylist()
    return found


def words(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}I", *numbers)


def scalar(kind: int, content: bytes = b"") -> bytes:
    return words(SCALAR, kind | len(content)) + content


def number(value: float) -> str:
    """How the reference writes a double: as Python does, but for exponents."""
    if not math.isfinite(value):
        return "null"
    sign = "-" if math.copysign(1, value) < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    if not exponent:
        scientific = f"{abs(value):.17e}"
        if value == 0 or int(scientific.partition("e")[2]) >= -5:
            return sign + mantissa
    if int(exponent) == -5:
        return f"{sign}0.0000{mantissa.replace('.', '')}"
    return f"{sign}{mantissa}e{int(exponent):+d}"


@given(st.lists(st.none() | VALUES, max_size=8), st.integers(0, 8))
def test_what_was_encoded_comes_back(values: list[object], first: int) -> None:
    """`null` among the values is a slot without a value."""
    encoded = [None if value is None else encode_json(json.dumps(value)) for value in values]
    array = pa.array(encoded, pa.large_binary())
    for one, expected in ((array, values), (array.slice(first), values[first:])):
        found = text_of(one)
        found.validate(full=True)
        assert found.null_count == expected.count(None)
        for text, value in zip(found.to_pylist(), expected, strict=True):
            assert (text is None) == (value is None)
            if text is not None:
                assert json.loads(text) == value
                assert encode_json(text) == encode_json(json.dumps(value))


@given(st.floats() | st.integers(0, (1 << 64) - 1).map(lambda bits: struct.unpack(">d", struct.pack(">Q", bits))[0]))
def test_doubles(value: float) -> None:
    (text,) = texts([scalar(NUMBER, b"\x60" + struct.pack(">d", value))])
    assert text == number(value)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\x00", "0"),
        (b"\x10", "null"),
        (b"\x20", "null"),
        (b"\x30", "null"),
        (b"\x40\xff", "-1"),
        (b"\x40\xff\x00", "-256"),
        (b"\x40\x80\x00\x00\x00", "-2147483648"),
        (b"\x40\x80" + bytes(7), "-9223372036854775808"),
        (b"\x50" + b"\xff" * 8, "18446744073709551615"),
        (b"\x70" + (12345).to_bytes(16) + b"\x02", "123.45"),
        (b"\x70" + (-12345).to_bytes(8, signed=True) + b"\x02", "-123.45"),
        (b"\x70" + (-12345).to_bytes(32, signed=True) + b"\x00", "-12345.0"),
        (b"\x70" + (5).to_bytes(8) + b"\x03", "0.005"),
        (b"\x70" + bytes(8) + b"\x00", "0.0"),
        (b"\x70\x80" + bytes(31) + b"\x00", f"{-(1 << 255)}.0"),
        (b"\x70\x7f" + b"\xff" * 31 + b"\x4c", f"{str((1 << 255) - 1)[:-76]}.{str((1 << 255) - 1)[-76:]}"),
    ],
)
def test_numbers(content: bytes, text: str) -> None:
    (found,) = texts([scalar(NUMBER, content)])
    assert found == text


def test_strings() -> None:
    plain = bytes(range(0x20)) + b'\x7f"\\/'
    escaped = "\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f"
    escaped += "".join(f"\\u00{one:02x}" for one in range(0x10, 0x20)) + '\x7f\\"\\\\/'
    assert texts([scalar(STRING, plain), scalar(STRING, "é\u2028😀".encode()), b""]) == [
        f'"{escaped}"',
        '"é\u2028😀"',
        "null",
    ]


WRONG = {
    "cut header": (b"\x20\x00\x00", "ends within its header"),
    "cut entry": (words(SCALAR), "ends within its entry"),
    "cut entry of three bytes": (words(SCALAR) + b"abc", "ends within its entry"),
    "no kind": (words(0), "no array, object or scalar"),
    "text": (b'{"a":1}', "no array, object or scalar"),
    "entries beyond the end": (words(ARRAY | 2, NULL), "more entries than bytes"),
    "all entries there may be": (words(OBJECT | 0x1FFFFFFF, NULL), "more entries than bytes"),
    "content beyond the end": (words(SCALAR, STRING | 5) + b"four", "more bytes than it has"),
    "content left over": (scalar(TRUE) + b"x", "fewer bytes than it has"),
    "content left over in an array": (words(ARRAY | 1, TRUE) + b"x", "fewer bytes than it has"),
    "null with bytes": (scalar(NULL, b"x"), "fewer bytes than it has"),
    "key that is no string": (words(OBJECT | 1, NUMBER, TRUE), "key of a JSON object is no string"),
    "key beyond the end": (words(OBJECT | 1, STRING | 9, TRUE) + b"a", "more bytes than it has"),
    "key that is not UTF-8": (words(OBJECT | 1, STRING | 1, TRUE) + b"\xff", "not UTF-8"),
    "string that is not UTF-8": (scalar(STRING, b"\xed\xa0\x80"), "not UTF-8"),
    "character in two strings": (words(ARRAY | 2, STRING | 1, STRING | 1) + "é".encode(), "not UTF-8"),
    "no number": (scalar(NUMBER), "unknown form"),
    "number of three bytes": (scalar(NUMBER, b"\x40abc"), "unknown form"),
    "zero with bytes": (scalar(NUMBER, b"\x00a"), "unknown form"),
    "infinity with bytes": (scalar(NUMBER, b"\x20a"), "unknown form"),
    "short double": (scalar(NUMBER, b"\x60abc"), "unknown form"),
    "short decimal": (scalar(NUMBER, b"\x70" + bytes(8)), "unknown form"),
    "other number": (scalar(NUMBER, b"\x80"), "unknown form"),
    "other kind": (scalar(0x60000000, b"a"), "unknown kind"),
    "reserved bit": (scalar(0x80000000, b""), "unknown kind"),
    "scalar of a container": (scalar(CONTAINER, words(ARRAY)), "unknown kind"),
    "scalar in an array": (words(ARRAY | 1, CONTAINER | 8) + scalar(TRUE), "no array, object or scalar"),
    "short container": (words(ARRAY | 1, CONTAINER | 2) + b"ab", "more bytes than it has"),
}


@pytest.mark.parametrize(("value", "said"), WRONG.values(), ids=list(WRONG))
def test_what_is_no_binary_json_is_refused(value: bytes, said: str) -> None:
    with pytest.raises(CorruptPageError, match=said) as caught:
        texts([scalar(TRUE), None, value, value])
    assert caught.value.detail == 2
    # Below a null, bytes mean nothing.
    array = pa.array([value, scalar(TRUE)], pa.large_binary())
    bits = pa.py_buffer(b"\x02")
    assert text_of(pa.Array.from_buffers(pa.large_binary(), 2, [bits, *array.buffers()[1:]])).to_pylist() == [
        None,
        "true",
    ]


def test_depth_is_bounded_by_the_bytes_alone() -> None:
    value = words(ARRAY)
    depth = 20_000
    for _ in range(depth):
        value = words(ARRAY | 1, CONTAINER | len(value)) + value
    assert texts([value]) == ["[" * (depth + 1) + "]" * (depth + 1)]


def test_damage_is_refused_or_is_json() -> None:
    """Any bytes: the text is what Python reads as JSON, or they are refused."""
    drawn = random.Random(5)
    seeds = [
        encode_json(text)
        for text in (
            '{"a": [1, -2.5, null, true, "x\\n\\u00e9"], "b": {"c": {}}, "d": 300}',
            "[[[]], [1e300, 70000]]",
            '"s"',
            "7",
        )
    ]
    read = refused = 0
    for _ in range(20_000):
        value = bytearray(drawn.choice(seeds))
        for _ in range(drawn.randint(1, 3)):
            match drawn.randrange(4):
                case 0:
                    value[drawn.randrange(len(value))] ^= 1 << drawn.randrange(8)
                case 1:
                    value = value[: drawn.randrange(len(value)) + 1]
                case 2:
                    value[drawn.randrange(len(value))] = drawn.randrange(256)
                case _:
                    value += drawn.randbytes(drawn.randrange(9))
        try:
            (text,) = texts([bytes(value)])
        except CorruptPageError:
            refused += 1
            continue
        read += 1
        assert text is not None
        assert len(text) <= 20 * len(value)
        json.loads(text)
    assert min(read, refused) > 500


def test_offsets_are_checked() -> None:
    value = np.frombuffer(scalar(TRUE), np.uint8)
    for offsets in ([0, 9], [8, 0], [-8, 0], [0, 1 << 62]):
        with pytest.raises(CorruptPageError, match="offsets"):
            JsonTexts(np.array(offsets, np.int64).view(np.uint8), 64, value)
    with pytest.raises(InternalError, match="fewer bits"):
        JsonTexts(np.zeros(80, np.uint8), 64, value, np.zeros(1, np.uint8))
    made = JsonTexts(np.array([0, 8], np.int32).view(np.uint8), 32, value)
    assert (made.num_bytes, made.num_values) == (4, 1)
    for size, room in ((4, 4), (8, 3), (12, 4)):
        with pytest.raises(InternalError, match="another size"):
            made.copy(np.empty(size, np.uint8), np.empty(room, np.uint8))
