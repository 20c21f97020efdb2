"""Sizes that a file only declares: checked against `Limits` before memory is taken, whatever asks for them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
import zstandard
from forge import Bad, Forged, Page, assert_refused, bad, dataset, ids, scan, take
from forge_pages import (
    ITEM,
    LIST_LAYERS,
    Codec,
    constant,
    fixed,
    flat,
    flat_rows,
    general,
    int32,
    mini_block,
    padded,
    words,
)
from forged import LISTS, SHRUNK, TWO_PAGES, ZIP_SHRUNK, ZSTD, one

import lance_arrow
from lance_arrow.errors import CorruptPageError, LanceError, ResourceLimitError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Limits, Settings

MEBIBYTE = 1 << 20
SMALL = Limits(max_batch_bytes=16 * MEBIBYTE, max_chunk_bytes=MEBIBYTE, max_value_bytes=16 * MEBIBYTE)


def many_rows(num_rows: int, type_: pa.DataType, page: Page) -> Forged:
    """A file that claims rows without holding a byte of them."""
    return replace(one([], type_, replace(page, num_rows=num_rows)), num_rows=num_rows)


def wide_lists() -> Forged:
    """One chunk that claims 2**15 lists of a mebibyte each."""
    count, dimension = 1 << 15, MEBIBYTE
    codec = Codec(fixed_size_list=pb.FixedSizeList(items_per_value=dimension, values=flat(8)))
    data = padded(words([0]) + words([8], 4)) + bytes(8)
    page = mini_block(flat_rows([b""] * 3), (ITEM,), codec, fixed(0))
    page = page.with_layout("mini_block_layout.num_items", count)
    page = Page(page.layout, (words([(len(data) // 8 - 1) << 4], 4), data), count)
    return many_rows(count, pa.list_(pa.int8(), dimension), page)


def endless_levels() -> Forged:
    """One row over 20,000 chunks of 24 bytes, each of which claims 65,535 levels packed to no bits."""
    nothing = Codec(
        out_of_line_bitpacking=pb.OutOfLineBitpacking(uncompressed_bits_per_value=16, values=Codec(flat=pb.Flat()))
    )
    count = 20_000
    chunk = padded(words([65_535, 0, 0]) + words([4], 4)) + padded(bytes(4))
    page = mini_block(LISTS_ROWS, LIST_LAYERS, flat(32), fixed(4))
    for name in ("rep_compression", "def_compression"):
        page = page.with_layout(f"mini_block_layout.{name}", nothing)
    page = page.with_layout("mini_block_layout.num_items", 2 * (count - 1))
    word = (len(chunk) // 8 - 1) << 4
    index = [0, 65_535] * (count - 1) + [1, 0]
    return one(
        [[]],
        pa.list_(pa.int32()),
        Page(page.layout, (words([word | 1] * (count - 1) + [word], 4), chunk * count, words(index, 8)), 1),
    )


def framed(size: int) -> bytes:
    return words([size], 8) + zstandard.compress(bytes(size))


LISTS_ROWS: list[list] = []
UNSIZED = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(32 * MEBIBYTE))
CASES: list[Bad] = [
    Bad("limit-list-width", wide_lists, ResourceLimitError, (), doors=("scan",)),
    bad("limit-batch-levels", LISTS, lambda: LISTS.page.with_layout("mini_block_layout.num_items", 2**62)),
    bad(
        "limit-chunk-bytes",
        SHRUNK,
        mini_block(flat_rows([b""] * 500), (ITEM,), general(flat(32), ZSTD), lambda _: [framed(65 * MEBIBYTE)]),
        ResourceLimitError,
    ),
]


def test_few_lists_of_a_short_chunk_are_damage_and_no_matter_of_limits(tmp_path: Path) -> None:
    path = tmp_path / "bad.lance"
    path.write_bytes(wide_lists().build())
    for read in (lambda: take(path, (0, 1, 2)), lambda: dataset(path)):
        with pytest.raises(CorruptPageError, match="shorter than its values") as caught:
            read()
        assert (caught.value.page, caught.value.path) == (0, str(path))


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_refused(case: Bad, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


def peak_bytes(call: Callable[[], object]) -> int:
    """Most memory of numpy and Python during a call that must be refused."""
    tracemalloc.start()
    try:
        with pytest.raises(LanceError) as caught:
            call()
        assert isinstance(caught.value, (ResourceLimitError, CorruptPageError))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


BOMBS = {
    "levels": endless_levels,
    "lists": wide_lists,
    "chunk": lambda: SHRUNK.with_page(
        mini_block(flat_rows([b""] * 500), (ITEM,), general(flat(32), ZSTD), lambda _: [framed(32 * MEBIBYTE)])
    ),
    "chunk without a size": lambda: SHRUNK.with_page(
        mini_block(flat_rows([b""] * 500), (ITEM,), general(flat(32), ZSTD), lambda _: [UNSIZED])
    ),
    "value": lambda: ZIP_SHRUNK.with_page(ZIP_SHRUNK.page.patched(0, 4, words([2**40], 8))),
}


@pytest.mark.parametrize("name", BOMBS)
def test_memory_stays_near_the_limit(name: str) -> None:
    content = BOMBS[name]().build()
    for read in (lambda file: file.read(), lambda file: file.take([0])):
        runtime = Runtime(Settings(limits=SMALL, num_threads=1))
        with lance_arrow.LanceFile(content, runtime=runtime) as file:
            assert peak_bytes(lambda read=read, file=file: read(file)) < 3 * 16 * MEBIBYTE


ENDLESS = {
    "scalar": (pa.int32(), constant(0, (ITEM,), inline_value=int32(7)), 7),
    "null": (pa.int32(), constant(0, (3,)), None),
    "nothing": (pa.null(), constant(0, (3,)), None),
}


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("num_rows", [2**36, 2**62])
def test_billions_of_rows_from_no_bytes(name: str, num_rows: int, tmp_path: Path) -> None:
    type_, page, value = ENDLESS[name]
    path = tmp_path / "endless.lance"
    path.write_bytes(many_rows(num_rows, type_, page).build())
    with lance_arrow.LanceFile(path) as file:
        assert file.count_rows() == num_rows
        assert file.take([num_rows - 1, 0])["c"].to_pylist() == [value, value]
        batch = next(iter(file.to_batches(batch_size=1000)))
        assert batch.column("c").to_pylist() == [value] * 1000
        for read in (file.read, lambda: file.read(columns=[]), lambda: file.read(filter=[("c", ">", 7)])):
            with pytest.raises(ResourceLimitError) as caught:
                read()
            assert caught.value.detail == "max_expanded_bytes"
            assert caught.value.path == str(path)
    dataset = pads.dataset(path, format=lance_arrow.LanceFormat())
    assert dataset.count_rows() == num_rows
    assert dataset.head(3)["c"].to_pylist() == [value] * 3
    never = pc.field("c").is_valid() if value is None else pc.field("c") > 7
    filtered = (
        lambda: dataset.to_table(filter=never),
        lambda: dataset.count_rows(filter=never),
        lambda: list(dataset.to_batches(filter=never)),
        lambda: dataset.head(3, filter=never),
    )
    for read in filtered:
        with pytest.raises(ResourceLimitError) as caught:
            read()
        assert caught.value.detail == "max_expanded_bytes"


def test_a_scan_of_pyarrow_stops_at_the_limit(tmp_path: Path) -> None:
    """A hundred million rows of a scalar are read; ten times as many are not."""
    path = tmp_path / "some.lance"
    type_, page, _ = ENDLESS["scalar"]
    path.write_bytes(many_rows(10**8, type_, page).build())
    seen = sum(batch.num_rows for batch in pads.dataset(path, format=lance_arrow.LanceFormat()).to_batches())
    assert seen == 10**8
    path.write_bytes(many_rows(10**9, type_, page).build())
    counts = (batch.num_rows for batch in pads.dataset(path, format=lance_arrow.LanceFormat()).to_batches())
    seen: list[int] = []
    with pytest.raises(ResourceLimitError, match="LANCE_ARROW_LIMITS=max_expanded_bytes"):
        seen.extend(counts)
    assert sum(seen) <= Limits().max_expanded_bytes // 8


def test_a_file_of_ordinary_size_is_not_bounded(tmp_path: Path) -> None:
    path = tmp_path / "ordinary.lance"
    path.write_bytes(TWO_PAGES.build())
    runtime = Runtime(Settings(limits=Limits(max_expanded_bytes=1)))
    with lance_arrow.LanceFile(path, runtime=runtime) as file:
        assert file.read().num_rows == TWO_PAGES.table.num_rows
    assert scan(path).num_rows == take(path, range(TWO_PAGES.table.num_rows)).num_rows
