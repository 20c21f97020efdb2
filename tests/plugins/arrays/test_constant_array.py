"""Constants of pages of 2.0: one value in the description."""

from __future__ import annotations

import pytest
from forged_arrays import constant

from lance_arrow.errors import CorruptFileError, ResourceLimitError, UnsupportedError
from lance_arrow.spi import BlockShape, EncodingKey, FixedSizeList, FixedWidth, LeafType, PackedStruct, VariableWidth
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.spi.layouts import NodeKind, RowRanges
from lance_arrow.testing.array_pages import ArrayPage
from lance_arrow.testing.array_samples import ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite
from lance_arrow.testing.samples import Sample


class TestConstant(ArraySuite):
    key = EncodingKey(ARRAY, "constant")
    shapes = tuple(FixedWidth(bits) for bits in (8, 24, 32, 64, 128, 256))
    is_bounded = False

    def sample(self, shape: BlockShape | None, name: str, nulls: str) -> ArraySample:
        made = super().sample(shape, name, nulls)
        assert isinstance(shape, FixedWidth)
        assert made.values is not None
        items = made.values.items.copy()
        items[:] = items[:1]
        return ArraySample(made.leaf, made.num_values, Sample(shape, made.num_values, items))

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        width = sample.values.shape.bytes_per_value
        return EncodedArraySample(constant(sample.values.plain()[:width] or bytes(width)))

    @pytest.mark.parametrize("size", [0, 3, 5, 8])
    def test_values_of_another_size_are_refused(self, size: int) -> None:
        with pytest.raises(CorruptFileError, match=f"constant of {size} bytes, but values of the schema have 4"):
            self.bind(EncodedArraySample(constant(bytes(size))), LeafType(FixedWidth(32)))

    @pytest.mark.parametrize(
        "leaf",
        [
            LeafType(FixedWidth(1)),
            LeafType(VariableWidth(32)),
            LeafType(FixedSizeList(FixedWidth(8), 1)),
            LeafType(PackedStruct((FixedWidth(8),))),
            LeafType(FixedWidth(8), items=VariableWidth(32)),
            LeafType(None),
            LeafType(None, (NodeKind.LIST,)),
        ],
        ids=["bits", "text", "lists", "structs", "keys", "nothing", "ends"],
    )
    def test_values_of_which_nothing_is_told_are_refused(self, leaf: LeafType) -> None:
        with pytest.raises(UnsupportedError, match="no other encoding is documented"):
            self.bind(EncodedArraySample(constant(b"\1")), leaf)

    def test_more_rows_than_memory_are_refused(self) -> None:
        bound = self.bind(EncodedArraySample(constant(b"\1")), LeafType(FixedWidth(8)))
        with pytest.raises(ResourceLimitError):
            ArrayPage(bound, 1 << 50, ()).read(RowRanges.one(0, 1 << 50))
        assert ArrayPage(bound, 1 << 50, ()).read(RowRanges.one((1 << 50) - 2, 1 << 50)) == [b"\1"] * 2
