"""Drafts of 2.1, written by hand: chunks, dictionaries and lists as only their releases had them, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from google.protobuf.message import Message
from second_pages import read_page
from second_reader import second_reader

from lance_arrow.errors import CorruptFileError, CorruptPageError, LanceError, UnsupportedError
from lance_arrow.proto import encodings_drafts_pb2 as early
from lance_arrow.proto import encodings_v20_pb2 as late
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import EncodingKey, FixedSizeList, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.layouts import LayerKind, NodeKind, RowRanges
from lance_arrow.testing.layout_suite import Entry, LayoutCase, LayoutSuite, bind_case

NAME = "lance.encodings.PageLayout"
ITEM, NULLABLE, LIST = LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_ITEM, LayerKind.NULL_AND_EMPTY_LIST
CHUNK_VALUES = 4
INT = LeafType(FixedWidth(32))
TEXT = LeafType(VariableWidth(32), is_text=True)
PAIRS = LeafType(FixedSizeList(FixedWidth(32), 2))
NOTHING = early.ArrayEncoding(constant=early.Constant(value=b"\0\0"))
WORDS = early.ArrayEncoding(flat=late.Flat(bits_per_value=16))
INTS = early.ArrayEncoding(flat=late.Flat(bits_per_value=32))


def page(case: int, layout: Message) -> Message:
    """A page's description whose case has the bytes of `layout`, by whatever numbers."""
    content = layout.SerializeToString()
    size = bytes([len(content) & 0x7F | 0x80, len(content) >> 7])
    return default_runtime().table.message_type(NAME).FromString(bytes([case << 3 | 2]) + size + content)


def padded(data: bytes) -> bytes:
    return data + b"\xfe" * (-len(data) % 8)


def chunk(values: bytes, def_: list[int] | None = None, rep: list[int] | None = None) -> bytes:
    """A chunk as it was before 0.26."""
    streams = [np.array(levels or [], "<u2").tobytes() for levels in (rep, def_)]
    head = np.array([len(streams[0]), len(streams[1]), len(values)], "<u2").tobytes()
    return padded(padded(head + streams[0] + streams[1]) + values)


