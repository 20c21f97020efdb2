"""Run kernels against their numpy twins, and CRC32C against published values."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import checksums as twin

from lance_arrow import kernels
from lance_arrow.errors import InternalError
from lance_arrow.testing.twins import assert_twins_agree, damaged

# RFC 3720, appendix B.4: bytes in order, and the checksum as the number that is stored little-endian.
ISCSI_READ = bytes.fromhex(
    "01c00000000000000000000000000000140000000000040000000014000000182800000000000000" + "0200000000000000"
)
VECTORS = [
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(range(31, -1, -1)), 0x113FDB5C),
    (ISCSI_READ, 0xD9963A56),
    (b"123456789", 0xE3069283),
    (b"", 0),
]
# Around the borders of what is done in three streams.
SIZES = [1, 7, 8, 9, 767, 768, 769, 3 * 5440 - 1, 3 * 5440, 3 * 5440 + 8, 3 * 5440 + 771, 16384, 40000]


def array(data):
    return np.frombuffer(data, np.uint8)


def positions(values):
    return np.array(values, np.int64)


@pytest.mark.parametrize(("data", "expected"), VECTORS)
def test_published_values(data, expected):
    assert kernels.crc32c(array(data)) == expected
    assert kernels.crc32c_portable(array(data)) == expected
    assert twin.crc32c(array(data)) == expected


@pytest.mark.parametrize("size", SIZES)
def test_all_sizes_agree_with_the_tables_and_the_twin(size):
    data = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
    expected = twin.crc32c(data)
    assert kernels.crc32c(data) == kernels.crc32c_portable(data) == expected


@given(st.binary(max_size=900), st.binary(max_size=900))
def test_a_checksum_can_be_continued(first, second):
    whole = kernels.crc32c(array(first + second))
    assert kernels.crc32c(array(second), kernels.crc32c(array(first))) == whole
    assert kernels.crc32c_portable(array(second), kernels.crc32c_portable(array(first))) == whole


@given(st.binary(max_size=300), st.integers(-1, 70), st.integers(-1, 1))
def test_blocks_agree_with_twin(data, block_bytes, off):
    count = max(0, (-(-len(data) // block_bytes) if block_bytes > 0 else 1) + off)
    out = np.zeros(count, np.uint32)
    assert_twins_agree(kernels.crc32c_blocks, twin.crc32c_blocks, array(data), block_bytes, out)


@given(st.data())
def test_ranges_agree_with_twin(data):
    whole = data.draw(st.binary(max_size=100))
    ranges = data.draw(st.lists(st.tuples(*[st.integers(0, len(whole))] * 2).map(sorted), max_size=5))
    starts, stops = positions([r[0] for r in ranges]), positions([r[1] for r in ranges])
    arrays = data.draw(damaged([starts, stops]))
    assert_twins_agree(kernels.crc32c_of, twin.crc32c_of, array(whole), *arrays, np.zeros(len(ranges), np.uint32))


def layout(data):
    """Draw disjoint buffers within few bytes, with gaps or none, and a block size."""
    borders = sorted(set(data.draw(st.lists(st.integers(0, 200), min_size=2, max_size=8))))
    pairs = [pair for pair in pairwise(borders) if data.draw(st.booleans())]
    return positions([a for a, _ in pairs]), positions([b - a for a, b in pairs]), data.draw(st.integers(1, 40))


@given(st.data())
def test_checked_blocks_agree_with_twin(data):
    starts, sizes, block_bytes = layout(data)
    whole = np.random.default_rng(len(starts)).integers(0, 256, 256, dtype=np.uint8)
    crcs = np.concatenate(
        [np.empty(0, np.uint32)]
        + [
            np.array([twin.crc32c(whole[at : min(at + block_bytes, start + size)])], np.uint32)
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
            for at in range(start, start + size, block_bytes)
        ]
    )
    if len(crcs) and data.draw(st.booleans()):
        crcs[data.draw(st.integers(0, len(crcs) - 1))] ^= 1
    both = kernels.BlockChecks(starts, sizes, crcs, block_bytes), twin.BlockChecks(starts, sizes, crcs, block_bytes)
    assert both[0].num_blocks == both[1].num_blocks == len(crcs)
    for block in range(len(crcs)):
        assert both[0].place(block) == both[1].place(block)
    for _ in range(4):
        ranges = data.draw(st.lists(st.tuples(*[st.integers(0, 220)] * 2).map(sorted), max_size=3))
        first, last = positions([r[0] for r in ranges]), positions([r[1] for r in ranges])
        wide = [(np.zeros_like(first), np.zeros_like(last)) for _ in both]
        counts = [checks.widen(first, last, *out) for checks, out in zip(both, wide, strict=True)]
        assert counts[0] == counts[1]
        np.testing.assert_array_equal(wide[0], wide[1])
        wrong = [checks.check(whole, wide[0][0], *wide[0]) for checks in both]
        assert wrong[0] == wrong[1]
        assert both[0].num_pending == both[1].num_pending
        if wrong[0] < 0:
            again = np.zeros_like(first), np.zeros_like(last)
            assert both[0].widen(first, last, *again) == 0


@pytest.mark.parametrize(
    ("starts", "sizes", "num_blocks", "block_bytes", "message"),
    [
        ([0, 5], [6, 5], 2, 16, "overlap"),
        ([5, 0], [5, 5], 2, 16, "overlap"),
        ([0], [0], 0, 16, "empty"),
        ([0], [17], 1, 16, "one checksum per block"),
        ([0], [17], 2, 0, "at least one byte"),
        ([1], [2**63 - 1], 1, 16, "beyond"),
        ([0], [1, 2], 2, 16, "contradicting"),
    ],
)
def test_contradicting_buffers_are_refused(starts, sizes, num_blocks, block_bytes, message):
    with pytest.raises(InternalError, match=message):
        kernels.BlockChecks(positions(starts), positions(sizes), np.zeros(num_blocks, np.uint32), block_bytes)


def test_ranges_outside_the_data_are_refused():
    checks = kernels.BlockChecks(positions([0]), positions([8]), np.zeros(1, np.uint32), 16)
    for place, start, stop in ((-1, 0, 8), (1, 0, 8), (0, 8, 0)):
        with pytest.raises(InternalError, match="outside the data"):
            checks.check(np.zeros(8, np.uint8), positions([place]), positions([start]), positions([stop]))
    with pytest.raises(InternalError, match="no such block"):
        checks.place(1)
