"""Run-length encoding."""

import numpy as np
import pytest
import zstandard

from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import COMPRESSIVE, DecodeContext, EncodeOptions, EncodingKey, FixedWidth
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode
from lance_arrow.testing.samples import Sample, filled


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


BLOCK, MINI = DecodeContext.BLOCK, DecodeContext.MINI_BLOCK


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

    def written_samples(self, shape):
        generator = np.random.default_rng(7)
        runs_of = np.repeat(generator.integers(0, 100, 900), generator.integers(1, 30, 900))
        # Most values are long runs; a stretch of short ones would make a chunk too large.
        uneven = np.concatenate([np.zeros(40_000), np.arange(4096) % 251, np.ones(3000)])
        values = [one.astype(f"<u{shape.bytes_per_value}") for one in (runs_of, uneven)]
        return super().written_samples(shape) + [Sample(shape, len(one), one) for one in values]

    def test_large_chunks_are_cut_in_two(self):
        sample = self.written_samples(FixedWidth(64))[-1]
        encoded = self.write(filled(sample), MINI, self.scope(MINI, sample.shape, "2.1"))
        assert encoded.value_counts[:9].tolist() == [4096] * 9
        assert 2048 not in encoded.value_counts[:9]
        assert set(encoded.value_counts[9:-1].tolist()) <= {4096, 2048, 1024, 512}
        assert encoded.value_counts.min() < 1024

    @pytest.mark.parametrize(
        ("threshold", "is_written"), [(None, True), (0.0, False), (0.5, True), (0.01, False), (1.0, True)]
    )
    def test_threshold(self, threshold, is_written):
        values = np.repeat(np.arange(100, dtype="<u4") << 20, 10)
        scope = self.scope(MINI, FixedWidth(32), "2.2")
        scope = scope.altered(options=EncodeOptions(rle_threshold=threshold))
        encoded = self.write(filled(Sample(FixedWidth(32), 1000, values)), MINI, scope)
        assert (encoded is not None) == is_written

    def test_score_is_exact_where_it_decides(self):
        # 300 runs of 200 bits in 8-bit values: packed to a bit each they take 7.5 kB, runs 600 bytes.
        values = np.repeat(np.arange(300) % 2, 200).astype(np.uint8)
        scope = self.scope(BLOCK, FixedWidth(8), "2.2")
        chosen = scope.encode_child(filled(Sample(FixedWidth(8), len(values), values)), BLOCK)
        assert chosen.description.WhichOneof("compression") == "rle"
        assert chosen.nbytes == 8 + 300 * 2

    @pytest.mark.parametrize(
        "description", [rle(24), rle(8, 24), pb.CompressiveEncoding(rle=pb.Rle(values=flat(8))), rle(1)]
    )
    def test_other_children_are_refused(self, description):
        with pytest.raises((CorruptFileError, UnsupportedError)):
            self.bind(EncodedSample(description, (), ()), DecodeContext.MINI_BLOCK, FixedWidth(8))

    @pytest.mark.parametrize(("lengths", "count"), [([3, 0], 3), ([3, 4], 3), ([3, 4], 8), ([7], 7)])
    def test_lengths_must_be_positive_and_sum_up(self, lengths, count):
        encoded = EncodedSample(rle(8), ((b"ab", bytes(lengths)),), (count,))
        bound = self.bind(encoded, DecodeContext.MINI_BLOCK, FixedWidth(8))
        with pytest.raises(CorruptPageError):
            decode(bound, DecodeContext.MINI_BLOCK, encoded)


def packed(bits, packed_bits):
    words = pb.OutOfLineBitpacking(uncompressed_bits_per_value=bits, values=flat(packed_bits))
    return pb.CompressiveEncoding(out_of_line_bitpacking=words)


