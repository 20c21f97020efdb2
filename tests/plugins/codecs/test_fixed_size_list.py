"""Fixed-size lists."""

import numpy as np
import pytest

from lance_arrow.errors import CorruptFileError, LanceError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import (
    COMPRESSIVE,
    Bitmap,
    BlockSlice,
    DecodeContext,
    EncodingKey,
    FixedSizeList,
    FixedWidth,
    LeafType,
)
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode
from lance_arrow.testing.round_trip import decode as read_back
from lance_arrow.testing.round_trip import encode_by, encode_scope
from lance_arrow.testing.samples import Sample, make_sample


def describe(shape, leaf=None):
    if isinstance(shape, FixedWidth):
        return leaf or pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=shape.bits))
    message = pb.FixedSizeList(
        items_per_value=shape.dimension, values=describe(shape.items, leaf), has_validity=shape.has_validity
    )
    return pb.CompressiveEncoding(fixed_size_list=message)


def bitmap(bits, garbage=False):
    """Whole bytes; in zipped rows the unused bits are garbage."""
    spare = -len(bits) % 8
    return np.packbits(np.concatenate([bits, np.full(spare, garbage)]), bitorder="little").tobytes()


class TestFixedSizeList(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "fixed_size_list")
    contexts = frozenset(DecodeContext)
    shapes = (
        FixedSizeList(FixedWidth(32), 2),
        FixedSizeList(FixedWidth(8), 3, has_validity=True),
        FixedSizeList(FixedWidth(128), 1),
        FixedSizeList(FixedWidth(1), 5, has_validity=True),
        FixedSizeList(FixedWidth(1), 16),
        FixedSizeList(FixedSizeList(FixedWidth(16), 3, has_validity=True), 2, has_validity=True),
        FixedSizeList(FixedSizeList(FixedWidth(64), 2), 3, has_validity=True),
    )
    chunk_values = 64

    def written_samples(self, shape):
        samples = super().written_samples(shape)
        for sample in samples:
            for bits in sample.validity:
                # A layer whose items are all null is written without them: a test of its own.
                bits[:1] = True
        return samples

    def supports(self, shape, context):
        return context is DecodeContext.MINI_BLOCK or shape.leaf.bits * shape.items_per_value % 8 == 0

    def encode(self, sample, context):
        if context is not DecodeContext.MINI_BLOCK:
            parts = sample.chunks(1)
            units = [(b"".join(bitmap(bits, True) for bits in part.validity) + part.plain(),) for part in parts]
            if context is DecodeContext.BLOCK:
                rows = b"".join(row for (row,) in units)
                return EncodedSample(describe(sample.shape), ((rows,),), (sample.num_values,))
        else:
            parts = sample.chunks(self.chunk_values)
            units = [(*map(bitmap, part.validity), part.plain()) for part in parts]
        return EncodedSample(describe(sample.shape), tuple(units), tuple(part.num_values for part in parts))

    def test_row_width_counts_bitmaps(self):
        shape = FixedSizeList(FixedWidth(32), 2, has_validity=True)
        assert self.bind(EncodedSample(describe(shape), (), ()), DecodeContext.PER_VALUE, shape).value_bits == 72

    @pytest.mark.parametrize("dimension", [0, 1 << 40, (1 << 64) - 1])
    def test_absurd_dimensions_are_refused(self, dimension):
        shape = FixedSizeList(FixedWidth(32), dimension)
        with pytest.raises(LanceError):
            self.bind(EncodedSample(describe(shape), (), ()), DecodeContext.MINI_BLOCK, shape)

    def test_deep_nesting_is_refused(self):
        shape = FixedWidth(8)
        for _ in range(40):
            shape = FixedSizeList(shape, 1)
        with pytest.raises(CorruptFileError, match="deeper"):
            self.bind(EncodedSample(describe(shape), (), ()), DecodeContext.MINI_BLOCK, shape)

    def test_strings_as_items_are_refused(self):
        offsets = pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=32))
        strings = pb.CompressiveEncoding(variable=pb.Variable(offsets=offsets))
        description = describe(FixedSizeList(FixedWidth(8), 2), strings)
        for context in DecodeContext:
            with pytest.raises((CorruptFileError, UnsupportedError)):
                self.bind(EncodedSample(description, (), ()), context, FixedSizeList(FixedWidth(8), 2))


