"""Compressed buffers: declared sizes, frames and schemes, each with a file that breaks it, refused at every door."""

from __future__ import annotations

from pathlib import Path

import pytest
from forge import Bad, assert_refused, bad, ids
from forge_pages import ZIP_VALUES, chunks, coded, flat, general, words
from forged import LZ4, SHRUNK, SPLIT, STREAMS, ZIP_INTS, ZIP_SHRUNK, ZSTD, lz4, zstd

from lance_arrow.errors import CorruptFileError, ResourceLimitError, UnknownEncodingError

CASES: list[Bad] = [
    bad("general-scheme-unknown", SHRUNK, coded(SHRUNK, general(flat(32), 3)), UnknownEncodingError),
    bad("general-scheme-none", SHRUNK, coded(SHRUNK, general(flat(32), 0)), UnknownEncodingError),
    bad("general-lz4-size", SHRUNK, chunks(500, general(flat(32), LZ4), words([1999], 4) + lz4(bytes(2000))[4:])),
    bad("general-lz4-bomb", SHRUNK, chunks(500, general(flat(32), LZ4), words([2**32 - 1], 4) + lz4(bytes(2000))[4:])),
    bad("general-lz4-malformed", SHRUNK, chunks(500, general(flat(32), LZ4), words([2000], 4) + b"\xff" * 20)),
    bad("general-lz4-header", SHRUNK, chunks(500, general(flat(32), LZ4), b"\1\2")),
    bad("general-lz4-short", SHRUNK, chunks(500, general(flat(32), LZ4), lz4(bytes(1996)))),
    bad(
        "general-zstd-size",
        SPLIT,
        chunks(40, SPLIT.page.layout.mini_block_layout.value_compression, words([159], 8) + zstd(STREAMS)[8:]),
    ),  # type: ignore[attr-defined]
    bad("general-zstd-bomb", SHRUNK, chunks(500, general(flat(32), ZSTD), words([2**63], 8) + zstd(bytes(2000))[8:])),
    bad("general-zstd-large", SHRUNK, chunks(500, general(flat(32), ZSTD), zstd(bytes(65 << 20))), ResourceLimitError),
    bad("general-zstd-malformed", SHRUNK, chunks(500, general(flat(32), ZSTD), zstd(bytes(2000))[:-3])),
    bad("general-zstd-zip", ZIP_SHRUNK, ZIP_SHRUNK.page.patched(0, 4, words([99], 8))),
    bad("general-empty", SHRUNK, chunks(500, general(flat(32), LZ4), b"")),
    bad("general-fixed-zip", ZIP_INTS, coded(ZIP_INTS, general(flat(32), LZ4), ZIP_VALUES), CorruptFileError),
]


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_refused(case: Bad, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)
