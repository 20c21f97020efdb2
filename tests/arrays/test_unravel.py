"""Levels of lists of fixed-size lists of structs, as their writers repeat them."""

from __future__ import annotations

import numpy as np
import pytest

from lance_arrow.arrays.column_destination import Allocator
from lance_arrow.arrays.unravel import unravel
from lance_arrow.errors import CorruptPageError, UnsupportedError
from lance_arrow.settings import Limits
from lance_arrow.spi.layouts import LayerKind, Levels, RowRanges
from lance_arrow.spi.slots import SlotLayer, SlotStructure

ITEM, NULLABLE = LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_ITEM
LIST, FULL = LayerKind.ALL_VALID_LIST, LayerKind.NULL_AND_EMPTY_LIST


def u16(*levels: int) -> np.ndarray:
    return np.array(levels, np.uint16)


def offsets(node) -> list[int]:
    return np.frombuffer(node.offsets, np.int32).tolist()


def test_only_the_first_struct_begins_a_list() -> None:
    """Two rows: a list of two pairs of structs, and of one."""
    levels = Levels((ITEM, ITEM, ITEM, LIST), 6, u16(1, 1, 0, 0, 1, 1))
    nodes = unravel([levels], (0, 0, 0, 32), (0, 0, 2, 0), Allocator(Limits()))
    assert [node.num_slots for node in nodes] == [6, 6, 3, 2]
    assert offsets(nodes[3]) == [0, 2, 3]


def test_pairs_of_lists_in_lists() -> None:
    """A row of one pair of lists, of one and two items; a row of two pairs, whose third list is empty."""
    levels = Levels(
        (ITEM, LayerKind.EMPTYABLE_LIST, ITEM, ITEM, LIST), 7, u16(2, 2, 0, 2, 2, 1, 1), u16(*[0] * 5, 1, 0)
    )
    nodes = unravel([levels], (0, 32, 0, 0, 32), (0, 0, 0, 2, 0), Allocator(Limits()))
    assert [node.num_slots for node in nodes] == [6, 6, 6, 3, 2]
    assert offsets(nodes[1]) == [0, 1, 3, 4, 5, 5, 6]
    assert offsets(nodes[4]) == [0, 1, 3]


def test_tuples_in_tuples_in_lists() -> None:
    """Lists of pairs of triples: six entries for each item of the list."""
    levels = Levels((ITEM, ITEM, ITEM, LIST), 18, u16(*[1] * 6, *[0] * 6, *[1] * 6))
    nodes = unravel([levels], (0, 0, 0, 32), (0, 3, 2, 0), Allocator(Limits()))
    assert [node.num_slots for node in nodes] == [18, 6, 3, 2]
    assert offsets(nodes[3]) == [0, 2, 3]


def test_null_and_empty_lists_around_tuples_are_refused() -> None:
    levels = Levels((ITEM, ITEM, NULLABLE, FULL), 3, u16(1, 1, 1), u16(0, 0, 2))
    with pytest.raises(UnsupportedError, match="are not defined"):
        unravel([levels], (0, 0, 0, 32), (0, 0, 2, 0), Allocator(Limits()))


def test_torn_tuples_are_refused() -> None:
    levels = Levels((ITEM, ITEM, ITEM, LIST), 3, u16(1, 1, 1))
    with pytest.raises(CorruptPageError):
        unravel([levels], (0, 0, 0, 32), (0, 0, 2, 0), Allocator(Limits()))


def test_pages_of_positions_and_of_levels_follow_each_other() -> None:
    """[1, 2], null by positions, then [], [3] by levels."""
    none = np.empty(0, np.int64)
    layers = (
        SlotLayer(2, True, none),
        SlotLayer(2, True, np.array([1]), np.array([0]), np.array([0, 2])),
    )
    first = SlotStructure.select(layers, RowRanges.one(0, 2))
    second = Levels((ITEM, LayerKind.EMPTYABLE_LIST), 2, u16(1, 1), u16(1, 0))
    values, lists = unravel([first, second], (0, 32), (0, 0), Allocator(Limits()))
    assert (values.num_slots, values.null_count, lists.num_slots, lists.null_count) == (3, 0, 4, 1)
    assert offsets(lists) == [0, 2, 2, 2, 3]
    assert np.frombuffer(lists.validity, np.uint8)[0] & 0b1111 == 0b1101


def test_other_dimensions_than_the_schema_has_are_refused() -> None:
    none = np.empty(0, np.int64)
    layers = (SlotLayer(4, True, none), SlotLayer(2, True, none, dimension=2))
    structure = SlotStructure.select(layers, RowRanges.one(0, 2))
    with pytest.raises(CorruptPageError, match="dimensions"):
        unravel([structure], (0, 0), (0, 3), Allocator(Limits()))
