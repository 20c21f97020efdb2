"""Columns of structs of 2.0: they hold nothing."""

from __future__ import annotations

import pytest

from lance_arrow.errors import CorruptFileError
from lance_arrow.proto import encodings_v20_pb2 as pb
from lance_arrow.spi import EncodingKey, FixedWidth, LeafType
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.testing.array_samples import ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite

HEAD = EncodedArraySample(pb.ArrayEncoding(struct=pb.SimpleStruct()))


class TestStruct(ArraySuite):
    key = EncodingKey(ARRAY, "struct")
    shapes = (None,)
    is_written = True
    is_bounded = False

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        return HEAD

    def test_columns_with_values_are_refused(self) -> None:
        with pytest.raises(CorruptFileError, match="the schema has values"):
            self.bind(HEAD, LeafType(FixedWidth(8)))
