"""Planar pages that no writer emits: read by us and, where it can, by the reference, from files written by hand."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hand_pages import dense, flat, hand_file, items, lists, null_at, planar_page, sparse, tuples, u64
from witness import Witness, WitnessRefused

import lance_arrow
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.proto import encodings_v23_pb2 as planar

pytestmark = pytest.mark.interop

ITEM, NULLABLE, LIST = 1, 3, 6
INT, TEXT = pa.int32(), pa.string()
PAIRS = pa.list_(pa.struct([("a", INT)]), 2)
NONE = planar.NoValues()


def ints(*numbers: int) -> bytes:
    return np.array(numbers, "<i4").tobytes()


SEVEN = planar.ConstantValues(scalar=ints(7))


def words(*found: bytes) -> tuple[bytes, bytes]:
    entries = [len(word).to_bytes(4, "little") + word for word in found]
    ends = itertools.accumulate(map(len, entries))
    return b"".join(entries), np.array([0, *ends], "<u2").tobytes()


def zipped_words(count: int) -> planar.ZippedValues:
    lengths = pb.CompressiveEncoding(variable=pb.Variable(offsets=flat(32)))
    return planar.ZippedValues(value_compression=lengths, bits_per_offset=32, num_items=count, num_visible_items=count)


def zipped_ints(count: int) -> planar.ZippedValues:
    return planar.ZippedValues(value_compression=flat(32), bits_per_value=32, num_items=count, num_visible_items=count)


def indexed(bits: int, found: planar.ZippedValues) -> planar.IndexedValues:
    return planar.IndexedValues(indices=flat(bits), items=found)


@dataclass(frozen=True)
class Hand:
    """A page, and its rows; None where the format refuses it. `refused` holds the reference's refusal, if any."""

    type_: pa.DataType
    page: planar.PlanarLayout
    buffers: tuple[bytes, ...]
    rows: list[Any] | None
    lengths_per_row: int = 1
    num_rows: int = 3
    refused: str | None = None


