"""Pages whose valid values are all the same: one scalar again and again, or empty slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lance_arrow import kernels
from lance_arrow.spi.blocks import BlockShape, BlockSlice, FixedSizeList, FixedWidth, Levels, VariableWidth


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedPage:
    """Selected rows: every slot holds `scalar`, or nothing where it is None."""

    levels: Levels
    shape: BlockShape | None
    num_values: int
    scalar: bytes | None
    dictionary = None

    @property
    def num_bytes(self) -> int:
        if not isinstance(self.shape, VariableWidth) or self.scalar is None:
            return 0
        return self.num_values * len(self.scalar)

    def decode(self, out: BlockSlice) -> None:
        if isinstance(out.shape, VariableWidth):
            offsets = out.offsets.view(f"i{out.shape.offset_bits // 8}")
            scalar = self.scalar or b""
            length = len(scalar)
            offsets[1:] = offsets[0] + length * np.arange(1, self.num_values + 1, dtype=offsets.dtype)
            if length:
                out.values.reshape(self.num_values, length)[:] = np.frombuffer(scalar, np.uint8)
        elif isinstance(out.shape, FixedWidth) and out.shape.bits == 1:
            kernels.fill_bits(out.values, out.bit_offset, self.num_values, self.scalar not in (None, b"\0"))
        elif self.scalar is None:
            _clear(out, self.num_values)
        elif self.num_values:
            out.values.reshape(self.num_values, len(self.scalar))[:] = np.frombuffer(self.scalar, np.uint8)


def _clear(out: BlockSlice, num_values: int) -> None:
    if isinstance(out.shape, FixedSizeList) and out.shape.leaf.bits == 1:
        kernels.fill_bits(out.values, out.bit_offset, num_values * out.shape.items_per_value, False)
    else:
        out.values[:] = 0
    for bitmap in out.validity:
        kernels.fill_bits(bitmap.values, bitmap.bit_offset, bitmap.num_bits, False)


def fits(scalar: bytes, shape: FixedWidth) -> bool:
    """Whether the bytes are one value of `shape`; a boolean is one byte, 0 or 1."""
    return scalar in (b"\0", b"\1") if shape.bits == 1 else len(scalar) == shape.bytes_per_value
