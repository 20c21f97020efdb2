"""Flat values."""

import pyarrow as pa
import pytest

from lance_arrow.errors import CorruptFileError, ResourceLimitError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, DecodeContext, EncodingKey, FixedWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample


def flat(bits):
    return pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))


class TestFlat(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "flat")
    contexts = frozenset(DecodeContext)
    shapes = tuple(FixedWidth(bits) for bits in (1, 8, 16, 24, 32, 64, 128, 256))
    chunk_values = 128

    def supports(self, shape, context):
        return shape.bits > 1 or context is not DecodeContext.PER_VALUE

    def encode(self, sample, context):
        size = {DecodeContext.PER_VALUE: 1, DecodeContext.BLOCK: max(sample.num_values, 1)}.get(
            context, self.chunk_values
        )
        parts = sample.chunks(size)
        units = tuple((part.plain(),) for part in parts)
        return EncodedSample(flat(sample.shape.bits), units, tuple(part.num_values for part in parts))

    @pytest.mark.parametrize("bits", [0, 2, 7, 12, 65])
    def test_odd_widths_are_refused(self, bits):
        with pytest.raises(CorruptFileError, match="multiple of 8"):
            self.bind(EncodedSample(flat(bits), (), ()), DecodeContext.MINI_BLOCK, FixedWidth(8))

    def test_absurd_widths_are_refused(self):
        with pytest.raises(ResourceLimitError):
            self.bind(EncodedSample(flat(2**63), (), ()), DecodeContext.BLOCK, FixedWidth(8))

    def test_zipped_bits_are_refused(self):
        with pytest.raises(UnsupportedError):
            self.bind(EncodedSample(flat(1), (), ()), DecodeContext.PER_VALUE, FixedWidth(1))


class TestCompressedFlat(TestFlat):
    """Values with a buffer compression of their own: frames as the general codec has them."""

    shapes = tuple(FixedWidth(bits) for bits in (1, 32, 128))
    chunk_values = 16

    def encode(self, sample, context):
        encoded = super().encode(sample, context)
        encoded.description.flat.data.scheme = pb.LZ4
        units = tuple((lz4(content),) for (content,) in encoded.units)
        return EncodedSample(encoded.description, units, encoded.counts)


def lz4(content):
    block = pa.Codec("lz4_raw").compress(content, asbytes=True)
    return len(content).to_bytes(4, "little") + block if content else b""
