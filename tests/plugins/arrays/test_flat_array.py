"""Flat values of pages of 2.0, plain and compressed."""

from __future__ import annotations

import pytest
import zstandard
from forged import lz4
from forged_arrays import flat

from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.proto import encodings_v20_pb2 as pb
from lance_arrow.spi import EncodingKey, FixedWidth, LeafType
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.testing.array_samples import ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite


class TestFlat(ArraySuite):
    key = EncodingKey(ARRAY, "flat")
    shapes = tuple(FixedWidth(bits) for bits in (1, 8, 16, 24, 64, 128, 256))
    is_written = True
    knows_nulls = True
    is_native = True

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        return EncodedArraySample(flat(sample.values.shape.bits), (sample.values.plain(),))

    @pytest.mark.parametrize("bits", [0, 7, 12])
    def test_other_widths_are_refused(self, bits: int) -> None:
        with pytest.raises(CorruptFileError):
            self.bind(EncodedArraySample(flat(bits)), LeafType(FixedWidth(8)))

    def test_buffers_of_the_file_are_refused(self) -> None:
        buffer = pb.Buffer(buffer_type=pb.Buffer.file)
        description = pb.ArrayEncoding(flat=pb.Flat(bits_per_value=8, buffer=buffer))
        with pytest.raises(UnsupportedError, match="the file"):
            self.bind(EncodedArraySample(description), LeafType(FixedWidth(8)))


class TestLz4(TestFlat):
    shapes = (FixedWidth(1), FixedWidth(32), FixedWidth(128))
    is_written = True
    is_native = False

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        plain = sample.values.plain()
        return EncodedArraySample(flat(sample.values.shape.bits, scheme="lz4"), (lz4(plain) if plain else b"",))

    def test_unknown_schemes_are_refused(self) -> None:
        with pytest.raises(UnsupportedError, match="snappy"):
            self.bind(EncodedArraySample(flat(8, scheme="snappy")), LeafType(FixedWidth(8)))


class TestZstd(TestLz4):
    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        plain = sample.values.plain()
        frame = len(plain).to_bytes(8, "little") + zstandard.ZstdCompressor().compress(plain)
        return EncodedArraySample(flat(sample.values.shape.bits, scheme="zstd"), (frame if plain else b"",))


class TestUncompressed(TestFlat):
    """Some releases say the name of no scheme."""

    shapes = (FixedWidth(16),)

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        return EncodedArraySample(flat(sample.values.shape.bits, scheme="none"), (sample.values.plain(),))
