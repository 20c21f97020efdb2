"""The conformance suite for this project's codec; run by name where the project is installed."""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa
from example_brotli import Brotli

from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, Flat, Variable
from lance_arrow.spi import DecodeContext, FixedWidth, VariableWidth, private_description
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample


class TestBrotli(CodecSuite):
    key = Brotli.key
    contexts = frozenset(DecodeContext)
    shapes = (FixedWidth(32), VariableWidth(32))
    chunk_values = 64
    is_private = True

    def can_write(self, shape, context):
        return context is not DecodeContext.PER_VALUE or isinstance(shape, VariableWidth)

    def encode(self, sample, context):
        size = {DecodeContext.PER_VALUE: 1, DecodeContext.BLOCK: max(sample.num_values, 1)}.get(
            context, self.chunk_values
        )
        parts = sample.chunks(size)
        child = CompressiveEncoding(flat=Flat(bits_per_value=32))
        if isinstance(sample.shape, VariableWidth):
            child = CompressiveEncoding(variable=Variable(offsets=child))
        units = tuple((frame(content(part, context)),) for part in parts)
        description = private_description(self.key, "lance-brotli", children=[child])
        return EncodedSample(description, units, tuple(part.num_values for part in parts))


def content(part, context) -> bytes:
    if isinstance(part.shape, FixedWidth) or context is DecodeContext.PER_VALUE:
        return part.plain()
    lengths = [len(item) for item in part.items]
    if context is DecodeContext.BLOCK:
        header = [32, 4 * (part.num_values + 3), *np.cumsum([0, *lengths])]
    else:
        header = np.cumsum([4 * (part.num_values + 1), *lengths])
    return np.array(header, "<u4").tobytes() + part.plain()


def frame(content: bytes) -> bytes:
    header = len(content).to_bytes(8, "little") + zlib.crc32(content).to_bytes(4, "little")
    return header + pa.compress(content, "brotli", asbytes=True) if content else b""
