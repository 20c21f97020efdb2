"""Packed structs in zipped rows, with fields of variable width."""

import numpy as np
import pytest

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import (
    COMPRESSIVE,
    DecodeContext,
    EncodingKey,
    FixedSizeList,
    FixedWidth,
    PackedStruct,
    VariableWidth,
)
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode

ZIP = DecodeContext.PER_VALUE
FieldEncoding = pb.VariablePackedStruct.FieldEncoding


def flat(bits):
    return pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))


def variable(bits):
    return pb.CompressiveEncoding(variable=pb.Variable(offsets=flat(bits)))


def lists(shape):
    items = flat(shape.items.bits)
    message = pb.FixedSizeList(items_per_value=shape.dimension, values=items, has_validity=shape.has_validity)
    return pb.CompressiveEncoding(fixed_size_list=message)


def field_of(shape):
    if isinstance(shape, VariableWidth):
        return FieldEncoding(value=variable(shape.offset_bits), bits_per_length=shape.offset_bits)
    if isinstance(shape, FixedWidth):
        return FieldEncoding(value=flat(shape.bits), bits_per_value=shape.bits)
    bitmap = (shape.dimension + 7) // 8 * 8 if shape.has_validity else 0
    return FieldEncoding(value=lists(shape), bits_per_value=bitmap + shape.dimension * shape.items.bits)


def packed(*fields):
    return pb.CompressiveEncoding(variable_packed_struct=pb.VariablePackedStruct(fields=fields))


def stored(sample, row):
    """Bytes of one row of one field."""
    shape = sample.shape
    if isinstance(shape, VariableWidth):
        return len(sample.items[row]).to_bytes(shape.offset_bits // 8, "little") + sample.items[row]
    one = sample.part(row, row + 1)
    return b"".join(np.packbits(bits, bitorder="little").tobytes() for bits in one.validity) + one.plain()


TWO = PackedStruct((FixedWidth(16), VariableWidth(32)))


class TestVariablePackedStruct(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "variable_packed_struct")
    contexts = frozenset({ZIP})
    shapes = (
        TWO,
        PackedStruct((VariableWidth(64), FixedWidth(128), VariableWidth(32), FixedWidth(8))),
        PackedStruct((FixedSizeList(FixedWidth(32), 3, has_validity=True), VariableWidth(32))),
        PackedStruct((FixedWidth(64), FixedSizeList(FixedWidth(8), 5))),
        PackedStruct((VariableWidth(32),)),
        PackedStruct((FixedWidth(16), FixedWidth(32))),
    )
    chunk_values = 30
    # A zipped value counts as one whatever it holds, so there is no other context in which counts could be wrong.
    test_wrong_counts_are_refused_or_decoded = None

    def encode(self, sample, context):
        rows = [b"".join(stored(field, row) for field in sample.fields) for row in range(sample.num_values)]
        description = packed(*map(field_of, sample.shape.fields))
        return EncodedSample(description, tuple((row,) for row in rows), (1,) * len(rows))

    def test_fields_follow_each_other_and_empty_rows_are_null(self):
        row = bytes.fromhex("0700 02000000 6869")
        description = packed(*map(field_of, TWO.fields))
        encoded = EncodedSample(description, ((b"",), (row,), (b"",)), (1, 1, 1))
        bound = self.bind(encoded, ZIP, TWO)
        number, text = decode(bound, ZIP, encoded).block.fields
        assert number.values.view("<u2")[1] == 7
        assert np.diff(text.offsets.view("<i4")).tolist() == [0, 2, 0]
        assert text.values.tobytes() == b"hi"
        empty = EncodedSample(description, ((b"",), (b"",)), (1, 1))
        number, text = decode(bound, ZIP, empty).block.fields
        assert number.values.tobytes() == bytes(4)
        assert np.diff(text.offsets.view("<i4")).tolist() == [0, 0]

    def test_lists_whose_items_are_all_null_take_their_type_from_the_schema(self):
        shape = PackedStruct((VariableWidth(32), FixedSizeList(FixedWidth(32), 3)))
        nulls = pb.FixedSizeList(
            items_per_value=3, values=pb.CompressiveEncoding(constant=pb.Constant()), has_validity=True
        )
        field = FieldEncoding(value=pb.CompressiveEncoding(fixed_size_list=nulls), bits_per_value=8)
        encoded = EncodedSample(packed(field_of(VariableWidth(32)), field), ((bytes(5),),), (1,))
        bound = self.bind(encoded, ZIP, shape)
        assert bound.shape.fields[1] == FixedSizeList(FixedWidth(32), 3, has_validity=True)
        decode(bound, ZIP, encoded)

    @pytest.mark.parametrize(
        "fields",
        [
            (field_of(FixedWidth(16)),),
            (field_of(FixedWidth(32)), field_of(VariableWidth(32))),
            (field_of(FixedWidth(16)), field_of(VariableWidth(64))),
            (field_of(FixedWidth(16)), FieldEncoding(value=variable(32))),
            (field_of(FixedWidth(16)), FieldEncoding(value=variable(32), bits_per_length=16)),
            (field_of(FixedWidth(16)), FieldEncoding(value=variable(32), bits_per_value=32)),
            (FieldEncoding(value=flat(16), bits_per_value=24), field_of(VariableWidth(32))),
            (FieldEncoding(value=flat(16), bits_per_length=32), field_of(VariableWidth(32))),
            (FieldEncoding(bits_per_value=16), field_of(VariableWidth(32))),
        ],
    )
    def test_fields_must_be_those_of_the_schema(self, fields):
        with pytest.raises(CorruptFileError):
            self.bind(EncodedSample(packed(*fields), (), ()), ZIP, TWO)

    @pytest.mark.parametrize("row", ["07", "0700", "0700 020000", "0700 02000000 68", "0700 02000000 686900"])
    def test_rows_must_be_exactly_their_fields(self, row):
        encoded = EncodedSample(packed(*map(field_of, TWO.fields)), ((bytes.fromhex(row),),), (1,))
        bound = self.bind(encoded, ZIP, TWO)
        with pytest.raises(CorruptPageError):
            decode(bound, ZIP, encoded)
