"""Dictionaries in blocks."""

import numpy as np
import pytest

from lance_arrow.errors import CorruptFileError, CorruptPageError, ResourceLimitError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, DecodeContext, EncodingKey, FixedSizeList, FixedWidth, VariableWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode

BLOCK = DecodeContext.BLOCK


def flat(bits):
    return pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))


def dictionary(indices, items, count):
    return pb.CompressiveEncoding(dictionary=pb.Dictionary(indices=indices, items=items, num_dictionary_items=count))


def lengths(*sizes):
    return np.array(sizes, "<u8").tobytes()


class TestDictionary(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "dictionary")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    shapes = tuple(FixedWidth(bits) for bits in (8, 16, 32, 64, 128))

    def encode(self, sample, context):
        width = sample.shape.bytes_per_value
        numbers = np.frombuffer(sample.plain(), f"S{width}" if width == 16 else f"<u{width}")
        if width == 16:
            numbers = np.frombuffer(sample.plain(), np.dtype((np.void, 16)))
        seen: dict[bytes, int] = {}
        indices = np.array([seen.setdefault(one.tobytes(), len(seen)) for one in numbers], "<u4").tobytes()
        items = b"".join(seen)
        block = lengths(len(indices), len(items)) + indices + items
        return EncodedSample(
            dictionary(flat(32), flat(sample.shape.bits), len(seen)), ((block,),), (sample.num_values,)
        )


def expand(description, buffers, count):
    encoded = EncodedSample(description, (buffers,), (count,))
    bound = TestDictionary().bind(encoded, BLOCK, FixedWidth(64))
    assert bound.num_buffers == len(buffers)
    return decode(bound, BLOCK, encoded).block.values.view("<u8").tolist()


class TestDictionaryOfOthers(TestDictionary):
    """Items of any shape, which are only read."""

    def can_write(self, shape, context):
        return False

    shapes = (VariableWidth(32), FixedWidth(1), FixedSizeList(FixedWidth(16), 3, has_validity=True))
    chunk_values = 50

    def encode(self, sample, context):
        count = sample.num_values
        indices, items = np.arange(count, dtype="<u2").tobytes(), stored(sample)
        description = dictionary(flat(16), describe(sample.shape), count)
        return EncodedSample(description, ((lengths(len(indices), len(items)) + indices + items,),), (count,))


def describe(shape):
    if isinstance(shape, VariableWidth):
        return pb.CompressiveEncoding(variable=pb.Variable(offsets=flat(shape.offset_bits)))
    if isinstance(shape, FixedWidth):
        return flat(shape.bits)
    lists = pb.FixedSizeList(items_per_value=shape.dimension, values=flat(shape.leaf.bits), has_validity=True)
    return pb.CompressiveEncoding(fixed_size_list=lists)


def stored(sample):
    """A block, by the rules of its codec."""
    if isinstance(sample.shape, VariableWidth):
        ends = np.cumsum([0, *map(len, sample.items)])
        return np.array([32, (sample.num_values + 3) * 4, *ends], "<u4").tobytes() + sample.plain()
    if isinstance(sample.shape, FixedWidth):
        return sample.plain()
    rows = [(np.packbits(row.validity[0], bitorder="little").tobytes(), row.plain()) for row in sample.chunks(1)]
    return b"".join(bits + items for bits, items in rows)


def test_each_block_has_items_of_its_own():
    units = tuple(
        (lengths(len(indices), 16) + bytes(indices) + np.array(items, "<u8").tobytes(),)
        for indices, items in (([1, 0, 1], [7, 8]), ([], [0, 0]), ([0], [9, 9]))
    )
    encoded = EncodedSample(dictionary(flat(8), flat(64), 2), units, (3, 0, 1))
    bound = TestDictionary().bind(encoded, BLOCK, FixedWidth(64))
    assert decode(bound, BLOCK, encoded).block.values.view("<u8").tolist() == [8, 7, 8, 9]


STEPS = pb.CompressiveEncoding(range=pb.Range(uncompressed_bits_per_value=64, start=5, step=5))
ONES = pb.CompressiveEncoding(constant=pb.Constant(value=b"\1\0\0\0"))


def test_parts_without_bytes():
    assert expand(dictionary(flat(8), STEPS, 3), (lengths(4, 0) + bytes([2, 0, 1, 1]),), 4) == [15, 5, 10, 10]
    assert expand(dictionary(ONES, STEPS, 3), (), 2) == [10, 10]
    with pytest.raises(CorruptPageError):
        expand(dictionary(ONES, STEPS, 1), (), 2)


@pytest.mark.parametrize(
    "block",
    [
        b"",
        lengths(4),
        lengths(4, 0),
        lengths(3, 0) + b"\0" * 4,
        lengths(2**64 - 1, 1) + b"\0" * 4,
        lengths(2, 2) + b"\0" * 4,
    ],
)
def test_headers_that_contradict_the_block_are_refused(block):
    with pytest.raises(CorruptPageError):
        expand(dictionary(flat(8), STEPS, 3), (block,), 4)


def test_an_index_without_an_item_is_refused():
    with pytest.raises(CorruptPageError):
        expand(dictionary(flat(8), STEPS, 3), (lengths(2, 0) + b"\0\3",), 2)


def test_descriptions_that_cannot_be_are_refused():
    strings = pb.CompressiveEncoding(variable=pb.Variable(offsets=flat(32)))
    for description, error in (
        (dictionary(flat(24), STEPS, 1), CorruptFileError),
        (dictionary(strings, STEPS, 1), CorruptFileError),
        (dictionary(flat(8), flat(64), (1 << 32) - 1), ResourceLimitError),
    ):
        with pytest.raises(error):
            TestDictionary().bind(EncodedSample(description, (), ()), BLOCK, FixedWidth(64))
