"""Byte strings of one length of pre-release pages."""

from __future__ import annotations

import pytest
from forged_arrays import flat

from lance_arrow.errors import CorruptFileError, ResourceLimitError
from lance_arrow.proto import encodings_v20_pb2 as pb
from lance_arrow.spi import BlockShape, EncodingKey, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.testing.array_samples import ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite
from lance_arrow.testing.samples import Sample

WIDTH = 3


def cells(width: int, values: pb.ArrayEncoding) -> EncodedArraySample:
    return EncodedArraySample(pb.ArrayEncoding(fixed_size_binary=pb.FixedSizeBinary(bytes=values, byte_width=width)))


class TestFixedSizeBinary(ArraySuite):
    key = EncodingKey(ARRAY, "fixed_size_binary")
    shapes = (VariableWidth(32), VariableWidth(64))

    def sample(self, shape: BlockShape | None, name: str, nulls: str) -> ArraySample:
        made = super().sample(shape, name, nulls)
        assert made.values is not None
        items = [one[:WIDTH].ljust(WIDTH, b"_") for one in made.values.items]
        return ArraySample(made.leaf, made.num_values, Sample(made.values.shape, len(items), items))

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        return EncodedArraySample(cells(WIDTH, flat(8)).description, (sample.values.plain(),))

    @pytest.mark.parametrize(("width", "values"), [(0, flat(8)), (3, flat(16)), (3, flat(1))])
    def test_other_cells_are_refused(self, width: int, values: pb.ArrayEncoding) -> None:
        with pytest.raises(CorruptFileError):
            self.bind(cells(width, values), LeafType(VariableWidth(32)))

    def test_other_columns_and_sizes_are_refused(self) -> None:
        with pytest.raises(CorruptFileError, match="where the schema has"):
            self.bind(cells(3, flat(8)), LeafType(FixedWidth(24)))
        with pytest.raises(ResourceLimitError):
            self.bind(cells((1 << 32) - 1, flat(8)), LeafType(VariableWidth(32)))
