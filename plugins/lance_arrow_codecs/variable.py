"""Variable: offsets and bytes of variable-width values, in three forms.

In a mini-block chunk the offsets count from the chunk's start; a block begins with a header of two words and its
offsets count from the bytes; zipped values carry their length outside and are just bytes.
Source: CompressiveEncoding.Variable; spec 5.2, 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    ValueBatch,
    VariableWidth,
    hookimpl,
)


@dataclass(frozen=True, slots=True)
class Variable:
    """Binds ``variable`` in every context, with plain offsets of 32 or 64 bits."""

    key = EncodingKey(COMPRESSIVE, "variable")
    contexts = frozenset(DecodeContext)

    def bind(
        self, message: Any, context: DecodeContext, scope: BindScope
    ) -> BoundVariableChunks | BoundVariableBlocks | BoundVariableValues:
        """Check the offset width; encoded offsets occur in 2.3 only."""
        if message.HasField("values"):
            raise UnsupportedError("variable-width values with a buffer compression of their own are not readable")
        if message.offsets.WhichOneof("compression") != "flat" or message.offsets.flat.HasField("data"):
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

    def measure(self, values: ValueBatch) -> int:
        return kernels.measure_variable_values(values.sizes)

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        kernels.decode_variable_values(values.data, values.starts, values.sizes, *_destination(out))


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
