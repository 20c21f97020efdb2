"""Full-zip and constant pages: each clause with a file that breaks it, refused at every door."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from forge import Bad, Forged, Page, assert_refused, bad, ids
from forge_pages import ITEM, LIST_LAYERS, constant, flat, int32, words
from forged import (
    ALL_NULL,
    CODED_LISTS,
    NESTED,
    NULL_LISTS,
    PACKED_LEVELS,
    SCALAR,
    SCALAR_LISTS,
    STORED,
    ZIP_INTS,
    ZIP_LISTS,
    ZIP_STRUCTS,
    ZIP_TEXTS,
    one,
    run_block,
)

from lance_arrow.errors import CorruptFileError, ResourceLimitError

ZIP, CONSTANT = "full_zip_layout", "constant_layout"
BOOLEAN = one([True] * 9, pa.bool_(), constant(9, (ITEM,), inline_value=b"\1"))


def zipped(file: Forged, **fields: object) -> Page:
    ((name, value),) = fields.items()
    return file.page.with_layout(f"{ZIP}.{name}", value)


def described(file: Forged, **fields: object) -> Page:
    ((name, value),) = fields.items()
    return file.page.with_layout(f"{CONSTANT}.{name}", value)


def row_index(row: int, offset: int, file: Forged = ZIP_TEXTS) -> Page:
    return file.page.patched(1, 4 * row, words([offset], 4))


def start_of(row: int, file: Forged = ZIP_TEXTS) -> int:
    return int.from_bytes(file.page.buffers[1][4 * row : 4 * row + 4], "little")


def buffers(file: Forged, *content: bytes) -> Page:
    return Page(file.page.layout, content, file.page.num_rows)


def scalar(*content: bytes) -> Page:
    return STORED.page.with_buffer(0, b"".join(content))


EVERY_TEXT = tuple(range(ZIP_TEXTS.table.num_rows))


def _three_and_inline() -> Page:
    page = SCALAR_LISTS.page
    return buffers(SCALAR_LISTS, words([1, 4, 7], 4), *page.buffers)


def _stored(content: bytes) -> Page:
    return constant(9, (ITEM,), content)


def _fewer_levels() -> Page:
    """Levels for four entries under a description of five."""
    page = described(CODED_LISTS, layers=LIST_LAYERS)
    return Page(page.layout, (run_block([1, 0, 1, 1]), run_block([1, 1, 2, 3])), 4)


assert int32(7) == SCALAR.page.layout.constant_layout.inline_value  # type: ignore[attr-defined]


CASES: list[Bad] = [
    # full-zip
    bad("zip-bits-rep", ZIP_LISTS, zipped(ZIP_LISTS, bits_rep=17), CorruptFileError),
    bad("zip-bits-def", ZIP_INTS, zipped(ZIP_INTS, bits_def=2**32 - 1), CorruptFileError),
    bad("zip-bits-beyond-levels", ZIP_INTS, ZIP_INTS.page.patched(0, 0, b"\x02")),
    bad("zip-no-width", ZIP_INTS, zipped(ZIP_INTS, bits_per_value=None), CorruptFileError),
    bad("zip-width-of-codec", ZIP_INTS, zipped(ZIP_INTS, bits_per_value=64), CorruptFileError),
    bad("zip-width-of-lengths", ZIP_TEXTS, zipped(ZIP_TEXTS, bits_per_offset=16), CorruptFileError),
    bad("zip-lengths-for-fixed", ZIP_INTS, zipped(ZIP_INTS, bits_per_offset=32), CorruptFileError),
    bad("zip-length-leaves", ZIP_TEXTS, ZIP_TEXTS.page.patched(0, 1, words([5000], 4)), take=EVERY_TEXT),
    bad("zip-length-absurd", ZIP_TEXTS, ZIP_TEXTS.page.patched(0, 1, words([2**32 - 1], 4)), take=EVERY_TEXT),
    bad(
        "zip-end-inside-entry", ZIP_INTS, ZIP_INTS.page.with_buffer(0, ZIP_INTS.page.buffers[0][:-1]), CorruptFileError
    ),
    bad("zip-end-early", ZIP_TEXTS, ZIP_TEXTS.page.with_buffer(0, ZIP_TEXTS.page.buffers[0][:-1]), take=EVERY_TEXT),
    bad("zip-end-late", ZIP_TEXTS, ZIP_TEXTS.page.with_buffer(0, ZIP_TEXTS.page.buffers[0] + b"\0"), take=EVERY_TEXT),
    bad("zip-end-late-lists", ZIP_LISTS, ZIP_LISTS.page.with_buffer(0, ZIP_LISTS.page.buffers[0] + b"\x06")),
    bad("zip-visible", ZIP_INTS, zipped(ZIP_INTS, num_visible_items=22), CorruptFileError),
    bad("zip-entries", ZIP_INTS, zipped(ZIP_INTS, num_items=24), CorruptFileError),
    bad("zip-visible-lists", ZIP_LISTS, zipped(ZIP_LISTS, num_visible_items=1), take=tuple(range(len(NESTED)))),
    bad("zip-entries-lists", ZIP_LISTS, zipped(ZIP_LISTS, num_items=1), take=tuple(range(len(NESTED)))),
    bad("zip-index-descends", ZIP_TEXTS, row_index(2, 1)),
    bad("zip-index-first", ZIP_TEXTS, row_index(0, 1)),
    bad("zip-index-last", ZIP_TEXTS, row_index(-1, start_of(9) - 1)),
    bad("zip-index-far", ZIP_TEXTS, row_index(3, 2**32 - 1)),
    bad("zip-index-width", ZIP_TEXTS, ZIP_TEXTS.page.with_buffer(1, ZIP_TEXTS.page.buffers[1][:30])),
    bad("zip-index-uneven", ZIP_TEXTS, ZIP_TEXTS.page.with_buffer(1, ZIP_TEXTS.page.buffers[1] + b"\0")),
    bad("zip-index-short", ZIP_TEXTS, ZIP_TEXTS.page.with_buffer(1, b"\0" * 4)),
    bad("zip-index-missing", ZIP_TEXTS, buffers(ZIP_TEXTS, ZIP_TEXTS.page.buffers[0]), CorruptFileError),
    bad("zip-index-unwanted", ZIP_INTS, buffers(ZIP_INTS, *ZIP_INTS.page.buffers, bytes(96)), CorruptFileError),
    # constant
    bad("constant-buffers-4", SCALAR_LISTS, buffers(SCALAR_LISTS, *(bytes(2),) * 4), CorruptFileError),
    bad("constant-two-scalars", SCALAR, buffers(SCALAR, words([1, 4, 7], 4)), CorruptFileError),
    bad("constant-three-and-inline", SCALAR_LISTS, _three_and_inline, CorruptFileError),
    bad("constant-width", SCALAR, described(SCALAR, inline_value=bytes(8)), CorruptFileError),
    bad("constant-width-empty", SCALAR, described(SCALAR, inline_value=b""), CorruptFileError),
    bad("constant-width-33", SCALAR, described(SCALAR, inline_value=bytes(33)), CorruptFileError),
    bad("constant-boolean", BOOLEAN, described(BOOLEAN, inline_value=b"\2"), CorruptFileError),
    bad(
        "constant-inline-text",
        STORED,
        lambda: buffers(STORED).with_layout(f"{CONSTANT}.inline_value", b"hello"),
        CorruptFileError,
    ),
    bad("constant-stored-empty", STORED, scalar()),
    bad("constant-stored-no-buffers", STORED, scalar(words([0], 4))),
    bad("constant-stored-3-buffers", STORED, scalar(words([3, 8, 5, 0, 0, 5], 4), b"hello")),
    bad("constant-stored-count-absurd", STORED, scalar(words([2**32 - 1, 8, 5, 0, 5], 4), b"hello")),
    bad("constant-stored-sizes", STORED, scalar(words([2, 8, 6, 0, 5], 4), b"hello")),
    bad("constant-stored-cut", STORED, scalar(words([2, 8, 5, 0, 5], 4), b"hell")),
    bad("constant-stored-offsets", STORED, scalar(words([2, 8, 5, 0, 4], 4), b"hello")),
    bad("constant-stored-offsets-first", STORED, scalar(words([2, 8, 5, 1, 5], 4), b"hello")),
    bad("constant-stored-offset-width", STORED, scalar(words([2, 16, 5, 0, 0, 5, 0], 4), b"hello")),
    bad("constant-stored-width", SCALAR, lambda: _stored(words([1, 8], 4) + bytes(8))),
    bad("constant-stored-text", STORED, STORED.page.patched(0, -1, b"\xff")),
    bad("constant-levels-odd", SCALAR_LISTS, SCALAR_LISTS.page.with_buffer(1, SCALAR_LISTS.page.buffers[1][:-1])),
    bad(
        "constant-levels-unequal",
        SCALAR_LISTS,
        SCALAR_LISTS.page.with_buffer(1, SCALAR_LISTS.page.buffers[1] + bytes(2)),
    ),
    bad("constant-levels-count", CODED_LISTS, described(CODED_LISTS, num_rep_values=6)),
    bad("constant-levels-count-both", CODED_LISTS, _fewer_levels),
    bad("constant-levels-raw-count", NULL_LISTS, described(NULL_LISTS, num_def_values=4)),
    bad("constant-levels-absent", PACKED_LEVELS, PACKED_LEVELS.page.with_buffer(1, b"")),
    bad("constant-levels-absurd", PACKED_LEVELS, described(PACKED_LEVELS, num_def_values=2**62), ResourceLimitError),
    bad("constant-levels-width", CODED_LISTS, described(CODED_LISTS, rep_compression=flat(32)), CorruptFileError),
    bad("constant-valid-without-scalar", NULL_LISTS, NULL_LISTS.page.patched(1, 0, words([0])), take=(0,)),
    bad("constant-valid-without-levels", ALL_NULL, described(ALL_NULL, layers=(ITEM,)), known=("column", "page")),
    # packed rows
    bad("packed-row-length", ZIP_STRUCTS, ZIP_STRUCTS.page.patched(0, 8, words([9], 4))),
    bad("packed-row-left-over", ZIP_STRUCTS, ZIP_STRUCTS.page.patched(0, 4 + 8 + 4 + 4, words([0], 4)), take=(0, 1)),
]


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_refused(case: Bad, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)
