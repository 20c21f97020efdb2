"""Byte strings of pages of 2.0: ends, and bytes."""

from __future__ import annotations

import numpy as np
import pytest
from forged import lz4
from forged_arrays import binary, flat, no_nulls, some_nulls

from lance_arrow.errors import CorruptFileError
from lance_arrow.proto import encodings_v20_pb2 as pb
from lance_arrow.spi import EncodeOptions, EncodingKey, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.testing.array_samples import NULL_NAMES, ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite


def ends_and_bytes(sample: ArraySample) -> tuple[list[int], bytes, int]:
    """Ends, those of nulls beyond the adjustment; the bytes, those under nulls among them; the adjustment."""
    assert sample.values is not None
    data = b"".join(sample.values.items)
    ends = np.cumsum([len(one) for one in sample.values.items], dtype=np.int64)
    adjustment = len(data) + 1
    return (ends if sample.nulls is None else ends + sample.nulls * adjustment).tolist(), data, adjustment


class TestBinary(ArraySuite):
    key = EncodingKey(ARRAY, "binary")
    shapes = (VariableWidth(32), VariableWidth(64))
    null_names = NULL_NAMES
    is_written = True
    is_native = True

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        ends, data, adjustment = ends_and_bytes(sample)
        return EncodedArraySample(binary(adjustment), (np.array(ends, "<u8").tobytes(), data))

    @pytest.mark.parametrize(
        ("ends", "values"),
        [(flat(16), flat(8, 1)), (some_nulls(flat(1), flat(64, 1)), flat(8, 2)), (flat(64), flat(16, 1))],
    )
    def test_other_children_are_refused(self, ends: pb.ArrayEncoding, values: pb.ArrayEncoding) -> None:
        description = pb.ArrayEncoding(binary=pb.Binary(indices=ends, bytes=values, null_adjustment=1))
        with pytest.raises(CorruptFileError):
            self.bind(EncodedArraySample(description), LeafType(VariableWidth(32)))

    def test_other_columns_are_refused(self) -> None:
        with pytest.raises(CorruptFileError, match="where the schema has"):
            self.bind(EncodedArraySample(binary(1)), LeafType(FixedWidth(8)))


class TestCompressed(TestBinary):
    """The bytes in one frame, which is expanded whole."""

    is_native = False

    def write_options(self) -> EncodeOptions:
        return EncodeOptions(compression="lz4")

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        ends, data, adjustment = ends_and_bytes(sample)
        held = np.array(ends, "<u8").tobytes(), lz4(data) if data else b""
        return EncodedArraySample(binary(adjustment, scheme="lz4"), held)


class TestZstd(TestCompressed):
    shapes = (VariableWidth(32),)

    def write_options(self) -> EncodeOptions:
        return EncodeOptions(compression="zstd", compression_level=3)


class TestNarrowEnds(TestBinary):
    """Ends of 32 bits, and bytes in a wrapper as releases 0.14 to 0.16 wrote it."""

    shapes = (VariableWidth(32),)

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        ends, data, adjustment = ends_and_bytes(sample)
        described = pb.Binary(indices=flat(32), bytes=no_nulls(flat(8, 1)), null_adjustment=adjustment)
        return EncodedArraySample(pb.ArrayEncoding(binary=described), (np.array(ends, "<u4").tobytes(), data))


class TestNoAdjustment(TestBinary):
    """An adjustment of 0 means that no value is null."""

    shapes = (VariableWidth(32),)
    null_names = NULL_NAMES[:1]

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        ends, data, _ = ends_and_bytes(sample)
        return EncodedArraySample(binary(0), (np.array(ends, "<u8").tobytes(), data))
