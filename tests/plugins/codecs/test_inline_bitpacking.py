"""Inline bit packing."""

import numpy as np
import pytest
import zstandard

from lance_arrow.errors import CorruptPageError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, ChunkRules, DecodeContext, EncodeOptions, EncodingKey, FixedWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode
from lance_arrow.testing.samples import Sample, filled

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


def wide_chunk(numbers, packed_bits):
    """A chunk of Python integers of up to 128 bits; spec 11.5."""
    if packed_bits <= 64:
        words = np.array(numbers, "<u4" if packed_bits <= 32 else "<u8")
        packed = pack(words, packed_bits)
    else:
        whole = np.frombuffer(b"".join(number.to_bytes(16, "little") for number in numbers), np.uint8)
        bits = np.zeros((1024, packed_bits), np.uint8)
        bits[: len(numbers)] = np.unpackbits(whole.reshape(-1, 16), axis=1, bitorder="little")[:, :packed_bits]
        packed = np.packbits(bits, bitorder="little").tobytes()
    return packed_bits.to_bytes(16, "little") + packed


class TestInlineBitpacking(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "inline_bitpacking")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    shapes = tuple(FixedWidth(bits) for bits in (8, 16, 32, 64))

    def encode(self, sample, context):
        # A block holds one chunk, so several blocks stand for the larger samples.
        parts = sample.chunks(1024)
        units = tuple((chunk(part.items),) for part in parts)
        return EncodedSample(inline(sample.shape.bits), units, tuple(part.num_values for part in parts))

    def written_samples(self, shape):
        samples = super().written_samples(shape)
        return [one if one.num_values <= 1024 else one.part(0, 1024) for one in samples] + samples

    def test_is_written_where_it_is_smaller(self):
        generator = np.random.default_rng(1)
        low, any_ = generator.integers(0, 1 << 12, 2000, "<u4"), generator.integers(0, 1 << 32, 2000, "<u4")
        scope = self.scope(DecodeContext.MINI_BLOCK, FixedWidth(32), "2.1")
        for values, packed_bits in ((low, [12, 12]), (any_, None), (low[:600], [12]), (low[:300], None)):
            block = filled(Sample(FixedWidth(32), len(values), values))
            encoded = self.write(block, DecodeContext.MINI_BLOCK, scope)
            sizes = None if encoded is None else encoded.sizes.tolist()
            assert sizes == (None if packed_bits is None else [[4 + 128 * bits for bits in packed_bits]])
        plain = scope.altered(options=EncodeOptions(compression="none"))
        block = filled(Sample(FixedWidth(32), 2000, low))
        assert self.write(block, DecodeContext.MINI_BLOCK, plain) is None
        assert self.write(block, DecodeContext.MINI_BLOCK, scope.with_rules(ChunkRules(1 << 14, 512, 4096))) is None

    @pytest.mark.parametrize("bits", [0, 1, 24, 256])
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


class TestWideInlineBitpacking(TestInlineBitpacking):
    """Values of 128 bits, which have three ways to be packed."""

    shapes = (FixedWidth(128),)

    def encode(self, sample, context):
        parts = sample.chunks(1024)
        units = [(wide_chunk(integers(part), self.width(part)),) for part in parts]
        return EncodedSample(inline(128), tuple(units), tuple(part.num_values for part in parts))

    def can_write(self, shape, context):
        return False

    def width(self, part):
        return max(number.bit_length() for number in integers(part))


@pytest.mark.parametrize("packed_bits", [0, 1, 7, 31, 32, 33, 50, 63, 64, 65, 66, 95, 96, 97, 126, 127, 128])
@pytest.mark.parametrize("count", [1, 1000, 1024])
def test_128_bit_values_of_every_kind_of_width(packed_bits, count):
    generator = np.random.default_rng(packed_bits)
    numbers = [int.from_bytes(generator.bytes(16), "little") & ((1 << packed_bits) - 1) for _ in range(count)]
    encoded = EncodedSample(inline(128), ((wide_chunk(numbers, packed_bits),),), (count,))
    bound = TestInlineBitpacking().bind(encoded, DecodeContext.BLOCK, FixedWidth(128))
    values = decode(bound, DecodeContext.BLOCK, encoded).block.values.tobytes()
    assert values == b"".join(number.to_bytes(16, "little") for number in numbers)


@pytest.mark.parametrize("header", [129, 1 << 64, 1 << 127, 5])
def test_128_bit_headers_that_lie_are_refused(header):
    encoded = EncodedSample(inline(128), ((header.to_bytes(16, "little") + bytes(128 * 4),),), (10,))
    bound = TestInlineBitpacking().bind(encoded, DecodeContext.MINI_BLOCK, FixedWidth(128))
    with pytest.raises(CorruptPageError, match=r"width|wider"):
        decode(bound, DecodeContext.MINI_BLOCK, encoded)


def integers(sample):
    plain = sample.plain()
    return [int.from_bytes(plain[start : start + 16], "little") for start in range(0, len(plain), 16)]


class TestCompressedInlineBitpacking(TestInlineBitpacking):
    """Chunks with a buffer compression of their own: header and packed words in one frame."""

    shapes = (FixedWidth(16), FixedWidth(64))

    def encode(self, sample, context):
        encoded = super().encode(sample, context)
        encoded.description.inline_bitpacking.values.scheme = pb.ZSTD
        units = tuple((frame(content),) for (content,) in encoded.units)
        return EncodedSample(encoded.description, units, encoded.counts)


def frame(content):
    return len(content).to_bytes(8, "little") + zstandard.ZstdCompressor().compress(content)
