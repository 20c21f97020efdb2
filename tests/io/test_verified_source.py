"""Reads of a verified source: the same bytes as of the inner one, every block checked once, damage never returned."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_arrow.errors import CorruptFileError
from lance_arrow.io import BufferSource, LocalSource, VerifiedSource, fetch, fetch_into, read_coalesced
from lance_arrow.io.fetching import read_end
from lance_arrow.kernels import BlockChecks, crc32c_blocks

BLOCK = 64
SIZE = 1000
DATA = np.random.default_rng(0).integers(0, 256, SIZE, dtype=np.uint8)
BUFFERS = [(0, 200), (256, 130), (386, 64), (512, 400)]
RANGES = st.lists(st.tuples(*[st.integers(0, SIZE)] * 2).map(sorted), min_size=1, max_size=6)


def positions(values):
    return np.array(values, np.int64)


def checks_of(data):
    parts = []
    for start, size in BUFFERS:
        crcs = np.empty(-(-size // BLOCK), np.uint32)
        crc32c_blocks(data[start : start + size], BLOCK, crcs)
        parts.append(crcs)
    starts, sizes = zip(*BUFFERS, strict=True)
    return BlockChecks(positions(starts), positions(sizes), np.concatenate(parts), BLOCK)


def contradiction(start, stop):
    return CorruptFileError("wrong", byte_range=(start, stop))


def verified(inner):
    source = VerifiedSource(inner)
    source.check_with(checks_of(DATA), contradiction)
    return source


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("verified") / "bytes"
    path.write_bytes(DATA.tobytes())
    return path


def open_both(path):
    return [verified(BufferSource(DATA.tobytes())), verified(LocalSource(path))]


WAYS = {
    "read": lambda source, starts, stops: (source.read(starts, stops), None),
    "read_coalesced": lambda source, starts, stops: (read_coalesced(source, starts, stops), None),
    "read_arena": lambda source, starts, stops: source.read_arena(starts, stops),
    "fetch": fetch,
    "fetch_into": lambda source, starts, stops: into(partial(fetch_into, source), starts, stops),
    "read_into": lambda source, starts, stops: into(source.read_into, starts, stops),
}


def into(read, starts, stops):
    sizes = stops - starts
    out, out_starts = np.zeros(int(sizes.sum()), np.uint8), np.cumsum(sizes) - sizes
    read(starts, stops, out, out_starts)
    return out, out_starts


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=30)
@given(ranges=RANGES)
def test_every_way_of_reading_gives_the_bytes(path, way, ranges):
    starts, stops = positions([r[0] for r in ranges]), positions([r[1] for r in ranges])
    for source in open_both(path):
        if way == "read_into" and not source.reads_into:
            continue
        for _ in range(2):
            data, places = WAYS[way](source, starts, stops)
            if places is None:
                got = [answer.tobytes() for answer in data]
            else:
                ends = (places + stops - starts).tolist()
                got = [data[a:b].tobytes() for a, b in zip(places.tolist(), ends, strict=True)]
            assert got == [DATA[a:b].tobytes() for a, b in ranges]


@given(RANGES, st.integers(0, SIZE * 8 - 1))
def test_a_flipped_bit_is_never_returned(ranges, bit):
    damaged = DATA.copy()
    damaged[bit // 8] ^= 1 << bit % 8
    starts, stops = positions([r[0] for r in ranges]), positions([r[1] for r in ranges])
    is_covered = any(start <= bit // 8 < start + size for start, size in BUFFERS)
    source = verified(BufferSource(damaged.tobytes()))
    for method in (source.read, source.read_arena):
        place, answer = outcome_of(method, starts, stops)
        if place is not None:
            assert is_covered
            assert place[0] <= bit // 8 < place[1]
        elif isinstance(answer, list) and is_covered:
            assert [part.tobytes() for part in answer] == [DATA[a:b].tobytes() for a, b in ranges]


def outcome_of(method, starts, stops):
    try:
        return None, method(starts, stops)
    except CorruptFileError as error:
        return error.byte_range, None


def test_reading_into_memory_of_the_caller_is_checked(path):
    damaged = DATA.copy()
    damaged[600] ^= 1
    for start, stop in ((600, 601), (590, 800), (512, 912), (0, 1000)):
        source = verified(_Direct(damaged))
        with pytest.raises(CorruptFileError):
            source.read_into(positions([start]), positions([stop]), np.zeros(SIZE, np.uint8), positions([0]))


class _Direct(BufferSource):
    """A buffer that reads into memory of the caller."""

    def __init__(self, data):
        super().__init__(data.tobytes())
        self._bytes = data

    def read_into(self, starts, stops, out, out_starts):
        for start, stop, place in zip(starts.tolist(), stops.tolist(), out_starts.tolist(), strict=True):
            out[place : place + stop - start] = self._bytes[start:stop]


def test_blocks_are_read_once(path):
    source = verified(LocalSource(path))
    source.read(positions([70, 75]), positions([72, 80]))
    first = source.snapshot()
    assert (first.requests, first.bytes_fetched) == (1, BLOCK)
    source.read(positions([70]), positions([72]))
    assert (source.snapshot() - first).bytes_fetched == 2


def test_all_bytes_checked_means_nothing_to_check(path):
    source = verified(LocalSource(path))
    assert source.positional().checks is not None
    source.read(positions([0]), positions([SIZE]))
    assert source.positional().checks is None


def test_a_source_that_was_not_told_checks_nothing(path):
    source = VerifiedSource(LocalSource(path))
    assert source.positional().checks is None
    assert source.read(positions([1]), positions([3]))[0].tobytes() == DATA[1:3].tobytes()
    assert source.snapshot().bytes_fetched == 2


def test_large_requests_that_share_a_block_are_not_joined(monkeypatch):
    monkeypatch.setattr(
        BufferSource, "read_arena", lambda self, starts, stops: seen.append(len(starts)) or real(self, starts, stops)
    )
    seen, real = [], _real_read_arena
    source = verified(BufferSource(DATA.tobytes()))
    narrow = type(source.coalescing)(max_gap_bytes=0, max_span_bytes=100)
    source._inner.coalescing = narrow
    starts, stops = positions([512, 612, 712]), positions([612, 712, 812])
    data, places = source.read_arena(starts, stops)
    assert seen == [3]
    for start, place in zip(starts.tolist(), places.tolist(), strict=True):
        assert data[place : place + 100].tobytes() == DATA[start : start + 100].tobytes()


_real_read_arena = BufferSource.read_arena


def test_ranges_are_extended_to_unchecked_blocks(path):
    for source in open_both(path):
        starts, stops = positions([BUFFERS[0][0] + 1]), positions([BUFFERS[0][0] + 2])
        wide_starts, wide_stops = source.widened(starts, stops)
        assert (wide_starts[0], wide_stops[0]) == (BUFFERS[0][0], BUFFERS[0][0] + BLOCK)
        source.read(wide_starts, wide_stops)
        # What was checked is not read again.
        assert [one.tolist() for one in source.widened(starts, stops)] == [starts.tolist(), stops.tolist()]


def test_the_end_is_read_at_once_until_there_are_checks(path):
    """Then it is read as any range is: what is wrong with it is noticed."""
    for inner in (BufferSource(DATA.tobytes()), LocalSource(path)):
        source = VerifiedSource(inner)
        assert source.read_end(100).tobytes() == DATA[-100:].tobytes()
        source.check_with(checks_of(DATA), contradiction)
        assert source.read_end(100) is None
        assert read_end(source, 100).tobytes() == DATA[-100:].tobytes()
    source = verified(BufferSource(bytes(SIZE)))
    with pytest.raises(CorruptFileError, match="wrong"):
        read_end(source, 500)


def test_what_native_code_is_offered_follows_the_source(path):
    for source in open_both(path):
        assert source.positional().checks is not None
        again = checks_of(DATA)
        source.check_with(again, contradiction)
        assert source.positional().checks is again
        source.close()
        assert source.positional() is None
    # A local file offers the same each time.
    source = verified(LocalSource(path))
    assert source.positional() is source.positional()


def test_whole_blocks_are_not_read_into_one_array(path, monkeypatch):
    """They would be copied once more."""
    source = verified(LocalSource(path))
    monkeypatch.setattr(VerifiedSource, "read_arena_joined", None)
    # The second ends with its buffer.
    parts = source.read(positions([64, 192]), positions([128, 200]))
    assert [part.tobytes() for part in parts] == [DATA[64:128].tobytes(), DATA[192:200].tobytes()]
    assert source.snapshot().bytes_fetched == 64 + 8


@pytest.mark.parametrize(
    ("start", "stop", "num_bytes"), [(512, 640, 128), (520, 640, 120 + 64), (512, 630, 118 + 64), (520, 630, 110 + 128)]
)
def test_beside_memory_of_the_caller_only_borders_are_read(start, stop, num_bytes):
    source = verified(_Direct(DATA))
    source.read_into(positions([start]), positions([stop]), np.zeros(SIZE, np.uint8), positions([0]))
    assert source.snapshot().bytes_fetched == num_bytes


@pytest.mark.parametrize(
    ("starts", "stops", "num_bytes"),
    [
        # A block, and bytes without checksums, with one between them.
        ((520, 920, 931), (525, 930, 940), 64 + 19),
        # A block of both.
        ((520, 530), (525, 540), 64),
        # A block of both and the next, as many bytes as a request has at most.
        ((520, 570), (525, 600), 128),
        # One more would be above that: each is read with its own blocks.
        ((520, 570, 600), (525, 580, 660), 64 + 128 + 128),
    ],
)
def test_each_byte_is_read_once_if_requests_stay_small(starts, stops, num_bytes):
    inner = BufferSource(DATA)
    inner.coalescing = type(inner.coalescing)(max_gap_bytes=0, max_span_bytes=128)
    source = verified(inner)
    data, places = source.read_arena(positions(starts), positions(stops))
    assert source.snapshot().bytes_fetched == num_bytes
    for start, stop, place in zip(starts, stops, places.tolist(), strict=True):
        assert data[place : place + stop - start].tobytes() == DATA[start:stop].tobytes()


class _Reopened(LocalSource):
    """Offers native code another descriptor each time."""

    def positional(self):
        return replace(super().positional())


def test_a_new_offer_of_the_inner_source_is_passed_on(path, monkeypatch):
    inner = _Reopened(path)
    source = verified(inner)
    first, second = source.positional(), source.positional()
    assert first is not second
    assert first.checks is second.checks is not None


def late_checks(num_blocks):
    """Blocks of 64 bytes of one buffer, whose checksums lie behind it."""
    size = num_blocks * BLOCK
    return BlockChecks.late(positions([0]), positions([size]), num_blocks, BLOCK, size)


def test_checksums_that_lie_near_each_other_are_one_request():
    source = VerifiedSource(BufferSource(DATA))
    source.check_with(late_checks(10_000), contradiction)
    # They are read in groups of 4 KiB: 16 KiB lie between the first and the sixth.
    for group, num_requests in ((5, 1), (6, 2)):
        blocks = positions([3, group * 1024])
        firsts, _ = source._absent(blocks * BLOCK, (blocks + 1) * BLOCK)
        assert len(firsts) == num_requests


def test_scans_read_checksums_ahead(monkeypatch):
    seen = []
    monkeypatch.setattr(VerifiedSource, "_read_sums", lambda self, starts, stops: seen.extend((starts, stops)))
    source = verified(_Direct(DATA))
    source.read_into(positions([0]), positions([64]), np.zeros(SIZE, np.uint8), positions([0]))
    assert [one.tolist() for one in seen] == [[0], [64 + (256 << 20)]]


def test_checksums_are_those_of_their_own_blocks():
    num_blocks = 8 * 1024
    data = np.random.default_rng(1).integers(0, 256, num_blocks * BLOCK, dtype=np.uint8)
    crcs = np.empty(num_blocks, np.uint32)
    crc32c_blocks(data, BLOCK, crcs)
    source = VerifiedSource(BufferSource(np.concatenate((data, crcs.view(np.uint8)))))
    source.check_with(late_checks(num_blocks), contradiction)
    # Two groups of checksums in one array; what lies between them; all.
    for numbers in ([3, 6 * 1024 + 3], [1024, 5 * 1024], range(num_blocks)):
        starts = positions(list(numbers)) * BLOCK
        for part, start in zip(source.read(starts, starts + BLOCK), starts.tolist(), strict=True):
            assert part.tobytes() == data[start : start + BLOCK].tobytes()
