"""General compression, with both schemes around several children."""

import numpy as np
import pyarrow as pa
import pytest
import zstandard

from lance_arrow.errors import CorruptPageError, LanceError, ResourceLimitError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, DecodeContext, EncodingKey, FixedSizeList, FixedWidth, VariableWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode


def lz4(content):
    block = pa.Codec("lz4_raw").compress(content, asbytes=True)
    return len(content).to_bytes(4, "little") + block if content else b""


def zstd(content):
    return len(content).to_bytes(8, "little") + zstandard.ZstdCompressor().compress(content) if content else b""


def bare_zstd(content):
    return zstandard.ZstdCompressor().compress(content) if content else b""


def unsized_zstd(content):
    return zstandard.ZstdCompressor(write_content_size=False).compress(content) if content else b""


def flat(bits):
    return pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))


def variable(bits):
    return pb.CompressiveEncoding(variable=pb.Variable(offsets=flat(bits)))


def general(child, scheme):
    compression = pb.BufferCompression(scheme=scheme, level=3)
    return pb.CompressiveEncoding(general=pb.General(compression=compression, values=child))


def words(values, bits):
    return np.array(values, f"<u{bits // 8}").tobytes()


class TestGeneralLz4(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "general")
    contexts = frozenset(DecodeContext)
    shapes = (
        FixedWidth(32),
        FixedWidth(1),
        VariableWidth(32),
        VariableWidth(64),
        FixedSizeList(FixedWidth(16), 2, has_validity=True),
    )
    chunk_values = 64
    scheme = pb.LZ4
    compress = staticmethod(lz4)

    def supports(self, shape, context):
        if context is DecodeContext.PER_VALUE:
            return isinstance(shape, VariableWidth)
        return context is DecodeContext.MINI_BLOCK or not isinstance(shape, FixedSizeList)

    def encode(self, sample, context):
        size = {DecodeContext.PER_VALUE: 1, DecodeContext.BLOCK: max(sample.num_values, 1)}.get(context, 64)
        parts = sample.chunks(size)
        units = []
        for part in parts:
            first, *others = self.buffers(part, context)
            units.append((self.compress(first), *others))
        description = general(self.child(sample.shape), self.scheme)
        return EncodedSample(description, tuple(units), tuple(part.num_values for part in parts))

    def child(self, shape):
        if isinstance(shape, VariableWidth):
            return variable(shape.offset_bits)
        if isinstance(shape, FixedWidth):
            return flat(shape.bits)
        items = pb.FixedSizeList(items_per_value=shape.dimension, values=flat(shape.leaf.bits), has_validity=True)
        return pb.CompressiveEncoding(fixed_size_list=items)

    def buffers(self, part, context):
        if isinstance(part.shape, FixedSizeList):
            return [np.packbits(part.validity[0], bitorder="little").tobytes(), part.plain()]
        if isinstance(part.shape, FixedWidth) or context is DecodeContext.PER_VALUE:
            return [part.plain()]
        bits, count = part.shape.offset_bits, part.num_values
        if context is DecodeContext.BLOCK:
            header = [bits, (count + 3) * bits // 8, *np.cumsum([0, *map(len, part.items)])]
        else:
            header = np.cumsum([(count + 1) * bits // 8, *map(len, part.items)])
        return [words(header, bits) + part.plain()]


class TestGeneralZstd(TestGeneralLz4):
    scheme = pb.ZSTD
    compress = staticmethod(zstd)


class TestGeneralBareZstd(TestGeneralLz4):
    scheme = pb.ZSTD
    compress = staticmethod(bare_zstd)
    shapes = (FixedWidth(32), VariableWidth(32))


class TestGeneralUnsizedZstd(TestGeneralLz4):
    scheme = pb.ZSTD
    compress = staticmethod(unsized_zstd)
    shapes = (FixedWidth(32), VariableWidth(32))


def bind_one(child, scheme, frame, count, context=DecodeContext.BLOCK):
    encoded = EncodedSample(general(child, scheme), ((frame,),), (count,))
    return TestGeneralLz4().bind(encoded, context, FixedWidth(8)), encoded


def refuse(scheme, frame, count, error=CorruptPageError, match=None, child=None, context=DecodeContext.BLOCK):
    bound, encoded = bind_one(child or flat(8), scheme, frame, count, context)
    with pytest.raises(error, match=match):
        decode(bound, context, encoded)


@pytest.mark.parametrize("difference", [-1, 1, 1000])
def test_declared_lz4_size_must_be_the_real_one(difference):
    frame = bytearray(lz4(b"abcabcabc" * 30))
    frame[:4] = (270 + difference).to_bytes(4, "little")
    refuse(pb.LZ4, bytes(frame), 270, match="another size")


@pytest.mark.parametrize("difference", [-1, 1, 1000])
@pytest.mark.parametrize("write_content_size", [True, False])
def test_declared_zstd_size_must_be_the_real_one(difference, write_content_size):
    content = b"abcabcabc" * 30
    frame = zstandard.ZstdCompressor(write_content_size=write_content_size).compress(content)
    refuse(pb.ZSTD, (270 + difference).to_bytes(8, "little") + frame, 270)


def test_absurd_sizes_are_refused_before_anything_is_allocated():
    frame = zstandard.ZstdCompressor().compress(b"x" * 100)
    refuse(pb.ZSTD, (1 << 50).to_bytes(8, "little") + frame, 100, match="declares")
    refuse(pb.LZ4, (0xFFFFFFFF).to_bytes(4, "little") + lz4(b"x" * 100)[4:], 100)
    bomb = lz4(bytes(65 << 20))
    refuse(pb.LZ4, bomb, 65 << 20, error=ResourceLimitError, context=DecodeContext.MINI_BLOCK)
    bomb = zstd(bytes(65 << 20))
    refuse(pb.ZSTD, bomb, 65 << 20, error=ResourceLimitError, context=DecodeContext.MINI_BLOCK)


def test_trailing_bytes_and_short_frames_are_refused():
    for scheme, frame in ((pb.ZSTD, zstd(b"abc")), (pb.ZSTD, bare_zstd(b"abc")), (pb.LZ4, lz4(b"abc"))):
        refuse(scheme, frame + b"\x00", 3, error=LanceError)
        for size in range(1, len(frame)):
            refuse(scheme, frame[:size], 3, error=LanceError)


def test_general_in_general_opens_both():
    content = bytes(range(200))
    encoded = EncodedSample(general(general(flat(8), pb.ZSTD), pb.LZ4), ((lz4(zstd(content)),),), (200,))
    bound = TestGeneralLz4().bind(encoded, DecodeContext.MINI_BLOCK, FixedWidth(8))
    assert decode(bound, DecodeContext.MINI_BLOCK, encoded).block.values.tobytes() == content


def test_zipped_fixed_widths_and_unknown_schemes_are_refused():
    with pytest.raises(UnsupportedError):
        bind_one(flat(8), pb.ZSTD, b"", 0, DecodeContext.PER_VALUE)
    with pytest.raises(UnsupportedError, match="UNSPECIFIED"):
        bind_one(flat(8), 0, b"", 0)
