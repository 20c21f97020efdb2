"""Packed structs of pages of 2.0: rows of fields."""

from __future__ import annotations

import pytest
from forged_arrays import flat, no_nulls

from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.proto import encodings_v20_pb2 as pb
from lance_arrow.spi import EncodingKey, FixedSizeList, FixedWidth, LeafType, PackedStruct, VariableWidth
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.testing.array_samples import ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite


def structs(num_fields: int, buffer: int = 0) -> pb.ArrayEncoding:
    """What describes the fields has no meaning."""
    inner = [no_nulls(flat(8, 99))] * num_fields
    return pb.ArrayEncoding(packed_struct=pb.PackedStruct(inner=inner, buffer=pb.Buffer(buffer_index=buffer)))


class TestPackedStruct(ArraySuite):
    key = EncodingKey(ARRAY, "packed_struct")
    shapes = (
        PackedStruct((FixedWidth(8), FixedWidth(64))),
        PackedStruct((FixedWidth(24),)),
        PackedStruct((FixedWidth(32), FixedSizeList(FixedWidth(16), 3), FixedWidth(8))),
        PackedStruct((FixedSizeList(FixedWidth(1), 16), FixedWidth(8))),
    )
    is_written = True

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        assert isinstance(sample.values.shape, PackedStruct)
        fields = [field.plain() for field in sample.values.fields]
        widths = [len(field) // max(sample.num_values, 1) for field in fields]
        rows = b"".join(
            b"".join(field[row * width : (row + 1) * width] for field, width in zip(fields, widths, strict=True))
            for row in range(sample.num_values)
        )
        return EncodedArraySample(structs(len(fields)), (rows,))

    @pytest.mark.parametrize(
        "field", [FixedWidth(1), VariableWidth(32), FixedSizeList(FixedWidth(1), 3)], ids=["bit", "text", "bits"]
    )
    def test_fields_of_other_widths_are_refused(self, field: FixedWidth) -> None:
        with pytest.raises(UnsupportedError, match="whole bytes"):
            self.bind(EncodedArraySample(structs(2)), LeafType(PackedStruct((FixedWidth(8), field))))

    def test_other_numbers_of_fields_are_refused(self) -> None:
        with pytest.raises(CorruptFileError, match="contradicts the schema"):
            self.bind(EncodedArraySample(structs(3)), LeafType(self.shapes[0]))
