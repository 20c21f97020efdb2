"""Pages of 2.0: each clause with a file that breaks it, refused at every door."""

from __future__ import annotations

from pathlib import Path

import pytest
from forge import Bad, Forged, Page, assert_refused, bad, ids
from forge_pages import words
from forged_arrays import (
    BITS,
    CELLS,
    CODES,
    COUNTS,
    HEADS,
    INTS,
    KEYS,
    LETTERS,
    LISTS,
    PAIRS,
    SIGNED,
    TEXTS,
    TUPLES,
    WORDS,
    Array,
    all_nulls,
    binary,
    flat,
    lists,
    no_nulls,
    some_nulls,
)

from lance_arrow.errors import CorruptFileError, CorruptPageError, ResourceLimitError, UnsupportedError
from lance_arrow.proto import encodings_v20_pb2 as pb

SOME = "nullable.some_nulls"


def layout(old: Forged, new: Array) -> Page:
    return Page(new, old.page.buffers, old.page.num_rows)


def ends(old: Forged, *numbers: int, buffer: int = 0) -> Page:
    return old.page.with_buffer(buffer, words(list(numbers), 8))


def deep(levels: int) -> Array:
    made = flat(32)
    for _ in range(levels):
        made = no_nulls(made)
    return made


def huge(buffer_type: int) -> Array:
    made = flat(32)
    made.flat.buffer.buffer_type = buffer_type
    return made


def tuples(**fields: object) -> Page:
    """Lists without nulls, described otherwise."""
    held = {"items": flat(8, 2), **fields}
    return layout(TUPLES, Array(fixed_size_list=pb.FixedSizeList(**held)))


