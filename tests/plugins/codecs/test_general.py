"""General compression, with both schemes around several children."""

import numpy as np
import pyarrow as pa
import pytest
import zstandard

from lance_arrow.errors import CorruptPageError, LanceError, ResourceLimitError, UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import (
    COMPRESSIVE,
    BlockSlice,
    DecodeContext,
    EncodedChunks,
    EncodedValues,
    EncodeOptions,
    EncodingKey,
    FixedSizeList,
    FixedWidth,
    LeafType,
    VariableWidth,
)
from lance_arrow.spi.native import native_side
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode, make_sample
from lance_arrow.testing.native_suite import native_differences
from lance_arrow.testing.round_trip import decode as read_back
from lance_arrow.testing.round_trip import encode_scope
from lance_arrow_codecs.lz4 import BoundLz4

ZIP = DecodeContext.PER_VALUE


def lz4(content):
    block = pa.Codec("lz4_raw").compress(content, asbytes=True)
    return len(content).to_bytes(4, "little") + block if content else b""


def zstd(content):
    return len(content).to_bytes(8, "little") + zstandard.ZstdCompressor().compress(content) if content else b""


def bare_zstd(content):
    return zstandard.ZstdCompressor().compress(content) if content else b""


def unsized_zstd(content):
    return zstandard.ZstdCompressor(write_content_size=False).compress(content) if content else b""


def flat(bits):
    return pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))


def variable(bits):
    return pb.CompressiveEncoding(variable=pb.Variable(offsets=flat(bits)))


def general(child, scheme):
    compression = pb.BufferCompression(scheme=scheme, level=3)
    return pb.CompressiveEncoding(general=pb.General(compression=compression, values=child))


def words(values, bits):
    return np.array(values, f"<u{bits // 8}").tobytes()


