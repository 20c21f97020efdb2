"""Constant: one fixed-width value repeated, without any buffer.

As the leaf of a fixed-size list whose items are all null, it is part of the list's description. Without a value, a
block is empty. Zipped values are equal and have no bytes. Source: CompressiveEncoding.Constant; spec 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from lance_arrow import kernels, spi
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding
from lance_arrow.proto.encodings_v21_pb2 import Constant as ConstantMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    ChunkBatch,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    ValueBatch,
    hookimpl,
)
from lance_arrow_codecs import native

_BITS_OF_NOTHING = 64
"""Width of a block without values: such blocks hold positions and counts, 64-bit integers."""
_BIT = FixedWidth(1)
_DESCRIPTION_BYTES = 4
_MAX_VALUE_BYTES = 32
"""Same limit as for the scalars of constant pages. Source: spec 7."""


@dataclass(frozen=True, slots=True)
class Constant:
    """Binds ``constant`` in every context and writes it for blocks of equal values."""

    key = EncodingKey(COMPRESSIVE, "constant")
    contexts = frozenset(DecodeContext)
    since = MappingProxyType({DecodeContext.BLOCK: "2.3", DecodeContext.PER_VALUE: "2.1"})
    writes = MappingProxyType({DecodeContext.BLOCK: "2.3"})
    kinds = (FixedWidth,)

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundConstant:
        """Check the value, whose bytes define the width; a boolean is one byte."""
        if not message.HasField("value"):
            if context is not DecodeContext.BLOCK:
                raise UnsupportedError(f"a constant without a value is not supported in the {context.value} context")
            return BoundConstant(FixedWidth(_BITS_OF_NOTHING), None)
        value = bytes(message.value)
        if not value:
            raise CorruptFileError("a constant value has no bytes, expected at least one")
        scope.limits.check("max_value_bytes", len(value))
        if context is DecodeContext.MINI_BLOCK and scope.leaf.shape == _BIT and len(value) == 1:
            return BoundConstant(_BIT, value)
        return BoundConstant(FixedWidth(8 * len(value)), value, context is DecodeContext.PER_VALUE)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the bytes of the value, which the description stores; None if values differ."""
        if context is not DecodeContext.BLOCK or scope.options.stores_plainly or not _has_width(block):
            return None
        return float(_DESCRIPTION_BYTES) if scope.summary(block).is_constant else None

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.EncodedBlock:
        """Describe the value."""
        if context is not DecodeContext.BLOCK or not _has_width(block) or not scope.summary(block).is_constant:
            raise UnsupportedError(f"values of {block.shape} in the {context.value} context are not constant")
        if block.num_values == 0:
            return spi.EncodedBlock(CompressiveEncoding(constant=ConstantMessage()), None)
        value = block.values[: len(block.values) // block.num_values].tobytes()
        return spi.EncodedBlock(CompressiveEncoding(constant=ConstantMessage(value=value)), None)


def _has_width(block: BlockSlice) -> bool:
    """Return whether the description would store the width of the values."""
    shape = block.shape
    if not isinstance(shape, FixedWidth) or shape.bits == 1 or shape.bytes_per_value > _MAX_VALUE_BYTES:
        return False
    return block.num_values > 0 or shape.bits == _BITS_OF_NOTHING


@dataclass(frozen=True, slots=True)
class BoundConstant:
    """Repeats `value`, for chunks, blocks and zipped values; None stands for empty blocks."""

    shape: FixedWidth
    value: bytes | None
    is_zipped: bool = False
    num_buffers: int = 0
    value_bits: int = 0

    def native(self) -> object:
        if self.is_zipped:
            return native.zipped_constant_codec(self.value)
        return native.constant_codec(self.shape.bits, self.value)

    def measure(self, chunks: ChunkBatch | ValueBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch | ValueBatch, out: BlockSlice) -> None:
        if chunks.sizes.any():
            raise CorruptPageError("a constant has bytes, expected none")
        if self.value is None:
            if out.num_values:
                raise CorruptPageError(f"a constant block without a value declares {out.num_values} values")
        elif self.shape == _BIT:
            kernels.fill_bits(out.values, out.bit_offset, out.num_values, self.value != b"\0")
        else:
            out.values.reshape(out.num_values, len(self.value))[:] = np.frombuffer(self.value, np.uint8)


@hookimpl
def lance_provide_codecs() -> list[Constant]:
    return [Constant()]
