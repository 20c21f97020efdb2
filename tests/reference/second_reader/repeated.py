"""Pages whose valid values are all equal: one repeated scalar, or empty slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi.block_runs import clear_block
from lance_arrow.spi.blocks import BlockShape, BlockSlice, FixedWidth, VariableWidth
from lance_arrow.spi.slots import SlotStructure, Structure
from second_reader import kernels


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedPage:
    """Selected rows: every slot holds `scalar`, or no value if it is None."""

    levels: Structure
    shape: BlockShape | None
    num_values: int
    scalar: bytes | None
    dictionary = None

    @property
    def num_bytes(self) -> int:
        if not isinstance(self.shape, VariableWidth) or self.scalar is None:
            return 0
        valid = self._valid()
        return len(self.scalar) * (self.num_values if valid is None else int(np.count_nonzero(valid)))

    def _valid(self) -> NDArray[np.bool_] | None:
        """Flags of the slots that hold the scalar, ``(num_values,) bool``; None for all. Null slots take no bytes."""
        if isinstance(self.levels, SlotStructure):
            flags = self.levels.null_flags()
            return None if flags is None else flags == 0
        def_ = self.levels.def_
        if def_ is None or self.levels.rep is None:
            return None if def_ is None else def_ == 0
        return def_[def_ <= self.levels.max_visible_def] == 0

    def decode(self, out: BlockSlice) -> None:
        if isinstance(out.shape, VariableWidth):
            offsets = out.offsets.view(f"i{out.shape.offset_bits // 8}")
            scalar = self.scalar or b""
            valid = self._valid()
            before = np.arange(1, self.num_values + 1) if valid is None else np.cumsum(valid)
            offsets[1:] = offsets[0] + len(scalar) * before.astype(offsets.dtype)
            if scalar:
                out.values.reshape(-1, len(scalar))[:] = np.frombuffer(scalar, np.uint8)
        elif isinstance(out.shape, FixedWidth) and out.shape.bits == 1:
            kernels.fill_bits(out.values, out.bit_offset, self.num_values, self.scalar not in (None, b"\0"))
        elif self.scalar is None:
            clear_block(out)
        elif self.num_values:
            out.values.reshape(self.num_values, len(self.scalar))[:] = np.frombuffer(self.scalar, np.uint8)