class TestGeneralLz4(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "general")
    contexts = frozenset(DecodeContext)
    written_scheme = "lz4"
    shapes = (
        FixedWidth(32),
        FixedWidth(1),
        VariableWidth(32),
        VariableWidth(64),
        FixedSizeList(FixedWidth(16), 2, has_validity=True),
    )
    chunk_values = 24
    scheme = pb.LZ4
    compress = staticmethod(lz4)

    def write_options(self, context):
        return EncodeOptions(codec="general", compression=self.written_scheme)

    def can_write(self, shape, context):
        return self.supports(shape, context) and (context is not ZIP or isinstance(shape, VariableWidth))

    def supports(self, shape, context):
        return context is DecodeContext.MINI_BLOCK or isinstance(shape, VariableWidth) or shape == FixedWidth(32)

    def encode(self, sample, context):
        size = {DecodeContext.PER_VALUE: 1, DecodeContext.BLOCK: max(sample.num_values, 1)}.get(
            context, self.chunk_values
        )
        parts = sample.chunks(size)
        units = []
        for part in parts:
            first, *others = self.buffers(part, context)
            units.append((self.compress(first), *others))
        description = general(self.child(sample.shape), self.scheme)
        return EncodedSample(description, tuple(units), tuple(part.num_values for part in parts))

    def child(self, shape):
        if isinstance(shape, VariableWidth):
            return variable(shape.offset_bits)
        if isinstance(shape, FixedWidth):
            return flat(shape.bits)
        items = pb.FixedSizeList(items_per_value=shape.dimension, values=flat(shape.leaf.bits), has_validity=True)
        return pb.CompressiveEncoding(fixed_size_list=items)

    def buffers(self, part, context):
        if isinstance(part.shape, FixedSizeList):
            return [np.packbits(part.validity[0], bitorder="little").tobytes(), part.plain()]
        if isinstance(part.shape, FixedWidth) or context is DecodeContext.PER_VALUE:
            return [part.plain()]
        bits, count = part.shape.offset_bits, part.num_values
        if context is DecodeContext.BLOCK:
            header = [bits, (count + 3) * bits // 8, *np.cumsum([0, *map(len, part.items)])]
        else:
            header = np.cumsum([(count + 1) * bits // 8, *map(len, part.items)])
        return [words(header, bits) + part.plain()]


class TestGeneralZstd(TestGeneralLz4):
    written_scheme = "zstd"
    scheme = pb.ZSTD
    compress = staticmethod(zstd)


class TestGeneralBareZstd(TestGeneralLz4):
    scheme = pb.ZSTD
    compress = staticmethod(bare_zstd)
    shapes = (FixedWidth(32), VariableWidth(32))


class TestGeneralUnsizedZstd(TestGeneralLz4):
    scheme = pb.ZSTD
    compress = staticmethod(unsized_zstd)
    shapes = (FixedWidth(32), VariableWidth(32))

    def test_native_side_agrees(self, suite_context, suite_shape, suite_sample):
        """Native code may refuse: Python decodes such frames to learn their size."""
        encoded = self.encode(make_sample(suite_shape, suite_sample, self.chunk_values), suite_context)
        bound = self.bind(encoded, suite_context, suite_shape)
        assert not list(native_differences(bound, suite_context, encoded.units, encoded.counts, may_refuse=True))


@pytest.mark.parametrize("context", DecodeContext)
@pytest.mark.parametrize(("scheme", "frame"), [(pb.LZ4, lz4(b"abcd")), (pb.ZSTD, zstd(b"abcd"))])
def test_frames_are_read_without_python(context, scheme, frame):
    bound, _ = bind_one(variable(32) if context is ZIP else flat(8), scheme, frame, 4, context)
    assert native_side(bound) is not None


def bind_one(child, scheme, frame, count, context=DecodeContext.BLOCK):
    encoded = EncodedSample(general(child, scheme), ((frame,),), (count,))
    return TestGeneralLz4().bind(encoded, context, FixedWidth(8)), encoded


def refuse(scheme, frame, count, error=CorruptPageError, match=None, child=None, context=DecodeContext.BLOCK):
    bound, encoded = bind_one(child or flat(8), scheme, frame, count, context)
    with pytest.raises(error, match=match):
        decode(bound, context, encoded)


@pytest.mark.parametrize("difference", [-1, 1, 1000])
def test_declared_lz4_size_must_be_the_real_one(difference):
    frame = bytearray(lz4(b"abcabcabc" * 30))
    frame[:4] = (270 + difference).to_bytes(4, "little")
    refuse(pb.LZ4, bytes(frame), 270, match="has another size")


@pytest.mark.parametrize("difference", [-1, 1, 1000])
@pytest.mark.parametrize("write_content_size", [True, False])
def test_declared_zstd_size_must_be_the_real_one(difference, write_content_size):
    content = b"abcabcabc" * 30
    frame = zstandard.ZstdCompressor(write_content_size=write_content_size).compress(content)
    refuse(pb.ZSTD, (270 + difference).to_bytes(8, "little") + frame, 270)


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_lz4_frames_of_nothing_have_no_room(empty):
    frames = [lz4(b"abcd")] * 3
    frames[empty] = b""
    data = np.frombuffer(b"".join(frames), np.uint8)
    sizes = np.array([len(frame) for frame in frames], np.int64)
    starts = np.cumsum(sizes) - sizes
    with pytest.raises(CorruptPageError, match="differs from its block"):
        BoundLz4().decompress(data, starts, sizes, np.zeros(12, np.uint8), np.array([0, 4, 8, 12]))
    rooms = np.where(sizes > 0, 4, 0)
    out = np.zeros(8, np.uint8)
    BoundLz4().decompress(data, starts, sizes, out, np.concatenate([[0], np.cumsum(rooms)]))
    assert out.tobytes() == b"abcd" * 2


def test_absurd_sizes_are_refused_before_anything_is_allocated():
    frame = zstandard.ZstdCompressor().compress(b"x" * 100)
    refuse(pb.ZSTD, (1 << 50).to_bytes(8, "little") + frame, 100, match="declares")
    refuse(pb.LZ4, (0xFFFFFFFF).to_bytes(4, "little") + lz4(b"x" * 100)[4:], 100)
    bomb = lz4(bytes(65 << 20))
    refuse(pb.LZ4, bomb, 65 << 20, error=ResourceLimitError, context=DecodeContext.MINI_BLOCK)
    bomb = zstd(bytes(65 << 20))
    refuse(pb.ZSTD, bomb, 65 << 20, error=ResourceLimitError, context=DecodeContext.MINI_BLOCK)


def test_trailing_bytes_and_short_frames_are_refused():
    for scheme, frame in ((pb.ZSTD, zstd(b"abc")), (pb.ZSTD, bare_zstd(b"abc")), (pb.LZ4, lz4(b"abc"))):
        refuse(scheme, frame + b"\x00", 3, error=LanceError)
        for size in range(1, len(frame)):
            refuse(scheme, frame[:size], 3, error=LanceError)


def test_general_in_general_opens_both():
    content = bytes(range(200))
    encoded = EncodedSample(general(general(flat(8), pb.ZSTD), pb.LZ4), ((lz4(zstd(content)),),), (200,))
    bound = TestGeneralLz4().bind(encoded, DecodeContext.MINI_BLOCK, FixedWidth(8))
    assert decode(bound, DecodeContext.MINI_BLOCK, encoded).block.values.tobytes() == content


class TestGeneralAroundLists(CodecSuite):
    """Lists: the first bitmap of a chunk in a frame, a block of rows, or each row."""

    def write_options(self, context):
        return EncodeOptions(codec="general", compression="zstd")

    def can_write(self, shape, context):
        return context is DecodeContext.MINI_BLOCK

    key = EncodingKey(COMPRESSIVE, "general")
    contexts = frozenset(DecodeContext)
    shapes = (FixedSizeList(FixedWidth(16), 2, has_validity=True), FixedSizeList(FixedWidth(8), 3))
    chunk_values = 16

    def encode(self, sample, context):
        parts = sample.chunks(1)
        rows = [b"".join(np.packbits(bits, bitorder="little").tobytes() for bits in part.validity) for part in parts]
        rows = [row + part.plain() for row, part in zip(rows, parts, strict=True)]
        items = pb.FixedSizeList(
            items_per_value=sample.shape.dimension,
            values=flat(sample.shape.leaf.bits),
            has_validity=sample.shape.has_validity,
        )
        description = general(pb.CompressiveEncoding(fixed_size_list=items), pb.ZSTD)
        if context is DecodeContext.MINI_BLOCK:
            bitmaps = [np.packbits(bits, bitorder="little").tobytes() for bits in sample.validity]
            first, *others = [*bitmaps, sample.plain()]
            return EncodedSample(description, ((zstd(first), *others),), (sample.num_values,))
        if context is DecodeContext.BLOCK:
            return EncodedSample(description, ((zstd(b"".join(rows)),),), (sample.num_values,))
        return EncodedSample(description, tuple((zstd(row),) for row in rows), (1,) * sample.num_values)


def test_nulls_between_compressed_values_of_one_width_are_zero():
    units = ((lz4(b"ab"),), (b"",), (lz4(b"cd"),))
    for child, frames in ((flat(16), units), (general(flat(16), pb.ZSTD), ((lz4(zstd(b"ab")),), (b"",), units[2]))):
        encoded = EncodedSample(general(child, pb.LZ4), frames, (1, 1, 1))
        bound = TestGeneralLz4().bind(encoded, DecodeContext.PER_VALUE, FixedWidth(16))
        assert bound.value_bits is None
        if child.WhichOneof("compression") == "flat":
            assert decode(bound, DecodeContext.PER_VALUE, encoded).block.values.tobytes() == b"ab\0\0cd"
        else:
            with pytest.raises(CorruptPageError):
                decode(bound, DecodeContext.PER_VALUE, encoded)


def test_unknown_schemes_are_refused():
    with pytest.raises(UnsupportedError, match="UNSPECIFIED"):
        bind_one(flat(8), 0, b"", 0)


CONTENTS = [b"", b"a", b"abc" * 80, bytes(300), np.random.default_rng(1).bytes(70_000), b"", b"xyz" * 20_000]


def open_all(scheme, contents, frames):
    """Decode values one by one, in one call."""
    encoded = EncodedSample(general(variable(32), scheme), tuple((frame,) for frame in frames), (1,) * len(frames))
    bound = TestGeneralLz4().bind(encoded, DecodeContext.PER_VALUE, VariableWidth(32))
    return decode(bound, DecodeContext.PER_VALUE, encoded).block.values.tobytes()


@pytest.mark.parametrize(("scheme", "compress"), [(pb.LZ4, lz4), (pb.ZSTD, zstd), (pb.ZSTD, bare_zstd)])
@pytest.mark.parametrize("largest", [100, 1_000, 100_000, 5_000_000])
@pytest.mark.parametrize("repeat", [1, 5])
def test_many_frames_of_all_sizes_decode_in_one_call(scheme, compress, largest, repeat):
    contents = [content for content in CONTENTS * repeat if len(content) <= largest]
    contents += [bytes(largest)] if largest > 100_000 else []
    assert open_all(scheme, contents, [compress(content) for content in contents]) == b"".join(contents)


@pytest.mark.parametrize(("scheme", "compress"), [(pb.LZ4, lz4), (pb.ZSTD, zstd)])
@pytest.mark.parametrize("place", [0, 7, 19])
def test_one_bad_frame_among_many_is_refused(scheme, compress, place):
    contents = [b"content %d" % number * 9 for number in range(20)]
    frames = [compress(content) for content in contents]
    good = frames[place]
    header = 4 if scheme == pb.LZ4 else 8
    bad = [good[:-1], good + b"\0", good + good[header:], good[:header], good[: header + 1], good[header:]]
    bad += [good[:header] + frames[place - 1][header:] + b"\0", b"\1" + good[1:]]
    for frame in bad:
        damaged = [*frames[:place], frame, *frames[place + 1 :]]
        try:
            found = open_all(scheme, contents, damaged)
        except LanceError:
            continue
        # A frame without its size is a frame as well.
        assert frame == good[header:]
        assert (scheme, found) == (pb.ZSTD, b"".join(contents))


# What compresses no further: frames of one stored block, up to the longest that two bytes of size tell.
STORED = [np.random.default_rng(size).bytes(size) for size in (256, 257, 3_000, 20_000, 65_535, 65_791, 65_792)]


@pytest.mark.parametrize("repeat", [1, 3])
def test_frames_of_stored_blocks(repeat):
    contents = STORED[:-1] * repeat
    frames = [zstd(content) for content in contents]
    assert {len(frame) - len(content) for frame, content in zip(frames, contents, strict=True)} == {18}
    assert open_all(pb.ZSTD, contents, frames) == b"".join(contents)
    others = [*STORED, b"", b"words " * 9_000, STORED[2] + bytes(9_000)]
    mixed = (contents + others) * repeat
    assert open_all(pb.ZSTD, mixed, [zstd(content) for content in mixed]) == b"".join(mixed)


@pytest.mark.parametrize("count", [3, 20])
@pytest.mark.parametrize("place", [0, 2])
def test_no_byte_of_a_stored_frame_goes_unseen(count, place):
    contents = [STORED[2]] * count
    frames = [zstd(content) for content in contents]
    # The size, the frame's header and the block's; behind them every byte is content.
    for position in range(18):
        bad = bytearray(frames[place])
        bad[position] ^= 0x11
        with pytest.raises(LanceError):
            open_all(pb.ZSTD, contents, [*frames[:place], bytes(bad), *frames[place + 1 :]])
    for frame in (frames[place][:-1], frames[place] + b"x", frames[place][:18]):
        with pytest.raises(LanceError):
            open_all(pb.ZSTD, contents, [*frames[:place], frame, *frames[place + 1 :]])


def strings(values):
    offsets = np.cumsum([0, *map(len, values)]).astype("<i4").view(np.uint8)
    return BlockSlice(VariableWidth(32), len(values), np.frombuffer(b"".join(values), np.uint8), offsets=offsets)


def chosen(block, context, version="2.2", **options):
    scope = encode_scope(LeafType(block.shape), file_version=version, options=EncodeOptions(**options))
    encoded = scope.encode_child(block, context)
    read = read_back(encoded, block, scope)
    assert (read.values == block.values).all()
    return encoded, encoded.description.WhichOneof("compression")


SENTENCES = [b"the same words again, number %d" % number for number in range(3000)]
NOISE = BlockSlice(FixedWidth(64), 4096, np.random.default_rng(1).integers(0, 256, 8 * 4096, np.uint8))


def test_nothing_is_compressed_unasked_but_large_values():
    assert chosen(strings(SENTENCES), DecodeContext.MINI_BLOCK)[1] == "variable"
    assert chosen(strings(SENTENCES), ZIP)[1] == "variable"
    assert chosen(strings([b"long " * 10_000] * 3), ZIP)[1] == "general"
    assert chosen(strings([b"long " * 10_000] * 3), ZIP, preset="fast")[1] == "variable"
    assert chosen(strings([b"long " * 10_000] * 3), ZIP, compression="none")[1] == "variable"


@pytest.mark.parametrize(("compression", "scheme"), [("lz4", pb.LZ4), ("zstd", pb.ZSTD)])
def test_asked_for_it_compresses_chunks_and_values(compression, scheme):
    encoded, case = chosen(strings(SENTENCES), DecodeContext.MINI_BLOCK, compression=compression)
    assert isinstance(encoded, EncodedChunks)
    assert case == "general"
    assert encoded.description.general.compression.scheme == scheme
    assert encoded.nbytes < sum(map(len, SENTENCES)) / 2
    encoded, case = chosen(strings([one * 5 for one in SENTENCES]), ZIP, compression=compression, compression_level=1)
    assert isinstance(encoded, EncodedValues)
    # Zipped values are never LZ4: the reference knows ZSTD there.
    assert encoded.description.general.compression == pb.BufferCompression(scheme=pb.ZSTD, level=1)


def test_what_gains_nothing_is_left_plain():
    for compression in ("lz4", "zstd"):
        assert chosen(NOISE, DecodeContext.MINI_BLOCK, compression=compression)[1] == "flat"
        assert chosen(strings(SENTENCES[:50]), DecodeContext.MINI_BLOCK, compression=compression)[1] == "variable"
    scope = encode_scope(LeafType(NOISE.shape), options=EncodeOptions(codec="general")).for_values()
    assert scope.encode_child(NOISE, DecodeContext.MINI_BLOCK).description.WhichOneof("compression") == "flat"


def test_compact_pages_are_the_smallest():
    plain, _ = chosen(strings(SENTENCES), DecodeContext.MINI_BLOCK)
    small, case = chosen(strings(SENTENCES), DecodeContext.MINI_BLOCK, preset="compact")
    assert case == "general"
    assert small.nbytes < plain.nbytes / 3


def test_blocks_are_compressed_from_2_2_on():
    block = strings(SENTENCES)
    assert chosen(block, DecodeContext.BLOCK, compression="lz4")[1] == "general"
    assert chosen(block, DecodeContext.BLOCK, "2.1", compression="lz4")[1] == "variable"
    assert chosen(block, DecodeContext.BLOCK)[1] == "variable"
