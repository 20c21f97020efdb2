"""Constant: one fixed-width value repeated, without any buffer.

As the leaf of a fixed-size list whose items are all null it is part of that list's own description. Without a value a
block is empty. Zipped values are equal and have no bytes. Source: CompressiveEncoding.Constant; spec 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    FixedWidth,
    ValueBatch,
    hookimpl,
)

_BITS_OF_NOTHING = 64
"""Width of a block without values: positions and counts, where it occurs, are 64-bit integers."""
_BIT = FixedWidth(1)


@dataclass(frozen=True, slots=True)
class Constant:
    """Binds ``constant`` in every context."""

    key = EncodingKey(COMPRESSIVE, "constant")
    contexts = frozenset(DecodeContext)
    since = MappingProxyType({DecodeContext.BLOCK: "2.3", DecodeContext.PER_VALUE: "2.1"})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundConstant:
        """Take the value's width from the value; of a column of booleans it is one byte."""
        if not message.HasField("value"):
            if context is not DecodeContext.BLOCK:
                raise UnsupportedError(f"a constant without a value stands for nothing in the {context.value} context")
            return BoundConstant(FixedWidth(_BITS_OF_NOTHING), None)
        value = bytes(message.value)
        if not value:
            raise CorruptFileError("a constant value has no bytes, expected at least one")
        scope.limits.check("max_value_bytes", len(value))
        if context is DecodeContext.MINI_BLOCK and scope.leaf.shape == _BIT and len(value) == 1:
            return BoundConstant(_BIT, value)
        return BoundConstant(FixedWidth(8 * len(value)), value)


@dataclass(frozen=True, slots=True)
class BoundConstant:
    """Repeats `value`, for chunks, blocks and zipped values alike; None stands for no values at all."""

    shape: FixedWidth
    value: bytes | None
    num_buffers: int = 0
    value_bits: int = 0

    def measure(self, chunks: ChunkBatch | ValueBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch | ValueBatch, out: BlockSlice) -> None:
        if chunks.sizes.any():
            raise CorruptPageError("a constant has bytes, expected none")
        if self.value is None:
            if out.num_values:
                raise CorruptPageError(f"a constant block without a value promises {out.num_values} values")
        elif self.shape == _BIT:
            kernels.fill_bits(out.values, out.bit_offset, out.num_values, self.value != b"\0")
        else:
            out.values.reshape(out.num_values, len(self.value))[:] = np.frombuffer(self.value, np.uint8)


@hookimpl
def lance_provide_codecs() -> list[Constant]:
    return [Constant()]
