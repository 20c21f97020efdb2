"""Inline bit packing."""

import numpy as np
import pytest

from lance_arrow.errors import CorruptPageError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, DecodeContext, EncodingKey, FixedWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode
from lance_arrow.testing.samples import Sample

ORDER = np.array([0, 4, 2, 6, 1, 5, 3, 7])


def inline(bits):
    return pb.CompressiveEncoding(inline_bitpacking=pb.InlineBitpacking(uncompressed_bits_per_value=bits))


def pack(values, packed_bits):
    """One FastLanes block of at most 1024 values; spec 5.3."""
    word_bits = 8 * values.itemsize
    row, lane = np.arange(word_bits)[:, None], np.arange(1024 // word_bits)[None, :]
    block = np.zeros(1024, values.dtype)
    block[: len(values)] = values
    lanes = np.ascontiguousarray(block[ORDER[row // 8] * 16 + row % 8 * 128 + lane].T)
    bits = np.unpackbits(lanes.view(np.uint8), axis=1, bitorder="little").reshape(-1, word_bits, word_bits)
    streams = np.packbits(bits[:, :, :packed_bits].reshape(len(bits), -1), axis=1, bitorder="little")
    return np.ascontiguousarray(streams.view(values.dtype).T).tobytes()


def chunk(values):
    packed_bits = int(values.max()).bit_length()
    return np.array([packed_bits], values.dtype).tobytes() + pack(values, packed_bits)


class TestInlineBitpacking(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "inline_bitpacking")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    shapes = tuple(FixedWidth(bits) for bits in (8, 16, 32, 64))

    def encode(self, sample, context):
        # A block holds one chunk, so several blocks stand for the larger samples.
        parts = sample.chunks(1024)
        units = tuple((chunk(part.items),) for part in parts)
        return EncodedSample(inline(sample.shape.bits), units, tuple(part.num_values for part in parts))

    @pytest.mark.parametrize("bits", [0, 1, 24, 128])
    def test_other_widths_are_refused(self, bits):
        with pytest.raises(UnsupportedError):
            self.bind(EncodedSample(inline(bits), (), ()), DecodeContext.MINI_BLOCK, FixedWidth(8))

    @pytest.mark.parametrize(("header", "size"), [(9, 8), (8, 7), (3, 2), (3, 4)])
    def test_width_and_size_must_agree(self, header, size):
        encoded = EncodedSample(inline(8), ((bytes([header]) + bytes(128 * size),),), (10,))
        bound = self.bind(encoded, DecodeContext.MINI_BLOCK, FixedWidth(8))
        with pytest.raises(CorruptPageError, match=r"width|wider"):
            decode(bound, DecodeContext.MINI_BLOCK, encoded)

    def test_width_zero_has_no_bytes(self):
        encoded = EncodedSample(inline(32), ((bytes(4),),), (900,))
        bound = self.bind(encoded, DecodeContext.MINI_BLOCK, FixedWidth(32))
        zeros = Sample(FixedWidth(32), 900, np.zeros(900, np.uint32))
        decode(bound, DecodeContext.MINI_BLOCK, encoded).assert_equals(zeros)
