"""Lists of one length of pages of 2.0, with and without null items."""

from __future__ import annotations

import numpy as np
import pytest
from forged_arrays import binary, flat, no_nulls, some_nulls

from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.proto import encodings_v20_pb2 as pb
from lance_arrow.spi import BlockShape, EncodingKey, FixedSizeList, FixedWidth, LeafType
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.testing.array_samples import ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite


def lists(dimension: int, items: pb.ArrayEncoding) -> pb.ArrayEncoding:
    return pb.ArrayEncoding(fixed_size_list=pb.FixedSizeList(dimension=dimension, items=items))


def described(shape: BlockShape, first: int) -> pb.ArrayEncoding:
    """Items inside lists inside lists; validity of the outer ones comes first."""
    if isinstance(shape, FixedWidth):
        return no_nulls(flat(shape.bits, first))
    assert isinstance(shape, FixedSizeList)
    if shape.has_validity:
        return lists(shape.dimension, some_nulls(flat(1, first), described(shape.items, first + 1)))
    return lists(shape.dimension, described(shape.items, first))


class TestFixedSizeList(ArraySuite):
    key = EncodingKey(ARRAY, "fixed_size_list")
    shapes = (
        FixedSizeList(FixedWidth(8), 3),
        FixedSizeList(FixedWidth(64), 1),
        FixedSizeList(FixedSizeList(FixedWidth(16), 2), 3),
    )
    is_written = True
    knows_nulls = True
    is_native = True

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        bits = tuple(np.packbits(layer, bitorder="little").tobytes() for layer in sample.values.validity)
        return EncodedArraySample(described(sample.values.shape, 0), (*bits, sample.values.plain()))

    @pytest.mark.parametrize(
        ("description", "error"),
        [
            (lists(2, flat(8)), CorruptFileError),
            (lists(0, flat(8)), CorruptFileError),
            (lists(3, binary(1)), CorruptFileError),
            (pb.ArrayEncoding(fixed_size_list=pb.FixedSizeList(dimension=3, items=flat(8), has_validity=True)),) * 1
            + (UnsupportedError,),
        ],
    )
    def test_other_lists_are_refused(self, description: pb.ArrayEncoding, error: type[Exception]) -> None:
        with pytest.raises(error):
            self.bind(EncodedArraySample(description), LeafType(FixedSizeList(FixedWidth(8), 3)))


class TestItemsWithNulls(TestFixedSizeList):
    shapes = (
        FixedSizeList(FixedWidth(1), 3, has_validity=True),
        FixedSizeList(FixedWidth(32), 5, has_validity=True),
        FixedSizeList(FixedSizeList(FixedWidth(8), 2, has_validity=True), 3, has_validity=True),
        FixedSizeList(FixedSizeList(FixedWidth(8), 2, has_validity=True), 3),
        FixedSizeList(FixedWidth(1), 11),
    )
    is_native = False
    # Where no item of a sample is null, it is written without a bitmap, and read with another shape.
    sample_names = ("empty", "exactly full chunk", "last short chunk", "extremes")
