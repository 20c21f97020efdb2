"""Nullable values of pages of 2.0: no nulls, some, nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from forged import lz4
from forged_arrays import all_nulls, flat, no_nulls, some_nulls

from lance_arrow.errors import CorruptFileError
from lance_arrow.proto import encodings_v20_pb2 as pb
from lance_arrow.spi import BlockShape, EncodingKey, FixedSizeList, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.spi.layouts import NodeKind
from lance_arrow.testing.array_samples import NULL_NAMES, ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite


class TestNullable(ArraySuite):
    key = EncodingKey(ARRAY, "nullable")
    shapes = (FixedWidth(1), FixedWidth(32), FixedWidth(128), FixedSizeList(FixedWidth(16), 3))
    null_names = NULL_NAMES[:2]
    is_written = True
    is_native = True

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        plain, first = sample.values.plain(), 0 if sample.nulls is None else 1
        shape = sample.values.shape
        if isinstance(shape, FixedSizeList):
            items = flat(shape.leaf.bits, first)
            values = pb.ArrayEncoding(fixed_size_list=pb.FixedSizeList(dimension=shape.dimension, items=items))
        else:
            values = flat(shape.bits, first)
        if sample.nulls is None:
            return EncodedArraySample(no_nulls(values), (plain,))
        return EncodedArraySample(some_nulls(flat(1), values), (sample.validity, plain))

    def test_no_form_is_refused(self) -> None:
        with pytest.raises(CorruptFileError, match="does not declare"):
            self.bind(EncodedArraySample(pb.ArrayEncoding(nullable=pb.Nullable())), LeafType(FixedWidth(8)))

    @pytest.mark.parametrize("validity", [flat(8), some_nulls(flat(1), flat(1, 1)), all_nulls()])
    def test_other_validity_is_refused(self, validity: pb.ArrayEncoding) -> None:
        with pytest.raises(CorruptFileError, match="bits of validity"):
            self.bind(EncodedArraySample(some_nulls(validity, flat(8, 2))), LeafType(FixedWidth(8)))

    def test_lists_have_nulls_of_their_own(self) -> None:
        ends = pb.ArrayEncoding(list=pb.List(offsets=flat(64, 1), null_offset_adjustment=1))
        with pytest.raises(CorruptFileError, match="a list has"):
            self.bind(EncodedArraySample(some_nulls(flat(1), ends)), LeafType(None, (NodeKind.LIST,)))


class TestAllNulls(TestNullable):
    """No buffers, whatever the schema says."""

    shapes = (FixedWidth(1), FixedWidth(64), VariableWidth(32), FixedSizeList(FixedWidth(8), 2), None)
    null_names = NULL_NAMES[2:]
    is_bounded = False
    is_native = False

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        return EncodedArraySample(all_nulls())

    def can_write(self, shape: BlockShape | None) -> bool:
        # `binary` tells nulls of its own.
        return not isinstance(shape, VariableWidth)


class TestCompressed(TestNullable):
    """Both children keep an index."""

    shapes = (FixedWidth(32),)
    null_names = ("some nulls",)
    is_native = False

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        encoded = super().encode(sample)
        for child in (encoded.description.nullable.some_nulls.validity, encoded.description.nullable.some_nulls.values):
            child.flat.compression.scheme = "lz4"
        return EncodedArraySample(encoded.description, tuple(map(compressed, encoded.buffers)))


def compressed(plain: bytes) -> bytes:
    return lz4(plain) if plain else b""


class TestTwice(TestNullable):
    """Nulls under nulls: a value under both is null."""

    shapes = (FixedWidth(8),)
    null_names = ("some nulls",)
    is_native = False

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        assert sample.nulls is not None
        rows = np.arange(sample.num_values)
        outer, inner = (np.packbits(~(sample.nulls & (rows % 3 != n)), bitorder="little").tobytes() for n in (0, 1))
        within = some_nulls(flat(1, 1), flat(8, 2))
        return EncodedArraySample(some_nulls(flat(1), within), (outer, inner, sample.values.plain()))
