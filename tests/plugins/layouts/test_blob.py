"""Blob pages: places of values, written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from second_pages import read_page
from second_reader import second_reader

from lance_arrow import engine
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import EncodingKey, FixedWidth, LeafType, PackedStruct
from lance_arrow.spi.layouts import LayerKind, NodeKind, RowRanges
from lance_arrow.testing.layout_suite import (
    Entry,
    LayoutCase,
    LayoutSuite,
    assert_holds,
    bind_case,
)
from lance_arrow.testing.native_pages import native_page

ITEM, NULLABLE = LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_ITEM
PLACES = PackedStruct((FixedWidth(64), FixedWidth(64)))
BLOB = LeafType(PLACES)
CHUNK_ROWS = 4


def flat(bits: int) -> pb.CompressiveEncoding:
    return pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))


def place(position: int, size: int) -> bytes:
    return np.array([position, size], "<u8").tobytes()


def chunks_of(places: list[bytes], *, large: bool) -> tuple[pb.PageLayout, bytes, bytes]:
    """The places in chunks without levels: the inner layout, its chunk table and its chunks."""
    table, chunks = [], b""
    for start in range(0, len(places), CHUNK_ROWS):
        values = b"".join(places[start : start + CHUNK_ROWS])
        sizes = np.array([len(values)], "<u4" if large else "<u2").tobytes()
        chunk = (b"\0\0" + sizes).ljust(8, b"\xfe") + values
        is_last = start + CHUNK_ROWS >= len(places)
        table.append((len(chunk) // 8 - 1) << 4 | (0 if is_last else CHUNK_ROWS.bit_length() - 1))
        chunks += chunk
    packed = pb.PackedStruct(bits_per_value=[64, 64], values=flat(128))
    inner = pb.MiniBlockLayout(
        value_compression=pb.CompressiveEncoding(packed_struct=packed),
        layers=[ITEM],
        num_buffers=1,
        num_items=len(places),
        has_large_chunk=large,
    )
    return pb.PageLayout(mini_block_layout=inner), np.array(table, "<u4" if large else "<u2").tobytes(), chunks


def blobs(
    name: str, places: list[bytes], layers: tuple[LayerKind, ...], leaf: LeafType = BLOB, *, large: bool = False
) -> LayoutCase:
    """A page of places; what a place of no bytes says of its levels is what the row holds."""
    inner, table, chunks = chunks_of(places, large=large)
    rows = []
    for one in places:
        position, size = np.frombuffer(one, "<u8").tolist()
        null = size == 0 and position > 0
        rows.append((Entry(0, position >> 16 if null else 0, None if null else one),))
    message = pb.PageLayout(blob_layout=pb.BlobLayout(inner_layout=inner, layers=layers))
    return LayoutCase(name, message, leaf, (table, chunks), tuple(rows))


VALUES = [place(64 * n, 5 * n) if n % 3 else place(0, 0) for n in range(11)]
WITH_NULLS = [place(0x10000, 0) if n % 4 == 1 else one for n, one in enumerate(VALUES)]
IN_STRUCTS = [place((n % 3) << 16, 0) if n % 5 < 3 else one for n, one in enumerate(VALUES)]
IN_STRUCT = LeafType(PLACES, (NodeKind.ITEM, NodeKind.ITEM))


CASES = (
    blobs("no nulls", VALUES, (ITEM,)),
    blobs("nulls", WITH_NULLS, (NULLABLE,)),
    blobs("wide chunk words", WITH_NULLS, (NULLABLE,), large=True),
    blobs("null structs above", IN_STRUCTS, (NULLABLE, NULLABLE), IN_STRUCT),
    blobs("all null", [place(0x10000, 0)] * 6, (NULLABLE,)),
    blobs("one row", [place(1 << 40, 1 << 30)], (ITEM,)),
)


class TestBlob(LayoutSuite):
    reading = staticmethod(second_reader)
    key = EncodingKey("lance.encodings21.PageLayout", "blob_layout")
    cases = CASES


def read_natively(case: LayoutCase, rows: RowRanges) -> tuple[list[bytes], list[list[bool]]] | str:
    """Places of the values, and which slots of each node are null, inner-most first; or why the engine refuses."""
    table, chunks = case.buffers
    page = native_page(bind_case(case), case)
    sizes = np.array([len(table), len(chunks)], np.int64)
    forms = engine.ReadForms([((0,) * len(case.leaf.nodes), 128, 0, (8, 8), None, "plain", (), False, (), 1)])
    pages = engine.PagesWithRows(forms, [[(page, 0, np.array([0, len(table)]), sizes)]])
    memory = np.frombuffer(table + chunks, np.uint8)
    place_of_file = -1, memory, memory.size, None, None
    limits = 1 << 20, 1 << 30, None, pa.allocate_buffer
    done, *_ = forms.take(pages, rows.starts, rows.stops, rows.num_rows, *place_of_file, *limits)
    if isinstance(done, engine.Refusal):
        return done.message
    count, fields, _, nodes = done[0]
    columns = [np.frombuffer(field, np.uint64)[:count] for field in fields]
    bits = [
        None if one[1] is None else np.unpackbits(np.frombuffer(one[1], np.uint8), bitorder="little") for one in nodes
    ]
    nulls = [[False] * count if found is None else (found[:count] == 0).tolist() for found in bits]
    return [place(*pair) for pair in zip(*map(np.ndarray.tolist, columns), strict=True)], nulls


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("step", [1, 2, 5])
def test_the_engine_reads_what_the_layout_reads(case: LayoutCase, step: int) -> None:
    starts = np.arange(0, len(case.rows), step)
    rows = RowRanges(starts, np.minimum(starts + max(1, step - 1), len(case.rows)))
    values, nulls = read_natively(case, rows)
    entries = [
        case.rows[row][0] for start, stop in zip(rows.starts, rows.stops, strict=True) for row in range(start, stop)
    ]
    assert values == [place(0, 0) if entry.value is None else entry.value for entry in entries]
    for node, found in enumerate(nulls):
        assert found == [entry.def_ > node for entry in entries]


@pytest.mark.parametrize(
    ("position", "layers"),
    [(0x10000, (ITEM,)), (0x20000, (NULLABLE,)), (1, (NULLABLE,)), (0x10001, (NULLABLE,)), (1 << 63, (NULLABLE,))],
    ids=["nothing may be null", "level too high", "no definition level", "a repetition level", "beyond all levels"],
)
def test_levels_that_contradict_the_layers_are_refused(position: int, layers: tuple[LayerKind, ...]) -> None:
    case = blobs("wrong", [place(64, 9), place(position, 0)], layers)
    with pytest.raises(CorruptPageError, match="levels"):
        read_page(case, RowRanges.one(0, 2))
    assert "levels" in read_natively(case, RowRanges.one(0, 2))
    good = replace(case, rows=((Entry(0, 0, place(64, 9)),), case.rows[1]))
    assert_holds(read_page(good, RowRanges.one(0, 1)), good, RowRanges.one(0, 1))


def test_lists_are_refused_by_name() -> None:
    leaf = LeafType(PLACES, (NodeKind.ITEM, NodeKind.LIST))
    with pytest.raises(UnsupportedError, match="lists"):
        bind_case(blobs("list", VALUES, (NULLABLE, LayerKind.NULLABLE_LIST), leaf))


def test_other_columns_have_no_blob_pages() -> None:
    with pytest.raises(CorruptFileError, match="page of blobs"):
        bind_case(blobs("numbers", VALUES, (ITEM,), LeafType(FixedWidth(64))))


def test_places_have_no_structure_of_their_own() -> None:
    constant = pb.PageLayout(constant_layout=pb.ConstantLayout(layers=[NULLABLE]))
    message = pb.PageLayout(blob_layout=pb.BlobLayout(inner_layout=constant, layers=[NULLABLE]))
    case = LayoutCase("null places", message, BLOB, (), ((Entry(0, 1),),) * 3)
    with pytest.raises(CorruptPageError, match="structure"):
        read_page(case, RowRanges.one(0, 3))


def test_blob_pages_within_blob_pages_end() -> None:
    message = blobs("inner", VALUES, (ITEM,)).description
    for _ in range(40):
        message = pb.PageLayout(blob_layout=pb.BlobLayout(inner_layout=message, layers=[ITEM]))
    with pytest.raises(CorruptFileError, match="deeper"):
        bind_case(LayoutCase("deep", message, BLOB, (), ()))
