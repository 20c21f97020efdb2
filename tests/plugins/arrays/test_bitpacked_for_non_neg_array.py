"""Integers of pre-release pages in FastLanes blocks."""

from __future__ import annotations

import pytest
from forged_arrays import fast_lanes

from lance_arrow.errors import CorruptFileError
from lance_arrow.proto import encodings_v20_pb2 as pb
from lance_arrow.spi import EncodingKey, FixedWidth, LeafType
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.testing.array_samples import ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite


def packed(bits: int, packed_bits: int) -> pb.ArrayEncoding:
    message = pb.BitpackedForNonNeg(compressed_bits_per_value=packed_bits, uncompressed_bits_per_value=bits)
    return pb.ArrayEncoding(bitpacked_for_non_neg=message)


class TestBitpackedForNonNeg(ArraySuite):
    key = EncodingKey(ARRAY, "bitpacked_for_non_neg")
    shapes = tuple(FixedWidth(bits) for bits in (8, 16, 32, 64))
    sample_names = ("empty", "one value", "exactly full chunk", "last short chunk", "extremes")
    num_values = 520
    read_together = 1024

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        width = int(sample.values.items.max(initial=0)).bit_length()
        bits = sample.values.shape.bits
        return EncodedArraySample(packed(bits, width), (fast_lanes(sample.values.items, bits, width),))

    @pytest.mark.parametrize(("bits", "packed_bits"), [(12, 3), (0, 0), (8, 9), (128, 3)])
    def test_other_widths_are_refused(self, bits: int, packed_bits: int) -> None:
        with pytest.raises(CorruptFileError):
            self.bind(EncodedArraySample(packed(bits, packed_bits)), LeafType(FixedWidth(8)))
