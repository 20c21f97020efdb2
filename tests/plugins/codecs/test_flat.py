"""Flat values."""

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow.errors import CorruptFileError, ResourceLimitError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, BlockSlice, DecodeContext, EncodingKey, FixedWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample

MINI = DecodeContext.MINI_BLOCK


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

    @pytest.mark.parametrize(
        ("bits", "chunk_values"), [(1, 4096), (8, 4096), (16, 2048), (32, 1024), (64, 512), (128, 256), (8 * 3000, 2)]
    )
    def test_chunks_are_views_of_the_values(self, bits, chunk_values):
        shape = FixedWidth(bits)
        values = np.random.default_rng(bits).integers(0, 256, shape.num_bytes(3 * chunk_values), np.uint8)
        block = BlockSlice(shape, 3 * chunk_values, values)
        for context, version in ((DecodeContext.MINI_BLOCK, "2.1"), (DecodeContext.BLOCK, "2.1")):
            encoded = self.write(block, context, self.scope(context, shape, version))
            if context is DecodeContext.MINI_BLOCK:
                assert encoded.value_counts.tolist() == [chunk_values] * 3
                assert np.shares_memory(encoded.buffers[0], values)
            else:
                assert np.shares_memory(encoded.buffer, values)

    def test_values_that_do_not_fit_a_chunk_twice_are_left_to_others(self):
        block = BlockSlice(FixedWidth(8 * 5000), 3, np.zeros(15_000, np.uint8))
        assert (
            self.write(block, DecodeContext.MINI_BLOCK, self.scope(DecodeContext.MINI_BLOCK, block.shape, "2.2"))
            is None
        )

    def test_bits_behind_the_last_value_are_cleared(self):
        block = BlockSlice(FixedWidth(1), 3, np.array([0xFF], np.uint8))
        encoded = self.write(block, DecodeContext.BLOCK, self.scope(DecodeContext.BLOCK, block.shape, "2.1"))
        assert encoded.buffer.tolist() == [7]

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