NOTHING = pb.CompressiveEncoding(constant=pb.Constant())


@pytest.mark.parametrize("nested", [False, True])
def test_items_that_are_all_null_are_described_by_the_schema(nested):
    items = FixedSizeList(FixedWidth(32), 2, has_validity=True) if nested else FixedWidth(32)
    shape = FixedSizeList(items, 3, has_validity=True)
    described = FixedSizeList(FixedWidth(32), 3, has_validity=True)
    sample = make_sample(shape, "last short chunk", 8)
    validity = (sample.validity[0], *map(np.zeros_like, sample.validity[1:]))
    sample = Sample(sample.shape, sample.num_values, np.zeros_like(sample.items), validity)
    units = tuple((bitmap(part.validity[0], True),) for part in sample.chunks(1))
    encoded = EncodedSample(describe(described, NOTHING), units, (1,) * sample.num_values)
    # The schema tells types and dimensions; which layers have nulls is the page's matter.
    bound = TestFixedSizeList().bind(encoded, DecodeContext.PER_VALUE, shape.without_validity())
    assert (bound.shape, bound.value_bits) == (sample.shape, 8)
    decode(bound, DecodeContext.PER_VALUE, encoded).assert_equals(sample)


@pytest.mark.parametrize("expected", [FixedWidth(32), FixedSizeList(FixedWidth(32), 4), None])
def test_null_items_that_contradict_the_schema_are_refused(expected):
    described = describe(FixedSizeList(FixedWidth(32), 3, has_validity=True), NOTHING)
    suite = TestFixedSizeList()
    suite.leaf = LeafType
    with pytest.raises(CorruptFileError, match="schema"):
        suite.bind(EncodedSample(described, (), ()), DecodeContext.PER_VALUE, expected)


def test_null_items_without_a_bitmap_are_refused():
    shape = FixedSizeList(FixedWidth(32), 3)
    with pytest.raises(CorruptFileError, match="neither"):
        TestFixedSizeList().bind(EncodedSample(describe(shape, NOTHING), (), ()), DecodeContext.PER_VALUE, shape)


@pytest.mark.parametrize("context", [DecodeContext.PER_VALUE, DecodeContext.BLOCK])
@pytest.mark.parametrize("layer", [0, 1])
def test_a_layer_of_nulls_is_written_without_items(context, layer):
    inner = FixedSizeList(FixedWidth(32), 3, has_validity=True)
    shape = FixedSizeList(inner, 4, has_validity=True)
    some = np.full(10, 0xAA, np.uint8)
    bitmaps = [Bitmap(some, 0, 4 * 6), Bitmap(some, 0, 12 * 6)]
    bitmaps[layer] = Bitmap(np.zeros(10, np.uint8), 0, bitmaps[layer].num_bits)
    block = BlockSlice(shape, 6, np.zeros(6 * 12 * 4, np.uint8), validity=tuple(bitmaps))
    scope = encode_scope(LeafType(shape), file_version="2.3")
    encoded = encode_by(EncodingKey(COMPRESSIVE, "fixed_size_list"), block, context, scope)
    # A byte for 4 bits, and two for 12.
    assert encoded.nbytes == 6 * (1 if layer == 0 else 3)
    read = read_back(encoded, block, scope)
    bits = np.unpackbits(read.validity[layer].values, bitorder="little")[: bitmaps[layer].num_bits]
    assert not bits.any()
    if layer:
        outer = np.unpackbits(read.validity[0].values, bitorder="little")[:24]
        np.testing.assert_array_equal(outer, np.unpackbits(some, bitorder="little")[:24])