SPARSE_PAIRS = (tuples(2, null_at(1)), items(null_at(2, 3)))
NULLS_OF_PAIRS = (u64(1), u64(2, 3))
DENSE_NONE = "Dense no-values requires a single null leaf layer"
INDEXED = "Indexed values require sparse structure"
TEXTS_ONLY = "Indexed sparse values require a binary or string leaf"
CASES = {
    "dense none": Hand(INT, planar_page(dense(NULLABLE), none=NONE), (), [None] * 3),
    "dense none of nothing": Hand(pa.struct([]), planar_page(dense(NULLABLE), none=NONE), (), [{}] * 3),
    "dense none of nulls": Hand(pa.null(), planar_page(dense(NULLABLE), none=NONE), (), [None] * 3),
    "dense none, valid": Hand(INT, planar_page(dense(ITEM), none=NONE), (), None, refused=DENSE_NONE),
    "dense none in a struct": Hand(
        pa.struct([("a", INT)]), planar_page(dense(NULLABLE, ITEM), none=NONE), (), None, refused=DENSE_NONE
    ),
    "dense none in a list": Hand(
        pa.list_(INT), planar_page(dense(NULLABLE, LIST), none=NONE), (), None, refused=DENSE_NONE
    ),
    "dense scalar": Hand(INT, planar_page(dense(ITEM), constant=SEVEN), (), [7] * 3),
    "dense indexed": Hand(
        TEXT,
        planar_page(dense(ITEM), indexed=indexed(8, zipped_words(2))),
        (bytes([0, 1, 0]), *words(b"a", b"")),
        None,
        refused=INDEXED,
    ),
    "texts by 32-bit index": Hand(
        TEXT,
        planar_page(sparse(items(null_at(1))), indexed=indexed(32, zipped_words(2))),
        (ints(1, 0, 0), *words(b"a", b"item"), u64(1)),
        ["item", None, "a"],
    ),
    "integers by index": Hand(
        INT,
        planar_page(sparse(items(null_at(1))), indexed=indexed(8, zipped_ints(2))),
        (bytes([1, 9, 0]), ints(5, 6), u64(1)),
        [6, None, 5],
        refused=TEXTS_ONLY,
    ),
    "tuples of a scalar": Hand(
        PAIRS,
        planar_page(sparse(*SPARSE_PAIRS, items(null_at(0, 2, 3))), constant=SEVEN),
        (*NULLS_OF_PAIRS, u64(0, 2, 3)),
        [[{"a": None}, {"a": 7}], None, [{"a": 7}, {"a": 7}]],
        lengths_per_row=2,
    ),
    "tuples of nulls": Hand(
        PAIRS,
        planar_page(sparse(*SPARSE_PAIRS, items(null_at(valid=True))), none=NONE),
        NULLS_OF_PAIRS,
        [[{"a": None}, {"a": None}], None, [{"a": None}, {"a": None}]],
        lengths_per_row=2,
    ),
    "zipped tuples": Hand(
        PAIRS,
        planar_page(sparse(*SPARSE_PAIRS, items(null_at(0, 2, 3))), zipped=zipped_ints(3)),
        (ints(1, 2, 3), *NULLS_OF_PAIRS, u64(0, 2, 3)),
        [[{"a": None}, {"a": 1}], None, [{"a": 2}, {"a": 3}]],
        lengths_per_row=2,
    ),
    "tuples of texts by index": Hand(
        pa.list_(pa.struct([("a", TEXT)]), 2),
        planar_page(sparse(*SPARSE_PAIRS, items(null_at(0, 2, 3))), indexed=indexed(32, zipped_words(2))),
        (ints(0, 1, 0, 0, 0, 1), *words(b"x", b"yz"), *NULLS_OF_PAIRS, u64(0, 2, 3)),
        [[{"a": None}, {"a": "yz"}], None, [{"a": "x"}, {"a": "yz"}]],
        lengths_per_row=2,
    ),
    "lists of zipped tuples": Hand(
        pa.list_(PAIRS),
        planar_page(
            sparse(lists(2, 1, null_at(1)), tuples(2, null_at(1)), items(null_at(2, 3)), items(null_at(0, 2, 3))),
            zipped=zipped_ints(1),
        ),
        (ints(4), u64(0), u64(2), u64(1), u64(1), u64(2, 3), u64(0, 2, 3)),
        [[[{"a": None}, {"a": 4}], None], None, []],
        lengths_per_row=2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_we_and_the_reference_read_the_same(witness: Witness, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    path = tmp_path / "hand.lance"
    length = case.num_rows * case.lengths_per_row
    path.write_bytes(hand_file(case.type_, case.page, case.buffers, length, case.num_rows))
    with lance_arrow.LanceFile(path) as file:
        if case.rows is None:
            with pytest.raises((CorruptFileError, UnsupportedError)):
                file.read()
        else:
            column = file.read().column("x")
            column.validate(full=True)
            assert column.to_pylist() == case.rows
            assert file.take([2, 0, 2]).column("x").to_pylist() == [case.rows[2], case.rows[0], case.rows[2]]
    if case.refused is None:
        assert witness.read(path).column("x").to_pylist() == case.rows
    else:
        with pytest.raises(WitnessRefused, match=case.refused):
            witness.read(path)


@pytest.mark.parametrize("lengths", [5, 7])
def test_pages_of_torn_tuples_are_refused(tmp_path: Path, lengths: int) -> None:
    case = CASES["zipped tuples"]
    content = hand_file(case.type_, case.page, case.buffers, lengths, 3)
    with pytest.raises(CorruptFileError), lance_arrow.LanceFile(content) as file:
        file.read()


def test_tuples_of_another_dimension_are_refused() -> None:
    case = CASES["zipped tuples"]
    content = hand_file(pa.list_(pa.struct([("a", INT)]), 3), case.page, case.buffers, 6, 2)
    with pytest.raises(CorruptFileError, match="dimensions"), lance_arrow.LanceFile(content) as file:
        file.read()
