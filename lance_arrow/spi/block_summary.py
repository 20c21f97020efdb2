"""`BlockSummary`: facts about a block for choosing codecs. Each is computed at the first use and kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.spi.blocks import BlockSlice, FixedSizeList, FixedWidth, VariableWidth
from lance_arrow.spi.chunk_cuts import even_starts

GROUP_VALUES = 1024
"""Number of values in one group of bit packing. Source: spec 5.3."""
_PACKABLE_BITS = (8, 16, 32, 64)
_Fact = TypeVar("_Fact")


if TYPE_CHECKING:
    from functools import cached_property as kept
else:

    class kept:
        """`functools.cached_property` without the lock of Python 3.11, which costs more than most facts.

        Concurrent threads would both compute. A summary belongs to one page, and so to one thread.
        """

        def __init__(self, find_out: Callable[[Any], Any]) -> None:
            self._find_out = find_out
            self.__doc__ = find_out.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type) -> Any:
            if instance is None:
                return self
            found = instance.__dict__[self._name] = self._find_out(instance)
            return found


__all__ = ["GroupSummary"]


class GroupSummary(NamedTuple):
    """Result of the kernel `measure_groups` for groups of integers.

    Parameters
    ----------
    value_starts
        ``(num_groups + 1,) int64``: offset of the first value of each group.
    bits
        ``(num_groups,) int64``: bits of the largest value of each group.
    total_bits, max_bits
        Sum and maximum of `bits`.
    num_changes
        Values that differ from the one before them.
    """

    value_starts: NDArray[np.int64]
    bits: NDArray[np.int64]
    total_bits: int
    max_bits: int
    num_changes: int


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
        self._even: GroupSummary | None = None
        self._other: GroupSummary | None = None

    @kept
    def raw_bytes(self) -> int:
        """Bytes of the values without encoding, offsets of variable-width values included."""
        shape = self.block.shape
        if isinstance(shape, FixedWidth):
            return shape.num_bytes(self.block.num_values)
        if isinstance(shape, VariableWidth):
            return len(self.block.values) + (self.block.num_values + 1) * shape.offset_bits // 8
        if isinstance(shape, FixedSizeList):
            items = shape.leaf.num_bytes(self.block.num_values * shape.items_per_value)
            return items + sum((bitmap.num_bits + 7) // 8 for bitmap in self.block.validity)
        return sum(BlockSummary(field).raw_bytes for field in self.block.fields)

    @kept
    def integers(self) -> NDArray[np.unsignedinteger] | None:
        """Values as unsigned integers, ``(num_values,)``; None unless they have 8, 16, 32 or 64 bits."""
        shape = self.block.shape
        if not isinstance(shape, FixedWidth) or shape.bits not in _PACKABLE_BITS:
            return None
        return self.block.values.view(f"<u{shape.bytes_per_value}")

    @kept
    def lengths(self) -> NDArray[np.signedinteger] | None:
        """Bytes of each value, ``(num_values,)``; None unless they have no fixed width."""
        shape = self.block.shape
        if not isinstance(shape, VariableWidth):
            return None
        offsets = self.block.offsets.view(f"<i{shape.offset_bits // 8}")
        lengths: NDArray[np.signedinteger] = offsets[1:] - offsets[:-1]
        return lengths

    @kept
    def is_null(self) -> NDArray[np.bool_] | None:
        """Null flags, ``(num_values,)``; None if no value is null."""
        present = self.block.present
        return None if present is None else ~present.unpacked()

    @kept
    def num_nulls(self) -> int:
        """Values that are null."""
        present = self.block.present
        if present is None:
            return 0
        return present.num_bits - kernels.count_bits(present.values, present.bit_offset, present.num_bits)

    @kept
    def forward_filled(self) -> BlockSlice:
        """The block with each null replaced by the value before it; leading nulls become the first value.

        The block itself if no value or every value is null, or if the values are not `integers`.
        """
        values, is_null = self.integers, self.is_null
        if values is None or is_null is None or not 0 < self.num_nulls < len(values):
            return self.block
        present = np.flatnonzero(~is_null)
        counts = np.diff(present, append=len(values))
        counts[0] += present[0]
        return replace(self.block, values=np.repeat(values[present], counts).view(np.uint8), present=None)

    @kept
    def max_value_bytes(self) -> int:
        """Bytes of the largest value, rounded up; 0 for an empty block."""
        if self.block.num_values == 0:
            return 0
        if self.lengths is not None:
            return int(self.lengths.max())
        return -(-self.raw_bytes // self.block.num_values)

    @kept
    def group_starts(self) -> NDArray[np.int64]:
        """Offset of each group of 1024 values, ``(num_groups + 1,)``; an empty block is one empty group."""
        return even_starts(self.block.num_values, GROUP_VALUES)

    @kept
    def group_bits(self) -> NDArray[np.int64] | None:
        """Bits of the largest value in each group of 1024, ``(num_groups,)``; None if bit packing does not apply."""
        return None if self.integers is None else self.groups(self.group_starts).bits

    @kept
    def num_runs(self) -> int | None:
        """Number of runs of equal values; None if run lengths do not apply."""
        if self.integers is None:
            return None
        return self.groups(self.group_starts).num_changes + (self.block.num_values > 0)

    @kept
    def is_constant(self) -> bool:
        """Whether all values have the same bytes; True for 0 or 1 values, False for lists and structs."""
        block, shape = self.block, self.block.shape
        if block.num_values <= 1:
            return True
        if isinstance(shape, VariableWidth):
            lengths = self.lengths
            if lengths is None or (lengths != lengths[0]).any():
                return False
            return int(lengths[0]) == 0 or kernels.all_equal(block.values, int(lengths[0]))
        if not isinstance(shape, FixedWidth):
            return False
        if shape.bits == 1:
            return kernels.count_bits(block.values, block.bit_offset, block.num_values) in (0, block.num_values)
        return kernels.all_equal(block.values, shape.bytes_per_value)

    def groups(self, value_starts: NDArray[np.int64]) -> GroupSummary:
        """Measure the integers of groups of any sizes; results for `group_starts` and the last other array are kept.

        Parameters
        ----------
        value_starts
            ``(num_groups + 1,) int64``: offset of the first value of each group, as for the kernel `measure_groups`.
            Values must have 8, 16, 32 or 64 bits.
        """
        held = self._even if value_starts is self.group_starts else self._other
        if held is None or held.value_starts is not value_starts:
            held = self._measure(value_starts)
            if value_starts is self.group_starts:
                self._even = held
            else:
                self._other = held
        return held

    def _measure(self, value_starts: NDArray[np.int64]) -> GroupSummary:
        shape = self.block.shape
        found = np.empty((2, max(len(value_starts) - 1, 0)), np.int64)
        word_bits = shape.bits if isinstance(shape, FixedWidth) else 0
        totals = kernels.measure_groups(self.block.values, value_starts, word_bits, found[0], found[1])
        return GroupSummary(value_starts, found[0], *totals)

    def remember(self, key: Hashable, find_out: Callable[[], _Fact]) -> _Fact:
        """Return a fact that a codec computes about the block; it is kept. `key` begins with the codec's name."""
        if key not in self._found:
            self._found[key] = find_out()
        found: _Fact = self._found[key]
        return found