def constant(value, bits):
    return pb.CompressiveEncoding(constant=pb.Constant(value=value.to_bytes(bits // 8, "little")))


def steps(bits, start, step):
    return pb.CompressiveEncoding(range=pb.Range(uncompressed_bits_per_value=bits, start=start, step=step))


def encoded_runs(values, lengths):
    return pb.CompressiveEncoding(rle=pb.Rle(values=values, run_lengths=lengths))


def expand(description, buffers, count, context=DecodeContext.MINI_BLOCK, bits=32):
    encoded = EncodedSample(description, (buffers,), (count,))
    bound = TestRle().bind(encoded, context, FixedWidth(bits))
    assert bound.num_buffers == len(buffers)
    return decode(bound, context, encoded).block.values.view(f"u{bits // 8}").tolist()


def u32(*numbers):
    return np.array(numbers, "<u4").tobytes()


LENGTHS_16 = np.array([2, 300], "<u2").tobytes()


@pytest.mark.parametrize(
    ("values", "lengths", "block", "chunk"),
    [
        (flat(32), flat(16), ((8).to_bytes(8, "little") + u32(7, 9) + LENGTHS_16,), (u32(7, 9), LENGTHS_16)),
        (steps(32, 7, 2), flat(16), (bytes(8) + LENGTHS_16,), (LENGTHS_16,)),
        (flat(32), steps(32, 2, 298), ((8).to_bytes(8, "little") + u32(7, 9),), (u32(7, 9),)),
        (packed(32, 32), flat(16), ((8).to_bytes(8, "little") + u32(7, 9) + LENGTHS_16,), (u32(7, 9), LENGTHS_16)),
    ],
)
def test_values_and_lengths_of_any_encoding(values, lengths, block, chunk):
    description = encoded_runs(values, lengths)
    assert expand(description, block, 302, BLOCK) == [7] * 2 + [9] * 300
    assert expand(description, chunk, 302) == [7] * 2 + [9] * 300
    for count in (1, 301, 303):
        with pytest.raises(CorruptPageError):
            expand(description, chunk, count)


def test_runs_without_any_bytes():
    description = encoded_runs(steps(32, 5, 1), constant(3, 8))
    for context in (BLOCK, MINI):
        assert expand(description, (), 9, context) == [5, 5, 5, 6, 6, 6, 7, 7, 7]
        assert expand(description, (), 0, context) == []
        with pytest.raises(CorruptPageError):
            expand(description, (), 10, context)
    assert expand(encoded_runs(flat(32), constant(2, 16)), (u32(8, 3),), 4) == [8, 8, 3, 3]
    with pytest.raises(CorruptPageError):
        expand(encoded_runs(steps(32, 5, 1), constant(0, 8)), (), 4)


def test_runs_whose_number_nothing_tells_are_refused():
    with pytest.raises(UnsupportedError, match="without a count"):
        expand(encoded_runs(packed(32, 3), packed(8, 3)), (b"", b""), 4)


class TestEncodedRuns(TestRle):
    """Children that take bytes, but are not flat, over many chunks at once."""

    def encode(self, sample, context):
        encoded = super().encode(sample, context)
        units = []
        for unit in encoded.units:
            values, lengths = unit if context is MINI else split_block(unit[0])
            lengths = zstd(zstd(np.frombuffer(lengths, np.uint8).astype("<u2").tobytes()))
            units.append(
                (values, lengths) if context is MINI else (len(values).to_bytes(8, "little") + values + lengths,)
            )
        compression = pb.BufferCompression(scheme=pb.ZSTD)
        length = pb.CompressiveEncoding(general=pb.General(compression=compression, values=flat(16)))
        length = pb.CompressiveEncoding(general=pb.General(compression=compression, values=length))
        return EncodedSample(encoded_runs(flat(sample.shape.bits), length), tuple(units), encoded.counts)


class TestCompressedFlatRuns(TestRle):
    """Flat run values with a buffer compression of their own."""

    shapes = (FixedWidth(32),)

    def encode(self, sample, context):
        encoded = super().encode(sample, context)
        units = []
        for unit in encoded.units:
            values, lengths = unit if context is MINI else split_block(unit[0])
            values = zstd(values)
            units.append(
                (values, lengths) if context is MINI else (len(values).to_bytes(8, "little") + values + lengths,)
            )
        encoded.description.rle.values.flat.data.scheme = pb.ZSTD
        return EncodedSample(encoded.description, tuple(units), encoded.counts)


def split_block(block):
    stop = 8 + int.from_bytes(block[:8], "little")
    return block[8:stop], block[stop:]


def zstd(content):
    return len(content).to_bytes(8, "little") + zstandard.ZstdCompressor().compress(content) if content else b""


def test_runs_without_bytes_in_several_chunks():
    description = encoded_runs(steps(32, 5, 1), constant(3, 8))
    encoded = EncodedSample(description, ((), (), ()), (6, 0, 3))
    bound = TestRle().bind(encoded, MINI, FixedWidth(32))
    assert decode(bound, MINI, encoded).block.values.view("<u4").tolist() == [5, 5, 5, 6, 6, 6, 5, 5, 5]


def test_a_block_that_says_more_bytes_than_it_has():
    description = encoded_runs(flat(32), flat(16))
    for header in (9, 1 << 63, (1 << 64) - 1):
        with pytest.raises(CorruptPageError):
            expand(description, (header.to_bytes(8, "little") + u32(7, 9),), 302, BLOCK)
    with pytest.raises(CorruptPageError):
        expand(description, (b"abc",), 302, BLOCK)
    with pytest.raises(CorruptPageError, match="expected none"):
        expand(encoded_runs(steps(32, 7, 2), flat(16)), ((2).to_bytes(8, "little") + LENGTHS_16,), 302, BLOCK)
