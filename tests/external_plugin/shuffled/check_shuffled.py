"""The conformance suite for this project's codec; run by name where the project is installed."""

from __future__ import annotations

import zlib

import numpy as np
from example_shuffled import Shuffled

from lance_arrow.spi import DecodeContext, FixedWidth, private_description
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample


class TestShuffled(CodecSuite):
    key = Shuffled.key
    contexts = Shuffled.contexts
    shapes = (FixedWidth(16), FixedWidth(32), FixedWidth(64))
    chunk_values = 128
    is_private = True

    def encode(self, sample, context):
        bits = sample.shape.bits
        description = private_description(self.key, "lance-shuffled", np.dtype(f"i{bits // 8}").str.encode())
        size = max(sample.num_values, 1) if context is DecodeContext.BLOCK else self.chunk_values
        parts = sample.chunks(size)
        units = tuple((one_by_one(part.plain(), bits // 8),) for part in parts)
        return EncodedSample(description, units, tuple(part.num_values for part in parts))


def one_by_one(content: bytes, width: int) -> bytes:
    """The same bytes by another road: slices of Python's."""
    return zlib.compress(b"".join(content[byte::width] for byte in range(width))) if content else b""
