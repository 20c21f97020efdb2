"""Planar pages of 2.3: dense and sparse structure beside every plane of values, written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hand_pages import NO_POSITIONS, flat, items, lists, null_at, tuples, u64
from rows_of_levels import EXAMPLE_ROWS, Rows, flat_rows, int32
from second_pages import read_page, second_case
from second_reader import second_reader

from lance_arrow.errors import CorruptFileError, CorruptPageError, LanceError, ResourceLimitError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.proto import encodings_v23_pb2 as planar
from lance_arrow.spi import EncodingKey, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.layouts import LayerKind, NodeKind, RowRanges
from lance_arrow.testing.layout_suite import Entry, LayoutCase, LayoutSuite, bind_case, load_index, open_rows

ITEM, NULLABLE = LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_ITEM
INT32, TEXT, NOTHING = LeafType(FixedWidth(32)), LeafType(VariableWidth(32)), LeafType(None)
INT32_LIST = LeafType(FixedWidth(32), (NodeKind.ITEM, NodeKind.LIST))
EXAMPLE_LEAF = LeafType(FixedWidth(32), (NodeKind.ITEM, NodeKind.LIST, NodeKind.ITEM, NodeKind.LIST))


def sparse(
    name: str, leaf: LeafType, rows: Rows, layers: list, buffers: tuple[bytes, ...], lengths_per_row: int = 1, **plane
) -> LayoutCase:
    description = planar.PlanarLayout(
        structure=planar.StructuralPlane(sparse=planar.SparseStructure(layers=layers)),
        values=planar.ValuePlane(**plane),
    )
    return LayoutCase(name, description, leaf, buffers, rows, lengths_per_row)


def dense(name: str, leaf: LeafType, rows: Rows, layers: tuple, buffers: tuple[bytes, ...], **plane) -> LayoutCase:
    structure = planar.StructuralPlane(dense=planar.DenseStructure(layers=layers))
    return LayoutCase(
        name, planar.PlanarLayout(structure=structure, values=planar.ValuePlane(**plane)), leaf, buffers, rows
    )


def chunk(*parts: bytes, num_levels: int = 0, levels: tuple[bytes, ...] = ()) -> bytes:
    """One chunk of large form: u16 sizes of levels, u32 sizes of values, each part padded to 8 bytes."""
    head = num_levels.to_bytes(2, "little")
    head += b"".join(len(level).to_bytes(2, "little") for level in levels)
    head += b"".join(len(part).to_bytes(4, "little") for part in parts)
    return b"".join(part + b"\xfe" * (-len(part) % 8) for part in (head, *levels, *parts))


def table(*chunks: tuple[bytes, int]) -> bytes:
    """Chunk words of 32 bits from (chunk, logarithm of its values)."""
    return b"".join(((len(content) // 8 - 1) << 4 | log).to_bytes(4, "little") for content, log in chunks)


def chunked(**fields) -> planar.ChunkedValues:
    return planar.ChunkedValues(value_compression=flat(32), num_buffers=1, **fields)


def ints(*numbers: int) -> bytes:
    return np.array(numbers, "<i4").tobytes()


# [{v:[1,2]}, {v:[]}, null], null, [], [{v:null}, {v:[null,3]}], [{v:[4]}]
FIRST, SECOND = chunk(ints(1, 2, 0, 3)), chunk(ints(4))
EXAMPLE = sparse(
    "worked example",
    EXAMPLE_LEAF,
    EXAMPLE_ROWS,
    [lists(6, 3, null_at(1)), items(null_at(2)), lists(5, 3, null_at(2, 3)), items(null_at(2))],
    (
        table((FIRST, 2), (SECOND, 0)),
        FIRST + SECOND,
        *(u64(0, 3, 4), u64(3, 2, 1), u64(1), u64(2), u64(0, 4, 5), u64(2, 2, 1), u64(2, 3), u64(2)),
    ),
    chunked=chunked(),
)
NUMBERS = [int32(n * 77) if n % 5 else None for n in range(30)]
SLOTS = chunk(ints(*(n * 77 for n in range(30))))
PLAIN = sparse(
    "nullable integers in a chunk",
    INT32,
    flat_rows(NUMBERS),
    [items(null_at(*range(0, 30, 5)))],
    (table((SLOTS, 0)), SLOTS, u64(*range(0, 30, 5))),
    chunked=chunked(),
)
VALID = [n for n in range(30) if n % 5]
ZIPPED = sparse(
    "zipped integers, valid slots listed",
    INT32,
    flat_rows(NUMBERS),
    [items(null_at(*VALID, valid=True))],
    (ints(*(n * 77 for n in VALID)), u64(*VALID)),
    zipped=planar.ZippedValues(
        value_compression=flat(32), bits_per_value=32, num_items=len(VALID), num_visible_items=len(VALID)
    ),
)
WORDS = [b"a", b"", b"item"]
LENGTHS = pb.CompressiveEncoding(variable=pb.Variable(offsets=flat(32)))


def zipped_words(words: list[bytes]) -> tuple[bytes, bytes]:
    entries = [len(word).to_bytes(4, "little") + word for word in words]
    return b"".join(entries), np.cumsum([0, *map(len, entries)]).astype("<u2").tobytes()


def zipped_text(count: int) -> planar.ZippedValues:
    return planar.ZippedValues(value_compression=LENGTHS, bits_per_offset=32, num_items=count, num_visible_items=count)


STRINGS = [WORDS[n % 3] if n % 4 else None for n in range(14)]
TEXTS = sparse(
    "zipped strings",
    TEXT,
    flat_rows(STRINGS),
    [items(null_at(0, 4, 8, 12))],
    (*zipped_words([word for word in STRINGS if word is not None]), u64(0, 4, 8, 12)),
    zipped=zipped_text(10),
)
INDEXED = sparse(
    "strings by index",
    TEXT,
    flat_rows(STRINGS),
    [items(null_at(0, 4, 8, 12))],
    (bytes(n % 3 if n % 4 else 200 for n in range(14)), *zipped_words(WORDS), u64(0, 4, 8, 12)),
    indexed=planar.IndexedValues(indices=flat(8), items=zipped_text(3)),
)
SEVEN = ints(7)
SCALAR_ROWS: Rows = ((Entry(1, 0, SEVEN), Entry(0, 1)), (Entry(1, 2),), (Entry(1, 3),), (Entry(1, 0, SEVEN),))
SCALAR = sparse(
    "lists of one scalar",
    INT32_LIST,
    SCALAR_ROWS,
    [lists(3, 2, null_at(1)), items(null_at(1))],
    (u64(0, 3), u64(2, 1), u64(1), u64(1)),
    constant=planar.ConstantValues(scalar=SEVEN),
)
ALL_NULL = sparse("all null", INT32, flat_rows([None] * 9), [items(null_at(valid=True))], (), none=planar.NoValues())
EMPTY_LISTS = replace(
    sparse(
        "lists without items",
        INT32_LIST,
        tuple((Entry(1, 1 + n % 2),) for n in range(4)),
        [lists(0, 0, null_at(0, 2)), items(null_at())],
        (u64(0, 2),),
        none=planar.NoValues(),
    ),
    layers=(LayerKind.ALL_VALID_ITEM, LayerKind.NULL_AND_EMPTY_LIST),
)
STRUCTS = sparse("structs without fields", NOTHING, ((Entry(),),) * 5, [items(null_at())], (), none=planar.NoValues())
LEVELS = np.array([int(n % 5 == 0) for n in range(30)], "<u2").tobytes()
DENSE_CHUNK = chunk(ints(*(n * 77 for n in range(30))), num_levels=30, levels=(LEVELS,))
DENSE = dense(
    "dense integers in a chunk",
    INT32,
    flat_rows(NUMBERS),
    (NULLABLE,),
    (table((DENSE_CHUNK, 0)), DENSE_CHUNK),
    chunked=chunked(levels=planar.ChunkedLevels(def_compression=flat(16)), num_items=30),
)
DENSE_ZIPPED = dense(
    "dense zipped integers",
    INT32,
    flat_rows(NUMBERS),
    (NULLABLE,),
    (b"".join(bytes([n % 5 == 0]) + int32(n * 77) for n in range(30)),),
    zipped=planar.ZippedValues(
        value_compression=flat(32),
        levels=planar.ZippedLevels(bits_def=1),
        bits_per_value=32,
        num_items=30,
        num_visible_items=30,
    ),
)
DENSE_SCALAR = dense(
    "dense scalar", INT32, flat_rows([SEVEN] * 9), (ITEM,), (), constant=planar.ConstantValues(scalar=SEVEN)
)
DENSE_NULLS = dense("dense nulls", INT32, flat_rows([None] * 9), (NULLABLE,), (), none=planar.NoValues())
DENSE_STRUCTS = dense(
    "dense structs without fields", NOTHING, ((Entry(),),) * 9, (NULLABLE,), (), none=planar.NoValues()
)
# [{a:1}, null], null, [{a:null}, {a:2}] as fixed-size lists of two structs
TUPLES = sparse(
    "fixed-size lists of structs, zipped",
    LeafType(FixedWidth(32), (NodeKind.ITEM, NodeKind.ITEM, NodeKind.FIXED_SIZE_LIST)),
    (
        (Entry(0, 0, int32(1)), Entry(0, 2)),
        (Entry(0, 3), Entry(0, 3)),
        (Entry(0, 1), Entry(0, 0, int32(2))),
    ),
    [tuples(2, null_at(1)), items(null_at(1, 2, 3)), items(null_at(1, 2, 3, 4))],
    (ints(1, 2), u64(1), u64(1, 2, 3), u64(1, 2, 3, 4)),
    lengths_per_row=2,
    zipped=planar.ZippedValues(value_compression=flat(32), bits_per_value=32, num_items=2, num_visible_items=2),
)
# [[[{a:[1]}, {a:[]}]], null, [], [[{a:null}, {a:[2, 3]}], null]: lists of fixed-size lists of structs of lists
DEEP_SLOTS = chunk(ints(1, 2, 3))
DEEP_TUPLES = sparse(
    "lists of fixed-size lists of structs of lists",
    LeafType(
        FixedWidth(32),
        (NodeKind.ITEM, NodeKind.LIST, NodeKind.ITEM, NodeKind.FIXED_SIZE_LIST, NodeKind.LIST),
    ),
    (
        (Entry(2, 0, int32(1)), Entry(1, 2)),
        (Entry(2, 5),),
        (Entry(2, 6),),
        (Entry(2, 1), Entry(1, 0, int32(2)), Entry(0, 0, int32(3)), Entry(1, 4), Entry(1, 4)),
    ),
    [
        lists(3, 2, null_at(1)),
        tuples(2, null_at(2)),
        items(null_at(4, 5)),
        lists(3, 2, null_at(2, 4, 5)),
        items(null_at()),
    ],
    (
        table((DEEP_SLOTS, 0)),
        DEEP_SLOTS,
        *(u64(0, 3), u64(1, 2), u64(1)),
        *(u64(2), u64(4, 5)),
        *(u64(0, 3), u64(1, 2), u64(2, 4, 5)),
    ),
    lengths_per_row=2,
    chunked=chunked(),
)


class TestPlanar(LayoutSuite):
    reading = staticmethod(second_reader)
    key = EncodingKey("lance.encodings23.PlanarLayout")
    cases = (
        *(EXAMPLE, PLAIN, ZIPPED, TEXTS, INDEXED, SCALAR, ALL_NULL, EMPTY_LISTS, STRUCTS),
        *(DENSE, DENSE_ZIPPED, DENSE_SCALAR, DENSE_NULLS, DENSE_STRUCTS, TUPLES, DEEP_TUPLES),
    )


def everything(case: LayoutCase):
    return read_page(case, RowRanges.one(0, len(case.rows)))


STRUCTURE = 2
"""Where the structure buffers of the worked example begin."""


@pytest.mark.parametrize(
    ("buffer", "content", "message"),
    [
        (0, u64(0, 4, 3), "ascend"),
        (0, u64(0, 3, 3), "ascend"),
        (0, u64(0, 3, 5), "of 5"),
        (0, u64(0, 3, 2**64 - 1), "of 5"),
        (0, u64(0, 1, 4), "inside a null"),
        (1, u64(3, 2, 2), "items"),
        (1, u64(4, 0, 2), "items"),
        (1, u64(2**64 - 1, 6, 1), "items"),
        (2, u64(3), "inside a null"),
        (3, u64(6), "of 6"),
        (3, u64(4), "inside a null"),
        (4, u64(0, 4, 6), "of 6"),
        (6, u64(3, 2), "ascend"),
        (7, u64(5), "of 5"),
    ],
)
def test_positions_that_contradict_the_structure_are_refused(buffer: int, content: bytes, message: str) -> None:
    with pytest.raises(CorruptPageError, match=message):
        everything(EXAMPLE.with_buffer(STRUCTURE + buffer, content))


@pytest.mark.parametrize(
    "layers",
    [
        [],
        [items(null_at())] * 4,
        [lists(6, 0, null_at())] * 4,
        [planar.SparseLayer()] * 4,
        [lists(2**63, 0, null_at()), items(null_at()), lists(0, 0, null_at()), items(null_at())],
        [
            lists(0, 0, planar.SparseValiditySet(positions=NO_POSITIONS)),
            *EXAMPLE.description.structure.sparse.layers[1:],
        ],
        [lists(0, 0, planar.SparseValiditySet(meaning=1)), *EXAMPLE.description.structure.sparse.layers[1:]],
        [
            items(planar.SparseValiditySet(meaning=1, positions=flat(32), num_positions=1)),
            *EXAMPLE.description.structure.sparse.layers[1:],
        ],
    ],
)
def test_layers_that_contradict_the_schema_are_refused(layers: list) -> None:
    structure = planar.StructuralPlane(sparse=planar.SparseStructure(layers=layers))
    description = planar.PlanarLayout(structure=structure, values=EXAMPLE.description.values)
    with pytest.raises(CorruptFileError):
        bind_case(replace(EXAMPLE, description=description))


def absurdly_many(case: LayoutCase) -> planar.ZippedValues:
    """The values of a page, said to be more than an integer counts."""
    found = planar.ZippedValues()
    found.CopyFrom(case.description.values.zipped)
    found.num_items = found.num_visible_items = 1 << 63
    return found


@pytest.mark.parametrize(
    ("case", "plane", "error"),
    [
        (PLAIN, {"none": planar.NoValues()}, CorruptFileError),
        (ALL_NULL, {"constant": planar.ConstantValues(scalar=b"abc")}, CorruptFileError),
        (ALL_NULL, {"constant": planar.ConstantValues()}, CorruptFileError),
        (STRUCTS, {"constant": planar.ConstantValues(scalar=SEVEN)}, CorruptFileError),
        (DENSE_SCALAR, {"none": planar.NoValues()}, UnsupportedError),
        (DENSE, {"indexed": planar.IndexedValues(indices=flat(8), items=zipped_text(3))}, CorruptFileError),
        (DENSE, {"constant": planar.ConstantValues(scalar=SEVEN)}, CorruptFileError),
        (TEXTS, {"zipped": zipped_text(1 << 63)}, LanceError),
        (INDEXED, {"indexed": planar.IndexedValues(indices=flat(8), items=zipped_text(1 << 63))}, LanceError),
        (DENSE_ZIPPED, {"zipped": absurdly_many(DENSE_ZIPPED)}, CorruptFileError),
        (TEXTS, {"zipped": zipped_text(9)}, CorruptPageError),
        (TEXTS, {"zipped": zipped_text(11)}, CorruptPageError),
        (INDEXED, {"indexed": planar.IndexedValues(indices=flat(8), items=zipped_text(2))}, LanceError),
        (INDEXED, {"indexed": planar.IndexedValues(indices=flat(8), items=zipped_text(0))}, LanceError),
    ],
)
def test_values_that_contradict_the_structure_are_refused(case: LayoutCase, plane: dict, error: type) -> None:
    description = planar.PlanarLayout(structure=case.description.structure, values=planar.ValuePlane(**plane))
    with pytest.raises(error):
        everything(replace(case, description=description))


def test_planes_must_be_there() -> None:
    for description in (
        planar.PlanarLayout(),
        planar.PlanarLayout(structure=EXAMPLE.description.structure),
        planar.PlanarLayout(values=EXAMPLE.description.values),
    ):
        with pytest.raises(CorruptFileError, match="expected both"):
            bind_case(replace(EXAMPLE, description=description))


def test_lists_of_absurd_length_are_refused_without_bytes() -> None:
    """One row of 2**40 null items from no bytes at all: selecting it is refused, other rows read."""
    one = pb.CompressiveEncoding(range=pb.Range(uncompressed_bits_per_value=64, start=1))
    many = pb.CompressiveEncoding(constant=pb.Constant(value=u64(1 << 40)))
    layer = planar.SparseListLayer(
        num_child_slots=1 << 40, non_empty_positions=one, num_non_empty_positions=1, counts=many, validity=null_at()
    )
    rows = tuple((Entry(1, 2),) for _ in range(3))
    case = sparse(
        "absurd",
        INT32_LIST,
        rows,
        [planar.SparseLayer(list=layer), items(null_at(valid=True))],
        (),
        none=planar.NoValues(),
    )
    layout = second_case(case)
    index = load_index(layout, case)
    assert open_rows(layout, case, index, RowRanges.one(2, 3)).levels.counts == (0, 1)
    with pytest.raises(ResourceLimitError):
        open_rows(layout, case, index, RowRanges.one(1, 2))
