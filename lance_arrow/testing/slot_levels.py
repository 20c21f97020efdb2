"""Convert positions to levels, slot by slot, so that rows of pages with either structure can be compared."""

from __future__ import annotations

import numpy as np

from lance_arrow.spi.layouts import LayerKind, Levels
from lance_arrow.spi.slots import SlotLayer, SlotStructure, Structure


def levels_of(structure: Structure) -> Levels:
    """Return the levels of a page's structure; a layer is nullable if its positions could mark a null."""
    return structure if isinstance(structure, Levels) else _Writer(structure).levels()


class _Writer:
    def __init__(self, structure: SlotStructure) -> None:
        self._layers = structure.layers
        self._rows = structure.runs[-1]
        self._kinds = tuple(_kind(layer) for layer in structure.layers)
        self._null_levels = [1 + sum(kind.num_def_levels for kind in self._kinds[:n]) for n in range(len(self._kinds))]
        self._num_lists = [sum(kind.is_list for kind in self._kinds[: n + 1]) for n in range(len(self._kinds))]
        self._rep: list[int] = []
        self._def: list[int] = []

    def levels(self) -> Levels:
        for start, stop in zip(self._rows.starts.tolist(), self._rows.stops.tolist(), strict=True):
            for row in range(start, stop):
                self._grow(len(self._kinds) - 1, row, self._num_lists[-1], 0)
        has_def = any(kind.num_def_levels for kind in self._kinds)
        return Levels(
            self._kinds,
            len(self._rep),
            np.array(self._rep, np.uint16) if self._num_lists[-1] else None,
            np.array(self._def, np.uint16) if has_def else None,
        )

    def _grow(self, n: int, slot: int, rep: int, level: int) -> None:
        """Write the entries of a slot; `level` is not 0 if the slot is inside a null."""
        if n < 0:
            self._rep.append(rep)
            self._def.append(level)
            return
        layer = self._layers[n]
        if level == 0 and layer.nulls(np.array([slot]))[0]:
            level = self._null_levels[n]
        if not self._kinds[n].is_list:
            first = slot * max(1, layer.dimension)
            for item in range(first, first + max(1, layer.dimension)):
                self._grow(n - 1, item, rep if item == first else min(rep, self._num_lists[n]), level)
            return
        assert layer.list_slots is not None
        assert layer.item_starts is not None
        place = int(np.searchsorted(layer.list_slots, slot))
        if place == len(layer.list_slots) or layer.list_slots[place] != slot:
            empty_level = self._null_levels[n] + (self._kinds[n] is LayerKind.NULL_AND_EMPTY_LIST)
            self._rep.append(rep)
            self._def.append(level or empty_level)
            return
        first, stop = layer.item_starts[place : place + 2].tolist()
        for item in range(first, stop):
            self._grow(n - 1, item, rep if item == first else self._num_lists[n] - 1, level)


def _kind(layer: SlotLayer) -> LayerKind:
    nullable = not layer.lists_nulls or len(layer.positions) > 0
    if layer.list_slots is not None:
        return LayerKind.NULL_AND_EMPTY_LIST if nullable else LayerKind.EMPTYABLE_LIST
    return LayerKind.NULLABLE_ITEM if nullable else LayerKind.ALL_VALID_ITEM
