"""Many blocks of one description: the smallest score, or whatever a hook wants."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import BlockSlice, ChunkBatch, DecodeContext, EncodeOptions, FixedWidth, LeafType, new_block
from lance_arrow.spi.loading import entry_points, load_plugins
from lance_arrow.structure.page_encoder import PageEncoder
from lance_arrow.structure.page_scope import PageScope
from lance_arrow.testing.round_trip import encode_scope

PLUGIN = """
import numpy as np

from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, PrivateCodec
from lance_arrow.spi import PRIVATE_CODEC, DecodeContext, EncodedBlock, EncodingKey, hookimpl


class Flipped:
    num_buffers = 1

    def __init__(self, shape):
        self.shape = shape

    def measure(self, batch):
        return 0

    def decode(self, batch, out):
        pieces = [batch.data[start : start + size] for start, size in zip(batch.starts[0], batch.sizes[0])]
        out.values[:] = ~np.concatenate(pieces)


class Flip:
    key = EncodingKey(PRIVATE_CODEC, "acme.flip/1")
    contexts = frozenset(DecodeContext)
    writes = {DecodeContext.BLOCK: "2.1"}

    def bind(self, message, context, scope):
        return Flipped(scope.leaf.shape)

    def score(self, block, context, scope):
        return float(len(block.values))

    def encode(self, block, context, scope):
        # Without anything to tell apart, all blocks are described alike.
        config = bytes([block.num_values]) if scope.options.preset == "compact" else b""
        private = PrivateCodec(id="acme.flip/1", distribution="acme-flip", config=config)
        return EncodedBlock(CompressiveEncoding(private_codec=private), ~block.values)


@hookimpl
def lance_provide_codecs():
    return [Flip()]


@hookimpl
def lance_choose_codec(block, context, scope):
    return Flip.key if context is DecodeContext.BLOCK else None
"""
LEVELS = LeafType(FixedWidth(16))


@pytest.fixture(scope="module")
def flipping(tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    folder: Path = tmp_path_factory.mktemp("flip")
    (folder / "acme_flip_blocks.py").write_text(PLUGIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        plugin = EntryPoint("codec.acme", "acme_flip_blocks", "lance_arrow")
        return Runtime(Settings(), load_plugins([*entry_points(), plugin]))


def scope_of(runtime: Runtime, *, allows_private: bool = True, preset: str = "default") -> PageScope:
    encoder = PageEncoder(runtime.table, runtime.settings.limits, runtime.scratch, "2.2", allows_private)
    return encoder.scope(LEVELS, EncodeOptions(preset=preset))


def levels(values: np.ndarray) -> BlockSlice:
    return BlockSlice(FixedWidth(16), len(values), values.astype("<u2").view(np.uint8))


@pytest.mark.parametrize(
    ("values", "codec"),
    [
        (np.random.default_rng(1).integers(0, 4, 3000), "out_of_line_bitpacking"),
        (np.repeat([1, 0, 1], 1000), "rle"),
        (np.random.default_rng(1).integers(0, 1 << 16, 3000), "flat"),
        # A wide value in one block only: each packed block has a width of its own.
        (np.where(np.arange(3000) == 5, 60_000, np.arange(3000) % 4), "inline_bitpacking"),
    ],
)
def test_the_smallest_codec_takes_all_blocks(values: np.ndarray, codec: str) -> None:
    value_starts = np.array([0, 1000, 2000, 3000])
    encoded = encode_scope(LEVELS, file_version="2.2").for_parts().encode_blocks(levels(values), value_starts)
    assert encoded.description.WhichOneof("compression") == codec
    assert encoded.value_counts.tolist() == [1000] * 3


def test_a_hook_may_want_a_codec_that_knows_single_blocks_only(flipping: Runtime) -> None:
    values = np.arange(10)
    block, value_starts = levels(values), np.array([0, 4, 4, 10])
    encoded = scope_of(flipping).encode_blocks(block, value_starts)
    assert encoded.sizes.tolist() == [[8, 0, 12]]
    codec = flipping.binder.scope(LEVELS).chunk_codec(encoded.description, DecodeContext.BLOCK)
    out = new_block(FixedWidth(16), 10)
    starts = np.cumsum([[0, *encoded.sizes[0][:-1]]], axis=1)
    codec.decode(ChunkBatch(encoded.buffers[0], starts, encoded.sizes, value_starts), out)
    assert out.values.view("<u2").tolist() == values.tolist()
    nothing = scope_of(flipping).encode_blocks(block, np.array([0]))
    assert (nothing.nbytes, nothing.value_counts.tolist()) == (0, [])


def test_blocks_that_are_described_differently_are_refused(flipping: Runtime) -> None:
    with pytest.raises(UnsupportedError, match="differently"):
        scope_of(flipping, preset="compact").encode_blocks(levels(np.arange(10)), np.array([0, 4, 10]))


def test_private_codecs_need_permission_here_too(flipping: Runtime) -> None:
    with pytest.raises(InvalidArgumentError, match="allow_private_encodings"):
        scope_of(flipping, allows_private=False).encode_blocks(levels(np.arange(10)), np.array([0, 4, 10]))
