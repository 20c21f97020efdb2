"""Run kernels against their numpy twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import runs as twin

from lance_arrow.errors import CorruptPageError
from lance_arrow.testing.twins import assert_twins_agree, damaged
from lance_arrow_codecs import native

WIDTHS = st.sampled_from([1, 2, 4, 8])
LENGTHS = st.lists(st.one_of(st.integers(1, 5), st.integers(1, 255)), max_size=8)


def positions(values):
    return np.array(values, np.int64)


def random_bytes(seed, count):
    return np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)


@given(st.data())
def test_expand_runs_agrees_with_twin(data):
    width = data.draw(WIDTHS)
    chunks = data.draw(st.lists(LENGTHS, max_size=3))
    parts, spans = [], {"values": [], "lengths": []}
    for seed, lengths in enumerate(chunks):
        for name, part in (
            ("values", random_bytes(seed, width * len(lengths))),
            ("lengths", np.array(lengths, np.uint8)),
        ):
            spans[name].append((sum(map(len, parts)), len(part)))
            parts.append(part)
    # The last run may reach past its chunk.
    past = [data.draw(st.integers(0, lengths[-1] - 1)) if lengths else 0 for lengths in chunks]
    counts = [sum(lengths) - more for lengths, more in zip(chunks, past, strict=True)]
    arrays = [
        np.concatenate([np.zeros(0, np.uint8), *parts]),
        *(positions(spans[name]).reshape(-1, 2)[:, column].copy() for name in spans for column in (0, 1)),
        positions([0, *np.cumsum(counts)]),
    ]
    arrays = data.draw(damaged(arrays))
    out = np.zeros(sum(counts) * width, np.uint8)
    assert_twins_agree(native.expand_runs, twin.expand_runs, *arrays, width, out)


@given(st.data())
def test_expand_run_blocks_agrees_with_twin(data):
    width = data.draw(WIDTHS)
    chunks = data.draw(st.lists(LENGTHS, max_size=3))
    buffers = [
        np.concatenate(
            [
                positions([width * len(lengths)]).view(np.uint8),
                random_bytes(seed, width * len(lengths)),
                np.array(lengths, np.uint8),
            ]
        )
        for seed, lengths in enumerate(chunks)
    ]
    counts = [sum(lengths) for lengths in chunks]
    sizes = positions([len(buffer) for buffer in buffers])
    starts = positions([0, *np.cumsum(sizes)])[:-1].copy()
    whole = np.concatenate([np.zeros(0, np.uint8), *buffers])
    arrays = data.draw(damaged([whole, starts, sizes, positions([0, *np.cumsum(counts)])]))
    out = np.zeros(sum(counts) * width, np.uint8)
    assert_twins_agree(native.expand_run_blocks, twin.expand_run_blocks, *arrays, width, out)


def expand_one(values, lengths, num_values):
    data = np.array([*values, *lengths], np.uint8)
    out = np.zeros(num_values, np.uint8)
    spans = (positions([0]), positions([len(values)]), positions([len(values)]), positions([len(lengths)]))
    native.expand_runs(data, *spans, positions([0, num_values]), 1, out)
    return out.tolist()


def test_runs_repeat_their_value():
    assert expand_one([7, 9], [255, 2], 257) == [7] * 255 + [9] * 2


def test_last_run_may_reach_past_its_chunk():
    assert expand_one([7, 9], [2, 255], 3) == [7, 7, 9]
    assert expand_one([7], [5], 4) == [7] * 4


@pytest.mark.parametrize(
    ("values", "lengths", "num_values", "message"),
    [
        ([1, 2], [3, 0], 3, "length 0"),
        ([1], [3], 4, "sum"),
        ([1, 2], [3, 2], 3, "sum"),
        ([1, 2], [3, 9], 2, "sum"),
        ([1], [1], 0, "sum"),
        ([1, 2], [3], 3, "differ in number"),
    ],
)
def test_contradictions_are_refused(values, lengths, num_values, message):
    with pytest.raises(CorruptPageError, match=message):
        expand_one(values, lengths, num_values)
