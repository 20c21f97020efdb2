"""Integers of fewer bits of pre-release pages, back to back."""

from __future__ import annotations

import numpy as np
import pytest
from forged_arrays import bit_stream

from lance_arrow.errors import CorruptFileError
from lance_arrow.proto import encodings_v20_pb2 as pb
from lance_arrow.spi import EncodingKey, FixedWidth, LeafType
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.testing.array_samples import ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite


def packed(bits: int, packed_bits: int, signed: bool = False) -> pb.ArrayEncoding:
    message = pb.Bitpacked(compressed_bits_per_value=packed_bits, uncompressed_bits_per_value=bits, signed=signed)
    return pb.ArrayEncoding(bitpacked=message)


class TestBitpacked(ArraySuite):
    key = EncodingKey(ARRAY, "bitpacked")
    shapes = tuple(FixedWidth(bits) for bits in (8, 16, 32, 64))
    read_together = None

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        items = sample.values.items.tolist()
        width = max(items, default=0).bit_length()
        return EncodedArraySample(packed(sample.values.shape.bits, width), (bit_stream(items, width),))

    @pytest.mark.parametrize(("bits", "packed_bits"), [(12, 3), (0, 0), (8, 9), (128, 3)])
    def test_other_widths_are_refused(self, bits: int, packed_bits: int) -> None:
        with pytest.raises(CorruptFileError):
            self.bind(EncodedArraySample(packed(bits, packed_bits)), LeafType(FixedWidth(8)))


class TestSigned(TestBitpacked):
    """Two's complement of the packed width."""

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        bits = sample.values.shape.bits
        items = sample.values.items.view(f"<i{bits // 8}").tolist()
        width = 1 + max((one.bit_length() if one >= 0 else (~one).bit_length() for one in items), default=0)
        return EncodedArraySample(packed(bits, width, signed=True), (bit_stream(items, width),))

    def test_minus_one_in_a_bit(self) -> None:
        assert np.array_equal(np.frombuffer(bit_stream([-1, 0, -1], 1), np.uint8), [5])


class TestNoBits(TestBitpacked):
    """Nothing but zeros takes no bytes."""

    shapes = (FixedWidth(32),)
    sample_names = ("one value",)
    is_bounded = False

    def sample(self, shape, name, nulls):  # type: ignore[no-untyped-def]
        made = super().sample(shape, "last short chunk", nulls)
        made.values.items[:] = 0
        return made
