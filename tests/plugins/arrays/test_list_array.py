"""Columns of lists of 2.0: where the items of each list end."""

from __future__ import annotations

import numpy as np
import pytest
from forged_arrays import flat, lists, some_nulls

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.proto import encodings_v20_pb2 as pb
from lance_arrow.spi import BlockShape, EncodingKey, FixedWidth, LeafType
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.spi.layouts import NodeKind, RowRanges
from lance_arrow.testing.array_pages import ArrayPage
from lance_arrow.testing.array_samples import NULL_NAMES, ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite

LISTS = LeafType(None, (NodeKind.LIST,))


class TestList(ArraySuite):
    key = EncodingKey(ARRAY, "list")
    shapes = (None,)
    null_names = NULL_NAMES
    is_written = True

    def leaf(self, shape: BlockShape | None) -> LeafType:
        return LISTS

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.ends is not None
        ends = sample.ends if sample.nulls is None else sample.ends + sample.nulls * (sample.num_items + 1)
        return EncodedArraySample(lists(sample.num_items), (ends.astype("<u8").tobytes(),))

    def test_other_columns_are_refused(self) -> None:
        with pytest.raises(CorruptFileError, match="the schema has none"):
            self.bind(EncodedArraySample(lists(1)), LeafType(FixedWidth(8)))

    @pytest.mark.parametrize("ends", [flat(32), some_nulls(flat(1), flat(64, 1))])
    def test_other_ends_are_refused(self, ends: pb.ArrayEncoding) -> None:
        description = pb.ArrayEncoding(list=pb.List(offsets=ends, null_offset_adjustment=1))
        with pytest.raises(CorruptFileError, match="ends of lists"):
            self.bind(EncodedArraySample(description), LISTS)

    @pytest.mark.parametrize("ends", [[1, 3], [2, 1], [1, 1 << 63], [2 + 2 * 3, 2]])
    def test_ends_that_contradict_themselves_are_refused(self, ends: list[int]) -> None:
        bound = self.bind(EncodedArraySample(lists(2)), LISTS)
        page = ArrayPage(bound, 2, (np.array(ends, "<u8").tobytes(),))
        with pytest.raises(CorruptPageError):
            page.read(RowRanges.one(0, 2))


class TestNoAdjustment(TestList):
    """An adjustment of 0 means that no list is null."""

    null_names = NULL_NAMES[:1]

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.ends is not None
        return EncodedArraySample(lists(sample.num_items, 0), (sample.ends.astype("<u8").tobytes(),))