def table(chunks: list[bytes]) -> bytes:
    """Words of chunks of `CHUNK_VALUES` values; the last one tells none."""
    log = CHUNK_VALUES.bit_length() - 1
    words = [(len(one) // 8 - 1) << 4 | (log if number < len(chunks) - 1 else 0) for number, one in enumerate(chunks)]
    return np.array(words, "<u2").tobytes()


def numbers(count: int) -> list[bytes]:
    return [np.array([7 * value], "<u4").tobytes() for value in range(count)]


def chunked(
    name: str, leaf: LeafType, values: list[bytes], levels: list[int] | None, rows: Any, **told: Any
) -> LayoutCase:
    starts = range(0, len(values), CHUNK_VALUES)
    chunks = [
        chunk(b"".join(values[n : n + CHUNK_VALUES]), None if levels is None else levels[n : n + CHUNK_VALUES])
        for n in starts
    ]
    layout = early.MiniBlockLayout(
        **{
            "rep_compression": NOTHING,
            "def_compression": NOTHING if levels is None else WORDS,
            "value_compression": INTS,
            "num_items": len(values) if "layers" in told else 0,
            **told,
        }
    )
    return LayoutCase(name, page(1, layout), leaf, (table(chunks), b"".join(chunks)), tuple(rows))


def flat_case(name: str, layers: list[LayerKind] | None, levels: list[int] | None, leaf: LeafType = INT) -> LayoutCase:
    values = numbers(11)
    rows = [(Entry(0, 0 if levels is None else levels[n], value),) for n, value in enumerate(values)]
    return chunked(name, leaf, values, levels, rows, **({} if layers is None else {"layers": layers}))


def listed_case() -> LayoutCase:
    """Rows [0 7] [] null [14 21 28 35] [42], of which the fourth begins in one chunk and ends in the next."""
    values = numbers(7)
    one = chunk(b"".join(values[:4]), [0, 0, 2, 1, 0, 0], [1, 0, 1, 1, 1, 0])
    two = chunk(b"".join(values[4:]), [0, 0, 0], [0, 0, 1])
    layout = early.MiniBlockLayout(
        rep_compression=WORDS,
        def_compression=WORDS,
        value_compression=INTS,
        layers=[ITEM, LIST],
        repetition_index_depth=1,
        num_items=7,
    )
    entries = [(1, 0), (0, 0), (1, 2), (1, 1), (1, 0), (0, 0), (0, 0), (0, 0), (1, 0)]
    found, kept = iter(values), []
    for rep, def_ in entries:
        kept.append(Entry(rep, def_, next(found) if def_ == 0 else None))
    rows = (tuple(kept[:2]), tuple(kept[2:3]), tuple(kept[3:4]), tuple(kept[4:8]), tuple(kept[8:]))
    index = np.array([3, 2, 2, 0], "<u8").tobytes()
    leaf = LeafType(FixedWidth(32), (NodeKind.ITEM, NodeKind.LIST))
    return LayoutCase("lists", page(1, layout), leaf, (table([one, two]), one + two, index), rows)


def paired_case(levels: list[int] | None, layers: list[LayerKind]) -> LayoutCase:
    """Lists of two items, item by item; levels above 1 are the list's."""
    values = numbers(10)
    rows = []
    for n in range(0, len(values), 2):
        null = levels is not None and levels[n] == 2
        rows.append((Entry(0, int(null), None if null else values[n] + values[n + 1]),))
    return chunked(f"pairs {layers}", PAIRS, values, levels, rows, layers=layers)


def dictionary(head: bytes, texts: list[bytes]) -> bytes:
    offsets = np.cumsum([0, *(len(text) for text in texts)]).astype("<u4").tobytes()
    return head + offsets + b"".join(texts)


def texts_case(name: str, head: bytes, description: Message, is_early: bool) -> LayoutCase:
    """Five rows of three texts."""
    texts, picks = [b"a", b"", b"long one"], [0, 2, 1, 2, 0]
    indices = np.array(picks, "<u4").tobytes()
    late_chunk = padded(padded(b"\0\0" + np.array([len(indices)], "<u2").tobytes()) + indices)
    only = chunk(indices) if is_early else late_chunk
    rows = tuple((Entry(0, 0, texts[pick]),) for pick in picks)
    return LayoutCase(name, description, TEXT, (table([only]), only, dictionary(head, texts)), rows)


EARLY_TEXTS = page(
    1,
    early.MiniBlockLayout(
        rep_compression=NOTHING,
        def_compression=NOTHING,
        value_compression=INTS,
        dictionary=early.ArrayEncoding(variable=early.Variable(bits_per_offset=32)),
        layers=[ITEM],
        num_items=5,
    ),
)
LATE_TEXTS = page(
    1,
    late.MiniBlockLayout(
        value_compression=late.ArrayEncoding(flat=late.Flat(bits_per_value=32)),
        dictionary=late.ArrayEncoding(variable=late.Variable(bits_per_offset=32)),
        num_dictionary_items=3,
        layers=[ITEM],
        num_buffers=1,
        num_items=5,
    ),
)
FIRST_HEAD = np.array([3, 8 + 16], "<u4").tobytes()
LAST_HEAD = b"\x20" + np.array([3, 9 + 16], "<u4").tobytes()


class TestChunks(LayoutSuite):
    reading = staticmethod(second_reader)
    key = EncodingKey(NAME, "mini_block_layout")
    cases = (
        flat_case("no layers told", None, None),
        flat_case("no layers told, nulls", None, [0, 1, 0] * 3 + [1, 1]),
        flat_case(
            "no layers told, null structs", None, [0, 1, 2] * 3 + [0, 2], LeafType(FixedWidth(32), (NodeKind.ITEM,) * 2)
        ),
        flat_case("layers", [ITEM], None),
        flat_case("layers, nulls", [NULLABLE], [0, 1, 0] * 3 + [1, 1]),
        listed_case(),
        paired_case(None, [ITEM, ITEM]),
        paired_case([0, 0, 2, 2, 0, 0, 0, 0, 2, 2], [NULLABLE, NULLABLE]),
        texts_case("early dictionary", FIRST_HEAD, EARLY_TEXTS, True),
        texts_case("late dictionary, first head", FIRST_HEAD, LATE_TEXTS, False),
        texts_case("late dictionary, last head", LAST_HEAD, LATE_TEXTS, False),
    )


class TestZipped(LayoutSuite):
    reading = staticmethod(second_reader)
    key = EncodingKey(NAME, "full_zip_layout")
    cases = (
        LayoutCase(
            "one width, nulls",
            page(3, early.FirstFullZipLayout(bits_def=1, value_compression=INTS)),
            INT,
            (b"".join(bytes([n % 3 == 1]) + value for n, value in enumerate(numbers(7))),),
            tuple((Entry(0, int(n % 3 == 1), value),) for n, value in enumerate(numbers(7))),
        ),
        LayoutCase(
            "lists told as one wide value",
            page(
                3,
                early.FirstFullZipLayout(
                    value_compression=early.ArrayEncoding(
                        fixed_size_list=early.FixedSizeList(
                            dimension=2, items=early.ArrayEncoding(flat=late.Flat(bits_per_value=64))
                        )
                    )
                ),
            ),
            PAIRS,
            (b"".join(numbers(8)),),
            tuple((Entry(0, 0, numbers(8)[n] + numbers(8)[n + 1]),) for n in range(0, 8, 2)),
        ),
    )


class TestNulls(LayoutSuite):
    reading = staticmethod(second_reader)
    key = EncodingKey(NAME, "all_null_layout")
    cases = (
        LayoutCase("no layers told", page(2, late.AllNullLayout()), INT, (), ((Entry(0, 1),),) * 5),
        LayoutCase("layers", page(2, late.AllNullLayout(layers=[NULLABLE])), INT, (), ((Entry(0, 1),),) * 5),
    )


def compressed() -> early.ArrayEncoding:
    return early.ArrayEncoding(flat=late.Flat(bits_per_value=32, compression=late.Compression(scheme="zstd")))


UNSUPPORTED = {
    "numbers of two releases": b"\x2a\x01\x01" + b"\x32\x01\x01",
    "a number of no release": early.MiniBlockLayout(value_compression=INTS).SerializeToString() + b"\x98\x06\x01",
    "compressed flat values": early.MiniBlockLayout(value_compression=compressed()).SerializeToString(),
    "packed levels": early.MiniBlockLayout(
        value_compression=INTS, def_compression=early.ArrayEncoding(bitpack2=early.Bitpack2())
    ).SerializeToString(),
}


@pytest.mark.parametrize("content", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_what_no_release_wrote_is_refused(content: bytes) -> None:
    raw = b"\x0a" + bytes([len(content)]) + content
    with pytest.raises(UnsupportedError):
        default_runtime().binder.page(NAME, raw, INT)


def test_lists_without_layers_are_refused() -> None:
    leaf = LeafType(FixedWidth(32), (NodeKind.ITEM, NodeKind.LIST))
    for description in (flat_case("lists", None, None).description, page(2, late.AllNullLayout())):
        with pytest.raises(UnsupportedError, match="layers"):
            bind_case(LayoutCase("lists", description, leaf, (), ()))


def test_zipped_lists_of_0_21_are_refused() -> None:
    """They were written without special entries, so that nobody can tell where rows begin."""
    layout = early.FirstFullZipLayout(bits_rep=1, value_compression=INTS, layers=[ITEM, LayerKind.ALL_VALID_LIST])
    leaf = LeafType(FixedWidth(32), (NodeKind.ITEM, NodeKind.LIST))
    case = LayoutCase("lists", page(3, layout), leaf, (b"\1abcd",), ((Entry(1, 0, b"abcd"),),))
    with pytest.raises(UnsupportedError, match=r"0\.21"):
        read_page(case, RowRanges.one(0, 1))


@pytest.mark.parametrize("head", [b"", FIRST_HEAD[:4], b"\x40" + LAST_HEAD[1:], np.array([4, 24], "<u4").tobytes()])
def test_dictionaries_with_neither_head_are_refused(head: bytes) -> None:
    for description, is_early in ((EARLY_TEXTS, True), (LATE_TEXTS, False)):
        with pytest.raises(LanceError):
            read_page(texts_case("wrong", head, description, is_early), RowRanges.one(0, 5))


def test_items_that_disagree_about_their_list_are_refused() -> None:
    case = paired_case([0, 2, 0, 0, 0, 0, 0, 0, 0, 0], [NULLABLE, NULLABLE])
    with pytest.raises(CorruptPageError, match="differ in whether"):
        read_page(case, RowRanges.one(0, 5))


def test_lists_of_another_size_than_the_schema_are_refused() -> None:
    lists = early.FixedSizeList(dimension=3, items=early.ArrayEncoding(flat=late.Flat(bits_per_value=96)))
    layout = early.FirstFullZipLayout(value_compression=early.ArrayEncoding(fixed_size_list=lists))
    with pytest.raises(CorruptFileError, match="3 items"):
        bind_case(LayoutCase("wrong", page(3, layout), PAIRS, (), ()))
