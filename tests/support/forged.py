"""Good files of every layout and codec, made by hand: what the bad ones differ from in one thing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import zstandard
from forge import Forged, Page
from forge_pages import (
    ANY_LIST,
    ITEM,
    LIST_LAYERS,
    NULLABLE,
    Codec,
    Entry,
    block_of_strings,
    constant,
    dense,
    fixed,
    flat,
    flat_rows,
    full_zip,
    general,
    int32,
    list_rows,
    mini_block,
    null_at,
    sparse,
    sparse_items,
    sparse_lists,
    strings,
    variable,
    words,
)

from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.proto import encodings_v23_pb2 as planar

LZ4, ZSTD = 1, 2


def one(values: object, type_: pa.DataType, *pages: Page, version: str = "2.2", **options: str) -> Forged:
    """A file of one column ``c``."""
    field = pa.field("c", type_, metadata={f"lance-encoding:{key}": value for key, value in options.items()} or None)
    array = values if isinstance(values, pa.Array) else pa.array(values, type_)
    return Forged(pa.table([array], schema=pa.schema([field])), (pages,), version)


def bytes_of(values: Sequence[int | None]) -> list[bytes | None]:
    return [None if value is None else int32(value) for value in values]


NUMBERS = [n * 7 % 100 if n % 5 else None for n in range(23)]
NESTED: list[list[int | None] | None] = [
    [1],
    list(range(11)),
    [],
    None,
    [None, 5],
    [6],
    *([n, n + 1] for n in range(12)),
]
NESTED_ROWS = list_rows([None if row is None else bytes_of(row) for row in NESTED])
TEXT = ["zero", "", None, "a longer one", "two", "zero", "ü", None, "end"]
TEXT_VALUES = [None if text is None else text.encode() for text in TEXT]
ITEMS = [b"zero", b"", b"two"]
CHOSEN = [n % 3 if n % 4 else None for n in range(30)]
STRUCTS = [{"v": [1, 2]}, {"v": None}, None, {"v": []}, {"v": [None]}]

INTS = one(
    NUMBERS, pa.int32(), mini_block(flat_rows(bytes_of(NUMBERS)), (NULLABLE,), flat(32), fixed(4), counts=(8, 4))
)
INTS_21 = one(
    NUMBERS,
    pa.int32(),
    mini_block(flat_rows(bytes_of(NUMBERS)), (NULLABLE,), flat(32), fixed(4), counts=(8, 4), large=False),
    version="2.1",
)
PLAIN = one(
    list(range(20)),
    pa.int32(),
    mini_block(flat_rows(bytes_of(list(range(20)))), (ITEM,), flat(32), fixed(4), counts=(16,)),
)
TWO_PAGES = one([*NUMBERS, *range(20)], pa.int32(), INTS.page, PLAIN.page)
LISTS = one(NESTED, pa.list_(pa.int32()), mini_block(NESTED_ROWS, LIST_LAYERS, flat(32), fixed(4), counts=(4, 8, 4, 8)))
STRUCT_LISTS = one(
    STRUCTS,
    pa.struct([("v", pa.list_(pa.int32()))]),
    mini_block(
        [
            [Entry(1, 0, int32(1)), Entry(0, 0, int32(2))],
            [Entry(1, 2)],
            [Entry(1, 4)],
            [Entry(1, 3)],
            [Entry(1, 1)],
        ],
        (NULLABLE, ANY_LIST, NULLABLE),
        flat(32),
        fixed(4),
    ),
)
TEXTS = one(TEXT, pa.string(), mini_block(flat_rows(TEXT_VALUES), (NULLABLE,), variable(), strings, counts=(4,)))


def indices_of(values: list[bytes | None]) -> list[bytes]:
    return [b"".join(words([2 if value is None else ITEMS.index(value)], 4) for value in values)]


DICTIONARY = one(
    [None if n is None else ITEMS[n].decode() for n in CHOSEN],
    pa.string(),
    mini_block(
        flat_rows([None if n is None else ITEMS[n] for n in CHOSEN]),
        (NULLABLE,),
        flat(32),
        indices_of,
        counts=(16,),
        dictionary=(variable(), 3, block_of_strings(ITEMS)),
    ),
)
KEPT = one(
    pa.DictionaryArray.from_arrays(pa.array(CHOSEN, pa.int8()), pa.array(["zero", "", "two"])),
    pa.dictionary(pa.int8(), pa.string()),
    mini_block(
        flat_rows([None if n is None else bytes([n]) for n in CHOSEN]),
        (NULLABLE,),
        flat(8),
        fixed(1),
        counts=(16,),
        dictionary=(variable(), 3, block_of_strings(ITEMS)),
    ),
)


def packed(values: Sequence[int], bits: int, width: int) -> bytes:
    """1024 `bits`-bit values packed to `width` bits, the slow way (spec 5.3)."""
    lanes, order = 1024 // bits, (0, 4, 2, 6, 1, 5, 3, 7)
    out = [0] * (lanes * width)
    for lane in range(lanes):
        stream = sum(values[order[r // 8] * 16 + r % 8 * 128 + lane] << (r * width) for r in range(bits))
        for word in range(width):
            out[word * lanes + lane] = stream >> (word * bits) & ((1 << bits) - 1)
    return words(out, bits // 8)


SMALL = [n * 13 % 32 for n in range(1030)]
TAIL = [*SMALL[1024:], *[0] * 1018]
INLINE = one(
    SMALL,
    pa.int32(),
    mini_block(
        flat_rows(bytes_of(SMALL)),
        (ITEM,),
        Codec(inline_bitpacking=pb.InlineBitpacking(uncompressed_bits_per_value=32)),
        lambda values: [int32(5) + packed(SMALL if len(values) == 1024 else TAIL, 32, 5)] if values else [b""],
        counts=(1024,),
    ),
)
RUNS = one(
    [7] * 5 + [8] + [9] * 4,
    pa.int32(),
    mini_block(
        flat_rows(bytes_of([7] * 5 + [8] + [9] * 4)),
        (ITEM,),
        Codec(rle=pb.Rle(values=flat(32), run_lengths=flat(8))),
        lambda values: [words([7, 8, 9], 4), bytes([5, 1, 4])],
    ),
)
FLOATS = [n / 3 for n in range(40)]
STREAMS = np.array(FLOATS, "<f4").view(np.uint8).reshape(-1, 4).T.tobytes()


def zstd(content: bytes) -> bytes:
    return len(content).to_bytes(8, "little") + zstandard.compress(content)


def lz4(content: bytes) -> bytes:
    return len(content).to_bytes(4, "little") + pa.Codec("lz4_raw").compress(content).to_pybytes()


SPLIT = one(
    FLOATS,
    pa.float32(),
    mini_block(
        flat_rows(bytes_of([0] * 40)),
        (ITEM,),
        general(Codec(byte_stream_split=pb.ByteStreamSplit(values=flat(32))), ZSTD),
        lambda values: [zstd(STREAMS)],
    ),
)
SHRUNK = one(
    [5] * 500,
    pa.int32(),
    mini_block(
        flat_rows(bytes_of([5] * 500)),
        (ITEM,),
        general(flat(32), LZ4),
        lambda values: [lz4(b"".join(map(bytes, values)))],
    ),
)
SYMBOLS = bytes([2, 0, 0, 1]) + b"TSSF" + b"abc\0\0\0\0\0" + b"x\0\0\0\0\0\0\0" + bytes([3, 1])
SYMBOLS = SYMBOLS.ljust(2312, b"\0")
FSST = one(
    ["abcx", "", "xé"],
    pa.string(),
    mini_block(
        flat_rows([b"\0\1", b"", b"\1\xff\xc3\xff\xa9"]),
        (ITEM,),
        Codec(fsst=pb.Fsst(symbol_table=SYMBOLS, values=variable())),
        strings,
    ),
)
POINTS = [{"x": n, "y": n * 2} for n in range(9)]
PACKED = one(
    POINTS,
    pa.struct([("x", pa.int32()), ("y", pa.int16())]),
    mini_block(
        flat_rows([int32(n) + words([n * 2]) for n in range(9)]),
        (ITEM,),
        Codec(packed_struct=pb.PackedStruct(bits_per_value=[32, 16], values=flat(48))),
        fixed(6),
    ),
    packed="true",
)
TRIPLES = [[n, None if n % 2 else n, 1] for n in range(9)]


def triples(values: list[bytes | None]) -> list[bytes]:
    bits = np.array([item is not None for row in TRIPLES[: len(values)] for item in row], bool)
    return [np.packbits(bits, bitorder="little").tobytes(), b"".join(map(bytes, values))]  # type: ignore[arg-type]


FIXED_LISTS = one(
    TRIPLES,
    pa.list_(pa.int32(), 3),
    mini_block(
        flat_rows([b"".join(int32(item or 0) for item in row) for row in TRIPLES]),
        (ITEM,),
        Codec(fixed_size_list=pb.FixedSizeList(items_per_value=3, values=flat(32), has_validity=True)),
        triples,
    ),
)
ZIP_INTS = one(NUMBERS, pa.int32(), full_zip(flat_rows(bytes_of(NUMBERS)), (NULLABLE,), flat(32), width=4))
# One bitmap of three lists per row: what is valid holds nulls alone, as release 4.0.0 writes it.
ZIP_NULL_PAIRS = one(
    [[[None, None], None, [None, None]], [None] * 3, [None, None, [None, None]]],
    pa.list_(pa.list_(pa.int32(), 2), 3),
    full_zip(
        flat_rows([b"\xf5", b"\xf8", b"\x04"]),
        (ITEM,),
        Codec(
            fixed_size_list=pb.FixedSizeList(items_per_value=3, values=Codec(constant=pb.Constant()), has_validity=True)
        ),
        width=1,
    ),
)
ZIP_TEXTS = one(TEXT, pa.string(), full_zip(flat_rows(TEXT_VALUES), (NULLABLE,), variable()))
ZIP_LISTS = one(NESTED, pa.list_(pa.int32()), full_zip(NESTED_ROWS, LIST_LAYERS, flat(32), width=4))
ZIP_SHRUNK = one(
    ["ab" * 50, "", "cd" * 40],
    pa.string(),
    full_zip(flat_rows([zstd(b"ab" * 50), b"", zstd(b"cd" * 40)]), (ITEM,), general(variable(), ZSTD)),
)
NAMES = [{"n": n, "s": "x" * n} for n in range(5)]
NAME_FIELDS = [
    pb.VariablePackedStruct.FieldEncoding(value=flat(32), bits_per_value=32),
    pb.VariablePackedStruct.FieldEncoding(value=variable(), bits_per_length=32),
]
ZIP_STRUCTS = one(
    NAMES,
    pa.struct([("n", pa.int32()), ("s", pa.string())]),
    full_zip(
        flat_rows([int32(n) + int32(n) + b"x" * n for n in range(5)]),
        (ITEM,),
        Codec(variable_packed_struct=pb.VariablePackedStruct(fields=NAME_FIELDS)),
    ),
    packed="true",
)
ALL_NULL = one([None] * 9, pa.int32(), constant(9, (NULLABLE,)))
SCALAR = one([7] * 9, pa.int32(), constant(9, (ITEM,), inline_value=int32(7)))
HELLO = words([2, 8, 5, 0, 5], 4) + b"hello"
STORED = one(["hello"] * 9, pa.string(), constant(9, (ITEM,), HELLO))
SCALAR_LISTS = one(
    [[7, None], None, [], [7]],
    pa.list_(pa.int32()),
    constant(4, LIST_LAYERS, words([1, 0, 1, 1, 1]), words([0, 1, 2, 3, 0]), inline_value=int32(7)),
)
NULL_LISTS = one(
    [[None, None], None, [], [None]],
    pa.list_(pa.int32()),
    constant(4, LIST_LAYERS, words([1, 0, 1, 1, 1]), words([1, 1, 2, 3, 1])),
)


def run_block(levels: Sequence[int]) -> bytes:
    """A block of runs, each of length 1."""
    return words([2 * len(levels)], 8) + words(levels) + b"\1" * len(levels)


LEVEL_RUNS = Codec(rle=pb.Rle(values=flat(16), run_lengths=flat(8)))
CODED_LISTS = one(
    [[None, None], None, [], [None]],
    pa.list_(pa.int32()),
    constant(
        4,
        LIST_LAYERS,
        run_block([1, 0, 1, 1, 1]),
        run_block([1, 1, 2, 3, 1]),
        rep_compression=LEVEL_RUNS,
        def_compression=LEVEL_RUNS,
        num_rep_values=5,
        num_def_values=5,
    ),
)


def bit_packed_levels(count: int, width: int, block: bytes) -> Forged:
    """Nulls every fifth row, in levels that are bit-packed out of line; `block` is their bytes."""
    codec = pb.OutOfLineBitpacking(uncompressed_bits_per_value=16, values=flat(width))
    page = constant(
        count, (NULLABLE,), b"", block, def_compression=Codec(out_of_line_bitpacking=codec), num_def_values=count,
        inline_value=int32(3),
    )  # fmt: skip
    return one([None if n % 5 == 0 else 3 for n in range(count)], pa.int32(), page)


FIFTHS = [int(n % 5 == 0) for n in range(1030)]
PACKED_LEVELS = bit_packed_levels(1030, 1, packed(FIFTHS[:1024], 16, 1) + words(FIFTHS[1024:]))

SLOTS = [n * 77 for n in range(30)]
SOME = [None if n % 5 == 0 else n * 77 for n in range(30)]
NULLS = tuple(range(0, 30, 5))
VALID = tuple(n for n in range(30) if n % 5)


def planar_chunk(*parts: bytes) -> tuple[bytes, bytes]:
    """Chunk table and data of one chunk without levels."""
    header = words([0]) + words([len(part) for part in parts], 4)
    data = b"".join(part + b"\xfe" * (-len(part) % 8) for part in (header, *parts))
    return words([(len(data) // 8 - 1) << 4], 4), data


def planar_flat(**fields: object) -> planar.ChunkedValues:
    return planar.ChunkedValues(value_compression=flat(32), num_buffers=1, **fields)  # type: ignore[arg-type]


SPARSE = one(
    SOME,
    pa.int32(),
    sparse(
        30,
        [sparse_items(null_at(*NULLS))],
        *planar_chunk(words(SLOTS, 4)),
        words(NULLS, 8),
        chunked=planar_flat(),
    ),
    version="2.3",
)
SPARSE_ZIP = one(
    SOME,
    pa.int32(),
    sparse(
        30,
        [sparse_items(null_at(*NULLS))],
        words([n * 77 for n in VALID], 4),
        words(NULLS, 8),
        zipped=planar.ZippedValues(
            value_compression=flat(32), bits_per_value=32, num_items=len(VALID), num_visible_items=len(VALID)
        ),
    ),
    version="2.3",
)
# [[1, 2], null, [], [3, null, 4]]
SPARSE_LISTS = one(
    [[1, 2], None, [], [3, None, 4]],
    pa.list_(pa.int32()),
    sparse(
        4,
        [sparse_lists(5, 2, null_at(1)), sparse_items(null_at(3))],
        *planar_chunk(words([1, 2, 3, 0, 4], 4)),
        words([0, 3], 8),
        words([2, 3], 8),
        words([1], 8),
        words([3], 8),
        chunked=planar_flat(),
    ),
    version="2.3",
)
SPARSE_SCALAR = one(
    [None if n in (0, 5) else 7 for n in range(8)],
    pa.int32(),
    sparse(8, [sparse_items(null_at(0, 5))], words([0, 5], 8), constant=planar.ConstantValues(scalar=int32(7))),
    version="2.3",
)
SPARSE_NONE = one(
    [None] * 9, pa.int32(), sparse(9, [sparse_items(null_at(valid=True))], none=planar.NoValues()), version="2.3"
)
ZIPPED_ITEMS = [len(item).to_bytes(4, "little") + item for item in ITEMS]
SPARSE_INDEXED = one(
    [None if n is None else ITEMS[n].decode() for n in CHOSEN],
    pa.string(),
    sparse(
        30,
        [sparse_items(null_at(*(n for n in range(30) if n % 4 == 0)))],
        words([2 if n is None else n for n in CHOSEN], 4),
        b"".join(ZIPPED_ITEMS),
        words(np.cumsum([0, *map(len, ZIPPED_ITEMS)]).tolist(), 2),
        words([n for n in range(30) if n % 4 == 0], 8),
        indexed=planar.IndexedValues(
            indices=flat(32),
            items=planar.ZippedValues(
                value_compression=variable(), bits_per_offset=32, num_items=3, num_visible_items=3
            ),
        ),
    ),
    version="2.3",
)
DENSE_SCALAR = one(
    [7] * 9, pa.int32(), dense(9, (ITEM,), constant=planar.ConstantValues(scalar=int32(7))), version="2.3"
)

GOOD = {name.lower(): file for name, file in globals().items() if isinstance(file, Forged)}
