"""Planar pages of 2.3 and their codecs: each clause with a file that breaks it, refused at every door."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from forge import Bad, Forged, Page, assert_refused, bad, ids
from forge_pages import Codec, flat, int32, null_at, sparse, sparse_items, sparse_lists, words
from forged import (
    CHOSEN,
    DENSE_SCALAR,
    NULLS,
    SLOTS,
    SPARSE,
    SPARSE_INDEXED,
    SPARSE_LISTS,
    SPARSE_NONE,
    SPARSE_SCALAR,
    SPARSE_ZIP,
    VALID,
    planar_chunk,
)

from lance_arrow.errors import CorruptFileError, CorruptPageError, ResourceLimitError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.proto import encodings_v23_pb2 as planar

SCALAR_BUFFER = SPARSE_SCALAR.page.buffers[0]


def structure(file: Forged, *layers: planar.SparseLayer) -> Page:
    return file.page.with_layout("structure.sparse.layers", layers)


def values(file: Forged, **plane: object) -> Page:
    return file.page.with_layout("values", planar.ValuePlane(**plane))  # type: ignore[arg-type]


def lists(num_items: int = 5, num_lists: int = 2, **fields: object) -> Page:
    """The lists' layer described otherwise."""
    layer = sparse_lists(num_items, num_lists, null_at(1))
    for name, value in fields.items():
        getattr(layer.list, name).CopyFrom(value)
    return structure(SPARSE_LISTS, layer, sparse_items(null_at(3)))


def buffer(number: int, *numbers: int) -> Page:
    """Positions or counts of the lists page replaced: 2 lists, 3 counts, 4 null lists, 5 null items."""
    return SPARSE_LISTS.page.with_buffer(number, words(numbers, 8))


def nulls(codec: Codec, count: int, *buffers: bytes) -> Page:
    """The scalar page with its null positions encoded otherwise."""
    positions = planar.SparseValiditySet(meaning=1, positions=codec, num_positions=count)
    return sparse(8, [sparse_items(positions)], *buffers, constant=planar.ConstantValues(scalar=int32(7)))


def range_(bits: int, start: int, step: int) -> Codec:
    return Codec(range=pb.Range(uncompressed_bits_per_value=bits, start=start, step=step))


def dictionary(num_items: int, indices: Codec | None = None) -> Codec:
    return Codec(dictionary=pb.Dictionary(indices=indices or flat(32), items=flat(64), num_dictionary_items=num_items))


def parts(first: bytes, second: bytes, *sizes: int) -> bytes:
    return words(sizes or (len(first), len(second)), 8) + first + second


def runs(values: Codec, lengths: Codec) -> Codec:
    return Codec(rle=pb.Rle(values=values, run_lengths=lengths))


LONG_RUNS = runs(flat(64), flat(16))
ALL_ROWS = (0, 1, 2, 3)


def _meaning(value: int) -> Page:
    positions = planar.SparseValiditySet(positions=flat(64), num_positions=len(NULLS))
    positions.meaning = value  # type: ignore[assignment]
    return structure(SPARSE, planar.SparseLayer(validity=positions))


def _chunk_of(count: int) -> Page:
    """A chunk with room for fewer values than there are slots."""
    table, data = planar_chunk(words(SLOTS[:count], 4))
    return SPARSE.page.with_buffer(0, table).with_buffer(1, data)


def _endless_list() -> Page:
    """One list of 2**62 items from two numbers, beside chunks of five values."""
    page = lists(2**62, 1)
    buffers = (*page.buffers[:2], words([0], 8), words([2**62], 8), *page.buffers[4:])
    return Page(page.layout, buffers, 4)


def _without_values() -> Page:
    return Page(values(SPARSE_SCALAR, none=planar.NoValues()).layout, (SCALAR_BUFFER,), 8)


def _zipped(count: int) -> Page:
    return SPARSE_ZIP.page.with_layout("values.zipped.num_visible_items", count)


def _fewer_nulls() -> Page:
    page = structure(SPARSE_ZIP, sparse_items(null_at(*NULLS[:-1])))
    return page.with_buffer(1, words(NULLS[:-1], 8))


def _index(value: int) -> Page:
    return SPARSE_INDEXED.page.with_buffer(0, words([value if n == 1 else n or 0 for n in CHOSEN], 4))


def _items(count: int) -> Page:
    page = SPARSE_INDEXED.page.with_layout("values.indexed.items.num_items", count)
    return page.with_layout("values.indexed.items.num_visible_items", count)


assert SPARSE_INDEXED.table.schema.field("c").type == pa.string()


