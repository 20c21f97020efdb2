"""Delta: a first value, and the differences between neighbours in their own encoding.

Source: CompressiveEncoding.Delta; spec 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import spi
from lance_arrow.errors import CorruptFileError, PluginContractError, UnsupportedError
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding
from lance_arrow.proto.encodings_v21_pb2 import Delta as DeltaMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    BoundChunkCodec,
    ChunkBatch,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    hookimpl,
    new_block,
)
from lance_arrow.spi.native import native_side
from lance_arrow_codecs import native

_SHAPES = (FixedWidth(32), FixedWidth(64))
_LEAST_VALUES = 2
_DESCRIPTION_BYTES = 16


@dataclass(frozen=True, slots=True)
class Delta:
    """Binds ``delta`` of 32- and 64-bit values; writes it for blocks of ascending values."""

    key = EncodingKey(COMPRESSIVE, "delta")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    since = MappingProxyType({DecodeContext.BLOCK: "2.3"})
    writes = since
    kinds = (FixedWidth,)

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundDelta:
        """Bind the differences as a block with the width of the values, in both contexts."""
        bits = message.uncompressed_bits_per_value
        if bits not in (32, 64):
            raise CorruptFileError(f"differences of {bits}-bit values, expected 32 or 64", detail=bits)
        deltas = scope.chunk_codec(message.deltas, DecodeContext.BLOCK)
        if deltas.shape != FixedWidth(bits):
            raise CorruptFileError(f"differences are {deltas.shape}, expected {bits} bits")
        if message.base >> bits:
            raise CorruptFileError(f"a first value {message.base} in {bits} bits")
        return BoundDelta(FixedWidth(bits), message.base, deltas)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the bytes of the differences; None if values do not ascend, or if it saves nothing."""
        if scope.options.stores_plainly or block.num_values < _LEAST_VALUES or block.shape not in _SHAPES:
            return None
        integers = scope.summary(block).integers
        if integers is None or (integers[1:] < integers[:-1]).any():
            return None
        estimate = scope.estimate_child(_deltas(integers), DecodeContext.BLOCK, without=frozenset({self.key}))
        if estimate is None or estimate + _DESCRIPTION_BYTES >= len(block.values):
            return None
        return scope.options.cost(estimate + _DESCRIPTION_BYTES)

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.EncodedBlock:
        """Describe the first value, and encode the differences with the best codec."""
        integers = scope.summary(block).integers
        if integers is None or block.num_values < _LEAST_VALUES or block.shape not in _SHAPES:
            raise UnsupportedError(f"{block.num_values} values of {block.shape} cannot be written as differences")
        child = scope.encode_child(_deltas(integers), DecodeContext.BLOCK)
        if not isinstance(child, spi.EncodedBlock):
            raise PluginContractError(f"the child encoder returned {type(child).__name__} for differences")
        message = DeltaMessage(
            uncompressed_bits_per_value=8 * integers.itemsize, base=int(integers[0]), deltas=child.description
        )
        return spi.EncodedBlock(CompressiveEncoding(delta=message), child.buffer)


def _deltas(integers: NDArray[np.unsignedinteger]) -> BlockSlice:
    deltas = integers[1:] - integers[:-1]
    return BlockSlice(FixedWidth(8 * integers.itemsize), len(deltas), deltas.view(np.uint8))


@dataclass(frozen=True, slots=True)
class BoundDelta:
    """Sums the differences of each chunk or block; sums wrap around, like all unsigned integers."""

    shape: FixedWidth
    base: int
    deltas: BoundChunkCodec

    @property
    def num_buffers(self) -> int:
        return self.deltas.num_buffers

    def native(self) -> object | None:
        return native.delta_codec(self.shape.bits, self.base, native_side(self.deltas))

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        number = np.dtype(f"u{self.shape.bytes_per_value}").type
        counts = np.diff(chunks.value_starts)
        delta_starts = np.zeros_like(chunks.value_starts)
        np.cumsum(np.maximum(counts - 1, 0), out=delta_starts[1:])
        block = new_block(self.shape, int(delta_starts[-1]))
        self.deltas.decode(ChunkBatch(chunks.data, chunks.starts, chunks.sizes, delta_starts), block)
        values = np.zeros(out.num_values, number)
        is_first = np.zeros(out.num_values, bool)
        firsts = chunks.value_starts[:-1][counts > 0]
        is_first[firsts] = True
        values[~is_first] = block.values.view(number)
        np.cumsum(values, out=values)
        values += number(self.base) - np.repeat(values[firsts], counts[counts > 0])
        out.values[:] = values.view(np.uint8)


@hookimpl
def lance_provide_codecs() -> list[Delta]:
    return [Delta()]
