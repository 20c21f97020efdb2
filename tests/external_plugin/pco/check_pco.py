"""The conformance suite for this project's codec; run by name where the project is installed."""

from __future__ import annotations

import numpy as np
from example_pco import Pco
from pcodec import ChunkConfig, standalone

from lance_arrow.spi import DecodeContext, FixedWidth, private_description
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample


class TestPco(CodecSuite):
    key = Pco.key
    contexts = Pco.contexts
    shapes = (FixedWidth(16), FixedWidth(32), FixedWidth(64))
    chunk_values = 128
    is_private = True

    def encode(self, sample, context):
        dtype = np.dtype(f"<i{sample.shape.bytes_per_value}")
        description = private_description(self.key, "lance-pco", dtype.str.encode())
        parts = sample.chunks(max(sample.num_values, 1) if context is DecodeContext.BLOCK else self.chunk_values)
        units = tuple((compressed(np.frombuffer(part.plain(), dtype)),) for part in parts)
        return EncodedSample(description, units, tuple(part.num_values for part in parts))


def compressed(values: np.ndarray) -> bytes:
    return standalone.simple_compress(values, ChunkConfig()) if len(values) else b""
