"""Variable: offsets and bytes of variable-width values, in three forms.

In a mini-block chunk the offsets count from the chunk's start. A block begins with a header of two words (bits of an
offset, place of the bytes), and its offsets count from the bytes. Zipped values have their length outside and are only
bytes. Offsets may have their own encoding (2.3). They are then a block, which may have no bytes, and count from the
bytes. The bytes may have a buffer compression: one frame per chunk, block or value, to its end. Offsets then refer to
its content. Source: CompressiveEncoding.Variable; spec 5.2, 6, 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels, spi
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, Flat, General
from lance_arrow.proto.encodings_v21_pb2 import Variable as VariableMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    BoundChunkCodec,
    BoundCodec,
    BoundPerValueCodec,
    Bytes,
    ChunkBatch,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    ValueBatch,
    VariableWidth,
    hookimpl,
    new_block,
)
from lance_arrow_codecs import native

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Variable:
    """Binds ``variable`` in every context, with offsets of 32 or 64 bits in any encoding; writes plain offsets."""

    key = EncodingKey(COMPRESSIVE, "variable")
    contexts = frozenset(DecodeContext)
    since = MappingProxyType(
        {DecodeContext.MINI_BLOCK: "2.1", DecodeContext.BLOCK: "2.1", DecodeContext.PER_VALUE: "2.1"}
    )
    writes = since
    kinds = (VariableWidth,)

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundCodec:
        """Check the offset width; encoded offsets exist only in 2.3, no writer compresses bytes yet."""
        is_plain = message.offsets.WhichOneof("compression") == "flat" and not message.offsets.flat.HasField("data")
        if is_plain and message.offsets.flat.bits_per_value not in (32, 64):
            raise CorruptFileError(f"offsets of {message.offsets.flat.bits_per_value} bits, expected 32 or 64")
        offsets = scope.chunk_codec(message.offsets, DecodeContext.BLOCK)
        if offsets.shape not in (FixedWidth(32), FixedWidth(64)):
            raise CorruptFileError(f"offsets are {offsets.shape}, expected 32 or 64 bits")
        shape = VariableWidth(offsets.shape.bits)
        if context is DecodeContext.PER_VALUE:
            return _bind_values(message, shape, scope)
        frames = spi.compression.Frames.bind(message.values, context, scope) if message.HasField("values") else None
        is_block = context is DecodeContext.BLOCK
        if not is_plain or frames is not None:
            return BoundParts(shape, offsets, frames, is_block, is_plain and not is_block)
        return BoundVariableBlocks(shape) if is_block else BoundVariableChunks(shape)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the bytes of offsets and values; None if two values do not fit a chunk."""
        if not isinstance(block.shape, VariableWidth):
            return None
        width = block.shape.offset_bits // 8
        if context is not DecodeContext.MINI_BLOCK:
            return float(len(block.values) + (block.num_values + 3) * width)
        counts = _counts(block, scope)
        return None if counts is None else float(len(block.values) + (block.num_values + 2 * len(counts)) * width)

    def native_encoder(self, shape: spi.BlockShape, context: DecodeContext, scope: EncodeScope) -> object | None:
        """Return the C side of the encoder of chunks, or of blocks."""
        if not isinstance(shape, VariableWidth) or context is DecodeContext.PER_VALUE:
            return None
        is_chunked = context is DecodeContext.MINI_BLOCK
        make = native.variable_encoder if is_chunked else native.variable_blocks_encoder
        return make(_description(shape.offset_bits).SerializeToString())

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.Encoded:
        """Write offsets and values, or return the values unchanged."""
        if not isinstance(block.shape, VariableWidth):
            raise UnsupportedError(f"expected variable-width values, not {block.shape}")
        bits = block.shape.offset_bits
        description = _description(bits)
        if context is DecodeContext.PER_VALUE:
            return spi.EncodedValues(description, block.values, offsets=_ends(block).astype(np.int64), length_bits=bits)
        if context is DecodeContext.BLOCK:
            return spi.EncodedBlock(description, _as_block(block))
        counts = _counts(block, scope)
        if counts is None:
            raise UnsupportedError(f"values of up to {scope.summary(block).max_value_bytes} bytes do not fit chunks")
        sizes = np.empty(len(counts), np.int64)
        # Each chunk has one offset more than values, and padding of less than an offset.
        out = np.empty(len(block.values) + (block.num_values + 2 * len(counts)) * bits // 8, np.uint8)
        total = native.write_variable_chunks(block.offsets, bits, block.values, counts, bits, sizes, out)
        return spi.EncodedChunks(description, (out[:total],), sizes[np.newaxis], counts)


def _description(offset_bits: int) -> CompressiveEncoding:
    offsets = CompressiveEncoding(flat=Flat(bits_per_value=offset_bits))
    return CompressiveEncoding(variable=VariableMessage(offsets=offsets))


def _counts(block: BlockSlice, scope: EncodeScope) -> Positions | None:
    """Return the values per chunk; None if two values do not fit one."""
    return scope.summary(block).remember(("variable", scope.chunk_rules), lambda: _plan(block, scope))


def _plan(block: BlockSlice, scope: EncodeScope) -> Positions | None:
    assert isinstance(block.shape, VariableWidth)
    rules, bits = scope.chunk_rules, block.shape.offset_bits
    if block.num_values == 0:
        return np.zeros(1, np.int64)
    counts = np.empty(block.num_values // 2 + 1, np.int64)
    limits = (rules.target_bytes, rules.max_bytes, rules.max_values)
    num_chunks = native.plan_variable_chunks(block.offsets, bits, len(block.values), bits, *limits, counts)
    return None if num_chunks < 0 else counts[:num_chunks]


def _ends(block: BlockSlice) -> NDArray[Any]:
    """Return the offsets, counted from the first."""
    assert isinstance(block.shape, VariableWidth)
    offsets = block.offsets.view(f"<i{block.shape.offset_bits // 8}")
    return offsets - offsets[0] if len(offsets) and offsets[0] else offsets


def _as_block(block: BlockSlice) -> Bytes:
    """Return header, offsets from 0, values. Source: spec 5.2."""
    assert isinstance(block.shape, VariableWidth)
    bits = block.shape.offset_bits
    header = (block.num_values + 3) * bits // 8
    out = np.empty(header + len(block.values), np.uint8)
    words = out[:header].view(f"<i{bits // 8}")
    words[:2] = bits, header
    words[2:] = _ends(block)
    out[header:] = block.values
    return out


def _bind_values(message: Any, shape: VariableWidth, scope: BindScope) -> BoundPerValueCodec:
    if not message.HasField("values"):
        return BoundVariableValues(shape)
    # A zipped value is its bytes: a general codec around it compresses the same bytes.
    plain = CompressiveEncoding(variable=VariableMessage(offsets=message.offsets))
    return scope.value_codec(CompressiveEncoding(general=General(compression=message.values, values=plain)))


@dataclass(frozen=True, slots=True)
class BoundVariableChunks:
    """Decodes mini-block chunks."""

    shape: VariableWidth
    num_buffers: int = 1

    def native(self) -> object:
        return native.variable_codec(self.shape.offset_bits)

    def native_marks(self) -> object:
        return native.variable_marks(self.shape.offset_bits)

    def measure(self, chunks: ChunkBatch) -> int:
        return native.measure_variable_chunks(*_places(chunks), self.shape.offset_bits)

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        native.decode_variable_chunks(*_places(chunks), self.shape.offset_bits, *_destination(out))

    @property
    def value_codec(self) -> BoundVariableValues:
        return BoundVariableValues(self.shape)

    def locate(self, chunks: ChunkBatch) -> ValueBatch:
        starts, sizes = np.empty((2, chunks.num_values), np.int64)
        native.locate_variable_chunks(*_places(chunks), self.shape.offset_bits, starts, sizes)
        return ValueBatch(chunks.data, starts, sizes)


@dataclass(frozen=True, slots=True)
class BoundVariableBlocks:
    """Decodes blocks."""

    shape: VariableWidth
    num_buffers: int = 1

    def native(self) -> object:
        return native.variable_codec(self.shape.offset_bits, is_block=True)

    def measure(self, chunks: ChunkBatch) -> int:
        return native.measure_variable_blocks(*_places(chunks), self.shape.offset_bits)

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        native.decode_variable_blocks(*_places(chunks), self.shape.offset_bits, *_destination(out))

    @property
    def value_codec(self) -> BoundVariableValues:
        return BoundVariableValues(self.shape)

    def locate(self, chunks: ChunkBatch) -> ValueBatch:
        starts, sizes = np.empty((2, chunks.num_values), np.int64)
        native.locate_variable_blocks(*_places(chunks), self.shape.offset_bits, starts, sizes)
        return ValueBatch(chunks.data, starts, sizes)


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

    @property
    def value_codec(self) -> BoundVariableValues:
        return self

    def locate(self, values: ValueBatch) -> ValueBatch:
        return values


@dataclass(frozen=True, slots=True)
class BoundParts:
    """Decodes chunks and blocks whose offsets or bytes have their own encoding.

    `is_joined`: offsets and bytes of a chunk are one buffer, and offsets count from its start.
    """

    shape: VariableWidth
    offsets: BoundChunkCodec
    frames: spi.compression.Frames | None
    is_block: bool
    is_joined: bool

    @property
    def num_buffers(self) -> int:
        return 1 if self.is_block or self.is_joined else self.offsets.num_buffers + 1

    def native(self) -> object | None:
        offsets, frames = spi.native.native_side(self.offsets), self.frames
        scheme = None if frames is None else spi.native.native_side(frames.scheme)
        if offsets is None or (frames is not None and scheme is None):
            return None
        most_bytes = 0 if frames is None else frames.most_bytes
        bits = self.shape.offset_bits
        return native.variable_parts_codec(bits, offsets, scheme, most_bytes, self.is_block, self.is_joined)

    def measure(self, chunks: ChunkBatch) -> int:
        return kernels.measure_variable_values(self._values(chunks)[2])

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        kernels.decode_variable_values(*self._values(chunks), *_destination(out))

    @property
    def value_codec(self) -> BoundVariableValues:
        return BoundVariableValues(self.shape)

    def locate(self, chunks: ChunkBatch) -> ValueBatch:
        return ValueBatch(*self._values(chunks))

    def _values(self, chunks: ChunkBatch) -> tuple[Bytes, Positions, Positions]:
        """Return the bytes, and the start and size of each value in them."""
        return chunks.derive(self, lambda: self._find_values(chunks))

    def _find_values(self, chunks: ChunkBatch) -> tuple[Bytes, Positions, Positions]:
        parts, bases = self._split(chunks)
        # Each chunk has one offset more than values.
        firsts = chunks.value_starts + np.arange(chunks.num_chunks + 1)
        block = new_block(self.offsets.shape, int(firsts[-1]))
        self.offsets.decode(ChunkBatch(chunks.data, parts.starts[:-1], parts.sizes[:-1], firsts), block)
        offsets = block.values.view(f"u{self.shape.offset_bits // 8}").astype(np.int64)
        data, starts, sizes = chunks.data, parts.starts[-1], parts.sizes[-1]
        if self.frames is not None:
            data, borders = self.frames.open(data, starts, sizes)
            starts, sizes = borders[:-1], np.diff(borders)
        counts = np.diff(firsts)
        offsets -= np.repeat(bases, counts)
        wrong = (offsets < 0) | (offsets > np.repeat(sizes, counts))
        wrong[firsts[:-1]] |= offsets[firsts[:-1]] != 0
        lengths = np.diff(offsets, append=0)
        lengths[firsts[1:] - 1] = 0
        wrong |= lengths < 0
        if wrong.any():
            chunk = int(np.searchsorted(firsts, np.argmax(wrong), side="right")) - 1
            raise CorruptPageError("offsets of a chunk descend or exceed it", detail=chunk)
        kept = np.ones(len(offsets), bool)
        kept[firsts[1:] - 1] = False
        return data, (offsets + np.repeat(starts, counts))[kept], lengths[kept]

    def _split(self, chunks: ChunkBatch) -> tuple[ChunkBatch, Positions]:
        """Return offsets and bytes as two buffers (one if offsets have no bytes), and the base of the offsets."""
        nothing = np.zeros(chunks.num_chunks, np.int64)
        if not self.is_block and not self.is_joined:
            return chunks, nothing
        width = self.shape.offset_bits // 8
        starts, sizes = chunks.starts[0], chunks.sizes[0]
        if self.is_joined:
            header, borders = 0, (np.diff(chunks.value_starts) + 1) * width
        else:
            header, borders = 2 * width, self._read_headers(chunks)
        if (borders > sizes).any():
            raise CorruptPageError("offsets reach beyond their chunk", detail=int(np.argmax(borders > sizes)))
        places = [starts + header, starts + borders], [borders - header, sizes - borders]
        if self.offsets.num_buffers == 0:
            if (borders > header).any():
                raise CorruptPageError("offsets without bytes have bytes", detail=int(np.argmax(borders > header)))
            places = places[0][1:], places[1][1:]
        parts = ChunkBatch(chunks.data, np.array(places[0]), np.array(places[1]), chunks.value_starts)
        return parts, borders if self.is_joined else nothing

    def _read_headers(self, chunks: ChunkBatch) -> Positions:
        """Return the start of the bytes in each block."""
        width = self.shape.offset_bits // 8
        if (chunks.sizes[0] < 2 * width).any():
            raise CorruptPageError("a block of strings is too short for its header")
        words = np.empty((chunks.num_chunks, 2), f"u{width}")
        kernels.copy_values(chunks.data, chunks.starts[0], 2 * width, words.view(np.uint8).reshape(-1))
        borders = words[:, 1].astype(np.int64)
        if (words[:, 0] != self.shape.offset_bits).any() or (borders < 2 * width).any():
            raise CorruptPageError("the header of a block of strings contradicts its description")
        return borders


def _places(chunks: ChunkBatch) -> tuple[Any, Any, Any, Any]:
    return chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts


def _destination(out: BlockSlice) -> tuple[Any, int, Any]:
    # The destination may have other offsets than the page: large strings can be read as small ones, and vice versa.
    shape = out.shape
    assert isinstance(shape, VariableWidth)
    return out.offsets, shape.offset_bits, out.values


@hookimpl
def lance_provide_codecs() -> list[Variable]:
    return [Variable()]
