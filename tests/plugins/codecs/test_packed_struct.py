"""Packed structs: rows of fixed width in chunks, or zipped."""

import numpy as np
import pytest
import zstandard

from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
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


def flat(bits):
    return pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))


def packed(widths, values):
    return pb.CompressiveEncoding(packed_struct=pb.PackedStruct(bits_per_value=widths, values=values))


def bits_of(shape):
    return shape.items_per_value * shape.leaf.bits if isinstance(shape, FixedSizeList) else shape.bits


TWO = PackedStruct((FixedWidth(32), FixedWidth(8)))


class TestPackedStruct(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "packed_struct")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.PER_VALUE})
    shapes = (
        TWO,
        PackedStruct((FixedWidth(64),)),
        PackedStruct((FixedWidth(16), FixedWidth(128), FixedWidth(40), FixedWidth(256))),
        PackedStruct((FixedWidth(8), FixedSizeList(FixedWidth(32), 3))),
        PackedStruct((FixedSizeList(FixedSizeList(FixedWidth(16), 2), 3), FixedWidth(64))),
        PackedStruct((FixedWidth(8), FixedSizeList(FixedWidth(1), 16))),
    )
    chunk_values = 256

    def can_write(self, shape, context):
        # The reference zips such structs, and reads no chunks of them.
        return not any(isinstance(field, FixedSizeList) for field in shape.fields)

    def encode(self, sample, context):
        widths = [bits_of(field) for field in sample.shape.fields]
        units, counts = [], []
        for part in sample.chunks(self.chunk_values if context is DecodeContext.MINI_BLOCK else 1):
            fields = [np.frombuffer(field.plain(), np.uint8) for field in part.fields]
            rows = [f.reshape(part.num_values, bits // 8) for f, bits in zip(fields, widths, strict=True)]
            units.append((np.concatenate(rows, axis=1).tobytes(),))
            counts.append(part.num_values)
        return EncodedSample(packed(widths, flat(sum(widths))), tuple(units), tuple(counts))

    def test_fields_lie_side_by_side(self):
        encoded = EncodedSample(packed([32, 8], flat(40)), ((bytes.fromhex("01000000aa 02000000bb"),),), (2,))
        bound = self.bind(encoded, DecodeContext.MINI_BLOCK, TWO)
        first, second = decode(bound, DecodeContext.MINI_BLOCK, encoded).block.fields
        assert (first.values.view("<u4").tolist(), second.values.tolist()) == ([1, 2], [0xAA, 0xBB])

    @pytest.mark.parametrize(
        ("description", "shape", "error"),
        [
            (packed([32, 8], flat(48)), TWO, CorruptFileError),
            (packed([32], flat(32)), TWO, CorruptFileError),
            (packed([8, 32], flat(40)), TWO, CorruptFileError),
            (packed([32, 8], flat(40)), FixedWidth(40), CorruptFileError),
            (packed([32, 8], flat(40)), PackedStruct((FixedWidth(32), VariableWidth(32))), CorruptFileError),
            (packed([32, 1], flat(33)), PackedStruct((FixedWidth(32), FixedWidth(1))), UnsupportedError),
            (packed([32, 0], flat(32)), TWO, UnsupportedError),
            (packed([32, 8], pb.CompressiveEncoding()), TWO, CorruptFileError),
            (packed([], flat(0)), PackedStruct(()), CorruptFileError),
        ],
    )
    def test_what_contradicts_the_schema_is_refused(self, description, shape, error):
        with pytest.raises(error):
            self.bind(EncodedSample(description, (), ()), DecodeContext.MINI_BLOCK, shape)

    def test_short_chunks_are_refused(self):
        encoded = EncodedSample(packed([32, 8], flat(40)), ((bytes(9),),), (2,))
        bound = self.bind(encoded, DecodeContext.MINI_BLOCK, TWO)
        with pytest.raises(CorruptPageError):
            decode(bound, DecodeContext.MINI_BLOCK, encoded)


class TestCompressedRows(TestPackedStruct):
    """Rows that the child keeps compressed."""

    shapes = TestPackedStruct.shapes[:1]
    chunk_values = 16

    def encode(self, sample, context):
        encoded = super().encode(sample, context)
        message = encoded.description.packed_struct
        general = pb.General(compression=pb.BufferCompression(scheme=pb.ZSTD), values=message.values)
        description = packed(list(message.bits_per_value), pb.CompressiveEncoding(general=general))
        return EncodedSample(description, tuple((frame(rows),) for (rows,) in encoded.units), encoded.counts)


def frame(content):
    return len(content).to_bytes(8, "little") + zstandard.ZstdCompressor().compress(content) if content else b""
