"""`NativeWriteSuite`: the native side of an encoder scores and writes as its methods in Python do.

`CodecWriteSuite` inherits it. A codec without a native side passes: its pages are written in Python.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lance_arrow.engine import try_encoder
from lance_arrow.spi import (
    BlockShape,
    BlockSlice,
    ChunkRules,
    DecodeContext,
    EncodedBlock,
    EncodedChunks,
    EncodingKey,
    FixedWidth,
    VariableWidth,
)
from lance_arrow.spi.encoders import BlocksEncoder
from lance_arrow.structure.page_scope import PageScope
from lance_arrow.testing.samples import Sample, filled, filled_with_nulls

_ASK = -2.0
_BORDERS = 500


class NativeWriteSuite:
    """The native part of `CodecWriteSuite`."""

    key: ClassVar[EncodingKey]

    def scope(
        self, context: DecodeContext, shape: BlockShape, version: str, *, rules: ChunkRules | None = None
    ) -> PageScope:
        """Return the scope for encoding a sample."""
        raise NotImplementedError

    def written_samples(self, shape: BlockShape) -> list[Sample]:
        """Return the written samples."""
        raise NotImplementedError

    def test_the_native_encoder_writes_the_same(
        self, writing_context: DecodeContext, writing_shape: BlockShape, writing_version: str
    ) -> None:
        cell = writing_context, writing_shape, writing_version
        for rules in (None, ChunkRules(1 << 15, 1024, 4096), ChunkRules(300, 4096, 128)):
            scope = self.scope(*cell, rules=rules)
            factory = scope.encoder.table.codec(self.key)
            offer = getattr(factory, "native_encoder", None)
            capsule = None if offer is None else offer(writing_shape, writing_context, scope)
            if capsule is None or writing_context is DecodeContext.PER_VALUE:
                return
            for sample in self.written_samples(writing_shape):
                if not sample.num_values:
                    continue
                for is_null in (None, np.arange(sample.num_values) % 3 == 0):
                    block = filled(sample) if is_null is None else filled_with_nulls(sample, is_null)
                    compare(factory, capsule, block, self.scope(*cell, rules=rules), writing_context)


def compare(factory: Any, capsule: Any, block: BlockSlice, scope: PageScope, context: DecodeContext) -> None:
    """Assert that a capsule has the score and the bytes of a codec's methods."""
    num_values, shape = block.num_values, block.shape
    assert isinstance(shape, FixedWidth | VariableWidth)
    bits = shape.bits if isinstance(shape, FixedWidth) else 0
    values = _packed(block.values, block.bit_offset, num_values) if bits == 1 else block.values
    strings = () if isinstance(shape, FixedWidth) else (_offsets(block, shape.offset_bits), shape.offset_bits)
    present = block.present
    bitmap = None if present is None else _packed(present.values, present.bit_offset, num_values)
    num_nulls = 0 if present is None else num_values - int(present.unpacked().sum())
    rules = scope.chunk_rules
    limits = rules.max_bytes, rules.max_values, rules.target_bytes
    starts: NDArray[np.int64] | None
    are_many = context is DecodeContext.BLOCK and isinstance(factory, BlocksEncoder)
    if are_many:
        starts = np.array([*range(0, num_values, _BORDERS), num_values], np.int64)
        expected = factory.score_blocks(block, starts, scope)
    else:
        starts = np.array([0, num_values], np.int64) if context is DecodeContext.BLOCK else None
        expected = factory.score(block, context, scope)
    score, refused, encoded = try_encoder(
        capsule, np.ascontiguousarray(values), bits, num_values, bitmap, num_nulls, limits, starts, *strings
    )
    if score == _ASK or refused is not None:
        # Python writes the page.
        return
    assert score == (-1.0 if expected is None else expected), "the native score differs"
    if expected is None:
        return
    right = factory.encode_blocks(block, starts, scope) if are_many else factory.encode(block, context, scope)
    description, buffers, sizes, counts = encoded
    if isinstance(right, EncodedBlock):
        assert description == right.description.SerializeToString(deterministic=True)
        assert buffers == ([] if right.buffer is None else [right.buffer.tobytes()])
        return
    assert isinstance(right, EncodedChunks)
    assert description == right.description.SerializeToString(deterministic=True)
    assert buffers == [one.tobytes() for one in right.buffers]
    assert sizes == right.sizes.tolist()
    assert counts == right.value_counts.tolist()


def _offsets(block: BlockSlice, offset_bits: int) -> NDArray[np.int64]:
    """Return 64-bit offsets from 0 on."""
    offsets = block.offsets.view(f"<i{offset_bits // 8}").astype(np.int64)
    return offsets - offsets[0]


def _packed(bits: NDArray[np.uint8], bit_offset: int, num_bits: int) -> NDArray[np.uint8]:
    """Return bits from the first bit of a byte on, with zeros behind the last."""
    flags = np.unpackbits(bits, bitorder="little")[bit_offset : bit_offset + num_bits]
    return np.packbits(flags, bitorder="little")
