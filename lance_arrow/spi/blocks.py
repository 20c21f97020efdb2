"""Shapes and destinations of decoded values, before they become Arrow arrays.

A *shape* describes the memory layout of decoded values. A `BlockSlice` is memory of that shape, allocated by the
caller. A decoder fills it completely or raises. Memory is always a numpy ``uint8`` view, so that kernels need no
conversion.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
"""A contiguous one-dimensional array of bytes."""

NO_BYTES: Bytes = np.empty(0, np.uint8)


@dataclass(frozen=True, slots=True)
class FixedWidth:
    """Values of `bits` bits each: 1 (a bitmap, least significant bit first) or a multiple of 8."""

    bits: int

    @property
    def bytes_per_value(self) -> int:
        """Whole bytes per value; 0 for bitmaps."""
        return self.bits // 8

    def num_bytes(self, num_values: int) -> int:
        """Bytes that `num_values` values occupy from a byte boundary."""
        return (num_values * self.bits + 7) // 8


@dataclass(frozen=True, slots=True)
class VariableWidth:
    """Byte strings with signed offsets of `offset_bits` (32 or 64) bits; there is one offset more than values."""

    offset_bits: int


@dataclass(frozen=True, slots=True)
class FixedSizeList:
    """Lists of exactly `dimension` items; `has_validity` if the items have a validity bitmap."""

    items: FixedWidth | FixedSizeList
    dimension: int
    has_validity: bool = False

    @property
    def leaf(self) -> FixedWidth:
        """Shape of the innermost items."""
        return self.items.leaf if isinstance(self.items, FixedSizeList) else self.items

    @property
    def items_per_value(self) -> int:
        """Innermost items in one value (the product of all dimensions)."""
        return self.dimension * (self.items.items_per_value if isinstance(self.items, FixedSizeList) else 1)

    @property
    def validity_dimensions(self) -> tuple[int, ...]:
        """For each layer with validity, outer first: bits of its bitmap per value."""
        inner: tuple[int, ...] = ()
        if isinstance(self.items, FixedSizeList):
            inner = tuple(self.dimension * bits for bits in self.items.validity_dimensions)
        return ((self.dimension,) if self.has_validity else ()) + inner

    def without_validity(self) -> FixedSizeList:
        """Return the same lists without item bitmaps, which is the part of the shape that pages of a column share."""
        items = self.items.without_validity() if isinstance(self.items, FixedSizeList) else self.items
        return FixedSizeList(items, self.dimension)


@dataclass(frozen=True, slots=True)
class PackedStruct:
    """Structs whose fields are stored together in one column; each field is decoded to its own block."""

    fields: tuple[FixedWidth | VariableWidth | FixedSizeList, ...]


BlockShape: TypeAlias = FixedWidth | VariableWidth | FixedSizeList | PackedStruct

NumBytes: TypeAlias = int | tuple[int, ...]
"""Measured bytes of variable-width data: one number, or one per field where the shape is a `PackedStruct`."""


class LayerKind(enum.IntEnum):
    """Meaning of one layer of levels. Source: RepDefLayer."""

    ALL_VALID_ITEM = 1
    ALL_VALID_LIST = 2
    NULLABLE_ITEM = 3
    NULLABLE_LIST = 4
    EMPTYABLE_LIST = 5
    NULL_AND_EMPTY_LIST = 6

    @property
    def is_list(self) -> bool:
        return self not in (LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_ITEM)

    @property
    def num_def_levels(self) -> int:
        """Definition levels the layer uses (null, empty, or both)."""
        return (0, 0, 0, 1, 1, 1, 2)[self]


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Repetition and definition levels of the selected rows of a page, and their meaning.

    Parameters
    ----------
    layers
        Inner-most first, as on the wire.
    num_entries
        Level entries; equals rows if no layer is a list.
    rep, def_
        ``(num_entries,) uint16``, or None if the page stores no such stream.
    """

    layers: tuple[LayerKind, ...]
    num_entries: int
    rep: NDArray[np.uint16] | None = None
    def_: NDArray[np.uint16] | None = None

    @property
    def max_rep(self) -> int:
        """Number of list layers; a row starts at every entry with this repetition level."""
        return sum(layer.is_list for layer in self.layers)

    @property
    def max_visible_def(self) -> int:
        """Largest definition level of an entry with a value slot; only meaningful with a list layer."""
        return max_visible_def(self.layers)


