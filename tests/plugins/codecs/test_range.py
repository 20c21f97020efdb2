"""Values at equal distances."""

import numpy as np
import pytest

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, ChunkBatch, DecodeContext, EncodingKey, FixedWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode
from lance_arrow.testing.samples import Destination, Sample, filled


def steps(bits, start=0, step=0):
    return pb.CompressiveEncoding(range=pb.Range(uncompressed_bits_per_value=bits, start=start, step=step))


class TestRange(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "range")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    shapes = (FixedWidth(32), FixedWidth(64))
    sample_names = ("empty", "one value", "all equal")

    def encode(self, sample, context):
        start = int.from_bytes(sample.part(0, 1).plain(), "little")
        return EncodedSample(steps(sample.shape.bits, start), ((),), (sample.num_values,))

    def written_samples(self, shape):
        up = np.arange(3000, dtype=f"<u{shape.bytes_per_value}") * 7 + 2
        broken = up.copy()
        broken[2000] += 1
        return super().written_samples(shape) + [Sample(shape, 3000, one) for one in (up, up[::-1].copy(), broken)]

    def test_only_equal_distances_upwards_are_written(self):
        """Equal values are a constant's, and the reference reads no range that leads down."""
        is_written = []
        for sample in self.written_samples(FixedWidth(64))[-4:]:
            scope = self.scope(DecodeContext.BLOCK, sample.shape, "2.3")
            is_written.append(self.write(filled(sample), DecodeContext.BLOCK, scope) is not None)
        assert is_written == [False, True, False, False]

    @pytest.mark.parametrize("description", [steps(16), steps(0), steps(32, 1 << 32), steps(32, 0, 1 << 40)])
    def test_odd_numbers_are_refused(self, description):
        with pytest.raises(CorruptFileError):
            self.bind(EncodedSample(description, (), ()), DecodeContext.BLOCK, FixedWidth(32))

    def test_each_block_begins_at_the_start(self):
        encoded = EncodedSample(steps(64, 10, 3), ((), (), ()), (3, 0, 2))
        bound = self.bind(encoded, DecodeContext.BLOCK, FixedWidth(64))
        assert decode(bound, DecodeContext.BLOCK, encoded).block.values.view("<u8").tolist() == [10, 13, 16, 10, 13]

    def test_a_step_may_lead_down(self):
        encoded = EncodedSample(steps(32, 2, (1 << 32) - 1), ((),), (4,))
        bound = self.bind(encoded, DecodeContext.BLOCK, FixedWidth(32))
        assert decode(bound, DecodeContext.BLOCK, encoded).block.values.view("<i4").tolist() == [2, 1, 0, -1]

    def test_bytes_are_refused(self):
        bound = self.bind(EncodedSample(steps(64), (), ()), DecodeContext.BLOCK, FixedWidth(64))
        batch = ChunkBatch(np.zeros(1, np.uint8), np.zeros((1, 1), np.int64), np.ones((1, 1), np.int64), np.arange(2))
        with pytest.raises(CorruptPageError, match="expected none"):
            bound.decode(batch, Destination(FixedWidth(64), 1, 0).block)
