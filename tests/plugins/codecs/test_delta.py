"""First values and differences."""

import numpy as np
import pytest

from lance_arrow.errors import CorruptFileError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, DecodeContext, EncodingKey, FixedWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode
from lance_arrow.testing.samples import Sample, filled


def delta(bits, base, deltas=None):
    deltas = deltas or pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))
    return pb.CompressiveEncoding(delta=pb.Delta(uncompressed_bits_per_value=bits, base=base, deltas=deltas))


class TestDelta(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "delta")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    shapes = (FixedWidth(32), FixedWidth(64))

    def encode(self, sample, context):
        numbers = np.frombuffer(sample.plain(), f"<u{sample.shape.bytes_per_value}")
        base = int(numbers[0]) if len(numbers) else 0
        return EncodedSample(delta(sample.shape.bits, base), ((np.diff(numbers).tobytes(),),), (len(numbers),))

    def written_samples(self, shape):
        distances = np.random.default_rng(3).integers(0, 9, 5000)
        up = (np.cumsum(distances) + (1 << 29)).astype(f"<u{shape.bytes_per_value}")
        down = up[::-1].copy()
        return super().written_samples(shape) + [Sample(shape, 5000, one) for one in (up, down)]

    def test_ascending_values_take_the_bits_of_their_distances(self):
        up, down = self.written_samples(FixedWidth(64))[-2:]
        scope = self.scope(DecodeContext.BLOCK, up.shape, "2.3")
        assert self.write(filled(down), DecodeContext.BLOCK, scope) is None
        encoded = self.write(filled(up), DecodeContext.BLOCK, scope)
        # Four bits each, with a packed tail.
        assert encoded.nbytes == 5 * 128 * 4

    @pytest.mark.parametrize(
        "description",
        [
            delta(16, 0),
            delta(32, 1 << 32),
            delta(32, 0, pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=64))),
            pb.CompressiveEncoding(delta=pb.Delta(uncompressed_bits_per_value=32)),
        ],
    )
    def test_contradictions_are_refused(self, description):
        with pytest.raises(CorruptFileError):
            self.bind(EncodedSample(description, (), ()), DecodeContext.BLOCK, FixedWidth(32))


def test_each_block_begins_with_the_base():
    units = tuple((np.array(deltas, "<u4").tobytes(),) for deltas in ([1, 2], [], [], [10]))
    encoded = EncodedSample(delta(32, 5), units, (3, 0, 1, 2))
    bound = TestDelta().bind(encoded, DecodeContext.BLOCK, FixedWidth(32))
    assert decode(bound, DecodeContext.BLOCK, encoded).block.values.view("<u4").tolist() == [5, 6, 8, 5, 5, 15]


def test_equal_differences_take_no_bytes():
    twos = pb.CompressiveEncoding(constant=pb.Constant(value=(2).to_bytes(8, "little")))
    encoded = EncodedSample(delta(64, 1, twos), ((),), (4,))
    bound = TestDelta().bind(encoded, DecodeContext.BLOCK, FixedWidth(64))
    assert bound.num_buffers == 0
    assert decode(bound, DecodeContext.BLOCK, encoded).block.values.view("<u8").tolist() == [1, 3, 5, 7]
