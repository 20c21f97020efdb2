"""The conformance suite for this project's codec; run by name where the project is installed."""

from __future__ import annotations

import numpy as np
from example_zigzag import BASE, Zigzag

from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, Flat
from lance_arrow.spi import DecodeContext, FixedWidth, private_description
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample


class TestZigzag(CodecSuite):
    key = Zigzag.key
    contexts = frozenset(DecodeContext)
    shapes = tuple(FixedWidth(bits) for bits in (8, 16, 32, 64))
    chunk_values = 128
    is_private = True

    def encode(self, sample, context):
        bits = sample.shape.bits
        flat = CompressiveEncoding(flat=Flat(bits_per_value=bits))
        config = np.dtype(f"<i{bits // 8}").str.encode() + BASE.pack(3)
        description = private_description(self.key, "lance-zigzag", config, [flat])
        size = {DecodeContext.PER_VALUE: 1, DecodeContext.BLOCK: max(sample.num_values, 1)}.get(
            context, self.chunk_values
        )
        parts = sample.chunks(size)
        units = tuple((one_by_one(part.plain(), bits),) for part in parts)
        return EncodedSample(description, units, tuple(part.num_values for part in parts))


def one_by_one(content: bytes, bits: int) -> bytes:
    """The same numbers by another road: Python's integers, distance from 3, even for those above."""
    half, whole = 1 << bits - 1, 1 << bits
    numbers = []
    for value in np.frombuffer(content, f"<u{bits // 8}").tolist():
        distance = (value - 3 + half) % whole - half
        numbers.append(2 * distance if distance >= 0 else -2 * distance - 1)
    return np.array(numbers, f"<u{bits // 8}").tobytes()
