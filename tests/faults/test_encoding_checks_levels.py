"""Layers, levels and the repetition index: each clause with a file that breaks it, refused at every door."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from forge import Bad, Forged, Page, assert_refused, bad, ids
from forge_pages import ALL_LISTS, ITEM, NULLABLE, flat, words
from forged import INTS, LISTS, NULL_LISTS, PLAIN, SCALAR_LISTS, STRUCT_LISTS, ZIP_INTS, ZIP_LISTS

from lance_arrow.errors import CorruptFileError

MINI, ZIP, CONSTANT = "mini_block_layout", "full_zip_layout", "constant_layout"


def layers(file: Forged, layout: str, *values: int) -> Page:
    return file.page.with_layout(f"{layout}.layers", values)


def first_level(which: int, position: int, level: int, file: Forged = LISTS) -> Page:
    """A level of the first chunk changed; 0 is the repetition stream, 1 the definition stream."""
    header = 16
    num_levels = int.from_bytes(file.page.buffers[1][:2], "little")
    stream = header + which * ((2 * num_levels + 7) // 8 * 8)
    return file.page.patched(1, stream + 2 * position, words([level]))


def index(*changes: tuple[int, int], file: Forged = LISTS) -> Page:
    """Numbers of the repetition index changed by so much."""
    numbers = [
        int.from_bytes(file.page.buffers[-1][at : at + 8], "little") for at in range(0, len(file.page.buffers[-1]), 8)
    ]
    for place, shift in changes:
        numbers[place] = (numbers[place] + shift) % 2**64
    return file.page.with_buffer(-1, words(numbers, 8))


def zip_word(entry_bytes: int, word: int, file: Forged = ZIP_LISTS) -> Page:
    return file.page.patched(0, entry_bytes, bytes([word]))


EVERY_ROW = tuple(range(LISTS.table.num_rows))


def _continued(file: Forged) -> Forged:
    """The third entry, which follows an empty place, continues a list; index, page and file count a row less."""
    page = file.page.patched(1, 16 + 2 * 2, words([0])).with_buffer(-1, words([4, 0], 8))
    return replace(file.with_page(replace(page, num_rows=4)), num_rows=4)


def _closed() -> Page:
    """The index says that the row which the first chunk leaves open ends there, and starts nothing in the second."""
    numbers = [int.from_bytes(LISTS.page.buffers[-1][at : at + 8], "little") for at in range(0, 32, 8)]
    return index((0, 1), (1, -numbers[1]), (2, -1))


CASES: list[Bad] = [
    # layers
    bad("layers-count", INTS, layers(INTS, MINI, NULLABLE, NULLABLE), CorruptFileError),
    bad("layers-count-zip", ZIP_INTS, layers(ZIP_INTS, ZIP), CorruptFileError),
    bad("layers-count-constant", SCALAR_LISTS, layers(SCALAR_LISTS, CONSTANT, NULLABLE), CorruptFileError),
    bad("layers-list-for-item", INTS, layers(INTS, MINI, 4), CorruptFileError),
    bad("layers-item-for-list", LISTS, layers(LISTS, MINI, NULLABLE, NULLABLE), CorruptFileError),
    bad("layers-order", STRUCT_LISTS, layers(STRUCT_LISTS, MINI, NULLABLE, NULLABLE, 6), CorruptFileError),
    bad("layers-value-0", INTS, layers(INTS, MINI, 0), CorruptFileError),
    bad("layers-value-7", INTS, layers(INTS, MINI, 7), CorruptFileError),
    bad("layers-rep-missing", LISTS, LISTS.page.with_layout(f"{MINI}.rep_compression", None), CorruptFileError),
    bad("layers-rep-without-list", INTS, INTS.page.with_layout(f"{MINI}.rep_compression", flat(16)), CorruptFileError),
    bad("layers-rep-missing-zip", ZIP_LISTS, ZIP_LISTS.page.with_layout(f"{ZIP}.bits_rep", 0), CorruptFileError),
    bad("layers-rep-without-list-zip", ZIP_INTS, ZIP_INTS.page.with_layout(f"{ZIP}.bits_rep", 1), CorruptFileError),
    bad("layers-rep-missing-constant", NULL_LISTS, NULL_LISTS.page.with_buffer(0, b"")),
    bad("layers-def-unused", INTS, layers(INTS, MINI, ITEM), CorruptFileError),
    bad("layers-def-unused-zip", ZIP_INTS, layers(ZIP_INTS, ZIP, ITEM), CorruptFileError),
    # levels
    bad("levels-rep-large", LISTS, first_level(0, 1, 2)),
    bad(
        "levels-rep-large-zip",
        ZIP_LISTS,
        ZIP_LISTS.page.with_layout(f"{ZIP}.bits_rep", 2).patched(0, 0, bytes([2 << 2])),
    ),
    bad("levels-rep-large-constant", SCALAR_LISTS, SCALAR_LISTS.page.patched(0, 2, words([2]))),
    bad("levels-def-large", LISTS, first_level(1, 0, 4)),
    bad("levels-def-large-flat", INTS, INTS.page.patched(1, 8, words([2]))),
    bad("levels-def-large-zip", ZIP_LISTS, layers(ZIP_LISTS, ZIP, NULLABLE, ALL_LISTS), take=(2, 3)),
    bad("levels-def-large-constant", SCALAR_LISTS, SCALAR_LISTS.page.patched(1, 2, words([4]))),
    bad("levels-first-entry", LISTS, first_level(0, 0, 0)),
    bad("levels-first-entry-zip", ZIP_LISTS, zip_word(0, 0)),
    bad("levels-first-entry-constant", SCALAR_LISTS, SCALAR_LISTS.page.patched(0, 0, words([0]))),
    Bad("levels-continues-nothing", lambda: _continued(STRUCT_LISTS), take=(0, 1, 2, 3)),
    bad("levels-continues-null-constant", SCALAR_LISTS, SCALAR_LISTS.page.patched(1, 0, words([3])), take=(0,)),
    bad("levels-rows-of-page", LISTS, first_level(0, 2, 1), take=EVERY_ROW),
    bad("levels-rows-of-page-constant", SCALAR_LISTS, SCALAR_LISTS.page.patched(0, 2, words([1]))),
    # repetition index
    bad("index-size-short", LISTS, LISTS.page.with_buffer(-1, LISTS.page.buffers[-1][:-16])),
    bad("index-size-long", LISTS, LISTS.page.with_buffer(-1, LISTS.page.buffers[-1] + bytes(16))),
    bad("index-depth", LISTS, LISTS.page.with_layout(f"{MINI}.repetition_index_depth", 2), CorruptFileError),
    bad("index-depth-0", LISTS, LISTS.page.with_layout(f"{MINI}.repetition_index_depth", 0), CorruptFileError),
    bad(
        "index-depth-without-lists",
        PLAIN,
        PLAIN.page.with_layout(f"{MINI}.repetition_index_depth", 1),
        CorruptFileError,
    ),
    bad("index-sum", LISTS, index((0, 1))),
    bad("index-sum-wraps", LISTS, index((0, 2**63), (2, 2**63))),
    bad("index-absurd", LISTS, index((0, 2**40), (2, -(2**40)))),
    bad("index-chunk-without-rows", LISTS, index((2, -1), (0, 1))),
    bad("index-last-open", LISTS, index((-1, 1))),
    bad("index-row-moved", LISTS, index((0, 1), (2, -1)), take=EVERY_ROW),
    bad("index-leftover", LISTS, index((1, 1)), take=(0,)),
    bad("index-leftover-absurd", LISTS, index((1, 2**62)), take=(0,)),
    bad("index-closed", LISTS, index((1, -3)), take=EVERY_ROW),
    bad("index-closed-and-moved", LISTS, _closed, take=EVERY_ROW),
]


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_refused(case: Bad, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)
