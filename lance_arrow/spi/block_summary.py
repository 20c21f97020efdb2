"""`BlockSummary`: facts about a block that codecs are chosen by, each computed when first asked for and then kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi.blocks import BlockSlice, FixedSizeList, FixedWidth, VariableWidth

GROUP_VALUES = 1024
"""Values that bit packing takes together. Source: spec 5.3."""
_PACKABLE_BITS = (8, 16, 32, 64)
_Fact = TypeVar("_Fact")


class BlockSummary:
    """Facts about one block.

    Parameters
    ----------
    block
        A filled block; its memory must not change.
    """

    def __init__(self, block: BlockSlice) -> None:
        self.block = block
        self._found: dict[Hashable, Any] = {}

    @cached_property
    def raw_bytes(self) -> int:
        """Bytes of the values without any encoding; offsets of variable-width values are counted."""
        shape = self.block.shape
        if isinstance(shape, FixedWidth):
            return shape.num_bytes(self.block.num_values)
        if isinstance(shape, VariableWidth):
            return len(self.block.values) + (self.block.num_values + 1) * shape.offset_bits // 8
        if isinstance(shape, FixedSizeList):
            items = shape.leaf.num_bytes(self.block.num_values * shape.items_per_value)
            return items + sum((bitmap.num_bits + 7) // 8 for bitmap in self.block.validity)
        return sum(BlockSummary(field).raw_bytes for field in self.block.fields)

    @cached_property
    def integers(self) -> NDArray[np.unsignedinteger] | None:
        """Values as unsigned integers, ``(num_values,)``; None unless they have 8, 16, 32 or 64 bits."""
        shape = self.block.shape
        if not isinstance(shape, FixedWidth) or shape.bits not in _PACKABLE_BITS:
            return None
        return self.block.values.view(f"<u{shape.bytes_per_value}")

    @cached_property
    def lengths(self) -> NDArray[np.int64] | None:
        """Bytes of each value, ``(num_values,)``; None unless they have no fixed width."""
        shape = self.block.shape
        if not isinstance(shape, VariableWidth):
            return None
        return np.diff(self.block.offsets.view(f"<i{shape.offset_bits // 8}")).astype(np.int64, copy=False)

    @cached_property
    def max_value_bytes(self) -> int:
        """Bytes of the largest value, rounded up; 0 for no values."""
        if self.block.num_values == 0:
            return 0
        if self.lengths is not None:
            return int(self.lengths.max())
        return -(-self.raw_bytes // self.block.num_values)

    @cached_property
    def group_bits(self) -> NDArray[np.int64] | None:
        """Bits of the largest value in each group of 1024, ``(num_groups,)``; None where bit packing does not apply."""
        integers = self.integers
        if integers is None or len(integers) == 0:
            return None
        largest = np.maximum.reduceat(integers, np.arange(0, len(integers), GROUP_VALUES))
        return np.array([int(one).bit_length() for one in largest], np.int64)

    @cached_property
    def num_runs(self) -> int | None:
        """Runs of equal values; None where run lengths do not apply."""
        integers = self.integers
        if integers is None:
            return None
        return int(np.count_nonzero(integers[1:] != integers[:-1])) + (len(integers) > 0)

    def remember(self, key: Hashable, find_out: Callable[[], _Fact]) -> _Fact:
        """Return what a codec found out about the block, now or before; `key` begins with the codec's name."""
        if key not in self._found:
            self._found[key] = find_out()
        found: _Fact = self._found[key]
        return found
