"""Constant: one fixed-width value repeated, without any buffer.

As the leaf of a fixed-size list whose items are all null it is part of that list's own description. Without a value a
block is empty. Source: CompressiveEncoding.Constant; spec 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    FixedWidth,
    hookimpl,
)

_BITS_OF_NOTHING = 64
"""Width of a block without values: positions and counts, where it occurs, are 64-bit integers."""


@dataclass(frozen=True, slots=True)
class Constant:
    """Binds ``constant`` in the block context."""

    key = EncodingKey(COMPRESSIVE, "constant")
    contexts = frozenset({DecodeContext.BLOCK})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundConstant:
        """Take the value's width from the value."""
        if not message.HasField("value"):
            return BoundConstant(FixedWidth(_BITS_OF_NOTHING), None)
        value = bytes(message.value)
        if not value:
            raise CorruptFileError("a constant value has no bytes, expected at least one")
        scope.limits.check("max_value_bytes", len(value))
        return BoundConstant(FixedWidth(8 * len(value)), value)


@dataclass(frozen=True, slots=True)
class BoundConstant:
    """Repeats `value`; None stands for no values at all."""

    shape: FixedWidth
    value: bytes | None
    num_buffers: int = 0

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        if chunks.sizes.any():
            raise CorruptPageError("a constant block has bytes, expected none")
        if self.value is not None:
            out.values.reshape(out.num_values, len(self.value))[:] = np.frombuffer(self.value, np.uint8)
        elif out.num_values:
            raise CorruptPageError(f"a constant block without a value promises {out.num_values} values")


@hookimpl
def lance_provide_codecs() -> list[Constant]:
    return [Constant()]