CASES: list[Bad] = [
    # planes
    bad("planar-no-structure", SPARSE, SPARSE.page.with_layout("structure", None), CorruptFileError),
    bad("planar-no-values", SPARSE, SPARSE.page.with_layout("values", None), CorruptFileError),
    bad(
        "planar-empty-structure",
        SPARSE,
        SPARSE.page.with_layout("structure", planar.StructuralPlane()),
        CorruptFileError,
    ),
    bad("planar-layer-count", SPARSE, structure(SPARSE), CorruptFileError),
    bad("planar-layer-kind", SPARSE, structure(SPARSE, sparse_lists(30, 1, null_at())), CorruptFileError),
    bad("planar-layer-empty", SPARSE, structure(SPARSE, planar.SparseLayer()), CorruptFileError),
    bad("planar-meaning", SPARSE, lambda: _meaning(0), CorruptFileError),
    bad("planar-meaning-unknown", SPARSE, lambda: _meaning(3), CorruptFileError),
    bad("planar-dense-none", DENSE_SCALAR, values(DENSE_SCALAR, none=planar.NoValues()), UnsupportedError),
    bad(
        "planar-dense-scalar-nulls",
        DENSE_SCALAR,
        DENSE_SCALAR.page.with_layout("structure.dense.layers", [3]),
        CorruptFileError,
    ),
    bad(
        "planar-dense-scalar-width",
        DENSE_SCALAR,
        values(DENSE_SCALAR, constant=planar.ConstantValues(scalar=bytes(3))),
        CorruptFileError,
    ),
    bad("planar-dense-scalar-buffer", DENSE_SCALAR, Page(DENSE_SCALAR.page.layout, (bytes(8),), 9), CorruptFileError),
    # domains
    bad("sparse-items-more", SPARSE_LISTS, lists(6), take=ALL_ROWS),
    bad("sparse-items-fewer", SPARSE_LISTS, lists(4), take=ALL_ROWS),
    bad("sparse-items-63-bits", SPARSE_LISTS, lists(2**63), CorruptFileError),
    bad("sparse-slots-of-chunks", SPARSE, lambda: _chunk_of(29)),
    bad("sparse-count-above-domain", SPARSE_SCALAR, nulls(flat(64), 9, words(range(9), 8))),
    # positions
    bad("sparse-positions-descend", SPARSE, SPARSE.page.with_buffer(2, words((5, 0, *NULLS[2:]), 8))),
    bad("sparse-positions-twice", SPARSE, SPARSE.page.with_buffer(2, words((0, 0, *NULLS[2:]), 8))),
    bad("sparse-positions-outside", SPARSE, SPARSE.page.with_buffer(2, words((*NULLS[:-1], 30), 8))),
    bad("sparse-positions-far", SPARSE, SPARSE.page.with_buffer(2, words((*NULLS[:-1], 2**64 - 1), 8))),
    bad("sparse-positions-short", SPARSE, SPARSE.page.with_buffer(2, words(NULLS[:-1], 8))),
    bad("sparse-positions-width", SPARSE_SCALAR, nulls(flat(32), 2, words([0, 5], 4)), CorruptFileError),
    bad("sparse-positions-absurd", SPARSE_SCALAR, nulls(range_(64, 0, 1), 2**62), ResourceLimitError),
    bad("sparse-lists-descend", SPARSE_LISTS, buffer(2, 3, 0)),
    bad("sparse-lists-twice", SPARSE_LISTS, buffer(2, 3, 3)),
    bad("sparse-lists-outside", SPARSE_LISTS, buffer(2, 0, 4)),
    bad("sparse-lists-absurd", SPARSE_LISTS, lists(5, 2**61, non_empty_positions=range_(64, 0, 1)), ResourceLimitError),
    # counts
    bad("sparse-counts-0", SPARSE_LISTS, buffer(3, 5, 0)),
    bad("sparse-counts-less", SPARSE_LISTS, buffer(3, 2, 2)),
    bad("sparse-counts-wrap", SPARSE_LISTS, buffer(3, 2**64 - 1, 6)),
    bad("sparse-counts-absurd", SPARSE_LISTS, _endless_list, CorruptPageError),
    # validity
    bad("sparse-null-list-holds", SPARSE_LISTS, buffer(4, 3)),
    bad(
        "sparse-valid-without-values",
        SPARSE_NONE,
        structure(SPARSE_NONE, sparse_items(null_at())),
        known=("column", "page"),
    ),
    bad("sparse-valid-in-none", SPARSE_SCALAR, _without_values),
    bad("sparse-zip-count", SPARSE_ZIP, lambda: _zipped(len(VALID) - 1), CorruptFileError),
    bad("sparse-zip-nulls", SPARSE_ZIP, _fewer_nulls),
    bad(
        "sparse-zip-levels",
        SPARSE_ZIP,
        SPARSE_ZIP.page.with_layout("values.zipped.levels", planar.ZippedLevels(bits_def=1)),
        CorruptFileError,
    ),
    bad("sparse-zip-size", SPARSE_ZIP, SPARSE_ZIP.page.with_buffer(0, bytes(4 * len(VALID) - 1)), CorruptFileError),
    bad("sparse-index-item", SPARSE_INDEXED, lambda: _index(3), take=(1, 2)),
    bad("sparse-index-short", SPARSE_INDEXED, SPARSE_INDEXED.page.with_buffer(0, words([0] * 29, 4))),
    bad(
        "sparse-index-items",
        SPARSE_INDEXED,
        SPARSE_INDEXED.page.with_layout("values.indexed.items.num_items", 4),
        CorruptFileError,
    ),
    bad("sparse-index-items-absurd", SPARSE_INDEXED, lambda: _items(2**62), ResourceLimitError),
    # buffers
    bad("sparse-buffers-fewer", SPARSE, Page(SPARSE.page.layout, SPARSE.page.buffers[:-1], 30), CorruptFileError),
    bad(
        "sparse-buffers-more", SPARSE, Page(SPARSE.page.layout, (*SPARSE.page.buffers, bytes(8)), 30), CorruptFileError
    ),
    # codecs of 2.3
    bad("constant-block-count", SPARSE_SCALAR, nulls(Codec(constant=pb.Constant()), 2), known=("column", "page")),
    bad("constant-block-empty", SPARSE_SCALAR, nulls(Codec(constant=pb.Constant(value=b"")), 2), CorruptFileError),
    bad(
        "constant-block-width", SPARSE_SCALAR, nulls(Codec(constant=pb.Constant(value=b"\0" * 4)), 1), CorruptFileError
    ),
    bad("range-width", SPARSE_SCALAR, nulls(range_(16, 0, 1), 2), CorruptFileError),
    bad("range-start", SPARSE_SCALAR, nulls(range_(32, 2**32, 1), 2), CorruptFileError),
    bad("range-wraps", SPARSE_SCALAR, nulls(range_(64, 2**64 - 1, 1), 2), known=("column", "page")),
    bad(
        "delta-width",
        SPARSE_SCALAR,
        nulls(Codec(delta=pb.Delta(uncompressed_bits_per_value=64, deltas=flat(32))), 2, words([5], 4)),
        CorruptFileError,
    ),
    bad(
        "delta-short",
        SPARSE_SCALAR,
        nulls(Codec(delta=pb.Delta(uncompressed_bits_per_value=64, deltas=flat(64))), 3, words([5], 8)),
    ),
    bad("dictionary-block-index", SPARSE_SCALAR, nulls(dictionary(2), 2, parts(words([0, 2], 4), words([0, 5], 8)))),
    bad(
        "dictionary-block-sizes",
        SPARSE_SCALAR,
        nulls(dictionary(2), 2, parts(words([0, 1], 4), words([0, 5], 8), 8, 15)),
    ),
    bad(
        "dictionary-block-sizes-wrap",
        SPARSE_SCALAR,
        nulls(dictionary(2), 2, parts(words([0, 1], 4), words([0, 5], 8), 2**64 - 8, 32)),
    ),
    bad("dictionary-block-header", SPARSE_SCALAR, nulls(dictionary(2), 2, bytes(15))),
    bad("dictionary-block-absurd", SPARSE_SCALAR, nulls(dictionary(2**32 - 1), 2, bytes(64)), ResourceLimitError),
    bad("rle-block-values", SPARSE_SCALAR, nulls(LONG_RUNS, 2, words([64], 8) + words([0, 5], 8) + words([1, 1]))),
    bad("rle-block-header", SPARSE_SCALAR, nulls(LONG_RUNS, 2, bytes(7))),
    bad("rle-block-sum", SPARSE_SCALAR, nulls(LONG_RUNS, 2, words([16], 8) + words([0, 5], 8) + words([1, 2]))),
    bad(
        "rle-block-length-0",
        SPARSE_SCALAR,
        nulls(LONG_RUNS, 2, words([24], 8) + words([0, 5, 6], 8) + words([1, 0, 1])),
    ),
    bad("rle-block-entries", SPARSE_SCALAR, nulls(LONG_RUNS, 2, words([16], 8) + words([0, 5], 8) + words([2]))),
    bad(
        "rle-block-rule-short",
        SPARSE_SCALAR,
        nulls(runs(range_(64, 0, 5), Codec(constant=pb.Constant(value=words([3])))), 2),
        known=("column", "page"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_refused(case: Bad, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)
