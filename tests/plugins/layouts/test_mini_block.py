"""Mini-block pages, written by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from rows_of_levels import EXAMPLE_LAYERS, EXAMPLE_ROWS, Rows, flat_rows, int32, list_rows, max_visible
from second_pages import read_page, second_case
from second_reader import second_reader

from lance_arrow.errors import CorruptFileError, CorruptPageError, LanceError, ResourceLimitError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import EncodingKey, FixedSizeList, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.layouts import LayerKind, NodeKind, RowRanges
from lance_arrow.testing.layout_suite import (
    Entry,
    LayoutCase,
    LayoutSuite,
    assert_holds,
    load_index,
)

ITEM, NULLABLE = LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_ITEM
LIST_LAYERS = (NULLABLE, LayerKind.NULL_AND_EMPTY_LIST)


def flat(bits: int) -> pb.CompressiveEncoding:
    return pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))


def variable() -> pb.CompressiveEncoding:
    return pb.CompressiveEncoding(variable=pb.Variable(offsets=flat(32)))


def padded(part: bytes) -> bytes:
    return part.ljust((len(part) + 7) // 8 * 8, b"\xfe")


def words(levels: Sequence[int]) -> bytes:
    return np.array(levels, "<u2").tobytes()


def chunk_of(entries: Sequence[Entry], has_rep: bool, has_def: bool, buffers: list[bytes], large: bool) -> bytes:
    """One chunk: header, level streams, value buffers."""
    streams = [words([e.rep for e in entries])] * has_rep + [words([e.def_ for e in entries])] * has_def
    header = words([len(entries) if streams else 0, *map(len, streams)])
    header += np.array([len(buffer) for buffer in buffers], "<u4" if large else "<u2").tobytes()
    return b"".join(map(padded, [header, *streams, *buffers]))


def cut(rows: Rows, layers: tuple[LayerKind, ...], counts: Sequence[int]) -> list[list[Entry]]:
    """Entries of each chunk: until `counts` values were taken; the last chunk takes the rest."""
    entries = [entry for row in rows for entry in row]
    chunks: list[list[Entry]] = []
    for count in counts:
        taken: list[Entry] = []
        while sum(entry.def_ <= max_visible(layers) for entry in taken) < count:
            taken.append(entries.pop(0))
        chunks.append(taken)
    return [*chunks, entries]


def repetition_index(rows: Rows, chunks: list[list[Entry]]) -> bytes:
    ends, table, position = set(np.cumsum([len(row) for row in rows]).tolist()), [], 0
    for chunk in chunks:
        finished = [place for place in range(position + 1, position + len(chunk) + 1) if place in ends]
        position += len(chunk)
        table += [len(finished), position - (finished[-1] if finished else position - len(chunk))]
    return np.array(table, "<u8").tobytes()


def mini_block(
    name: str,
    rows: Rows,
    layers: tuple[LayerKind, ...],
    leaf: LeafType,
    values: pb.CompressiveEncoding,
    store: Callable[[list[bytes | None]], list[bytes]],
    *,
    counts: Sequence[int] = (),
    large: bool = False,
    dictionary: tuple[pb.CompressiveEncoding, int, bytes] | None = None,
) -> LayoutCase:
    """Build a page; `store` turns the values of a chunk (None: null) into its buffers."""
    has_rep = any(layer.is_list for layer in layers)
    has_def = any(layer.num_def_levels for layer in layers)
    pieces, table, chunks = [], [], cut(rows, layers, counts)
    for number, entries in enumerate(chunks):
        buffers = store([entry.value for entry in entries if entry.def_ <= max_visible(layers)])
        pieces.append(chunk_of(entries, has_rep, has_def, buffers, large))
        log = 0 if number == len(counts) else counts[number].bit_length() - 1
        table.append((len(pieces[-1]) // 8 - 1) << 4 | log)
    message = pb.MiniBlockLayout(
        value_compression=values,
        layers=layers,
        num_buffers=len(store([])),
        repetition_index_depth=int(has_rep),
        num_items=sum(entry.def_ <= max_visible(layers) for row in rows for entry in row),
        has_large_chunk=large,
    )
    if has_rep:
        message.rep_compression.CopyFrom(flat(16))
    if has_def:
        message.def_compression.CopyFrom(flat(16))
    buffers = [np.array(table, "<u4" if large else "<u2").tobytes(), b"".join(pieces)]
    if dictionary is not None:
        message.dictionary.CopyFrom(dictionary[0])
        message.num_dictionary_items = dictionary[1]
        buffers.append(dictionary[2])
    if has_rep:
        buffers.append(repetition_index(rows, chunks))
    return LayoutCase(name, pb.PageLayout(mini_block_layout=message), leaf, tuple(buffers), rows)


def fixed(width: int, null: bytes = b"") -> Callable[[list[bytes | None]], list[bytes]]:
    return lambda values: [b"".join((null or bytes(width)) if value is None else value for value in values)]


def strings(values: list[bytes | None]) -> list[bytes]:
    data = [value or b"" for value in values]
    offsets = np.cumsum([4 * (len(data) + 1), *map(len, data)], dtype="<u4").tobytes()
    return [padded(offsets + b"".join(data))]


def booleans(values: list[bytes | None]) -> list[bytes]:
    bits = np.array([value == b"\1" for value in values], bool)
    return [np.packbits(bits, bitorder="little").tobytes()]


def lists_of_ten_bits(values: list[bytes | None]) -> list[bytes]:
    """FixedSizeList(bits, 10) with item validity: a bitmap of valid items, a bitmap of items."""
    items = np.frombuffer(b"".join(value or bytes(10) for value in values), np.uint8)
    return [np.packbits(np.ones(len(items), bool), bitorder="little").tobytes(), booleans_of(items)]


def booleans_of(items: np.ndarray) -> bytes:
    return np.packbits(items.astype(bool), bitorder="little").tobytes()


def block_of_strings(items: list[bytes]) -> bytes:
    offsets = np.cumsum([0, *map(len, items)], dtype="<u4").tobytes()
    return np.array([32, 8 + len(offsets)], "<u4").tobytes() + offsets + b"".join(items)


INT32 = LeafType(FixedWidth(32))
INT32_LIST = LeafType(FixedWidth(32), (NodeKind.ITEM, NodeKind.LIST))
TEXT = LeafType(VariableWidth(32))
TEXT_LIST = LeafType(VariableWidth(32), (NodeKind.ITEM, NodeKind.LIST))
NUMBERS = [int32(n * 7 % 100) if n % 5 else None for n in range(23)]
WORDS_ = [b"", b"a", b"item", b"a longer one"]
ITEMS = [b"zero", b"", b"two"]

EXAMPLE = LayoutCase(
    "worked example",
    pb.PageLayout(
        mini_block_layout=pb.MiniBlockLayout(
            rep_compression=flat(16),
            def_compression=flat(16),
            value_compression=flat(32),
            layers=EXAMPLE_LAYERS,
            num_buffers=1,
            repetition_index_depth=1,
            num_items=5,
        )
    ),
    LeafType(FixedWidth(32), (NodeKind.ITEM, NodeKind.LIST, NodeKind.ITEM, NodeKind.LIST)),
    (
        bytes.fromhex("9000"),
        bytes.fromhex(
            "0a00140014001400"
            "0200000001000100020002000200010000000200fefefefe"
            "0000000003000400050006000200010000000000fefefefe"
            "0100000002000000000000000300000004000000fefefefe"
        ),
        bytes.fromhex("05000000000000000000000000000000"),
    ),
    EXAMPLE_ROWS,
)
TEXT_LISTS = mini_block(
    "lists of strings over four chunks",
    list_rows(25, 3, lambda chance: chance.choice(WORDS_)),
    LIST_LAYERS,
    TEXT_LIST,
    variable(),
    strings,
    counts=(8, 2, 4),
)
LONG_ROW = mini_block(
    "a row over three chunks",
    (
        (Entry(1, 0, int32(1)),),
        tuple(Entry(int(n == 0), 0, int32(n)) for n in range(11)),
        (Entry(1, 3),),
        (Entry(1, 2),),
    ),
    LIST_LAYERS,
    INT32_LIST,
    flat(32),
    fixed(4),
    counts=(4, 4),
)
NULLABLE_INTS = mini_block(
    "nullable integers", flat_rows(NUMBERS), (NULLABLE,), INT32, flat(32), fixed(4), counts=(8, 2, 4)
)
DICTIONARY = mini_block(
    "dictionary, expanded",
    flat_rows([ITEMS[n % 3] if n % 4 else None for n in range(30)]),
    (NULLABLE,),
    TEXT,
    flat(8),
    # A null slot may hold an index that does not exist.
    lambda values: [bytes(77 if value is None else ITEMS.index(value) for value in values)],
    counts=(16,),
    dictionary=(variable(), 3, block_of_strings(ITEMS)),
)
KEPT_DICTIONARY = mini_block(
    "dictionary, kept",
    flat_rows([bytes([n % 3]) if n % 4 else None for n in range(30)]),
    (NULLABLE,),
    LeafType(FixedWidth(8), items=VariableWidth(32)),
    flat(8),
    fixed(1, b"\x4d"),
    counts=(16,),
    dictionary=(variable(), 3, block_of_strings(ITEMS)),
)


class TestMiniBlock(LayoutSuite):
    reading = staticmethod(second_reader)
    key = EncodingKey("lance.encodings21.PageLayout", "mini_block_layout")
    cases = (
        EXAMPLE,
        mini_block("one chunk", flat_rows([int32(5)]), (ITEM,), INT32, flat(32), fixed(4)),
        mini_block(
            "wide words", flat_rows(NUMBERS), (NULLABLE,), INT32, flat(32), fixed(4), counts=(16, 2), large=True
        ),
        NULLABLE_INTS,
        mini_block(
            "booleans",
            flat_rows([bytes([n % 3 == 0]) for n in range(21)]),
            (ITEM,),
            LeafType(FixedWidth(1)),
            flat(1),
            booleans,
            counts=(8, 2),
        ),
        mini_block(
            "nullable struct of strings",
            tuple((Entry(0, n % 3, None if n % 3 else WORDS_[n % 4]),) for n in range(20)),
            (NULLABLE, NULLABLE),
            LeafType(VariableWidth(32), (NodeKind.ITEM, NodeKind.ITEM)),
            variable(),
            strings,
            counts=(4, 8),
        ),
        mini_block(
            "fixed-size lists",
            flat_rows([bytes((n * k) % 2 for k in range(10)) for n in range(9)]),
            (ITEM,),
            LeafType(FixedSizeList(FixedWidth(1), 10)),
            pb.CompressiveEncoding(
                fixed_size_list=pb.FixedSizeList(items_per_value=10, values=flat(1), has_validity=True)
            ),
            lists_of_ten_bits,
            counts=(2, 4),
        ),
        TEXT_LISTS,
        LONG_ROW,
        DICTIONARY,
        KEPT_DICTIONARY,
    )

    def test_last_chunk_may_name_its_values(self) -> None:
        case = mini_block(
            "named", flat_rows([int32(n) for n in range(4)]), (ITEM,), INT32, flat(32), fixed(4), counts=(2,)
        )
        table = np.frombuffer(case.buffers[0], "<u2").copy()
        table[-1] |= 1
        everything = RowRanges.one(0, 4)
        assert_holds(read_page(case.with_buffer(0, table.tobytes()), everything), case, everything)

    def test_nullable_layer_without_levels(self) -> None:
        case = mini_block("no nulls", flat_rows([int32(n) for n in range(4)]), (ITEM,), INT32, flat(32), fixed(4))
        case.description.mini_block_layout.layers[0] = NULLABLE
        assert_holds(read_page(case, RowRanges.one(1, 3)), case, RowRanges.one(1, 3))

    def test_kept_dictionary_hands_out_its_items(self) -> None:
        page = read_page(KEPT_DICTIONARY, RowRanges.one(3, 9)).page
        assert page.dictionary is not None
        assert (page.dictionary.shape, page.dictionary.num_items) == (VariableWidth(32), 3)
        assert page.dictionary.num_bytes == len(b"".join(ITEMS))

    def test_one_row_reads_one_chunk(self) -> None:
        layout = second_case(NULLABLE_INTS)
        index = load_index(layout, NULLABLE_INTS)
        plan = layout.plan(NULLABLE_INTS.facts, index, RowRanges.one(9, 10))
        starts = [
            8 * sum((word >> 4) + 1 for word in np.frombuffer(NULLABLE_INTS.buffers[0], "<u2")[:n]) for n in (1, 2)
        ]
        assert [(s.buffer, s.starts.tolist(), s.stops.tolist()) for s in plan.slices] == [(1, starts[:1], starts[1:])]


def described(case: LayoutCase, **changes: object) -> LayoutCase:
    """A copy of the page with other fields in its description; None clears one."""
    description = pb.PageLayout()
    description.CopyFrom(case.description)
    message = description.mini_block_layout
    for name, value in changes.items():
        message.ClearField(name)
        if isinstance(value, pb.CompressiveEncoding):
            getattr(message, name).CopyFrom(value)
        elif isinstance(value, tuple):
            getattr(message, name).extend(value)
        elif value is not None:
            setattr(message, name, value)
    return replace(case, description=description)


def patched(case: LayoutCase, buffer: int, at: int, content: str) -> LayoutCase:
    bytes_ = bytes.fromhex(content)
    old = case.buffers[buffer]
    at = at if at >= 0 else len(old) + at
    return case.with_buffer(buffer, old[:at] + bytes_ + old[at + len(bytes_) :])


def refusal(case: LayoutCase, rows: RowRanges | None = None) -> type[LanceError]:
    with pytest.raises(LanceError) as caught:
        read_page(case, RowRanges.one(0, len(case.rows)) if rows is None else rows)
    return caught.type


@pytest.mark.parametrize(
    ("case", "changes"),
    [
        (NULLABLE_INTS, {"layers": (NULLABLE, NULLABLE)}),
        (NULLABLE_INTS, {"layers": (LayerKind.NULLABLE_LIST,)}),
        (NULLABLE_INTS, {"layers": (0,)}),
        (NULLABLE_INTS, {"layers": (7,)}),
        (NULLABLE_INTS, {"layers": (ITEM,)}),
        (NULLABLE_INTS, {"num_buffers": 2}),
        (NULLABLE_INTS, {"num_items": 24}),
        (NULLABLE_INTS, {"num_items": 2**63}),
        (NULLABLE_INTS, {"value_compression": None}),
        (NULLABLE_INTS, {"def_compression": flat(32)}),
        (NULLABLE_INTS, {"repetition_index_depth": 1}),
        (NULLABLE_INTS, {"rep_compression": flat(16)}),
        (NULLABLE_INTS, {"has_large_chunk": True}),
        (TEXT_LISTS, {"rep_compression": None}),
        (TEXT_LISTS, {"repetition_index_depth": 0}),
        (TEXT_LISTS, {"repetition_index_depth": 2}),
        (TEXT_LISTS, {"num_items": 3}),
        (KEPT_DICTIONARY, {"dictionary": None}),
        (DICTIONARY, {"num_dictionary_items": 4}),
    ],
    ids=str,
)
def test_contradicting_descriptions_are_refused(case: LayoutCase, changes: dict[str, object]) -> None:
    assert issubclass(refusal(described(case, **changes)), CorruptFileError)


def test_absurd_dictionary_is_refused_before_it_is_allocated() -> None:
    assert refusal(described(DICTIONARY, num_dictionary_items=2**62)) in (ResourceLimitError, CorruptPageError)


_CHUNK_1 = 8 * ((np.frombuffer(TEXT_LISTS.buffers[0], "<u2")[0] >> 4) + 1)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(NULLABLE_INTS.with_buffer(0, b""), id="no chunks"),
        pytest.param(NULLABLE_INTS.with_buffer(0, NULLABLE_INTS.buffers[0][:-1]), id="half a word"),
        pytest.param(NULLABLE_INTS.with_buffer(0, NULLABLE_INTS.buffers[0][:-2]), id="a chunk less than bytes"),
        pytest.param(NULLABLE_INTS.with_buffer(1, NULLABLE_INTS.buffers[1] + bytes(8)), id="bytes left over"),
        pytest.param(NULLABLE_INTS.with_buffer(1, NULLABLE_INTS.buffers[1][:-8]), id="bytes missing"),
        pytest.param(patched(NULLABLE_INTS, 0, 0, "70"), id="no log"),
        pytest.param(patched(NULLABLE_INTS, 0, 0, "7e"), id="too many values"),
        pytest.param(patched(NULLABLE_INTS, 0, -2, "75"), id="last log not exact"),
        pytest.param(patched(NULLABLE_INTS, 1, 0, "0000"), id="no levels"),
        pytest.param(patched(NULLABLE_INTS, 1, 0, "0700"), id="fewer levels than values"),
        pytest.param(patched(NULLABLE_INTS, 1, 2, "ffff"), id="levels leave the chunk"),
        pytest.param(patched(NULLABLE_INTS, 1, 4, "ffff"), id="values leave the chunk"),
        pytest.param(patched(NULLABLE_INTS, 1, 4, "1800"), id="chunk not used up"),
        pytest.param(patched(NULLABLE_INTS, 1, 8, "0200"), id="definition level too large"),
        pytest.param(patched(EXAMPLE, 1, 8, "0300"), id="repetition level too large"),
        pytest.param(patched(EXAMPLE, 1, 8, "0100"), id="page does not begin with a row"),
        pytest.param(patched(EXAMPLE, 1, 10, "0200"), id="another row than the index says"),
        pytest.param(patched(EXAMPLE, 1, 32, "0200"), id="another value than the table says"),
        pytest.param(patched(EXAMPLE, 2, 0, "04"), id="index counts other rows"),
        pytest.param(patched(EXAMPLE, 2, 8, "01"), id="index leaves the last row open"),
        pytest.param(EXAMPLE.with_buffer(2, EXAMPLE.buffers[2] + bytes(16)), id="index of another length"),
        pytest.param(patched(EXAMPLE, 2, 0, "05000000000000ff"), id="index counts absurd rows"),
        pytest.param(patched(TEXT_LISTS, 3 - 1, 8, "00"), id="index says a row ends with its chunk"),
        pytest.param(patched(DICTIONARY, 1, 6 + 2 + 32 + 1, "03"), id="index without an item"),
        pytest.param(patched(DICTIONARY, 2, 4, "ff"), id="dictionary header"),
    ],
)
def test_contradicting_bytes_are_refused(case: LayoutCase) -> None:
    assert refusal(case) is CorruptPageError


def test_a_chunk_that_is_read_is_compared_with_the_index() -> None:
    """The index moves a row from the last chunk to the first: found out by whoever reads one of the two."""
    pairs = np.frombuffer(TEXT_LISTS.buffers[-1], "<u8").copy()
    pairs[0] += 1
    pairs[-2] -= 1
    damaged = TEXT_LISTS.with_buffer(2, pairs.tobytes())
    last = len(damaged.rows) - 1
    for start, stop in ((0, 1), (1, 2), (last, last + 1), (0, last + 1)):
        assert refusal(damaged, RowRanges.one(start, stop)) is CorruptPageError
