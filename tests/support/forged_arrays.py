"""Files of 2.0 made by hand, one per array encoding: buffers from the specification, never from our writer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from forge import Forged, Page
from forge_pages import words
from forged import lz4

from lance_arrow.proto import encodings_v20_pb2 as pb

Array = pb.ArrayEncoding
ORDER = (0, 4, 2, 6, 1, 5, 3, 7)


def flat(bits: int, buffer: int = 0, scheme: str | None = None) -> Array:
    compression = None if scheme is None else pb.Compression(scheme=scheme)
    return Array(flat=pb.Flat(bits_per_value=bits, buffer=pb.Buffer(buffer_index=buffer), compression=compression))


def no_nulls(values: Array) -> Array:
    return Array(nullable=pb.Nullable(no_nulls=pb.Nullable.NoNull(values=values)))


def some_nulls(validity: Array, values: Array) -> Array:
    return Array(nullable=pb.Nullable(some_nulls=pb.Nullable.SomeNull(validity=validity, values=values)))


def all_nulls() -> Array:
    return Array(nullable=pb.Nullable(all_nulls=pb.Nullable.AllNull()))


def constant(value: bytes) -> Array:
    return Array(constant=pb.Constant(value=value))


def binary(adjustment: int, first: int = 0, scheme: str | None = None) -> Array:
    ends, data = no_nulls(flat(64, first)), flat(8, first + 1, scheme)
    return Array(binary=pb.Binary(indices=ends, bytes=data, null_adjustment=adjustment))


def lists(num_items: int, adjustment: int | None = None) -> Array:
    adjustment = num_items + 1 if adjustment is None else adjustment
    ends = no_nulls(flat(64))
    return Array(list=pb.List(offsets=ends, null_offset_adjustment=adjustment, num_items=num_items))


def file(values: Sequence[object] | pa.Array, type_: pa.DataType | None, *columns: Page | Sequence[Page]) -> Forged:
    """A file of one column named ``c``, whose physical columns have these pages."""
    array = values if isinstance(values, pa.Array) else pa.array(values, type_)
    pages = tuple((column,) if isinstance(column, Page) else tuple(column) for column in columns)
    return Forged(pa.table({"c": array}), pages, "2.0")


def fast_lanes(values: np.ndarray, word_bits: int, packed_bits: int) -> bytes:
    """Blocks of 1024, bit by bit as the specification tells it."""
    lanes, out = 1024 // word_bits, bytearray()
    padded = np.concatenate([values, np.zeros(-len(values) % 1024, values.dtype)]).astype(object)
    for block in padded.reshape(-1, 1024):
        stored = [[0] * lanes for _ in range(packed_bits)]
        for row in range(word_bits):
            for lane in range(lanes):
                value = int(block[ORDER[row // 8] * 16 + (row % 8) * 128 + lane])
                for bit in range(packed_bits):
                    place = row * packed_bits + bit
                    stored[place // word_bits][lane] |= (value >> bit & 1) << place % word_bits
        for row_words in stored:
            out += b"".join(word.to_bytes(word_bits // 8, "little") for word in row_words)
    return bytes(out)


def bit_stream(values: Sequence[int], packed_bits: int) -> bytes:
    """Values back to back, least significant bit first."""
    whole = sum((value & ((1 << packed_bits) - 1)) << (at * packed_bits) for at, value in enumerate(values))
    return whole.to_bytes((len(values) * packed_bits + 7) // 8, "little")


def symbols(*held: bytes) -> bytes:
    """A symbol table: header, eight bytes per symbol, their lengths."""
    header = bytes([len(held), 0, 0, 1]) + b"TSSF"
    table = header + b"".join(one.ljust(8, b"\0") for one in held) + bytes(map(len, held))
    return table.ljust(2312, b"\0")


INTS = file(
    [5, None, 7, None, 9],
    pa.int32(),
    Page(some_nulls(flat(1), flat(32, 1)), (b"\x15", words([5, 0, 7, 0xFFFFFFFF, 9], 4)), 5),
)
BITS = file([True, False, True], pa.bool_(), Page(no_nulls(flat(1)), (b"\x05",), 3))
NOTHING = file([None] * 4, pa.int64(), Page(all_nulls(), (), 4))
TEXTS = file(
    [None, b"ab", b"cde", b"", None, b"fghijk"],
    pa.binary(),
    Page(binary(12), (words([12, 2, 5, 5, 17, 11], 8), b"abcdefghijk"), 6),
)
LETTERS = file(
    [b"x" * 50, b"", b"y" * 30],
    pa.large_binary(),
    Page(binary(81, scheme="lz4"), (words([50, 50, 80], 8), lz4(b"x" * 50 + b"y" * 30)), 3),
)
# The second list is null and covers an item; the items lie in pages of their own.
LISTS = file(
    pa.ListArray.from_arrays(
        pa.array([0, 2, 3, 3, 4]), pa.array([1, 2, 9, 4], pa.int16()), mask=pa.array([False, True, False, False])
    ),
    None,
    Page(lists(4), (words([2, 8, 3, 4], 8),), 4),
    [Page(no_nulls(flat(16)), (words([1], 2),), 1), Page(no_nulls(flat(16)), (words([2, 9, 4], 2),), 3)],
)
TUPLES = file(
    [[1, None], None, [5, 6]],
    pa.list_(pa.int8(), 2),
    Page(
        some_nulls(
            flat(1),
            Array(fixed_size_list=pb.FixedSizeList(dimension=2, items=some_nulls(flat(1, 1), flat(8, 2)))),
        ),
        (b"\x05", b"\x35", bytes([1, 0, 0, 0, 5, 6])),
        3,
    ),
)
_ITEMS = Array(binary=pb.Binary(indices=flat(64, 1), bytes=flat(8, 2), null_adjustment=4))
WORDS = file(
    ["b", None, "aa", "aa", "b"],
    pa.string(),
    Page(
        Array(dictionary=pb.Dictionary(indices=flat(8), items=_ITEMS, num_dictionary_items=2)),
        (bytes([2, 0, 1, 1, 2]), words([2, 3], 8), b"aab"),
        5,
    ),
)
# The last item is the null one.
KEYS = file(
    pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), pa.array(["aa", "b"])),
    None,
    Page(
        Array(dictionary=pb.Dictionary(indices=no_nulls(flat(8)), items=_ITEMS, num_dictionary_items=3)),
        (bytes([1, 2, 0]), words([2, 3, 7], 8), b"aab"),
        3,
    ),
)
CODES = file(
    ["abc", None, "abxab"],
    pa.string(),
    Page(
        Array(fsst=pb.Fsst(binary=binary(7), symbol_table=symbols(b"ab", b"c"))),
        (words([2, 9, 6], 8), bytes([0, 1, 0, 255, ord("x"), 0])),
        3,
    ),
)
_PACKED = pa.struct([("a", pa.int16()), ("b", pa.list_(pa.int8(), 3))])
PAIRS = Forged(
    pa.table(
        [pa.array([{"a": 1, "b": [2, 3, 4]}, {"a": -1, "b": [5, 6, 7]}], _PACKED)],
        schema=pa.schema([pa.field("c", _PACKED, metadata={"packed": "true"})]),
    ),
    (
        (
            Page(
                Array(packed_struct=pb.PackedStruct(inner=[no_nulls(flat(16)), no_nulls(flat(8))], buffer=pb.Buffer())),
                (bytes([1, 0, 2, 3, 4, 255, 255, 5, 6, 7]),),
                2,
            ),
        ),
    ),
    "2.0",
)
HEADS = Forged(
    pa.table({"c": pa.array([{"x": 1}, {"x": 2}], pa.struct([("x", pa.int8())]))}),
    ((Page(Array(struct=pb.SimpleStruct()), (), 2),), (Page(no_nulls(flat(8)), (b"\1\2",), 2),)),
    "2.0",
)
_SIGNED = [-3, 7, 0, -16, 15, 2, -1, 9]
SIGNED = file(
    _SIGNED,
    pa.int32(),
    Page(
        Array(bitpacked=pb.Bitpacked(compressed_bits_per_value=5, uncompressed_bits_per_value=32, signed=True)),
        (bit_stream(_SIGNED, 5),),
        8,
    ),
)
_WIDE = [2**63 + 5, 1, 2**62, 0, 2**64 - 1, 12345]
WIDE = file(
    pa.array([value >> 1 for value in _WIDE], pa.uint64()),
    None,
    Page(
        Array(bitpacked=pb.Bitpacked(compressed_bits_per_value=63, uncompressed_bits_per_value=64)),
        (bit_stream([value >> 1 for value in _WIDE], 63),),
        6,
    ),
)
_COUNTS = np.arange(1500) * 7 % 499
COUNTS = file(
    pa.array(_COUNTS, pa.uint16()),
    None,
    Page(
        Array(bitpacked_for_non_neg=pb.BitpackedForNonNeg(compressed_bits_per_value=9, uncompressed_bits_per_value=16)),
        (fast_lanes(_COUNTS, 16, 9),),
        1500,
    ),
)
SAME = file([-7] * 5, pa.int32(), Page(constant(b"\xf9\xff\xff\xff"), (), 5))
HALVES = file(
    [0.5, None, 0.5],
    pa.float64(),
    Page(some_nulls(flat(1), constant(np.float64(0.5).tobytes())), (b"\x05",), 3),
)
CELLS = file(
    ["abc", None, "ghi"],
    pa.string(),
    Page(
        some_nulls(flat(1), Array(fixed_size_binary=pb.FixedSizeBinary(bytes=flat(8, 1), byte_width=3))),
        (b"\x05", b"abcdefghi"),
        3,
    ),
)

GOOD = {
    "ints": INTS,
    "bits": BITS,
    "nothing": NOTHING,
    "texts": TEXTS,
    "letters": LETTERS,
    "lists": LISTS,
    "tuples": TUPLES,
    "words": WORDS,
    "keys": KEYS,
    "codes": CODES,
    "pairs": PAIRS,
    "heads": HEADS,
    "cells": CELLS,
}
"""Of encodings that the reference reads too."""

PRE_RELEASE = {"signed": SIGNED, "wide": WIDE, "counts": COUNTS, "same": SAME, "halves": HALVES}
"""Of encodings that only pre-releases wrote, or none at all, and that the reference does not read."""
