"""Byte stream split."""

from dataclasses import replace

import numpy as np
import pytest
import zstandard

from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, DecodeContext, EncodeOptions, EncodingKey, FixedWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode
from lance_arrow.testing.samples import Sample, filled


def flat(bits):
    return pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))


def split(values):
    return pb.CompressiveEncoding(byte_stream_split=pb.ByteStreamSplit(values=values))


class TestByteStreamSplit(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "byte_stream_split")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    shapes = (FixedWidth(32), FixedWidth(64))
    chunk_values = 512

    def encode(self, sample, context):
        parts = sample.chunks(self.chunk_values if context is DecodeContext.MINI_BLOCK else 2048)
        width = sample.shape.bytes_per_value
        units = [(part.items.view(np.uint8).reshape(-1, width).T.tobytes(),) for part in parts]
        return EncodedSample(split(flat(sample.shape.bits)), tuple(units), tuple(part.num_values for part in parts))

    def write_options(self, context):
        return EncodeOptions(compression="zstd", bss="on")

    def scope(self, context, shape, version, **details):
        # As a general codec would ask.
        scope = super().scope(context, shape, version, **details)
        return scope.altered(excluded=frozenset({EncodingKey(COMPRESSIVE, "general")}))

    def test_only_what_compresses_better_apart_is_split_by_itself(self):
        shape, count = FixedWidth(32), 4000
        generator = np.random.default_rng(1)
        smooth = (1000 + np.cumsum(generator.normal(size=count))).astype("<f4").view("<u4")
        noise = generator.integers(0, 1 << 32, count, "<u4")
        scope = self.scope(DecodeContext.MINI_BLOCK, shape, "2.1")
        for values, bss, is_split in (
            (smooth, "auto", True),
            (noise, "auto", False),
            (noise, "on", True),
            (smooth, "off", False),
            (smooth, None, True),
        ):
            block = filled(Sample(shape, count, values))
            encoded = self.write(
                block, DecodeContext.MINI_BLOCK, scope.altered(options=replace(scope.options, bss=bss))
            )
            assert (encoded is not None) == is_split, bss
            assert self.write(block, DecodeContext.MINI_BLOCK, scope.altered(excluded=frozenset())) is None
            if encoded is not None:
                assert encoded.value_counts[:-1].tolist() == [1024] * 3

    def test_bytes_as_the_reference_writes_them(self):
        # 1.0, 2.0 and -1.5 as 32-bit floats: four streams, the lowest bytes first.
        stored = bytes.fromhex("000000 000000 8000c0 3f40bf")
        encoded = EncodedSample(split(flat(32)), ((stored,),), (3,))
        bound = self.bind(encoded, DecodeContext.MINI_BLOCK, FixedWidth(32))
        values = decode(bound, DecodeContext.MINI_BLOCK, encoded).block.values
        assert values.view("<f4").tolist() == [1.0, 2.0, -1.5]

    @pytest.mark.parametrize("values", [flat(16), flat(1), pb.CompressiveEncoding()])
    def test_other_children_are_refused(self, values):
        with pytest.raises((CorruptFileError, UnsupportedError)):
            self.bind(EncodedSample(split(values), (), ()), DecodeContext.MINI_BLOCK, FixedWidth(32))

    @pytest.mark.parametrize("size", [7, 9, 4, 12])
    def test_streams_are_exactly_the_values(self, size):
        encoded = EncodedSample(split(flat(32)), ((bytes(size),),), (2,))
        bound = self.bind(encoded, DecodeContext.MINI_BLOCK, FixedWidth(32))
        with pytest.raises(CorruptPageError):
            decode(bound, DecodeContext.MINI_BLOCK, encoded)


class TestCompressedStreams(TestByteStreamSplit):
    """Streams that the child keeps compressed: the general codec inside, where writers put it outside."""

    def encode(self, sample, context):
        encoded = super().encode(sample, context)
        inner = pb.General(compression=pb.BufferCompression(scheme=pb.ZSTD), values=flat(sample.shape.bits))
        units = tuple((frame(content),) for (content,) in encoded.units)
        return EncodedSample(split(pb.CompressiveEncoding(general=inner)), units, encoded.counts)


def frame(content):
    return len(content).to_bytes(8, "little") + zstandard.ZstdCompressor().compress(content) if content else b""
