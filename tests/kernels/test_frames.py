"""Frame kernels against their twins, and against blocks of a real compressor."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.errors import CorruptPageError
from lance_arrow.kernels import frames
from lance_arrow.kernels.reference import frames as twin
from lance_arrow.testing.twins import assert_twins_agree, damaged

LZ4 = pa.Codec("lz4_raw")
TEXTS = st.binary(max_size=40) | st.tuples(st.binary(min_size=1, max_size=5), st.integers(0, 900)).map(
    lambda pair: pair[0] * pair[1]
)


@given(st.data())
def test_agrees_with_twin_and_compressor(data):
    texts = data.draw(st.lists(TEXTS, max_size=4))
    blocks = [LZ4.compress(text, asbytes=True) for text in texts]
    sizes = np.array([len(block) for block in blocks], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
    whole = np.frombuffer(b"".join(blocks), np.uint8)
    out_sizes = np.zeros(len(texts), np.int64)
    frames.measure_lz4_blocks(whole, starts, sizes, out_sizes)
    assert out_sizes.tolist() == [len(text) for text in texts]
    arrays = data.draw(damaged([whole, starts, sizes]))
    assert_twins_agree(frames.measure_lz4_blocks, twin.measure_lz4_blocks, *arrays, out_sizes)


@given(st.binary(max_size=30))
def test_any_bytes_agree_with_twin_and_what_is_accepted_is_never_larger_than_the_decoder_allows(block):
    whole, size = np.frombuffer(block, np.uint8), np.zeros(1, np.int64)
    arguments = (whole, np.zeros(1, np.int64), np.array([len(block)]), size)
    assert_twins_agree(frames.measure_lz4_blocks, twin.measure_lz4_blocks, *arguments)
    try:
        frames.measure_lz4_blocks(*arguments)
    except CorruptPageError:
        return
    # The decoder may still refuse (it wants five literals last), but never produce more or less.
    try:
        decoded = LZ4.decompress(block, decompressed_size=int(size[0]), asbytes=True)
    except OSError:
        return
    assert len(decoded) == size[0] <= 255 * max(len(block), 1)
