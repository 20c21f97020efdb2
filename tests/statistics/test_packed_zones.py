"""Zone maps of one zone in packed form: what they hold, and what is said of damaged ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow.arrays.column_tree import LeafNode, column_tree
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import column_mapping, fields_from_arrow
from lance_arrow.errors import CorruptFileError
from lance_arrow.settings import Limits
from lance_arrow.statistics.packed_zones import HEAD_BYTES, MAGIC
from lance_arrow.statistics.zone_builder import ZoneBuilder
from lance_arrow.statistics.zone_maps import ZoneMap, decode_zones
from lance_arrow.statistics.zone_streams import stream_layout


def leaf_of(type_: pa.DataType) -> LeafNode:
    schema = pa.schema([pa.field("c", type_)])
    (root,) = column_tree(schema, column_mapping(fields_from_arrow(schema), FileVersion.V2_2))
    return next(root.leaves())


def packed(array: pa.Array) -> tuple[LeafNode, bytes]:
    leaf = leaf_of(array.type)
    builder = ZoneBuilder(leaf)
    builder.add(array)
    return leaf, builder.encode(10)


def decoded(leaf: LeafNode, data: bytes, num_rows: int) -> ZoneMap:
    found = decode_zones(np.frombuffer(data, np.uint8), leaf, Limits(), rows_per_zone=8192, num_rows=num_rows)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("array", "num_bytes"),
    [
        (pa.array([1.5, -2.0]), 8 + 16 + 4),
        (pa.array([1.5, None, float("nan")]), 8 + 16 + 12),
        (pa.array([None], pa.int32()), 8 + 8 + 8),
        (pa.array([True, False]), 8 + 2 + 4),
        (pa.array(["b", "a", "ccc"]), 8 + 16 + 4 + 4),
        (pa.array(["", "a"]), 8 + 16 + 1 + 4),
        (pa.array([b"\xff" * 100]), 8 + 16 + 64 + 4),
        (pa.array(["é" * 60], pa.large_string()), 8 + 32 + 128 + 4),
    ],
)
def test_bytes_and_content(array: pa.Array, num_bytes: int) -> None:
    leaf, data = packed(array)
    assert data.startswith(MAGIC)
    assert len(data) == num_bytes
    builder = ZoneBuilder(leaf)
    builder.add(array)
    assert decoded(leaf, data, len(array)).zones.equals(builder.finish())


def test_the_bytes_are_those_of_the_docs() -> None:
    _, data = packed(pa.array([7, None, 300], pa.int16()))
    head = b"LAZ" + bytes([1 | 2 | 4, 2, 2, 1, 1])
    assert data == head + b"\x07\x00" + b"\x2c\x01" + b"\x03\0\0\0" + b"\x01\0\0\0"


def test_equal_heads_share_a_layout() -> None:
    leaf, data = packed(pa.array([1, 2]))
    _, other = packed(pa.array([-5, 77]))
    found, again = (stream_layout(one, leaf.storage) for one in (data, other))
    assert found is not None
    assert again is not None
    assert found[0] == data[:HEAD_BYTES]
    assert found[1] is again[1]


@pytest.mark.parametrize("array", [pa.array([1, 5, None]), pa.array(["one", "three"])])
def test_damage_of_the_head_is_refused(array: pa.Array) -> None:
    leaf, data = packed(array)
    expected = decoded(leaf, data, len(array)).zones
    for position in range(3, len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            try:
                found = decoded(leaf, bytes(damaged), len(array))
            except CorruptFileError:
                continue
            # Other changes give another bound, count or flag; checksums find them.
            assert found.num_zones == 1
            assert position >= HEAD_BYTES - 2 or position == 3 or not found.zones.equals(expected)


def test_shorter_and_longer_maps_are_refused() -> None:
    leaf, data = packed(pa.array([1, 5]))
    for wrong in (*(data[:stop] for stop in range(3, len(data))), data + b"\0"):
        with pytest.raises(CorruptFileError):
            decoded(leaf, wrong, 2)


def test_text_is_checked() -> None:
    leaf, data = packed(pa.array(["ab"]))
    assert data.count(b"ab") == 2
    with pytest.raises(CorruptFileError):
        decoded(leaf, data.replace(b"ab", b"\xff\xfe"), 1)


def test_several_zones_are_a_stream() -> None:
    leaf = leaf_of(pa.int64())
    builder = ZoneBuilder(leaf, 2)
    builder.add(pa.array([1, 2, 3]))
    assert not builder.encode(10).startswith(MAGIC)
