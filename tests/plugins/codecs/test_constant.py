"""Constant values."""

import numpy as np
import pytest

from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, ChunkBatch, DecodeContext, EncodingKey, FixedWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode
from lance_arrow.testing.samples import Destination, Sample


def constant(value):
    return pb.CompressiveEncoding(constant=pb.Constant(value=value))


class TestConstant(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "constant")
    contexts = frozenset(DecodeContext)
    shapes = tuple(FixedWidth(bits) for bits in (8, 16, 32, 64, 128))
    sample_names = ("empty", "one value", "all equal")

    def encode(self, sample, context):
        value = sample.part(0, 1).plain() or bytes(sample.shape.bytes_per_value)
        if context is DecodeContext.PER_VALUE:
            return EncodedSample(constant(value), ((b"",),) * sample.num_values, (1,) * sample.num_values)
        return EncodedSample(constant(value), ((),), (sample.num_values,))

    def bind_block(self, value, count):
        encoded = EncodedSample(constant(value), ((),), (count,))
        return self.bind(encoded, DecodeContext.BLOCK, FixedWidth(64)), encoded

    def test_absent_value_is_the_empty_block(self):
        bound, encoded = self.bind_block(None, 0)
        nothing = Sample(FixedWidth(64), 0, np.empty(0, np.uint64))
        decode(bound, DecodeContext.BLOCK, encoded).assert_equals(nothing)
        bound, encoded = self.bind_block(None, 3)
        with pytest.raises(CorruptPageError, match="without a value"):
            decode(bound, DecodeContext.BLOCK, encoded)

    @pytest.mark.parametrize("context", [DecodeContext.MINI_BLOCK, DecodeContext.PER_VALUE])
    def test_absent_value_stands_for_nothing_elsewhere(self, context):
        with pytest.raises(UnsupportedError, match="without a value is not supported"):
            self.bind(EncodedSample(constant(None), (), ()), context, FixedWidth(64))

    @pytest.mark.parametrize("value", [b"\0", b"\1"])
    def test_booleans_are_bits_in_chunks(self, value):
        encoded = EncodedSample(constant(value), ((), ()), (3, 10))
        bound = self.bind(encoded, DecodeContext.MINI_BLOCK, FixedWidth(1))
        bits = Sample(FixedWidth(1), 13, np.full(13, value == b"\1"))
        decode(bound, DecodeContext.MINI_BLOCK, encoded).assert_equals(bits)

    def test_value_without_bytes_is_refused(self):
        with pytest.raises(CorruptFileError):
            self.bind_block(b"", 1)

    def test_block_with_bytes_is_refused(self):
        bound, _ = self.bind_block(b"12345678", 1)
        batch = ChunkBatch(np.zeros(1, np.uint8), np.zeros((1, 1), np.int64), np.ones((1, 1), np.int64), np.arange(2))
        with pytest.raises(CorruptPageError, match="expected none"):
            bound.decode(batch, Destination(FixedWidth(64), 1, 0).block)
