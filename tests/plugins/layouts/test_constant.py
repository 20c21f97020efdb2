"""Constant pages: every combination of buffers and scalar, written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rows_of_levels import Rows, flat_rows, int32
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
    open_rows,
)

ITEM, NULLABLE = LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_ITEM
LIST_LAYERS = (NULLABLE, LayerKind.NULL_AND_EMPTY_LIST)
INT32, TEXT, NOTHING = LeafType(FixedWidth(32)), LeafType(VariableWidth(32)), LeafType(None)
INT32_LIST = LeafType(FixedWidth(32), (NodeKind.ITEM, NodeKind.LIST))
HELLO = bytes.fromhex("02000000 08000000 05000000 00000000 05000000 68656c6c6f")
WIDE = bytes.fromhex("02000000 10000000 03000000 0000000000000000 0300000000000000 616263")
LONG = bytes(range(40))


def words(*levels: int) -> bytes:
    return np.array(levels, "<u2").tobytes()


def flat(bits: int) -> pb.CompressiveEncoding:
    return pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))


def runs_of(levels: list[int]) -> bytes:
    """A run-length block, every run of length 1."""
    return (2 * len(levels)).to_bytes(8, "little") + words(*levels) + b"\1" * len(levels)


def constant(
    name: str,
    rows: Rows,
    layers: tuple[LayerKind, ...],
    leaf: LeafType,
    buffers: tuple[bytes, ...] = (),
    **fields: object,
) -> LayoutCase:
    return LayoutCase(
        name, pb.PageLayout(constant_layout=pb.ConstantLayout(layers=layers, **fields)), leaf, buffers, rows
    )


def scalar_rows(scalar: bytes | None) -> Rows:
    """[s, null], null, [], [s] in one list layer."""
    return (
        (Entry(1, 0, scalar), Entry(0, 1)),
        (Entry(1, 2),),
        (Entry(1, 3),),
        (Entry(1, 0, scalar),),
    )


LIST_LEVELS = (words(1, 0, 1, 1, 1), words(0, 1, 2, 3, 0))
NULL_ROWS: Rows = ((Entry(1, 1), Entry(0, 1)), (Entry(1, 2),), (Entry(1, 3),), (Entry(1, 1),))
NULL_LEVELS = ([1, 0, 1, 1, 1], [1, 1, 2, 3, 1])
RLE = pb.CompressiveEncoding(rle=pb.Rle(values=flat(16), run_lengths=flat(8)))
PACKED_TO_NOTHING = pb.CompressiveEncoding(
    out_of_line_bitpacking=pb.OutOfLineBitpacking(
        uncompressed_bits_per_value=16, values=pb.CompressiveEncoding(flat=pb.Flat())
    )
)

ALL_NULL = constant("all null", flat_rows([None] * 9), (NULLABLE,), INT32)
INLINE = constant("all equal, inline", flat_rows([int32(7)] * 9), (ITEM,), INT32, inline_value=int32(7))
STORED = constant("all equal, stored", flat_rows([b"hello"] * 9), (ITEM,), TEXT, (HELLO,))
NULL_LISTS = constant("lists of nulls", NULL_ROWS, LIST_LAYERS, INT32_LIST, tuple(words(*one) for one in NULL_LEVELS))
CODED_LISTS = constant(
    "lists of nulls, coded levels",
    NULL_ROWS,
    LIST_LAYERS,
    INT32_LIST,
    tuple(runs_of(one) for one in NULL_LEVELS),
    rep_compression=RLE,
    def_compression=RLE,
    num_rep_values=5,
    num_def_values=5,
)
SCALAR_LISTS = constant(
    "lists of a scalar", scalar_rows(int32(7)), LIST_LAYERS, INT32_LIST, LIST_LEVELS, inline_value=int32(7)
)


class TestConstant(LayoutSuite):
    reading = staticmethod(second_reader)
    key = EncodingKey("lance.encodings21.PageLayout", "constant_layout")
    cases = (
        ALL_NULL,
        constant("all null strings", flat_rows([None] * 5), (NULLABLE,), TEXT),
        constant(
            "all null fixed-size lists of bits",
            flat_rows([None] * 5),
            (NULLABLE,),
            LeafType(FixedSizeList(FixedWidth(1), 3)),
        ),
        constant(
            "all null in a valid struct",
            flat_rows([None] * 5),
            (NULLABLE, ITEM),
            LeafType(FixedWidth(32), (NodeKind.ITEM, NodeKind.ITEM)),
        ),
        # Without fields there is nothing that could be null: the rows are valid, whatever the layer says.
        constant("empty struct", tuple((Entry(),) for _ in range(6)), (NULLABLE,), NOTHING),
        constant("null or empty struct", flat_rows([None, b"", None]), (NULLABLE,), NOTHING, (b"", words(1, 0, 1))),
        INLINE,
        constant("all true", flat_rows([b"\1"] * 11), (ITEM,), LeafType(FixedWidth(1)), inline_value=b"\1"),
        constant(
            "widest inline", flat_rows([LONG[:32]] * 3), (ITEM,), LeafType(FixedWidth(256)), inline_value=LONG[:32]
        ),
        constant(
            "equal or null",
            flat_rows([int32(7), None, int32(7), None, int32(7)]),
            (NULLABLE,),
            INT32,
            (b"", words(0, 1, 0, 1, 0)),
            inline_value=int32(7),
        ),
        STORED,
        constant("wide stored", flat_rows([b"abc"] * 3), (ITEM,), LeafType(VariableWidth(64)), (WIDE,)),
        constant(
            "stored fixed width",
            flat_rows([LONG] * 3),
            (ITEM,),
            LeafType(FixedWidth(320)),
            ((1).to_bytes(4, "little") + (40).to_bytes(4, "little") + LONG,),
        ),
        constant(
            "stored or null",
            flat_rows([b"hello", None, None, b"hello"]),
            (NULLABLE,),
            TEXT,
            (HELLO, b"", words(0, 1, 1, 0)),
        ),
        NULL_LISTS,
        CODED_LISTS,
        SCALAR_LISTS,
        constant(
            "lists of a stored scalar",
            scalar_rows(b"hello"),
            LIST_LAYERS,
            LeafType(VariableWidth(32), (NodeKind.ITEM, NodeKind.LIST)),
            (HELLO, *LIST_LEVELS),
        ),
        constant(
            "empty lists only",
            ((Entry(1, 2),), (Entry(1, 1),), (Entry(1, 2),)),
            (ITEM, LayerKind.NULL_AND_EMPTY_LIST),
            INT32_LIST,
            (words(1, 1, 1), words(2, 1, 2)),
        ),
        constant(
            "lists of a scalar without definition levels",
            ((Entry(1, 0, int32(7)), Entry(0, 0, int32(7))), (Entry(1, 0, int32(7)),)),
            (ITEM, LayerKind.ALL_VALID_LIST),
            INT32_LIST,
            (words(1, 0, 1), b""),
            inline_value=int32(7),
        ),
    )

    def test_nothing_is_fetched_but_the_index(self) -> None:
        layout = second_case(SCALAR_LISTS)
        index = load_index(layout, SCALAR_LISTS)
        assert layout.plan(SCALAR_LISTS.facts, index, RowRanges.one(1, 3)).slices == ()

    def test_a_row_of_a_page_of_absurd_length(self) -> None:
        layout = second_case(ALL_NULL)
        facts = replace(ALL_NULL.facts, num_rows=2**60)
        index = layout.load_index(facts, ())
        rows = RowRanges.one(2**59, 2**59 + 2)
        page = layout.load(facts, index, layout.plan(facts, index, rows), ())
        assert (page.num_values, page.levels.num_entries) == (2, 2)


def refusal(case: LayoutCase) -> type[LanceError]:
    with pytest.raises(LanceError) as caught:
        read_page(case, RowRanges.one(0, len(case.rows)))
    return caught.type


def with_leaf(case: LayoutCase, leaf: LeafType) -> LayoutCase:
    return replace(case, leaf=leaf)


def stored(leaf: LeafType, hexadecimal: str) -> LayoutCase:
    return constant("stored", flat_rows([b"hello"] * 3), (ITEM,), leaf, (bytes.fromhex(hexadecimal),))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(replace(INLINE, buffers=(HELLO,)), id="scalar twice"),
        pytest.param(replace(INLINE, buffers=(HELLO, b"", b"")), id="scalar twice, levels"),
        pytest.param(replace(ALL_NULL, buffers=(b"",) * 4), id="four buffers"),
        pytest.param(with_leaf(INLINE, LeafType(FixedWidth(64))), id="inline of another width"),
        pytest.param(with_leaf(INLINE, TEXT), id="inline for strings"),
        pytest.param(with_leaf(INLINE, NOTHING), id="inline for nothing"),
        pytest.param(with_leaf(INLINE, LeafType(FixedSizeList(FixedWidth(16), 2))), id="inline for lists"),
        pytest.param(
            constant("", flat_rows([LONG] * 2), (ITEM,), LeafType(FixedWidth(320)), inline_value=LONG),
            id="inline too wide",
        ),
        pytest.param(
            constant("", flat_rows([b"\2"] * 2), (ITEM,), LeafType(FixedWidth(1)), inline_value=b"\2"), id="neither bit"
        ),
        pytest.param(
            constant("", flat_rows([b"\2"] * 2), (ITEM,), LeafType(FixedWidth(1)), inline_value=b""), id="no bit"
        ),
        pytest.param(constant("", flat_rows([int32(0)] * 4), (ITEM,), INT32), id="valid without a scalar"),
        pytest.param(constant("", NULL_ROWS, LIST_LAYERS, INT32_LIST), id="lists without levels"),
        pytest.param(replace(NULL_LISTS, buffers=(b"", NULL_LISTS.buffers[1])), id="lists without repetition"),
        pytest.param(replace(NULL_LISTS, buffers=(NULL_LISTS.buffers[0], b"")), id="valid items without a scalar"),
        pytest.param(replace(SCALAR_LISTS, description=NULL_LISTS.description), id="valid slots without a scalar"),
        pytest.param(replace(ALL_NULL, buffers=(words(*[0] * 9), words(*[1] * 9))), id="repetition without lists"),
        pytest.param(replace(ALL_NULL, buffers=(b"", words(*[1] * 8))), id="levels for other rows"),
        pytest.param(replace(ALL_NULL, buffers=(b"", words(*[2] * 9))), id="definition level too large"),
        pytest.param(
            constant("", flat_rows([int32(7)] * 2), (ITEM,), INT32, (b"", words(1, 1)), inline_value=int32(7)),
            id="definition levels that no layer uses",
        ),
        pytest.param(replace(NULL_LISTS, rows=NULL_ROWS[:3]), id="a row too many"),
        pytest.param(NULL_LISTS.with_buffer(0, words(2, 0, 1, 1, 1)), id="repetition level too large"),
        pytest.param(NULL_LISTS.with_buffer(0, words(0, 1, 1, 1, 1)), id="first level continues"),
        pytest.param(NULL_LISTS.with_buffer(0, NULL_LISTS.buffers[0] + b"\0"), id="half a level"),
        pytest.param(NULL_LISTS.with_buffer(1, words(1, 1, 2, 3)), id="streams of unequal length"),
        pytest.param(CODED_LISTS.with_buffer(0, b""), id="coded levels without bytes"),
        pytest.param(CODED_LISTS.with_buffer(0, runs_of([1, 0, 1, 1])), id="coded levels too few"),
        pytest.param(CODED_LISTS.with_buffer(0, runs_of([1, 0, 1, 1, 1, 1])), id="coded levels too many"),
        pytest.param(stored(TEXT, ""), id="scalar without bytes"),
        pytest.param(stored(TEXT, "02000000"), id="scalar without sizes"),
        pytest.param(stored(TEXT, "ffffffff 00000000"), id="scalar of absurd parts"),
        pytest.param(stored(TEXT, "00000000"), id="scalar of no parts"),
        pytest.param(stored(TEXT, "01000000 05000000 68656c6c6f"), id="string without offsets"),
        pytest.param(stored(INT32, HELLO.hex()), id="integer with offsets"),
        pytest.param(stored(INT32, "01000000 05000000 68656c6c6f"), id="integer of five bytes"),
        pytest.param(stored(TEXT, HELLO.hex() + "00"), id="scalar with bytes left over"),
        pytest.param(stored(TEXT, HELLO.hex()[:-2]), id="scalar cut"),
        pytest.param(stored(LeafType(VariableWidth(64)), HELLO.hex()), id="narrow offsets for a wide type"),
        pytest.param(
            stored(TEXT, HELLO.hex().replace("0000000005000000" + "68", "0100000005000000" + "68")), id="first"
        ),
        pytest.param(
            stored(TEXT, HELLO.hex().replace("0000000005000000" + "68", "0000000004000000" + "68")), id="last"
        ),
        pytest.param(
            stored(LeafType(FixedSizeList(FixedWidth(32), 1)), "01000000 04000000 07000000"), id="stored list"
        ),
        pytest.param(
            constant("", flat_rows([None]), (NULLABLE,), INT32, (b"", words(1)), num_def_values=1 << 63),
            id="levels that no integer counts",
        ),
    ],
)
def test_contradictions_are_refused(case: LayoutCase) -> None:
    assert issubclass(refusal(case), CorruptFileError)


def test_raw_levels_must_be_as_many_as_declared() -> None:
    case = constant("", flat_rows([None] * 3), (NULLABLE,), INT32, (b"", words(1, 1, 1)), num_def_values=3)
    assert_holds(read_page(case, RowRanges.one(0, 3)), case, RowRanges.one(0, 3))
    case.description.constant_layout.num_def_values = 4
    assert refusal(case) is CorruptPageError


def test_levels_that_take_no_bytes_are_limited() -> None:
    case = constant(
        "",
        flat_rows([None] * 3),
        (NULLABLE,),
        INT32,
        (b"", b"\0\0"),
        def_compression=PACKED_TO_NOTHING,
        num_def_values=2**62,
    )
    assert refusal(case) is ResourceLimitError


def test_a_selection_holds_its_own_levels_and_bytes() -> None:
    case = next(case for case in TestConstant.cases if case.name == "lists of a stored scalar")
    layout = second_case(case)
    got = open_rows(layout, case, load_index(layout, case), RowRanges.one(2, 4))
    assert got.levels.rep is not None
    assert got.levels.rep.tolist() == [1, 1]
    assert (got.page.num_values, got.page.num_bytes) == (1, 5)
