"""Mini-block pages, chunks and dictionaries: each clause with a file that breaks it, refused at every door."""

from __future__ import annotations

from pathlib import Path

import pytest
from forge import Bad, Forged, Page, assert_refused, bad, ids
from forge_pages import flat, padded, words
from forged import DICTIONARY, INTS, INTS_21, KEPT, LISTS, PLAIN, TEXTS, TWO_PAGES

from lance_arrow.errors import CorruptFileError, ResourceLimitError

MINI = "mini_block_layout"
HEADER = 8  # num_levels, def size, one value size of 32 bits


def described(file: Forged, **fields: object) -> Page:
    ((name, value),) = fields.items()
    return file.page.with_layout(f"{MINI}.{name}", value)


def word(number: int, change: int, file: Forged = INTS, width: int = 4) -> Page:
    """A chunk word changed by so much."""
    old = file.page.buffers[0]
    at = number % (len(old) // width) * width
    value = int.from_bytes(old[at : at + width], "little") + change
    return file.page.patched(0, at, value.to_bytes(width, "little"))


def emptied(file: Forged, number: int) -> Page:
    return file.page.with_buffer(number, b"")


def without_buffer(file: Forged, number: int) -> Page:
    buffers = file.page.buffers
    return Page(file.page.layout, buffers[:number] + buffers[number + 1 :], file.page.num_rows)


def with_more(file: Forged, content: bytes) -> Page:
    return Page(file.page.layout, (*file.page.buffers, content), file.page.num_rows)


def one_huge_chunk() -> Page:
    """A last chunk of 2**15 + 1 values, more than a chunk can have: its field has no room for the number."""
    count = (1 << 15) + 1
    data = padded(words([0]) + words([4 * count], 4)) + padded(bytes(4 * count))
    page = PLAIN.page.with_layout(f"{MINI}.num_items", count)
    return Page(page.layout, (words([(len(data) // 8 - 1) << 4], 4), data), count)


def index_of(value: int, place: int, file: Forged, width: int) -> Page:
    """An index of the first chunk changed."""
    start = file.page.buffers[1].index(words([c if c is not None else 2 for c in (None, 1, 2)], width))
    return file.page.patched(1, start + place * width, value.to_bytes(width, "little"))


def _tiny_chunk() -> Page:
    """A chunk of 8 bytes whose header alone wants 16: levels and three value buffers of 32-bit sizes."""
    page = described(INTS, num_items=23)
    data = words([1, 2]) + words([4], 4)
    return Page(page.layout, (words([0], 4), data), 23)


def _hidden() -> Page:
    """A valid item becomes a null list: one visible entry less than values."""
    num_levels = int.from_bytes(LISTS.page.buffers[1][:2], "little")
    def_start = 16 + (2 * num_levels + 7) // 8 * 8
    return LISTS.page.patched(1, def_start, words([2]))


def _kept_index() -> Page:
    start = KEPT.page.buffers[1].index(bytes([0, 1, 2, 0, 0, 2]))
    return KEPT.page.patched(1, start + 1, b"\x03")


def _undictionaried() -> Page:
    page = described(KEPT, dictionary=None)
    return Page(page.layout, page.buffers[:2], page.num_rows)


def _numbers_for_text() -> Page:
    """A text column whose values are numbers."""
    return Page(INTS.page.layout, INTS.page.buffers, 9).with_layout(f"{MINI}.num_items", 9)


CASES: list[Bad] = [
    # page
    bad("mini-buffers-fewer", INTS, without_buffer(INTS, 1), CorruptFileError),
    bad("mini-buffers-more", INTS, with_more(INTS, bytes(8)), CorruptFileError),
    bad("mini-buffers-no-dictionary", DICTIONARY, without_buffer(DICTIONARY, 2), CorruptFileError),
    bad("mini-buffers-no-index", LISTS, without_buffer(LISTS, 2), CorruptFileError),
    bad("mini-buffers-dictionary-unsaid", DICTIONARY, described(DICTIONARY, dictionary=None), CorruptFileError),
    bad("mini-values-per-chunk", INTS, described(INTS, num_buffers=2), CorruptFileError),
    bad("mini-values-per-chunk-none", INTS, described(INTS, num_buffers=0), CorruptFileError),
    bad("mini-values-per-chunk-absurd", INTS, described(INTS, num_buffers=2**63), CorruptFileError),
    bad("mini-words-odd", INTS, INTS.page.with_buffer(0, INTS.page.buffers[0][:-1])),
    bad("mini-words-odd-small", INTS_21, INTS_21.page.with_buffer(0, INTS_21.page.buffers[0] + b"\0")),
    bad("mini-words-of-other-width", INTS, described(INTS, has_large_chunk=False)),
    bad("mini-words-of-other-width-small", INTS_21, described(INTS_21, has_large_chunk=True)),
    bad("mini-no-chunk", INTS, emptied(INTS, 0)),
    bad("mini-no-data", INTS, emptied(INTS, 1)),
    bad("mini-sizes-more", INTS, word(-1, 16)),
    bad("mini-sizes-less", INTS, word(-1, -16)),
    bad("mini-sizes-absurd", INTS, word(0, 0xF0000000)),
    bad("mini-data-longer", INTS, INTS.page.with_buffer(1, INTS.page.buffers[1] + bytes(8))),
    bad("mini-data-shorter", INTS, INTS.page.with_buffer(1, INTS.page.buffers[1][:-8])),
    bad("mini-items-more", INTS, described(INTS, num_items=24), CorruptFileError),
    bad("mini-items-fewer-lists", LISTS, described(LISTS, num_items=3)),
    bad("mini-items-more-lists", LISTS, described(LISTS, num_items=1000), take=tuple(range(18))),
    bad("mini-items-63-bits", LISTS, described(LISTS, num_items=2**63 - 1)),
    bad("mini-items-64-bits", LISTS, described(LISTS, num_items=2**64 - 1), CorruptFileError),
    bad("mini-log-missing", INTS, word(0, -3)),
    bad("mini-log-too-large", INTS, word(0, 12)),
    bad("mini-log-last-wrong", INTS, word(-1, 5)),
    bad("mini-values-beyond-chunk", TWO_PAGES, one_huge_chunk, CorruptFileError, known=("column", "byte_range")),
    # chunk
    bad("chunk-header", INTS, _tiny_chunk),
    bad("chunk-def-leaves", INTS, INTS.page.patched(1, 2, b"\xff\xff")),
    bad("chunk-rep-leaves", LISTS, LISTS.page.patched(1, 2, b"\xff\xff")),
    bad("chunk-values-leave", INTS, INTS.page.patched(1, 4, b"\xff\xff\xff\xff")),
    bad("chunk-values-leave-by-padding", INTS, INTS.page.patched(1, 4, words([33], 4))),
    bad("chunk-not-used-up", INTS, INTS.page.patched(1, 4, words([24], 4))),
    bad("chunk-def-short", INTS, INTS.page.patched(1, 2, words([14]))),
    bad("chunk-levels-fewer", INTS, INTS.page.patched(1, 0, words([7]))),
    bad("chunk-levels-more", INTS, INTS.page.patched(1, 0, words([9]))),
    bad("chunk-levels-none", INTS, INTS.page.patched(1, 0, words([0]))),
    bad("chunk-levels-without-stream", PLAIN, PLAIN.page.patched(1, 0, words([16]))),
    bad("chunk-visible", LISTS, _hidden),
    bad("chunk-levels-width", INTS, described(INTS, def_compression=flat(32)), CorruptFileError),
    bad("chunk-levels-width-bit", INTS, described(INTS, def_compression=flat(1)), CorruptFileError),
    # dictionary
    bad("dictionary-index", DICTIONARY, index_of(3, 1, DICTIONARY, 4), take=(1, 2)),
    bad("dictionary-index-far", DICTIONARY, index_of(2**32 - 1, 1, DICTIONARY, 4), take=(1, 2)),
    bad("dictionary-index-kept", KEPT, _kept_index, take=(1, 2)),
    bad("dictionary-items-more", DICTIONARY, described(DICTIONARY, num_dictionary_items=4)),
    bad("dictionary-items-fewer", DICTIONARY, described(DICTIONARY, num_dictionary_items=2)),
    bad("dictionary-items-none", DICTIONARY, described(DICTIONARY, num_dictionary_items=0)),
    bad("dictionary-items-absurd", DICTIONARY, described(DICTIONARY, num_dictionary_items=2**62), ResourceLimitError),
    bad("dictionary-items-many", DICTIONARY, described(DICTIONARY, num_dictionary_items=10**8)),
    bad("dictionary-empty", DICTIONARY, emptied(DICTIONARY, 2)),
    bad("dictionary-missing", KEPT, _undictionaried, CorruptFileError),
    bad("dictionary-indices-width", DICTIONARY, described(DICTIONARY, value_compression=flat(24)), CorruptFileError),
    bad("dictionary-text", DICTIONARY, DICTIONARY.page.patched(2, -1, b"\xff"), take=(1, 2)),
    bad("dictionary-text-kept", KEPT, KEPT.page.patched(2, -1, b"\xff"), take=(1, 2)),
    bad("dictionary-header-width", DICTIONARY, DICTIONARY.page.patched(2, 0, words([64], 4))),
    bad("dictionary-header-place", DICTIONARY, DICTIONARY.page.patched(2, 4, words([20], 4))),
    bad("dictionary-offset-first", DICTIONARY, DICTIONARY.page.patched(2, 8, words([1], 4))),
    bad("dictionary-offset-descends", DICTIONARY, DICTIONARY.page.patched(2, 12, words([6], 4))),
    bad("dictionary-offset-last", DICTIONARY, DICTIONARY.page.patched(2, 20, words([8], 4))),
    bad("dictionary-of-other-type", TEXTS, _numbers_for_text, CorruptFileError),
]


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_refused(case: Bad, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)
