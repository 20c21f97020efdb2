"""A codec of a third party: signed integers near a base become small unsigned ones, which others then encode.

    value, base 100    100   99  101   98  102
    stored               0    1    2    3    4

It is written where a column asks for it, by ``column_options={"c": {"codec": "example.zigzag/1", "base": 100}}`` and
``allow_private_encodings=True``. Its description holds the width of the values and the base; the stored numbers
are a child, of whatever encoding suits them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError, InvalidArgumentError, UnsupportedError
from lance_arrow.spi import (
    PRIVATE_CODEC,
    BindScope,
    BlockSlice,
    BoundCodec,
    ChunkBatch,
    DecodeContext,
    Encoded,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    ValueBatch,
    hookimpl,
    private_description,
)

CONFIG = struct.Struct("<BQ")
"""Bits of a value, and the base as an unsigned number of so many bits."""
SHAPES = tuple(FixedWidth(bits) for bits in (8, 16, 32, 64))


class Zigzag:
    """The factory: binds descriptions, scores and encodes blocks."""

    key = EncodingKey(PRIVATE_CODEC, "example.zigzag/1")
    contexts = frozenset(DecodeContext)
    writes = MappingProxyType(dict.fromkeys(DecodeContext, "2.1"))

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundZigzag:
        if len(message.config) != CONFIG.size or len(message.children) != 1:
            raise CorruptFileError(f"zigzag of {len(message.config)} bytes and {len(message.children)} children")
        bits, base = CONFIG.unpack(message.config)
        (numbers,) = message.children
        is_single = context is DecodeContext.PER_VALUE
        child = scope.value_codec(numbers) if is_single else scope.chunk_codec(numbers, context)
        if child.shape not in SHAPES or child.shape != FixedWidth(bits) or base >> bits:
            raise CorruptFileError(f"zigzag of {bits} bits and base {base} around {child.shape}")
        return BoundZigzag(child, base)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        if block.shape not in SHAPES:
            return None
        return scope.estimate_child(self._numbers(block, scope), context, without=frozenset({self.key}))

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> Encoded:
        if block.shape not in SHAPES:
            raise UnsupportedError(f"zigzag is for integers of 8 to 64 bits, not for {block.shape}")
        child = scope.encode_child(self._numbers(block, scope), context)
        config = CONFIG.pack(block.shape.bits, _base(scope, block.shape))
        return replace(child, description=private_description(self.key, "lance-zigzag", config, [child.description]))

    def _numbers(self, block: BlockSlice, scope: EncodeScope) -> BlockSlice:
        """The small numbers; made once, for scoring and for encoding."""
        base = _base(scope, block.shape)
        summary = scope.summary(block)
        return summary.remember(("zigzag", base), lambda: _zigzag(block, base, summary.is_null))


def _base(scope: EncodeScope, shape: FixedWidth) -> int:
    base = scope.options.extra.get("base", 0)
    if not isinstance(base, int) or not -(1 << shape.bits - 1) <= base < 1 << shape.bits:
        raise InvalidArgumentError(f"base is {base!r}, expected an integer of {shape.bits} bits", detail=base)
    return base % (1 << shape.bits)


def _zigzag(block: BlockSlice, base: int, is_null: NDArray[np.bool_] | None) -> BlockSlice:
    width = block.shape.bytes_per_value
    distance = block.values.view(f"<u{width}") - np.dtype(f"u{width}").type(base)
    if is_null is not None:
        # Nulls come as zeros, far from the base: any value will do, and 0 takes no bits.
        distance[is_null] = 0
    signs = (distance.view(f"<i{width}") >> 8 * width - 1).view(distance.dtype)
    numbers = (distance << 1 ^ signs).view(np.uint8)
    return BlockSlice(block.shape, block.num_values, numbers, present=block.present)


@dataclass(frozen=True, slots=True)
class BoundZigzag:
    """Lets the child fill the destination and turns the numbers back in place."""

    child: BoundCodec
    base: int

    @property
    def shape(self) -> FixedWidth:
        return self.child.shape

    @property
    def num_buffers(self) -> int:
        return self.child.num_buffers

    @property
    def value_bits(self) -> int | None:
        return self.child.value_bits

    def measure(self, batch: ChunkBatch | ValueBatch) -> int:
        return 0

    def decode(self, batch: ChunkBatch | ValueBatch, out: BlockSlice) -> None:
        self.child.decode(batch, out)
        numbers = out.values.view(f"<u{self.shape.bytes_per_value}")
        number = numbers.dtype.type
        signs = number(0) - (numbers & number(1))
        numbers >>= number(1)
        numbers ^= signs
        numbers += number(self.base)


@hookimpl
def lance_provide_codecs() -> list[Zigzag]:
    return [Zigzag()]
