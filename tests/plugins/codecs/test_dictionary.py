"""Dictionaries in blocks."""

import numpy as np
import pytest

from lance_arrow.errors import CorruptFileError, CorruptPageError, ResourceLimitError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, DecodeContext, EncodingKey, FixedWidth
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
    contexts = frozenset({BLOCK})
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
        (dictionary(flat(8), strings, 1), UnsupportedError),
        (dictionary(flat(8), flat(64), (1 << 32) - 1), ResourceLimitError),
    ):
        with pytest.raises(error):
            TestDictionary().bind(EncodedSample(description, (), ()), BLOCK, FixedWidth(64))
