"""Out-of-line bit packing."""

import numpy as np
import pytest
import zstandard

from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, DecodeContext, EncodingKey, FixedWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode
from lance_arrow.testing.samples import Sample

ORDER = np.array([0, 4, 2, 6, 1, 5, 3, 7])


def out_of_line(bits, packed_bits):
    packed = pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=packed_bits))
    message = pb.OutOfLineBitpacking(uncompressed_bits_per_value=bits, values=packed)
    return pb.CompressiveEncoding(out_of_line_bitpacking=message)


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


def encode_block(values, packed_bits):
    """Whole groups, then the tail packed or raw by the rule of spec 5.5."""
    word_bits, tail = 8 * values.itemsize, len(values) % 1024
    whole = len(values) - tail
    groups = [pack(values[start : start + 1024], packed_bits) for start in range(0, whole, 1024)]
    packed_tail = packed_bits * (1024 - tail) < (word_bits - packed_bits) * tail
    groups.append(pack(values[whole:], packed_bits) if packed_tail else values[whole:].tobytes())
    return b"".join(groups)


class TestOutOfLineBitpacking(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "out_of_line_bitpacking")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    shapes = tuple(FixedWidth(bits) for bits in (8, 16, 32, 64))

    def encode(self, sample, context):
        packed_bits = int(sample.items.max(initial=0)).bit_length()
        description = out_of_line(sample.shape.bits, packed_bits)
        return EncodedSample(description, ((encode_block(sample.items, packed_bits),),), (sample.num_values,))

    @pytest.mark.parametrize("count", [1, 500, 1023, 1024, 1025, 1900, 2047])
    @pytest.mark.parametrize("packed_bits", [0, 1, 3, 9, 16])
    def test_levels_with_packed_and_raw_tails(self, count, packed_bits):
        values = np.random.default_rng(count).integers(0, 1 << packed_bits, count, np.uint16)
        encoded = EncodedSample(out_of_line(16, packed_bits), ((encode_block(values, packed_bits),),), (count,))
        bound = self.bind(encoded, DecodeContext.BLOCK, FixedWidth(16))
        decode(bound, DecodeContext.BLOCK, encoded).assert_equals(Sample(FixedWidth(16), count, values))

    def test_many_small_blocks_decode_in_one_call(self):
        values = np.arange(60, dtype=np.uint16) % 8
        units = tuple((encode_block(part, 3),) for part in np.split(values, [7, 20, 21]))
        encoded = EncodedSample(out_of_line(16, 3), units, (7, 13, 1, 39))
        bound = self.bind(encoded, DecodeContext.BLOCK, FixedWidth(16))
        decode(bound, DecodeContext.BLOCK, encoded).assert_equals(Sample(FixedWidth(16), 60, values))

    def test_impossible_widths_are_refused(self):
        with pytest.raises(CorruptFileError):
            self.bind(EncodedSample(out_of_line(16, 17), (), ()), DecodeContext.BLOCK, FixedWidth(16))
        with pytest.raises(UnsupportedError):
            self.bind(EncodedSample(out_of_line(24, 3), (), ()), DecodeContext.BLOCK, FixedWidth(24))
        description = out_of_line(16, 3)
        description.out_of_line_bitpacking.ClearField("values")
        with pytest.raises(UnsupportedError):
            self.bind(EncodedSample(description, (), ()), DecodeContext.BLOCK, FixedWidth(16))


class TestCompressedWords(TestOutOfLineBitpacking):
    """Packed words with a buffer compression of their own."""

    shapes = (FixedWidth(16), FixedWidth(64))

    def encode(self, sample, context):
        encoded = super().encode(sample, context)
        encoded.description.out_of_line_bitpacking.values.flat.data.scheme = pb.ZSTD
        units = tuple((frame(content),) for (content,) in encoded.units)
        return EncodedSample(encoded.description, units, encoded.counts)


def frame(content):
    return len(content).to_bytes(8, "little") + zstandard.ZstdCompressor().compress(content) if content else b""
