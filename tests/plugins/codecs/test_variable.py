"""Variable-width values."""

from itertools import pairwise

import numpy as np
import pytest
import zstandard

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, DecodeContext, EncodingKey, VariableWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode


def variable(bits):
    offsets = pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))
    return pb.CompressiveEncoding(variable=pb.Variable(offsets=offsets))


def words(values, bits):
    return np.array(values, f"<u{bits // 8}").tobytes()


def chunk(values, bits):
    ends = np.cumsum([(len(values) + 1) * bits // 8, *map(len, values)])
    raw = words(ends, bits) + b"".join(values)
    return raw + b"\x48" * (-len(raw) % (bits // 8))


def block(values, bits):
    ends = np.cumsum([0, *map(len, values)])
    return words([bits, (len(values) + 3) * bits // 8, *ends], bits) + b"".join(values)


class TestVariable(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "variable")
    contexts = frozenset(DecodeContext)
    shapes = (VariableWidth(32), VariableWidth(64))
    chunk_values = 64

    def encode(self, sample, context):
        bits = sample.shape.offset_bits
        if context is DecodeContext.PER_VALUE:
            units, counts = [(value,) for value in sample.items], [1] * sample.num_values
        elif context is DecodeContext.BLOCK:
            units, counts = [(block(sample.items, bits),)], [sample.num_values]
        else:
            parts = sample.chunks(self.chunk_values)
            units, counts = [(chunk(part.items, bits),) for part in parts], [part.num_values for part in parts]
        return EncodedSample(variable(bits), tuple(units), tuple(counts))

    @pytest.mark.parametrize("context", list(DecodeContext))
    def test_odd_widths_are_refused(self, context):
        with pytest.raises(CorruptFileError, match="32 or 64"):
            self.bind(EncodedSample(variable(16), (), ()), context, VariableWidth(32))
        packed = pb.CompressiveEncoding(inline_bitpacking=pb.InlineBitpacking(uncompressed_bits_per_value=16))
        description = pb.CompressiveEncoding(variable=pb.Variable(offsets=packed))
        with pytest.raises(CorruptFileError, match="32 or 64"):
            self.bind(EncodedSample(description, (), ()), context, VariableWidth(32))

    def test_descending_offsets_are_refused(self):
        raw = words([12, 14, 13], 32) + b"ab"
        encoded = EncodedSample(variable(32), ((raw,),), (2,))
        bound = self.bind(encoded, DecodeContext.MINI_BLOCK, VariableWidth(32))
        with pytest.raises(CorruptPageError, match="descend"):
            decode(bound, DecodeContext.MINI_BLOCK, encoded)


class TestCompressedBytes(TestVariable):
    """Bytes with a buffer compression of their own: offsets as ever, then one frame to the end."""

    chunk_values = 24

    def encode(self, sample, context):
        bits = sample.shape.offset_bits
        plain = super().encode(sample, context)
        plain.description.variable.values.scheme = pb.ZSTD
        counts = plain.counts
        if context is DecodeContext.PER_VALUE:
            return EncodedSample(plain.description, tuple((frame(value),) for (value,) in plain.units), counts)
        words_before = 1 if context is DecodeContext.MINI_BLOCK else 3
        units = []
        for (unit,), count in zip(plain.units, counts, strict=True):
            border = (count + words_before) * bits // 8
            # The padding of plain chunks is no part of the frame, nor follows it.
            end = int.from_bytes(unit[border - bits // 8 : border], "little") + (0 if words_before == 1 else border)
            units.append((unit[:border] + frame(unit[border:end]),))
        return EncodedSample(plain.description, tuple(units), counts)


class TestEncodedOffsets(TestVariable):
    """Offsets with an encoding of their own, counted from the bytes; zipped values store none."""

    chunk_values = 24

    def encode(self, sample, context):
        bits = sample.shape.offset_bits
        plain = super().encode(sample, context)
        flat = pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))
        delta = pb.CompressiveEncoding(delta=pb.Delta(uncompressed_bits_per_value=bits, deltas=flat))
        description = self.describe(delta)
        if context is DecodeContext.PER_VALUE:
            return EncodedSample(description, plain.units, plain.counts)
        parts = sample.chunks(self.chunk_values) if context is DecodeContext.MINI_BLOCK else [sample]
        units = []
        for part in parts:
            lengths, content = words([len(value) for value in part.items], bits), self.stored(b"".join(part.items))
            if context is DecodeContext.MINI_BLOCK:
                units.append((lengths, content))
            else:
                units.append((words([bits, 2 * bits // 8 + len(lengths)], bits) + lengths + content,))
        return EncodedSample(description, tuple(units), tuple(part.num_values for part in parts))

    def describe(self, offsets):
        return encoded(offsets)

    def stored(self, content):
        return content


class TestEncodedOffsetsAndCompressedBytes(TestEncodedOffsets):
    """Both at once."""

    shapes = (VariableWidth(32),)

    def encode(self, sample, context):
        made = super().encode(sample, context)
        if context is not DecodeContext.PER_VALUE:
            return made
        return EncodedSample(made.description, tuple((frame(value),) for (value,) in made.units), made.counts)

    def describe(self, offsets):
        compression = pb.BufferCompression(scheme=pb.ZSTD)
        return pb.CompressiveEncoding(variable=pb.Variable(offsets=offsets, values=compression))

    def stored(self, content):
        return frame(content)


def frame(content):
    return len(content).to_bytes(8, "little") + zstandard.ZstdCompressor().compress(content) if content else b""


def encoded(offsets):
    return pb.CompressiveEncoding(variable=pb.Variable(offsets=offsets))


def read(description, chunks, counts, bits=32):
    sample = EncodedSample(description, chunks, counts)
    bound = TestVariable().bind(sample, DecodeContext.MINI_BLOCK, VariableWidth(bits))
    return decode(bound, DecodeContext.MINI_BLOCK, sample)


STEPS = pb.CompressiveEncoding(range=pb.Range(uncompressed_bits_per_value=32, step=2))
WIDE = pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=64))
DELTAS = pb.CompressiveEncoding(delta=pb.Delta(uncompressed_bits_per_value=64, deltas=WIDE))
ZEROS = pb.CompressiveEncoding(constant=pb.Constant(value=bytes(4)))


def values_of(destination):
    block = destination.block
    offsets = block.offsets.view(f"i{block.shape.offset_bits // 8}")
    return [block.values[a - offsets[0] : b - offsets[0]].tobytes() for a, b in pairwise(offsets.tolist())]


def test_offsets_of_an_encoding_of_their_own():
    assert values_of(read(encoded(STEPS), ((b"aabbcc",), (b"dd??",)), (3, 1))) == [b"aa", b"bb", b"cc", b"dd"]
    chunks = ((words([3, 0, 2], 64), b"abcde"), (b"", b""), (words([1], 64), b"f"))
    assert values_of(read(encoded(DELTAS), chunks, (3, 0, 1), 64)) == [b"abc", b"", b"de", b"f"]
    assert values_of(read(encoded(ZEROS), ((b"",),), (4,))) == [b""] * 4


@pytest.mark.parametrize(
    ("description", "chunk", "bits"),
    [
        (encoded(STEPS), (b"aabbc",), 32),
        (encoded(DELTAS), (words([3, 2**64 - 1, 2], 64), b"abcde"), 64),
        (encoded(DELTAS), (words([3, 2**63, 2], 64), b"abcde"), 64),
        (encoded(DELTAS), (words([3, 1], 64), b"abcde"), 64),
        (encoded(pb.CompressiveEncoding(constant=pb.Constant(value=b"\1\0\0\0"))), (b"aaa",), 32),
    ],
)
def test_encoded_offsets_that_leave_their_chunk_are_refused(description, chunk, bits):
    with pytest.raises(CorruptPageError):
        read(description, (chunk,), (3,), bits)


def test_encoded_offsets_of_another_width_are_refused():
    with pytest.raises(CorruptFileError, match="32 or 64"):
        read(encoded(pb.CompressiveEncoding(constant=pb.Constant(value=b"\0\0"))), ((b"",),), (1,))


def test_blocks_of_strings_whose_offsets_take_no_bytes():
    description = encoded(STEPS)
    block = words([32, 8], 32) + b"aabb"
    sample = EncodedSample(description, ((block,), (words([32, 8], 32),)), (2, 0))
    bound = TestVariable().bind(sample, DecodeContext.BLOCK, VariableWidth(32))
    assert values_of(decode(bound, DecodeContext.BLOCK, sample)) == [b"aa", b"bb"]


@pytest.mark.parametrize(
    "block", [b"", words([32], 32), words([64, 8], 32), words([32, 7], 32), words([32, 9], 32) + b"abcd"]
)
def test_blocks_of_strings_with_lying_headers_are_refused(block):
    sample = EncodedSample(encoded(STEPS), ((block,),), (1,))
    bound = TestVariable().bind(sample, DecodeContext.BLOCK, VariableWidth(32))
    with pytest.raises(CorruptPageError):
        decode(bound, DecodeContext.BLOCK, sample)


def test_offsets_that_wrap_around_are_refused():
    with pytest.raises(CorruptPageError):
        read(encoded(DELTAS), ((words([2**62] * 4, 64), b""),), (4,), 64)
