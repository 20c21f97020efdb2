"""Run-length encoding."""

import numpy as np
import pytest

from lance_arrow.errors import CorruptPageError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, DecodeContext, EncodingKey, FixedWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode


def flat(bits):
    return pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))


def rle(bits, length_bits=8):
    return pb.CompressiveEncoding(rle=pb.Rle(values=flat(bits), run_lengths=flat(length_bits)))


def runs(items):
    """Run values and lengths, long runs in pieces of 255."""
    if len(items) == 0:
        return b"", b""
    borders = np.flatnonzero(np.diff(items, prepend=~items[:1]))
    values, lengths = [], []
    for start, stop in zip(borders, [*borders[1:], len(items)], strict=True):
        pieces = [255] * ((stop - start) // 255) + [(stop - start) % 255]
        lengths += [piece for piece in pieces if piece]
        values += [items[start]] * sum(piece > 0 for piece in pieces)
    return np.array(values, items.dtype).tobytes(), bytes(lengths)


class TestRle(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "rle")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    shapes = tuple(FixedWidth(bits) for bits in (8, 16, 32, 64))
    chunk_values = 512

    def encode(self, sample, context):
        if context is DecodeContext.BLOCK:
            values, lengths = runs(sample.items)
            units, counts = [(len(values).to_bytes(8, "little") + values + lengths,)], [sample.num_values]
        else:
            parts = sample.chunks(self.chunk_values)
            units, counts = [runs(part.items) for part in parts], [part.num_values for part in parts]
        return EncodedSample(rle(sample.shape.bits), tuple(units), tuple(counts))

    @pytest.mark.parametrize(
        "description", [rle(24), rle(8, 16), pb.CompressiveEncoding(rle=pb.Rle(values=flat(8))), rle(1)]
    )
    def test_other_children_are_refused(self, description):
        with pytest.raises(UnsupportedError):
            self.bind(EncodedSample(description, (), ()), DecodeContext.MINI_BLOCK, FixedWidth(8))

    @pytest.mark.parametrize(("lengths", "count"), [([3, 0], 3), ([3, 4], 6), ([3, 4], 8), ([7], 7)])
    def test_lengths_must_be_positive_and_sum_up(self, lengths, count):
        encoded = EncodedSample(rle(8), ((b"ab", bytes(lengths)),), (count,))
        bound = self.bind(encoded, DecodeContext.MINI_BLOCK, FixedWidth(8))
        with pytest.raises(CorruptPageError):
            decode(bound, DecodeContext.MINI_BLOCK, encoded)