def max_visible_def(layers: tuple[LayerKind, ...]) -> int:
    """Sum of definition levels of the layers inside the inner-most list, or of all layers without a list."""
    total = 0
    for layer in layers:
        if layer.is_list:
            break
        total += layer.num_def_levels
    return total


@dataclass(frozen=True, slots=True, eq=False)
class Bitmap:
    """Bits ``bit_offset .. bit_offset + num_bits`` of `values`, least significant bit first."""

    values: Bytes
    bit_offset: int
    num_bits: int

    def part(self, start: int, stop: int) -> Bitmap:
        """Return bits ``start .. stop``."""
        return Bitmap(self.values, self.bit_offset + start, stop - start)

    def unpacked(self) -> NDArray[np.bool_]:
        """Return the bits, ``(num_bits,) bool``."""
        first, shift = divmod(self.bit_offset, 8)
        stop = shift + self.num_bits
        return np.unpackbits(self.values[first:], count=stop, bitorder="little")[shift:].view(np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class BlockSlice:
    """Writable memory for `num_values` values of one shape.

    Parameters
    ----------
    shape
        FixedWidth, VariableWidth, FixedSizeList or PackedStruct.
    num_values
        Values to produce; for FixedSizeList, whole (outer) lists.
    values
        ``uint8``. FixedWidth of whole bytes and FixedSizeList of them: exactly the bytes of the values. Bitmaps: the
        bytes that hold bits ``bit_offset .. bit_offset + n``; the decoder must not change other bits. VariableWidth:
        exactly the measured number of bytes.
    bit_offset
        First bit in `values`; 0 unless the (leaf) values are bits.
    offsets
        VariableWidth only: ``uint8`` view of ``num_values + 1`` signed offsets of `shape.offset_bits`. The caller sets
        the first one, which is the base. The decoder writes the others as base + running length. It writes the bytes of
        value i to ``values[offsets[i] - base : offsets[i + 1] - base]``.
    validity
        FixedSizeList only: one bitmap per layer of `shape` that has validity, outer first.
    fields
        PackedStruct only: the block of each field; the struct itself has no memory.
    present
        Blocks to be encoded only: a set bit for each value that is not null. None: no value is null, or the block holds
        no values of a column. Readers ignore the value of a null, so an encoder may store any value there. The block
        holds zero or an empty value.
    """

    shape: BlockShape
    num_values: int
    values: Bytes
    bit_offset: int = 0
    offsets: Bytes = field(default_factory=lambda: NO_BYTES)
    validity: tuple[Bitmap, ...] = ()
    fields: tuple[BlockSlice, ...] = ()
    present: Bitmap | None = None

    def part(self, start: int, stop: int) -> BlockSlice:
        """Return values ``start .. stop`` of a fixed-width or list block (variable blocks are filled in order)."""
        present = None if self.present is None else self.present.part(start, stop)
        if isinstance(self.shape, PackedStruct):
            fields = tuple(one.part(start, stop) for one in self.fields)
            return BlockSlice(self.shape, stop - start, NO_BYTES, fields=fields, present=present)
        if isinstance(self.shape, VariableWidth):
            raise TypeError("variable-width blocks have no parts before they are filled")
        leaf, scale = (
            (self.shape.leaf, self.shape.items_per_value) if isinstance(self.shape, FixedSizeList) else (self.shape, 1)
        )
        if leaf.bits == 1:
            values, bit_offset = self.values, self.bit_offset + start * scale
        else:
            width = leaf.bytes_per_value * scale
            values, bit_offset = self.values[start * width : stop * width], 0
        dimensions = self.shape.validity_dimensions if isinstance(self.shape, FixedSizeList) else ()
        validity = tuple(
            Bitmap(bitmap.values, bitmap.bit_offset + start * bits, (stop - start) * bits)
            for bitmap, bits in zip(self.validity, dimensions, strict=True)
        )
        return BlockSlice(self.shape, stop - start, values, bit_offset, NO_BYTES, validity, present=present)
