"""LZ4 against its twin, and against blocks of a real compressor."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import lz4 as twin

from lance_arrow.engine import try_frame_encoder
from lance_arrow.errors import CorruptPageError
from lance_arrow.testing.twins import assert_twins_agree, damaged
from lance_arrow_codecs import native

LZ4 = pa.Codec("lz4_raw")
REPEATED = st.tuples(st.binary(min_size=1, max_size=40), st.integers(0, 900)).map(lambda pair: pair[0] * pair[1])
TEXTS = st.binary(max_size=40) | REPEATED | st.lists(st.binary(max_size=6) | REPEATED, max_size=8).map(b"".join)


def decoded(block: bytes, size: int) -> bytes:
    out = np.zeros(size, np.uint8)
    places = np.zeros(1, np.int64), np.array([len(block)])
    native.decode_lz4_blocks(np.frombuffer(block, np.uint8), *places, out, np.array([0, size]))
    return out.tobytes()


@given(TEXTS.filter(bool) | st.lists(st.sampled_from([b"item ", b"name", b"0", b"\n"]), max_size=3000).map(b"".join))
def test_native_frames_are_those_of_the_compressor(text):
    if not text:
        return
    frame = try_frame_encoder(native.lz4_encoder(), np.frombuffer(text, np.uint8))
    assert frame == len(text).to_bytes(4, "little") + LZ4.compress(text, asbytes=True)


def test_many_bytes_are_compressed_in_python():
    text = bytes(1 << 16)
    assert try_frame_encoder(native.lz4_encoder(), np.frombuffer(text, np.uint8)) is not None
    assert try_frame_encoder(native.lz4_encoder(), np.frombuffer(text + b"x", np.uint8)) is None


@given(st.data())
def test_agrees_with_twin_and_compressor(data):
    texts = data.draw(st.lists(TEXTS, max_size=4))
    blocks = [LZ4.compress(text, asbytes=True) for text in texts]
    sizes = np.array([len(block) for block in blocks], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
    whole = np.frombuffer(b"".join(blocks), np.uint8)
    out_starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    out = np.zeros(int(out_starts[-1]), np.uint8)
    native.decode_lz4_blocks(whole, starts, sizes, out, out_starts)
    assert out.tobytes() == b"".join(texts)
    arrays = data.draw(damaged([whole, starts, sizes]))
    assert_twins_agree(native.decode_lz4_blocks, twin.decode_lz4_blocks, *arrays, np.zeros_like(out), out_starts)


@given(st.binary(max_size=30), st.integers(0, 300))
def test_any_bytes_agree_with_twin_and_with_what_the_library_decodes(block, size):
    whole, out = np.frombuffer(block, np.uint8), np.zeros(size, np.uint8)
    arguments = (whole, np.zeros(1, np.int64), np.array([len(block)]), out, np.array([0, size]))
    assert_twins_agree(native.decode_lz4_blocks, twin.decode_lz4_blocks, *arguments)
    try:
        found = decoded(block, size)
    except CorruptPageError:
        return
    # The library may still refuse (it wants five literals last), but never produce other bytes.
    try:
        assert LZ4.decompress(block, decompressed_size=size, asbytes=True) == found
    except OSError:
        return


@pytest.mark.parametrize("offset", [*range(1, 35), 100])
def test_matches_overlap_what_they_make(offset):
    text = bytes(range(offset)) * (1000 // offset + 2) + b"the end"
    block = LZ4.compress(text, asbytes=True)
    assert decoded(block, len(text)) == text
    for size in (0, 1, len(text) - 1, len(text) + 1):
        with pytest.raises(CorruptPageError):
            decoded(block, size)


@pytest.mark.parametrize("seed", range(8))
def test_real_columns(seed):
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 1 + 10 ** (seed % 4), 4096)
    for values in (np.cumsum(steps), steps.astype("i2"), rng.standard_normal(500).round(2)):
        for text in (values.tobytes(), values.view(np.uint8).reshape(len(values), -1).T.tobytes()):
            assert decoded(LZ4.compress(text, asbytes=True), len(text)) == text
