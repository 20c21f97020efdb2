"""A codec of a third party in every context, alone and inside the format's own lists, structs and compressions."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import zstandard

from lance_arrow.errors import UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import (
    DecodeContext,
    FixedSizeList,
    FixedWidth,
    LeafType,
    PackedStruct,
    VariableWidth,
)
from lance_arrow.spi.loading import entry_points, load_plugins
from lance_arrow.testing.codec_suite import EncodedSample, decode
from lance_arrow.testing.samples import Sample, make_sample

PLUGIN = '''
from dataclasses import dataclass
from typing import Any

import numpy as np

from lance_arrow.errors import CorruptPageError
from lance_arrow.spi import PRIVATE_CODEC, DecodeContext, EncodingKey, FixedSizeList, FixedWidth, hookimpl


@dataclass(frozen=True)
class Flipped:
    """Little-endian values whose bits are all flipped; by `lists`, pairs of them are one value."""

    shape: Any
    width: int
    num_buffers: int = 1

    @property
    def value_bits(self):
        return 8 * self.width

    def measure(self, batch):
        return 0

    def decode(self, batch, out):
        sizes = batch.sizes.reshape(-1)
        counts = np.diff(batch.value_starts) if hasattr(batch, "value_starts") else 1
        if (sizes != counts * self.width).any():
            raise CorruptPageError("flipped values have another size")
        pieces = [batch.data[start : start + size] for start, size in zip(batch.starts.reshape(-1), sizes)]
        if pieces:
            out.values[:] = ~np.concatenate(pieces)


class Factory:
    key = EncodingKey(PRIVATE_CODEC, "acme.flip/1")
    contexts = frozenset(DecodeContext)

    def bind(self, message, context, scope):
        width, lists = message.config
        shape = FixedWidth(8 * width)
        return Flipped(FixedSizeList(shape, 2), 2 * width) if lists else Flipped(shape, width)


@hookimpl
def lance_provide_codecs():
    return [Factory()]
'''


def flipped(width: int, lists: bool = False) -> pb.CompressiveEncoding:
    private = pb.PrivateCodec(id="acme.flip/1", distribution="acme-flip", config=bytes([width, lists]))
    return pb.CompressiveEncoding(private_codec=private)


def lists_of(values: pb.CompressiveEncoding, dimension: int, has_validity: bool) -> pb.CompressiveEncoding:
    message = pb.FixedSizeList(items_per_value=dimension, values=values, has_validity=has_validity)
    return pb.CompressiveEncoding(fixed_size_list=message)


def general(values: pb.CompressiveEncoding) -> pb.CompressiveEncoding:
    compression = pb.BufferCompression(scheme=pb.ZSTD)
    return pb.CompressiveEncoding(general=pb.General(compression=compression, values=values))


def flip(content: bytes) -> bytes:
    return (~np.frombuffer(content, np.uint8)).tobytes()


def zstd(content: bytes) -> bytes:
    return len(content).to_bytes(8, "little") + zstandard.ZstdCompressor().compress(content)


def bits(values: np.ndarray) -> bytes:
    return np.packbits(values, bitorder="little").tobytes()


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    folder: Path = tmp_path_factory.mktemp("acme")
    (folder / "acme_flip.py").write_text(PLUGIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        return Runtime(
            Settings(), load_plugins([*entry_points(), EntryPoint("codec.acme", "acme_flip", "lance_arrow")])
        )


@dataclass(frozen=True)
class Reader:
    runtime: Runtime

    def check(self, context: DecodeContext, encoded: EncodedSample, sample: Sample) -> None:
        bound = self.bind(context, encoded.description, sample.shape)
        assert bound.shape == sample.shape
        decode(bound, context, encoded).assert_equals(sample)

    def bind(self, context: DecodeContext, description: pb.CompressiveEncoding, shape):
        scope = self.runtime.binder.scope(LeafType(shape))
        if context is DecodeContext.PER_VALUE:
            return scope.value_codec(description)
        return scope.chunk_codec(description, context)


@pytest.fixture
def reader(runtime: Runtime) -> Reader:
    return Reader(runtime)


def one_by_one(description: pb.CompressiveEncoding, rows: list[bytes]) -> EncodedSample:
    return EncodedSample(description, tuple((row,) for row in rows), (1,) * len(rows))


def one_chunk(description: pb.CompressiveEncoding, count: int, *buffers: bytes) -> EncodedSample:
    return EncodedSample(description, (buffers,), (count,))


MINI, BLOCK, ZIP = DecodeContext.MINI_BLOCK, DecodeContext.BLOCK, DecodeContext.PER_VALUE


def test_alone_and_compressed(reader: Reader) -> None:
    sample = make_sample(FixedWidth(32), "last short chunk", 10)
    raw = flip(sample.plain())
    rows = [flip(part.plain()) for part in sample.chunks(1)]
    for context in (MINI, BLOCK):
        reader.check(context, one_chunk(flipped(4), 27, raw), sample)
        reader.check(context, one_chunk(general(flipped(4)), 27, zstd(raw)), sample)
    reader.check(ZIP, one_by_one(flipped(4), rows), sample)
    reader.check(ZIP, one_by_one(general(flipped(4)), [zstd(row) for row in rows]), sample)


@pytest.mark.parametrize("has_validity", [False, True])
@pytest.mark.parametrize("brings_lists", [False, True])
def test_as_items_of_lists(reader: Reader, has_validity: bool, brings_lists: bool) -> None:
    items = FixedSizeList(FixedWidth(16), 2) if brings_lists else FixedWidth(16)
    shape = FixedSizeList(items, 3, has_validity)
    description = lists_of(flipped(2, brings_lists), 3, has_validity)
    sample = make_sample(shape, "last short chunk", 10)
    rows = [b"".join(map(bits, part.validity)) + flip(part.plain()) for part in sample.chunks(1)]
    reader.check(MINI, one_chunk(description, 27, *map(bits, sample.validity), flip(sample.plain())), sample)
    reader.check(ZIP, one_by_one(description, rows), sample)
    reader.check(BLOCK, one_chunk(description, 27, b"".join(rows)), sample)
    nested = lists_of(description, 2, True)
    shape = FixedSizeList(shape, 2, True)
    sample = make_sample(shape, "last short chunk", 4)
    rows = [b"".join(map(bits, part.validity)) + flip(part.plain()) for part in sample.chunks(1)]
    reader.check(ZIP, one_by_one(nested, rows), sample)
    assert reader.bind(ZIP, nested, shape).value_bits == 8 * len(rows[0])


def test_items_whose_widths_differ_are_refused(reader: Reader) -> None:
    description = lists_of(general(flipped(2)), 3, False)
    with pytest.raises(UnsupportedError, match="different widths"):
        reader.bind(ZIP, description, FixedSizeList(FixedWidth(16), 3))


def test_as_rows_of_structs_and_fields_of_zipped_ones(reader: Reader) -> None:
    shape = PackedStruct((FixedWidth(32), FixedWidth(8)))
    sample = make_sample(shape, "last short chunk", 10)
    wide, narrow = ([part.plain() for part in field.chunks(1)] for field in sample.fields)
    rows = [flip(a + b) for a, b in zip(wide, narrow, strict=True)]
    packed = pb.CompressiveEncoding(packed_struct=pb.PackedStruct(bits_per_value=[32, 8], values=flipped(5)))
    reader.check(MINI, one_chunk(packed, 27, b"".join(rows)), sample)
    reader.check(ZIP, one_by_one(packed, rows), sample)
    fields = [
        pb.VariablePackedStruct.FieldEncoding(value=flipped(4), bits_per_value=32),
        pb.VariablePackedStruct.FieldEncoding(value=general(flipped(1)), bits_per_length=32),
    ]
    variable = pb.CompressiveEncoding(variable_packed_struct=pb.VariablePackedStruct(fields=fields))
    frames = [zstd(flip(one)) for one in narrow]
    rows = [flip(a) + len(b).to_bytes(4, "little") + b for a, b in zip(wide, frames, strict=True)]
    reader.check(ZIP, one_by_one(variable, rows), sample)


def test_as_children_of_block_codecs(reader: Reader) -> None:
    values = np.array([5, 5, 5, 9, 9], "<u4")
    sample = Sample(FixedWidth(32), 5, values)
    lengths = pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=8))
    runs = pb.CompressiveEncoding(rle=pb.Rle(values=flipped(4), run_lengths=lengths))
    reader.check(MINI, one_chunk(runs, 5, flip(values[[0, 3]].tobytes()), bytes([3, 2])), sample)
    dictionary = pb.Dictionary(indices=flipped(1), items=flipped(4), num_dictionary_items=2)
    block = (5).to_bytes(8, "little") + (8).to_bytes(8, "little") + flip(bytes([0, 0, 0, 1, 1]))
    block += flip(np.array([5, 9], "<u4").tobytes())
    reader.check(BLOCK, one_chunk(pb.CompressiveEncoding(dictionary=dictionary), 5, block), sample)
    deltas = pb.CompressiveEncoding(delta=pb.Delta(uncompressed_bits_per_value=32, base=5, deltas=flipped(4)))
    reader.check(BLOCK, one_chunk(deltas, 5, flip(np.array([0, 0, 4, 0], "<u4").tobytes())), sample)
    streams = pb.CompressiveEncoding(byte_stream_split=pb.ByteStreamSplit(values=flipped(4)))
    reader.check(MINI, one_chunk(streams, 5, flip(values.view(np.uint8).reshape(5, 4).T.tobytes())), sample)
    offsets = pb.CompressiveEncoding(variable=pb.Variable(offsets=flipped(4)))
    words = Sample(VariableWidth(32), 2, [b"ab", b"c"])
    ends = flip(np.array([0, 2, 3], "<u4").tobytes())
    reader.check(MINI, one_chunk(offsets, 2, ends, b"abc"), words)
    header = np.array([32, 20], "<u4").tobytes()
    reader.check(BLOCK, one_chunk(offsets, 2, header + ends + b"abc"), words)
    reader.check(ZIP, one_by_one(offsets, [b"ab", b"c"]), words)