CASES: list[Bad] = [
    bad("array-no-case", INTS, layout(INTS, Array()), CorruptFileError),
    bad("array-child-missing", INTS, INTS.page.with_layout(f"{SOME}.values", None), CorruptFileError),
    bad("array-nullable-empty", INTS, layout(INTS, Array(nullable=pb.Nullable())), CorruptFileError),
    bad("array-deep", INTS, layout(INTS, deep(25)), CorruptFileError),
    bad("array-buffer-absent", BITS, layout(BITS, no_nulls(flat(1, 7))), CorruptFileError),
    bad("array-buffer-of-column", INTS, layout(INTS, no_nulls(huge(1))), UnsupportedError),
    bad("array-flat-width", INTS, layout(INTS, no_nulls(flat(12))), CorruptFileError),
    bad("array-flat-no-width", INTS, layout(INTS, no_nulls(flat(0))), CorruptFileError),
    bad("array-flat-huge", INTS, layout(INTS, no_nulls(flat(2**62))), ResourceLimitError),
    bad("array-flat-other-width", INTS, layout(INTS, no_nulls(flat(8))), CorruptPageError),
    bad("array-flat-short", INTS, INTS.page.with_buffer(1, bytes(19))),
    bad("array-bits-short", INTS, INTS.page.with_buffer(0, b"")),
    bad("array-scheme-unknown", LETTERS, layout(LETTERS, binary(81, scheme="snappy")), UnsupportedError),
    bad("array-scheme-damaged", LETTERS, LETTERS.page.patched(1, 0, words([81], 4))),
    bad("array-scheme-short", LETTERS, LETTERS.page.with_buffer(1, b"\1\0")),
    bad("array-scheme-fewer", LETTERS, ends(LETTERS, 50, 50, 81)),
    bad("array-validity-width", INTS, layout(INTS, some_nulls(flat(8), flat(32, 1))), CorruptFileError),
    bad("array-validity-null", INTS, layout(INTS, some_nulls(all_nulls(), flat(32, 1))), CorruptFileError),
    bad("array-text-descends", TEXTS, ends(TEXTS, 12, 2, 1, 5, 17, 11)),
    bad("array-text-beyond", TEXTS, ends(TEXTS, 12, 2, 5, 5, 17, 12 + 12), take=(5,)),
    bad("array-text-63-bits", TEXTS, Page(binary(0), (words([2**64 - 1] * 6, 8), b""), 6)),
    bad("array-text-ends-short", TEXTS, TEXTS.page.with_buffer(0, bytes(40))),
    bad("array-text-ends-narrow", TEXTS, TEXTS.page.with_layout("binary.indices", flat(16)), CorruptFileError),
    bad("array-text-ends-null", TEXTS, TEXTS.page.with_layout("binary.indices", all_nulls()), CorruptFileError),
    bad("array-text-bytes-wide", TEXTS, TEXTS.page.with_layout("binary.bytes", flat(16, 1)), CorruptFileError),
    bad("array-text-for-numbers", INTS, Page(binary(12), TEXTS.page.buffers, 5), CorruptFileError),
    bad("array-utf8", CELLS, CELLS.page.with_buffer(1, b"\xffbcdefghi"), take=(0,)),
    bad("array-list-descends", LISTS, ends(LISTS, 2, 6, 3, 4)),
    bad("array-list-beyond", LISTS, ends(LISTS, 2, 8, 5, 4)),
    bad("array-list-null-beyond", LISTS, ends(LISTS, 2, 8, 3, 10)),
    bad("array-list-sum", LISTS, ends(LISTS, 2, 8, 3, 3)),
    bad("array-list-short", LISTS, LISTS.page.with_buffer(0, bytes(31))),
    bad("array-list-narrow", LISTS, LISTS.page.with_layout("list.offsets", flat(32)), CorruptFileError),
    bad("array-list-63-bits", LISTS, layout(LISTS, lists(2**63)), CorruptFileError),
    bad("array-list-absent", LISTS, layout(LISTS, no_nulls(flat(64))), CorruptFileError),
    bad("array-list-items", LISTS, layout(LISTS, lists(5)), CorruptFileError, known=("column", "byte_range")),
    bad("array-list-for-leaf", INTS, Page(lists(4), LISTS.page.buffers, 5), CorruptFileError),
    bad("array-tuple-dimension", TUPLES, tuples(dimension=3), CorruptFileError),
    bad("array-tuple-validity", TUPLES, tuples(dimension=2, has_validity=True), UnsupportedError),
    bad("array-tuple-of-texts", TUPLES, tuples(dimension=2, items=binary(5)), CorruptFileError),
    bad("array-tuple-short", TUPLES, TUPLES.page.with_buffer(2, bytes(5))),
    bad("array-index-beyond", WORDS, WORDS.page.with_buffer(0, bytes([2, 0, 1, 3, 2])), take=(3,)),
    bad("array-index-wide", WORDS, WORDS.page.with_layout("dictionary.indices", flat(128)), CorruptFileError),
    bad("array-key-beyond", KEYS, KEYS.page.with_buffer(0, bytes([1, 3, 0]))),
    bad("array-key-width", KEYS, KEYS.page.with_layout("dictionary.indices", flat(16)), CorruptFileError),
    bad("array-items-short", WORDS, WORDS.page.with_layout("dictionary.num_dictionary_items", 3)),
    bad(
        "array-items-huge",
        WORDS,
        WORDS.page.with_layout("dictionary.num_dictionary_items", 2**32 - 1),
        ResourceLimitError,
    ),
    bad("array-items-shape", WORDS, WORDS.page.with_layout("dictionary.items", flat(32)), CorruptFileError),
    bad("array-index-for-numbers", INTS, Page(WORDS.page.layout, WORDS.page.buffers, 5), UnsupportedError),
    bad("array-symbol-unknown", CODES, CODES.page.patched(1, 0, b"\x09"), take=(0,)),
    bad("array-symbol-escape", CODES, CODES.page.patched(1, 5, b"\xff"), take=(2,)),
    bad("array-symbol-table", CODES, CODES.page.with_layout("fsst.symbol_table", bytes(7)), CorruptFileError),
    bad("array-packed-short", PAIRS, PAIRS.page.with_buffer(0, bytes(9)), take=(0, 1)),
    bad(
        "array-packed-fields",
        PAIRS,
        PAIRS.page.with_layout("packed_struct.inner", [flat(16)]),
        CorruptFileError,
        take=(0,),
    ),
    bad("array-head-for-values", INTS, Page(HEADS.page.layout, (), 5), CorruptFileError),
    bad("array-bitpacked-short", SIGNED, SIGNED.page.with_buffer(0, bytes(4))),
    bad(
        "array-bitpacked-wide",
        SIGNED,
        SIGNED.page.with_layout("bitpacked.compressed_bits_per_value", 33),
        CorruptFileError,
    ),
    bad(
        "array-bitpacked-odd",
        SIGNED,
        SIGNED.page.with_layout("bitpacked.uncompressed_bits_per_value", 24),
        CorruptFileError,
    ),
    bad("array-blocks-short", COUNTS, COUNTS.page.with_buffer(0, bytes(2 * 128 * 9 - 1))),
    bad(
        "array-cells-no-width",
        CELLS,
        CELLS.page.with_layout(f"{SOME}.values.fixed_size_binary.byte_width", None),
        CorruptFileError,
    ),
    bad("array-cells-short", CELLS, CELLS.page.with_layout(f"{SOME}.values.fixed_size_binary.byte_width", 4)),
]


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_refused(tmp_path: Path, case: Bad) -> None:
    assert_refused(case, tmp_path)
