"""Full-zip pages, written by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from rows_of_levels import EXAMPLE_LAYERS, EXAMPLE_ROWS, Rows, flat_rows, int32, list_rows, max_visible
from second_pages import read_page, second_case
from second_reader import second_reader

from lance_arrow.errors import CorruptFileError, CorruptPageError, LanceError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import EncodingKey, FixedSizeList, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.layouts import LayerKind, NodeKind, RowRanges
from lance_arrow.testing.layout_suite import Entry, LayoutCase, LayoutSuite, bind_case, load_index

ITEM, NULLABLE = LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_ITEM
LIST_LAYERS = (NULLABLE, LayerKind.NULL_AND_EMPTY_LIST)


def flat(bits: int) -> pb.CompressiveEncoding:
    return pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))


def variable(bits: int = 32) -> pb.CompressiveEncoding:
    return pb.CompressiveEncoding(variable=pb.Variable(offsets=flat(bits)))


def full_zip(
    name: str,
    rows: Rows,
    layers: tuple[LayerKind, ...],
    leaf: LeafType,
    codec: pb.CompressiveEncoding,
    *,
    width: int | None = None,
    offset_bits: int = 32,
    bits: tuple[int, int] | None = None,
    index_bytes: int = 2,
    stored: Callable[[bytes], bytes] = bytes,
) -> LayoutCase:
    """Build a page; `width` bytes per value, or lengths of `offset_bits` before each valid one."""
    has_lists = any(layer.is_list for layer in layers)
    used = [max(getattr(entry, which) for row in rows for entry in row) for which in ("rep", "def_")]
    bits_rep, bits_def = bits or (used[0].bit_length(), used[1].bit_length())
    total = bits_rep + bits_def
    word_bytes = 0 if total == 0 else 1 if total <= 8 else 2 if total <= 16 else 4
    stream, index = bytearray(), [0]
    visible = [entry for row in rows for entry in row if entry.def_ <= max_visible(layers)]
    for row in rows:
        for entry in row:
            stream += (entry.rep << bits_def | entry.def_).to_bytes(word_bytes, "little")
            if entry.def_ > max_visible(layers):
                continue
            if width is not None:
                stream += bytes(width) if entry.value is None else stored(entry.value)
            elif entry.value is not None:
                stream += len(entry.value).to_bytes(offset_bits // 8, "little") + entry.value
        index.append(len(stream))
    message = pb.FullZipLayout(
        bits_rep=bits_rep,
        bits_def=bits_def,
        num_items=sum(map(len, rows)),
        num_visible_items=len(visible),
        value_compression=codec,
        layers=layers,
    )
    if width is None:
        message.bits_per_offset = offset_bits
    else:
        message.bits_per_value = 8 * width
    buffers = [bytes(stream)]
    if has_lists or width is None:
        buffers.append(np.array(index, f"<u{index_bytes}").tobytes())
    return LayoutCase(name, pb.PageLayout(full_zip_layout=message), leaf, tuple(buffers), rows)


TEXT = LeafType(VariableWidth(32))
INT32 = LeafType(FixedWidth(32))
WORDS = [b"", b"a", b"item", b"a much longer one"]
NUMBERS = [int32(n * 77) if n % 5 else None for n in range(30)]
STRINGS = [WORDS[n % 4] if n % 3 else None for n in range(30)]

EXAMPLE = LayoutCase(
    "worked example",
    pb.PageLayout(
        full_zip_layout=pb.FullZipLayout(
            bits_rep=2,
            bits_def=3,
            bits_per_value=32,
            num_items=10,
            num_visible_items=5,
            value_compression=flat(32),
            layers=EXAMPLE_LAYERS,
        )
    ),
    LeafType(FixedWidth(32), (NodeKind.ITEM, NodeKind.LIST, NodeKind.ITEM, NodeKind.LIST)),
    (
        bytes.fromhex("10010000000002000000" + "0b0c151612" + "0900000000" + "0003000000" + "1004000000"),
        bytes.fromhex("000c0d0e191e"),
    ),
    EXAMPLE_ROWS,
)
FIXED = full_zip("nullable integers", flat_rows(NUMBERS), (NULLABLE,), INT32, flat(32), width=4)
TEXTS = full_zip("nullable strings", flat_rows(STRINGS), (NULLABLE,), TEXT, variable())
LISTS = full_zip(
    "lists of strings",
    list_rows(30, 5, lambda chance: chance.choice(WORDS)),
    LIST_LAYERS,
    LeafType(VariableWidth(32), (NodeKind.ITEM, NodeKind.LIST)),
    variable(),
)


def deep_rows(depth: int) -> Rows:
    """Lists nested `depth` deep: every entry starts another level of them."""
    return tuple(
        tuple(Entry(rep, int(rep == 0), None if rep == 0 else int32(rep)) for rep in (depth, *range(row % depth)))
        for row in range(12)
    )


class TestFullZip(LayoutSuite):
    reading = staticmethod(second_reader)
    key = EncodingKey("lance.encodings21.PageLayout", "full_zip_layout")
    cases = (
        EXAMPLE,
        FIXED,
        TEXTS,
        LISTS,
        full_zip(
            "equal values without bytes",
            flat_rows([int32(7) if n % 5 else None for n in range(30)]),
            (NULLABLE,),
            INT32,
            pb.CompressiveEncoding(constant=pb.Constant(value=int32(7))),
            width=0,
            stored=lambda _: b"",
        ),
        full_zip("no levels, one width", flat_rows([int32(n) for n in range(9)]), (ITEM,), INT32, flat(32), width=4),
        full_zip("no levels, lengths", flat_rows([WORDS[n % 4] for n in range(9)]), (ITEM,), TEXT, variable()),
        full_zip(
            "wide lengths, wide index",
            flat_rows(STRINGS),
            (NULLABLE,),
            LeafType(VariableWidth(64)),
            variable(64),
            offset_bits=64,
            index_bytes=8,
        ),
        full_zip("index of four bytes", flat_rows(STRINGS), (NULLABLE,), TEXT, variable(), index_bytes=4),
        full_zip(
            "repetition only",
            tuple(tuple(Entry(int(n == 0), 0, int32(n)) for n in range(row % 4 + 1)) for row in range(20)),
            (ITEM, LayerKind.ALL_VALID_LIST),
            LeafType(FixedWidth(32), (NodeKind.ITEM, NodeKind.LIST)),
            flat(32),
            width=4,
            index_bytes=4,
        ),
        full_zip(
            "control words of two bytes",
            deep_rows(9),
            (NULLABLE, *[LayerKind.ALL_VALID_LIST] * 9),
            LeafType(FixedWidth(32), (NodeKind.ITEM, *[NodeKind.LIST] * 9)),
            flat(32),
            width=4,
            bits=(4, 9),
        ),
        full_zip(
            "control words of four bytes",
            deep_rows(3),
            (NULLABLE, *[LayerKind.ALL_VALID_LIST] * 3),
            LeafType(FixedWidth(32), (NodeKind.ITEM, *[NodeKind.LIST] * 3)),
            flat(32),
            width=4,
            bits=(2, 16),
        ),
        full_zip(
            "struct of fixed-size lists",
            tuple((Entry(0, n % 3, None if n % 3 else bytes(range(n, n + 12))),) for n in range(15)),
            (NULLABLE, NULLABLE),
            LeafType(FixedSizeList(FixedWidth(32), 3), (NodeKind.ITEM, NodeKind.ITEM)),
            pb.CompressiveEncoding(fixed_size_list=pb.FixedSizeList(items_per_value=3, values=flat(32))),
            width=12,
        ),
        full_zip(
            "booleans",
            flat_rows([bytes([n % 3 == 0]) if n % 4 else None for n in range(21)]),
            (NULLABLE,),
            LeafType(FixedWidth(1)),
            flat(8),
            width=1,
        ),
    )

    def test_rows_of_one_width_need_no_index(self) -> None:
        layout = second_case(FIXED)
        assert layout.index_slices(FIXED.facts) == ()
        (slices,) = layout.plan(FIXED.facts, None, RowRanges.one(3, 7)).slices
        assert (slices.buffer, slices.starts.tolist(), slices.stops.tolist()) == (0, [15], [35])

    def test_rows_of_other_widths_are_cut_by_the_index(self) -> None:
        layout = second_case(EXAMPLE)
        rows = RowRanges(np.array([0, 3]), np.array([2, 4]))
        (slices,) = layout.plan(EXAMPLE.facts, load_index(layout, EXAMPLE), rows).slices
        assert (slices.starts.tolist(), slices.stops.tolist()) == ([0, 14], [13, 25])

    def test_any_byte_but_zero_is_true(self) -> None:
        case = next(case for case in self.cases if case.name == "booleans")
        stream = bytearray(case.buffers[0])
        place = stream.index(b"\0\1")
        stream[place + 1] = 0x80
        values = read_page(case.with_buffer(0, bytes(stream)), RowRanges.one(0, 21)).values()
        assert values[place // 2] == b"\1"


def described(case: LayoutCase, **changes: object) -> LayoutCase:
    """A copy of the page with other fields in its description."""
    description = pb.PageLayout()
    description.CopyFrom(case.description)
    for name, value in changes.items():
        description.full_zip_layout.ClearField(name)
        if isinstance(value, pb.CompressiveEncoding):
            getattr(description.full_zip_layout, name).CopyFrom(value)
        elif isinstance(value, tuple):
            getattr(description.full_zip_layout, name).extend(value)
        elif value is not None:
            setattr(description.full_zip_layout, name, value)
    return replace(case, description=description)


def refusal(case: LayoutCase, rows: RowRanges | None = None) -> type[LanceError]:
    with pytest.raises(LanceError) as caught:
        read_page(case, RowRanges.one(0, len(case.rows)) if rows is None else rows)
    return caught.type


@pytest.mark.parametrize(
    ("case", "changes"),
    [
        (EXAMPLE, {"bits_rep": 17}),
        (EXAMPLE, {"bits_def": 17}),
        (EXAMPLE, {"bits_rep": 0}),
        (EXAMPLE, {"bits_rep": 1}),
        (EXAMPLE, {"bits_def": 2}),
        (EXAMPLE, {"bits_per_value": None}),
        (EXAMPLE, {"bits_per_value": 64}),
        (EXAMPLE, {"bits_per_offset": 32}),
        (EXAMPLE, {"num_items": 9}),
        (EXAMPLE, {"num_visible_items": 6}),
        (EXAMPLE, {"value_compression": None}),
        (EXAMPLE, {"layers": EXAMPLE_LAYERS[:3]}),
        (FIXED, {"bits_rep": 1}),
        (FIXED, {"layers": (ITEM,)}),
        (FIXED, {"num_items": 31}),
        (FIXED, {"num_visible_items": 29}),
        (FIXED, {"bits_def": 0}),
        (TEXTS, {"bits_per_offset": 16}),
        (TEXTS, {"bits_per_offset": 64}),
        (TEXTS, {"bits_per_value": 32}),
    ],
    ids=str,
)
def test_contradicting_descriptions_are_refused(case: LayoutCase, changes: dict[str, object]) -> None:
    assert issubclass(refusal(described(case, **changes)), CorruptFileError)


def patched(case: LayoutCase, buffer: int, at: int, content: str) -> LayoutCase:
    bytes_ = bytes.fromhex(content)
    old = case.buffers[buffer]
    return case.with_buffer(buffer, old[:at] + bytes_ + old[at + len(bytes_) :])


@pytest.mark.parametrize(
    ("case", "rows"),
    [
        pytest.param(patched(EXAMPLE, 0, 0, "30"), None, id="control word with stray bits"),
        pytest.param(patched(EXAMPLE, 0, 0, "18"), None, id="repetition level too large"),
        pytest.param(patched(EXAMPLE, 0, 10, "0f"), None, id="definition level too large"),
        pytest.param(patched(EXAMPLE, 0, 0, "00"), None, id="page does not begin with a row"),
        pytest.param(patched(EXAMPLE, 0, 12, "0d"), None, id="a row less than the index has"),
        pytest.param(patched(EXAMPLE, 0, 12, "0d"), (1, 2), id="a row that does not begin with one"),
        pytest.param(patched(EXAMPLE, 0, 5, "10"), (0, 1), id="two rows where the index has one"),
        pytest.param(patched(EXAMPLE, 0, 10, "09"), None, id="values swallow entries"),
        pytest.param(patched(EXAMPLE, 1, 0, "01"), None, id="index does not begin at 0"),
        pytest.param(patched(EXAMPLE, 1, 5, "1d"), None, id="index ends before the stream"),
        pytest.param(patched(EXAMPLE, 1, 5, "1f"), None, id="index ends after the stream"),
        pytest.param(patched(EXAMPLE, 1, 1, "0e"), None, id="index descends"),
        pytest.param(patched(EXAMPLE, 1, 1, "0d"), (0, 1), id="index shifts a row, first"),
        pytest.param(patched(EXAMPLE, 1, 1, "0d"), (1, 2), id="index shifts a row, second"),
        pytest.param(patched(EXAMPLE, 1, 3, "0a"), (3, 4), id="index points into a row"),
        pytest.param(EXAMPLE.with_buffer(1, EXAMPLE.buffers[1] + b"\x1e"), None, id="index width"),
        pytest.param(EXAMPLE.with_buffer(1, b""), None, id="no index"),
        pytest.param(EXAMPLE.with_buffer(0, EXAMPLE.buffers[0] + b"\x16"), None, id="stream too long"),
        pytest.param(patched(FIXED, 0, 0, "02"), None, id="level bits beyond the width"),
        pytest.param(patched(TEXTS, 0, 2, "ffffffff"), None, id="absurd length"),
        pytest.param(patched(TEXTS, 0, 0, "00"), None, id="null becomes a value"),
    ],
)
def test_contradicting_bytes_are_refused(case: LayoutCase, rows: tuple[int, int] | None) -> None:
    assert refusal(case, None if rows is None else RowRanges.one(*rows)) is CorruptPageError


def test_stream_of_one_width_must_be_its_rows() -> None:
    assert refusal(FIXED.with_buffer(0, FIXED.buffers[0] + bytes(5))) is CorruptFileError
    assert refusal(FIXED.with_buffer(0, FIXED.buffers[0][:-5])) is CorruptFileError


def test_entries_without_any_bytes_are_refused():
    codec = pb.CompressiveEncoding(constant=pb.Constant(value=int32(7)))
    case = full_zip("nothing", flat_rows([int32(7)] * 3), (ITEM,), INT32, codec, width=0, stored=lambda _: b"")
    with pytest.raises(UnsupportedError, match="without any bytes"):
        bind_case(case)
