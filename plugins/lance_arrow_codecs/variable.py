"""Variable: offsets and bytes of variable-width values, in three forms.

In a mini-block chunk the offsets count from the chunk's start; a block begins with a header of two words and its
offsets count from the bytes; zipped values carry their length outside and are just bytes. Offsets of chunks may have an
encoding of their own (2.3): then they are a block, which may take no bytes, and count from the bytes too.
Source: CompressiveEncoding.Variable; spec 5.2, 6, 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    BoundChunkCodec,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    FixedWidth,
    ValueBatch,
    VariableWidth,
    hookimpl,
    new_block,
)

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Variable:
    """Binds ``variable`` in every context, with offsets of 32 or 64 bits: plain ones, or in chunks any."""

    key = EncodingKey(COMPRESSIVE, "variable")
    contexts = frozenset(DecodeContext)

    def bind(
        self, message: Any, context: DecodeContext, scope: BindScope
    ) -> BoundVariableChunks | BoundEncodedOffsets | BoundVariableBlocks | BoundVariableValues:
        """Check the offset width; encoded offsets occur in 2.3 only."""
        if message.HasField("values"):
            raise UnsupportedError("variable-width values with a buffer compression of their own are not readable")
        if message.offsets.WhichOneof("compression") != "flat":
            if context is DecodeContext.MINI_BLOCK:
                return BoundEncodedOffsets.over(scope.chunk_codec(message.offsets, DecodeContext.BLOCK))
            raise UnsupportedError("variable-width values with encoded offsets are readable in chunks only")
        if message.offsets.flat.HasField("data"):
            raise UnsupportedError("variable-width values with encoded offsets are not readable")
        bits = message.offsets.flat.bits_per_value
        if bits not in (32, 64):
            raise CorruptFileError(f"offsets of {bits} bits, expected 32 or 64", detail=bits)
        shape = VariableWidth(bits)
        if context is DecodeContext.MINI_BLOCK:
            return BoundVariableChunks(shape)
        return BoundVariableBlocks(shape) if context is DecodeContext.BLOCK else BoundVariableValues(shape)


@dataclass(frozen=True, slots=True)
class BoundVariableChunks:
    """Decodes mini-block chunks."""

    shape: VariableWidth
    num_buffers: int = 1

    def native(self) -> object:
        return native_codecs.variable(self.shape.offset_bits)

    def measure(self, chunks: ChunkBatch) -> int:
        return kernels.measure_variable_chunks(*_places(chunks), self.shape.offset_bits)

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        kernels.decode_variable_chunks(*_places(chunks), self.shape.offset_bits, *_destination(out))


@dataclass(frozen=True, slots=True)
class BoundVariableBlocks:
    """Decodes blocks."""

    shape: VariableWidth
    num_buffers: int = 1

    def measure(self, chunks: ChunkBatch) -> int:
        return kernels.measure_variable_blocks(*_places(chunks), self.shape.offset_bits)

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        kernels.decode_variable_blocks(*_places(chunks), self.shape.offset_bits, *_destination(out))


@dataclass(frozen=True, slots=True)
class BoundVariableValues:
    """Copies zipped values."""

    shape: VariableWidth
    value_bits: None = None

    def native(self) -> object:
        return native_codecs.zipped(0)

    def measure(self, values: ValueBatch) -> int:
        return kernels.measure_variable_values(values.sizes)

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        kernels.decode_variable_values(values.data, values.starts, values.sizes, *_destination(out))


@dataclass(frozen=True, slots=True)
class BoundEncodedOffsets:
    """Decodes mini-block chunks: a block of offsets from 0, if it takes bytes, then the bytes."""

    shape: VariableWidth
    offsets: BoundChunkCodec

    @classmethod
    def over(cls, offsets: BoundChunkCodec) -> BoundEncodedOffsets:
        """Check what the offsets decode to."""
        if offsets.shape not in (FixedWidth(32), FixedWidth(64)):
            raise CorruptFileError(f"offsets are {offsets.shape}, expected 32 or 64 bits")
        return cls(VariableWidth(offsets.shape.bits), offsets)

    @property
    def num_buffers(self) -> int:
        return self.offsets.num_buffers + 1

    def measure(self, chunks: ChunkBatch) -> int:
        return kernels.measure_variable_values(self._values(chunks)[1])

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        kernels.decode_variable_values(chunks.data, *self._values(chunks), *_destination(out))

    def _values(self, chunks: ChunkBatch) -> tuple[Positions, Positions]:
        """Where each value begins and how long it is."""
        return chunks.derive(self, lambda: self._find_values(chunks))

    def _find_values(self, chunks: ChunkBatch) -> tuple[Positions, Positions]:
        # Each chunk has one offset more than values.
        firsts = chunks.value_starts + np.arange(chunks.num_chunks + 1)
        block = new_block(self.offsets.shape, int(firsts[-1]))
        starts, sizes = chunks.starts[:-1], chunks.sizes[:-1]
        self.offsets.decode(ChunkBatch(chunks.data, starts, sizes, firsts), block)
        offsets = block.values.view(f"u{self.offsets.shape.bytes_per_value}").astype(np.int64)
        lengths = np.diff(offsets, append=0)
        lengths[firsts[1:] - 1] = 0
        wrong = (offsets[firsts[:-1]] != 0) | (offsets[firsts[1:] - 1] > chunks.sizes[-1])
        wrong |= np.minimum.reduceat(np.append(lengths, 0), firsts[:-1]) < 0
        if wrong.any():
            raise CorruptPageError("offsets of a chunk descend or leave it", detail=int(np.argmax(wrong)))
        kept = np.ones(len(offsets), bool)
        kept[firsts[1:] - 1] = False
        bases = np.repeat(chunks.starts[-1], np.diff(chunks.value_starts))
        return offsets[kept] + bases, lengths[kept]


def _places(chunks: ChunkBatch) -> tuple[Any, Any, Any, Any]:
    return chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts


def _destination(out: BlockSlice) -> tuple[Any, int, Any]:
    # The destination may want other offsets than the page has: large strings read as small ones, and back.
    shape = out.shape
    assert isinstance(shape, VariableWidth)
    return out.offsets, shape.offset_bits, out.values


@hookimpl
def lance_provide_codecs() -> list[Variable]:
    return [Variable()]
