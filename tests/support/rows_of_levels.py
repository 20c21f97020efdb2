"""Rows as level entries, for pages written by hand: the specification's worked example, and rows of random lists."""

from __future__ import annotations

import random

from lance_arrow.spi.layouts import LayerKind
from lance_arrow.testing.layout_suite import Entry

Rows = tuple[tuple[Entry, ...], ...]

EXAMPLE_LAYERS = (
    LayerKind.NULLABLE_ITEM,
    LayerKind.NULL_AND_EMPTY_LIST,
    LayerKind.NULLABLE_ITEM,
    LayerKind.NULL_AND_EMPTY_LIST,
)


def int32(value: int) -> bytes:
    return value.to_bytes(4, "little")


EXAMPLE_ROWS: Rows = (
    # [{v:[1,2]}, {v:[]}, null], null, [], [{v:null}, {v:[null,3]}], [{v:[4]}]
    (Entry(2, 0, int32(1)), Entry(0, 0, int32(2)), Entry(1, 3), Entry(1, 4)),
    (Entry(2, 5),),
    (Entry(2, 6),),
    (Entry(2, 2), Entry(1, 1), Entry(0, 0, int32(3))),
    (Entry(2, 0, int32(4)),),
)


def list_rows(num_rows: int, seed: int, make_value, longest: int = 5) -> Rows:
    """Rows of nullable lists of nullable items: layers NULLABLE_ITEM, NULL_AND_EMPTY_LIST."""
    chance = random.Random(seed)
    rows: list[tuple[Entry, ...]] = []
    for _ in range(num_rows):
        length = chance.choice([0, 0, 1, 2, longest])
        if length == 0:
            rows.append((Entry(1, chance.choice([2, 3])),))
            continue
        items = [(1, None) if chance.random() < 0.2 else (0, make_value(chance)) for _ in range(length)]
        rows.append(tuple(Entry(int(n == 0), def_, value) for n, (def_, value) in enumerate(items)))
    return tuple(rows)


def flat_rows(values: list[bytes | None]) -> Rows:
    """Rows of plain values, None for null: layer NULLABLE_ITEM, or ALL_VALID_ITEM where there is no None."""
    return tuple((Entry(0, int(value is None), value),) for value in values)


def max_visible(layers: tuple[LayerKind, ...]) -> int:
    """Largest definition level of an entry with a value slot, counted again for the tests' own use."""
    level = 0
    for layer in layers:
        if layer.is_list:
            return level
        level += layer is LayerKind.NULLABLE_ITEM
    return 0xFFFF
