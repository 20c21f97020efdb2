"""Codecs: each clause with a file that breaks it, refused at every door."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from forge import Bad, Page, assert_refused, bad, ids
from forge_pages import (
    ZIP_VALUES,
    Codec,
    chunks,
    coded,
    flat,
    general,
    int32,
    strings,
    variable,
    words,
)
from forged import (
    FIXED_LISTS,
    FSST,
    INLINE,
    INTS,
    LZ4,
    PACKED,
    PACKED_LEVELS,
    PLAIN,
    RUNS,
    SMALL,
    SPLIT,
    STREAMS,
    SYMBOLS,
    TEXTS,
    ZIP_INTS,
    ZIP_STRUCTS,
    ZIP_TEXTS,
    ZSTD,
    lz4,
    packed,
)

from lance_arrow.errors import (
    CorruptFileError,
    ResourceLimitError,
    UnknownEncodingError,
    UnsupportedError,
)
from lance_arrow.proto import encodings_v21_pb2 as pb

INLINE_32 = Codec(inline_bitpacking=pb.InlineBitpacking(uncompressed_bits_per_value=32))


def text(*stored: bytes, codec: Codec | None = None, store: Callable[[bytes], bytes] = bytes) -> Page:
    return chunks(len(stored), codec or variable(), *map(store, strings(list(stored))))


def offsets(numbers: list[int], body: bytes) -> Page:
    """The strings page of nine rows in one chunk, with other offsets."""
    content = words(numbers, 4) + body
    return chunks(9, variable(), content + bytes(-len(content) % 4))


def fsst(table: bytes = SYMBOLS, codes: tuple[bytes, ...] = (b"\0\1", b"", b"\1")) -> Page:
    return text(*codes, codec=Codec(fsst=pb.Fsst(symbol_table=table, values=variable())))


def symbols_of(values: Codec) -> Codec:
    return Codec(fsst=pb.Fsst(symbol_table=SYMBOLS, values=values))


def runs(values: bytes, lengths: bytes) -> Page:
    return chunks(10, Codec(rle=pb.Rle(values=flat(32), run_lengths=flat(8))), values, lengths)


def fixed_list(**fields: Any) -> Codec:
    return Codec(
        fixed_size_list=pb.FixedSizeList(**{"items_per_value": 3, "values": flat(32), "has_validity": True} | fields)
    )


def packed_struct(bits: list[int], total: int) -> Codec:
    return Codec(packed_struct=pb.PackedStruct(bits_per_value=bits, values=flat(total)))


def fields(*parts: pb.VariablePackedStruct.FieldEncoding) -> Codec:
    return Codec(variable_packed_struct=pb.VariablePackedStruct(fields=parts))


def level_block(content: bytes) -> Page:
    return PACKED_LEVELS.page.with_buffer(1, content)


Field = pb.VariablePackedStruct.FieldEncoding
FULL = int32(5) + packed(SMALL, 32, 5)
LEVELS = PACKED_LEVELS.page.buffers[1]
OFFSETS = [40, 44, 44, 44, 44, 44, 44, 44, 44, 44]


def _wide_zip() -> Page:
    """Zipped values of 64 bits for a column of 32."""
    page = coded(ZIP_INTS, flat(64), ZIP_VALUES).with_layout("full_zip_layout.bits_per_value", 64)
    return page.with_buffer(0, bytes(23 * 9))


def _unknown_codec() -> Codec:
    codec = Codec()
    codec.MergeFromString(b"\xa2\x01\x02\x08\x20")
    return codec


def _compressed_bytes() -> Page:
    codec = Codec(variable=pb.Variable(offsets=flat(32), values=pb.BufferCompression(scheme=1)))
    return coded(TEXTS, codec)


def _long_inline() -> Page:
    """A chunk of 2048 bit-packed values, twice what one can hold."""
    return _relogged()


def _relogged() -> Page:
    page = INLINE.page
    word = int.from_bytes(page.buffers[0][:4], "little") + 1
    return page.patched(0, 0, words([word], 4)).with_layout("mini_block_layout.num_items", 1030)


def _level_codec(bits: int, width: int) -> Page:
    codec = pb.OutOfLineBitpacking(uncompressed_bits_per_value=bits, values=flat(width))
    return PACKED_LEVELS.page.with_layout("constant_layout.def_compression", Codec(out_of_line_bitpacking=codec))


def _wide_runs() -> Page:
    codec = Codec(rle=pb.Rle(values=flat(64), run_lengths=flat(8)))
    return chunks(10, codec, words([7, 8, 9], 8), bytes([5, 1, 4]))


CASES: list[Bad] = [
    # Flat
    bad("flat-short", PLAIN, chunks(20, flat(32), bytes(79)), take=(19, 0)),
    bad("flat-bits-12", INTS, coded(INTS, flat(12)), CorruptFileError),
    bad("flat-bits-0", INTS, coded(INTS, flat(0)), CorruptFileError),
    bad("flat-bits-of-leaf", INTS, coded(INTS, flat(16))),
    bad("flat-bits-1-of-leaf", INTS, coded(INTS, flat(1))),
    bad("flat-bits-absurd", INTS, coded(INTS, flat(2**64 - 8)), ResourceLimitError),
    bad("flat-bits-of-leaf-zip", ZIP_INTS, _wide_zip),
    bad(
        "flat-compressed-itself",
        INTS,
        coded(INTS, Codec(flat=pb.Flat(bits_per_value=32, data=pb.BufferCompression(scheme=1)))),
    ),
    bad("codec-missing", INTS, coded(INTS, Codec()), CorruptFileError),
    bad("codec-unknown", INTS, lambda: coded(INTS, _unknown_codec()), UnknownEncodingError),
    bad(
        "codec-context",
        ZIP_INTS,
        coded(ZIP_INTS, Codec(rle=pb.Rle(values=flat(32), run_lengths=flat(8))), ZIP_VALUES),
        UnsupportedError,
    ),
    # Variable
    bad("variable-descends", TEXTS, offsets([40, 44, 42, *OFFSETS[3:]], bytes(4))),
    bad("variable-first", TEXTS, offsets([36, *OFFSETS[1:]], bytes(4))),
    bad("variable-first-later", TEXTS, offsets([44, *OFFSETS[1:]], bytes(4))),
    bad("variable-last", TEXTS, offsets([*OFFSETS[:9], 45], bytes(4)), take=(8, 0)),
    bad("variable-far", TEXTS, offsets([*OFFSETS[:9], 2**32 - 1], bytes(4)), take=(8, 0)),
    bad("variable-short", TEXTS, chunks(9, variable(), words(OFFSETS[:9], 4))),
    bad("variable-empty", TEXTS, chunks(9, variable(), b"")),
    bad("variable-width", TEXTS, chunks(9, variable(16), bytes(40)), CorruptFileError),
    bad("variable-width-of-leaf", TEXTS, chunks(9, variable(64), words([80] * 10, 8))),
    bad("variable-text", TEXTS, text(*[b"\xff"] * 9)),
    bad("variable-text-cut", TEXTS, text(b"\xc3", b"\xa9", *[b""] * 7)),
    bad("variable-text-surrogate", TEXTS, text(b"\xed\xa0\x80", *[b""] * 8)),
    bad("variable-text-zip", ZIP_TEXTS, ZIP_TEXTS.page.patched(0, 5, b"\xff")),
    bad("variable-compressed-itself", TEXTS, _compressed_bytes),
    # Inline bit packing
    bad("inline-values", INLINE, _long_inline),
    bad("inline-width", INLINE, chunks(1030, INLINE_32, int32(33) + bytes(128 * 33), counts=(1024,))),
    bad("inline-width-absurd", INLINE, chunks(1030, INLINE_32, b"\xff" * 4 + bytes(128 * 5), counts=(1024,))),
    bad("inline-short", INLINE, chunks(1030, INLINE_32, FULL[:-4], counts=(1024,))),
    bad("inline-long", INLINE, chunks(1030, INLINE_32, FULL + bytes(4), counts=(1024,))),
    bad("inline-header", INLINE, chunks(1030, INLINE_32, b"\0\0\0", counts=(1024,))),
    bad(
        "inline-bits",
        INLINE,
        coded(INLINE, Codec(inline_bitpacking=pb.InlineBitpacking(uncompressed_bits_per_value=24))),
        UnsupportedError,
    ),
    bad(
        "inline-bits-of-leaf",
        INLINE,
        coded(INLINE, Codec(inline_bitpacking=pb.InlineBitpacking(uncompressed_bits_per_value=64))),
    ),
    # Out-of-line bit packing, in levels
    bad("outline-width", PACKED_LEVELS, lambda: _level_codec(16, 17), CorruptFileError),
    bad("outline-width-absurd", PACKED_LEVELS, lambda: _level_codec(16, 2**64 - 1), CorruptFileError),
    bad("outline-short", PACKED_LEVELS, level_block(LEVELS[:-2])),
    bad("outline-long", PACKED_LEVELS, level_block(LEVELS + bytes(2))),
    bad("outline-groups", PACKED_LEVELS, level_block(LEVELS[:12])),
    # FSST
    bad("fsst-table-short", FSST, fsst(SYMBOLS[:-1]), CorruptFileError),
    bad("fsst-table-long", FSST, fsst(SYMBOLS + b"\0"), CorruptFileError),
    bad("fsst-table-empty", FSST, fsst(b""), CorruptFileError),
    bad("fsst-signature", FSST, fsst(SYMBOLS[:4] + b"FSST" + SYMBOLS[8:]), CorruptFileError),
    bad("fsst-switch", FSST, fsst(SYMBOLS[:3] + b"\2" + SYMBOLS[4:]), CorruptFileError),
    bad("fsst-length-0", FSST, fsst(SYMBOLS[:24] + b"\0" + SYMBOLS[25:]), CorruptFileError),
    bad("fsst-length-9", FSST, fsst(SYMBOLS[:24] + b"\x09" + SYMBOLS[25:]), CorruptFileError),
    bad("fsst-code", FSST, fsst(codes=(b"\2", b"", b""))),
    bad("fsst-escape", FSST, fsst(codes=(b"\0\xff", b"\1", b""))),
    bad("fsst-text", FSST, fsst(codes=(b"\xff\xff", b"", b""))),
    bad("fsst-child", FSST, coded(FSST, symbols_of(flat(32))), CorruptFileError),
    bad("fsst-of-fsst", FSST, coded(FSST, symbols_of(symbols_of(variable()))), CorruptFileError),
    bad(
        "fsst-of-compressed-fsst",
        FSST,
        lambda: text(b"\0", b"", b"\1", codec=symbols_of(general(symbols_of(variable()), LZ4)), store=lz4),
        CorruptFileError,
    ),
    # Rle
    bad("rle-length-0", RUNS, runs(words([7, 8, 9], 4), bytes([6, 0, 4]))),
    bad("rle-sum-less", RUNS, runs(words([7, 8, 9], 4), bytes([5, 1, 3]))),
    bad("rle-sum-more", RUNS, runs(words([7, 8, 9], 4), bytes([5, 5, 1]))),
    bad("rle-entries", RUNS, runs(words([7, 8], 4), bytes([5, 1, 4]))),
    bad("rle-values-cut", RUNS, runs(words([7, 8, 9], 4)[:-1], bytes([5, 1, 4]))),
    bad("rle-none", RUNS, runs(b"", b"")),
    bad("rle-bits-of-leaf", RUNS, _wide_runs),
    # Byte streams, packed structs, fixed-size lists
    bad("streams-short", SPLIT, chunks(40, Codec(byte_stream_split=pb.ByteStreamSplit(values=flat(32))), STREAMS[:-4])),
    bad(
        "streams-long",
        SPLIT,
        chunks(40, Codec(byte_stream_split=pb.ByteStreamSplit(values=flat(32))), STREAMS + bytes(4)),
    ),
    bad(
        "streams-bits",
        SPLIT,
        coded(SPLIT, general(Codec(byte_stream_split=pb.ByteStreamSplit(values=flat(16))), ZSTD)),
        UnsupportedError,
    ),
    bad("packed-short", PACKED, chunks(9, packed_struct([32, 16], 48), bytes(53))),
    bad("packed-widths", PACKED, coded(PACKED, packed_struct([16, 32], 48)), CorruptFileError),
    bad("packed-sum", PACKED, coded(PACKED, packed_struct([32, 16], 64)), CorruptFileError),
    bad("packed-sum-absurd", PACKED, coded(PACKED, packed_struct([32, 16], 2**64 - 8)), ResourceLimitError),
    bad("packed-children", PACKED, coded(PACKED, packed_struct([48], 48)), CorruptFileError),
    bad("packed-bits", PACKED, coded(PACKED, packed_struct([36, 12], 48)), UnsupportedError),
    bad("packed-for-numbers", INTS, coded(INTS, packed_struct([16, 16], 32)), CorruptFileError),
    bad(
        "packed-zip-children",
        ZIP_STRUCTS,
        coded(ZIP_STRUCTS, fields(Field(value=flat(32), bits_per_value=32)), ZIP_VALUES),
        CorruptFileError,
    ),
    bad(
        "packed-zip-width",
        ZIP_STRUCTS,
        coded(
            ZIP_STRUCTS,
            fields(Field(value=flat(32), bits_per_value=24), Field(value=variable(), bits_per_length=32)),
            ZIP_VALUES,
        ),
        CorruptFileError,
    ),
    bad(
        "packed-zip-type",
        ZIP_STRUCTS,
        coded(
            ZIP_STRUCTS,
            fields(Field(value=flat(64), bits_per_value=64), Field(value=variable(), bits_per_length=32)),
            ZIP_VALUES,
        ),
        CorruptFileError,
    ),
    bad(
        "packed-zip-length",
        ZIP_STRUCTS,
        coded(
            ZIP_STRUCTS,
            fields(Field(value=flat(32), bits_per_value=32), Field(value=variable(), bits_per_length=16)),
            ZIP_VALUES,
        ),
        CorruptFileError,
    ),
    bad("lists-dimension-0", FIXED_LISTS, coded(FIXED_LISTS, fixed_list(items_per_value=0)), CorruptFileError),
    bad("lists-dimension", FIXED_LISTS, coded(FIXED_LISTS, fixed_list(items_per_value=2))),
    bad("lists-dimension-absurd", FIXED_LISTS, coded(FIXED_LISTS, fixed_list(items_per_value=2**63)), CorruptFileError),
    bad(
        "lists-dimension-large", FIXED_LISTS, coded(FIXED_LISTS, fixed_list(items_per_value=2**31)), ResourceLimitError
    ),
    bad("lists-bits", FIXED_LISTS, coded(FIXED_LISTS, fixed_list(values=flat(64)))),
    bad("lists-items-short", FIXED_LISTS, chunks(9, fixed_list(), bytes(4), bytes(107))),
    bad("lists-bitmap-short", FIXED_LISTS, chunks(9, fixed_list(), bytes(3), bytes(108))),
    bad("lists-bitmap-unsaid", FIXED_LISTS, coded(FIXED_LISTS, fixed_list(has_validity=False)), CorruptFileError),
    bad("lists-items-kind", FIXED_LISTS, coded(FIXED_LISTS, fixed_list(values=variable())), CorruptFileError),
]


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_refused(case: Bad, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)
