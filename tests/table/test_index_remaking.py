"""Addresses of rows before and after a compaction, and sets of them as indices store them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyroaring
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import CorruptFileError, InternalError, ResourceLimitError
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.table.indices.address_sets import _decoded_bitmap, _decoded_tree, _encoded_bitmap, _encoded_tree
from lance_arrow.table.indices.moves import RowMoves
from lance_arrow.table.operations.rewriting import RewriteGroup


def address(fragment: int, offset: int) -> int:
    return fragment << 32 | offset


@pytest.fixture
def moves(tmp_path: Path) -> RowMoves:
    """Fragments 0, 1 and 2 of 10 rows, of which 1 and 2 became 7 and 8; fragment 3 stays."""
    table = LanceTable.create(tmp_path / "t.lance", pa.table({"id": range(40)}), max_rows_per_file=10)
    table.delete("id IN (5, 10, 14, 15, 29)")
    new = [DataFragment(id=7, physical_rows=9), DataFragment(id=8, physical_rows=7)]
    return RowMoves(table._reader, [range(1, 3)], [RewriteGroup([], new)])


def test_addresses(moves: RowMoves) -> None:
    old = [address(1, 1), address(1, 0), address(2, 8), address(0, 5), address(2, 2), address(1, 9), address(9, 9)]
    old += [address(1, 4), address(2, 9), address(2, 10_000), address(2, 0)]
    new, is_kept = moves.addresses(np.array(old, np.uint64))
    assert is_kept.tolist() == [True, False, True, True, True, True, True, False, False, False, True]
    # Seven rows of fragment 1 are left: 11, 12, 13, 16, 17, 18, 19; then 20 and 21 fill fragment 7.
    expected = [address(7, 0), address(8, 6), address(0, 5), address(8, 0), address(7, 6), address(9, 9), address(7, 7)]
    assert new[is_kept].tolist() == expected
    assert [len(one) for one in moves.addresses(np.empty(0, np.uint64))] == [0, 0]
    assert moves.fragments == {1, 2}
    assert moves.groups_within(frozenset({0, 1})) == []
    assert moves.groups_within(frozenset({0, 1, 2})) == [0]
    assert moves.live_offsets(2).tolist() == list(range(9))
    assert moves.live_offsets(99).tolist() == []
    values = pa.chunked_array(list(moves.values(0, "id")))
    assert values.to_pylist() == [11, 12, 13, 16, 17, 18, 19, *range(20, 29)]


def test_rows_that_are_missing(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", pa.table({"id": range(40)}), max_rows_per_file=10)
    with pytest.raises(InternalError, match="more or fewer rows"):
        RowMoves(table._reader, [range(2)], [RewriteGroup([], [DataFragment(id=7, physical_rows=19)])])


@pytest.mark.parametrize("kind", ["tree", "bitmap"])
def test_few_bytes_that_name_billions_of_rows(kind: str, moves: RowMoves) -> None:
    bomb = pyroaring.BitMap64() if kind == "bitmap" else pyroaring.BitMap()
    bomb.add_range(0, 1 << 31)
    data = bytes(bomb.serialize())
    if kind == "tree":
        data = struct.pack("<III", 1, 0, len(data)) + data
    assert len(data) < 1 << 20
    with pytest.raises(ResourceLimitError, match="max_expanded_bytes"):
        (_decoded_tree if kind == "tree" else _decoded_bitmap)(data, moves)


def test_sets_of_addresses(moves: RowMoves) -> None:
    wanted = np.array([address(2, 8), address(0, 3), address(0, 2), address(70_000, 1)], np.uint64)
    for encode, decode in ((_encoded_tree, _decoded_tree), (_encoded_bitmap, _decoded_bitmap)):
        for some in (wanted, wanted[:0]):
            assert decode(encode(some), moves).tolist() == sorted(some.tolist())
    assert _encoded_tree(wanted[:0]) == bytes(4)
    bitmap = pyroaring.BitMap([2, 3]).serialize()
    whole = struct.pack("<III", 2, 0, len(bitmap)) + bitmap + struct.pack("<II", 2, 0)
    found = _decoded_tree(whole, moves)
    # Length 0 stands for all rows of a fragment.
    assert found.tolist() == [address(0, 2), address(0, 3), *(address(2, at) for at in range(9))]


@pytest.mark.parametrize("cut", [0, 3, 4, 11, 13, -1])
def test_damaged_sets(moves: RowMoves, cut: int) -> None:
    with pytest.raises(CorruptFileError, match="an index holds a set of rows that is"):
        _decoded_tree(_encoded_tree(np.array([address(1, 1), address(2, 1)], np.uint64))[:cut], moves)
    with pytest.raises(CorruptFileError, match="no roaring bitmap"):
        _decoded_bitmap(b"\x01\x00\x00", moves)
