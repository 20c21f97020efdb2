"""Structure as positions: which slots are null and which lists hold items, instead of a level per entry.

Each node of a leaf's path is a layer with slots. The slots of the outer-most layer are the rows of the page. The layer
inside a list has its items as slots. The layer inside a fixed-size list of structs has `dimension` slots per list. A
run of rows is a run of slots in every layer, so a selection needs no entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.spi.blocks import Bytes, Levels
from lance_arrow.spi.rows import RowRanges

__all__ = ["ItemValidity", "PageStructure", "SlotLayer", "SlotStructure", "Structure"]


@dataclass(frozen=True, slots=True, eq=False)
class SlotLayer:
    """One layer of a page.

    Parameters
    ----------
    num_slots
        Slots of the whole page.
    lists_nulls
        Whether `positions` are the null slots; otherwise they are the valid ones.
    positions
        ``(n,) int64``, strictly ascending, below `num_slots`.
    list_slots, item_starts
        Lists only. ``(m,) int64``: slots of lists that hold items, ascending. ``(m + 1,) int64``: slots of the layer
        inside at which their items begin, then the end.
    dimension
        Fixed-size lists of structs only: slots of the layer inside per slot. 0 for other layers.
    """

    num_slots: int
    lists_nulls: bool
    positions: NDArray[np.int64]
    list_slots: NDArray[np.int64] | None = None
    item_starts: NDArray[np.int64] | None = None
    dimension: int = 0

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        size = self.positions.nbytes
        if self.list_slots is not None and self.item_starts is not None:
            size += self.list_slots.nbytes + self.item_starts.nbytes
        return size

    @property
    def num_valid(self) -> int:
        """Slots that are not null."""
        return self.num_slots - len(self.positions) if self.lists_nulls else len(self.positions)

    @property
    def has_nulls(self) -> bool:
        return self.num_valid != self.num_slots

    def valid_before(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of valid slots before each of `slots`."""
        listed = np.searchsorted(self.positions, slots)
        return slots - listed if self.lists_nulls else listed

    def nulls(self, slots: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each of `slots` whether it is null."""
        listed = np.searchsorted(self.positions, slots, side="right") > np.searchsorted(self.positions, slots)
        return listed if self.lists_nulls else ~listed

    def inside(self, runs: RowRanges) -> RowRanges:
        """Return the runs of slots of the layer inside."""
        if self.list_slots is not None and self.item_starts is not None:
            starts, stops = (
                self.item_starts[np.searchsorted(self.list_slots, slots)] for slots in (runs.starts, runs.stops)
            )
        elif self.dimension:
            starts, stops = runs.starts * self.dimension, runs.stops * self.dimension
        else:
            return runs
        kept = stops > starts
        return RowRanges(starts[kept], stops[kept])


@dataclass(frozen=True, slots=True, eq=False)
class SlotStructure:
    """Structure of the selected rows of a page.

    Parameters
    ----------
    layers
        Inner-most first.
    runs
        Selected slots of each layer.
    """

    layers: tuple[SlotLayer, ...]
    runs: tuple[RowRanges, ...]

    @classmethod
    def select(cls, layers: tuple[SlotLayer, ...], rows: RowRanges) -> SlotStructure:
        """Return the slots of all layers for selected slots of the outer-most one; `layers` are inner-most first."""
        runs = [rows]
        for layer in reversed(layers[1:]):
            runs.append(layer.inside(runs[-1]))
        return cls(layers, tuple(reversed(runs)))

    @property
    def num_slots(self) -> int:
        """Selected slots of the leaf."""
        return self.runs[0].num_rows

    @property
    def counts(self) -> tuple[int, ...]:
        """Selected slots of each layer."""
        return tuple(runs.num_rows for runs in self.runs)

    def null_flags(self) -> NDArray[np.uint16] | None:
        """Null flags of the selected leaf slots, ``(num_slots,)`` 0 or 1; None if no slot is null."""
        if not self.layers[0].has_nulls:
            return None
        flags = np.empty(self.num_slots, np.uint16)
        kernels.null_flags(self.parts()[0], flags)
        return flags

    def parts(self) -> list[tuple[object, ...]]:
        """The layers as arguments of `kernels.unravel_slots`."""
        return [
            (runs.starts, runs.stops, layer.positions, layer.lists_nulls, layer.list_slots, layer.item_starts)
            for layer, runs in zip(self.layers, self.runs, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class ItemValidity:
    """Nulls of a column without nodes above it: in 2.0, structs and lists have columns of their own.

    Parameters
    ----------
    num_slots
        Selected slots.
    bits
        ``(ceil(num_slots / 8),) uint8``, 1 for valid slots, least significant bit first; None when all are valid.
    """

    num_slots: int
    bits: Bytes | None = None

    def null_flags(self) -> NDArray[np.bool_] | None:
        """Null flags of the slots, ``(num_slots,)``; None if no slot is null."""
        if self.bits is None:
            return None
        nulls: NDArray[np.bool_] = np.unpackbits(self.bits, count=self.num_slots, bitorder="little") == 0
        return nulls

    def selected(self, rows: RowRanges) -> ItemValidity:
        """Return the validity of some of the slots."""
        num_slots = rows.num_rows
        if self.bits is None or rows.covers(0, self.num_slots):
            return ItemValidity(num_slots, self.bits)
        bits = np.zeros((num_slots + 7) // 8, np.uint8)
        if num_slots:
            kernels.take_bit_runs(self.bits, 0, rows.starts, rows.stops, bits, 0)
        return ItemValidity(num_slots, bits)

    def under(self, outer: ItemValidity) -> ItemValidity:
        """Return the validity of slots that are valid here and in `outer`."""
        if self.bits is None or outer.bits is None:
            return outer if self.bits is None else self
        return ItemValidity(self.num_slots, self.bits & outer.bits)


Structure: TypeAlias = Levels | SlotStructure
"""Structure of a page above its values: lists and nulls."""

PageStructure: TypeAlias = Structure | ItemValidity
"""Structure of a page with nulls, and with lists where the page stores them."""
