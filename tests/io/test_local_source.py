"""Local files by positional reads."""

import contextlib
import errno
import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.engine import read_ranges
from lance_arrow.errors import InvalidArgumentError, TruncatedReadError, UnsupportedError
from lance_arrow.io import LocalSource, RangeSource, open_source

CONTENT = np.random.default_rng(1).integers(0, 256, 100_000, np.uint8).tobytes()


def _at(*places):
    both = np.array(places, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("local") / "data.bin"
    path.write_bytes(CONTENT)
    return path


@given(st.lists(st.tuples(st.integers(0, 99_000), st.integers(0, 1000)), max_size=30))
def test_ranges_come_back_in_order_and_aligned_as_in_the_file(file, ranges):
    source = LocalSource(file)
    places = [(start, start + size) for start, size in ranges]
    pieces = source.read(*_at(*places))
    for (start, stop), piece in zip(places, pieces, strict=True):
        assert piece.tobytes() == CONTENT[start:stop]
        assert not piece.flags.writeable
        assert piece.size == 0 or piece.ctypes.data % 64 == start % 64


def test_it_is_a_source_and_says_so(file):
    source = open_source(str(file))
    assert isinstance(source, LocalSource)
    assert isinstance(source, RangeSource)
    assert (source.name, source.size()) == (str(file), len(CONTENT))


def test_identity_follows_the_content(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"one")
    first = LocalSource(path).identity()
    assert LocalSource(path).identity() == first
    os.utime(path, ns=(1, 1))
    assert LocalSource(path).identity() != first
    path.write_bytes(b"three")
    assert LocalSource(path).identity() != first


def test_a_file_cut_while_open_is_an_error_not_a_crash(tmp_path):
    path = tmp_path / "cut"
    path.write_bytes(CONTENT)
    source = LocalSource(path)
    os.truncate(path, 50_000)
    assert source.read(*_at((0, 50_000)))[0].tobytes() == CONTENT[:50_000]
    with pytest.raises(TruncatedReadError, match="requested 200 bytes, received 100") as caught:
        source.read(*_at((0, 10), (49_900, 50_100)))
    assert caught.value.byte_range == (49_900, 50_100)
    assert caught.value.path == str(path)


def test_a_range_behind_the_end_is_refused_before_memory_is_taken(file):
    with pytest.raises(TruncatedReadError):
        LocalSource(file).read(*_at((0, 1 << 60)))


@pytest.mark.parametrize("places", [[(5, 4)], [(-1, 4)]])
def test_no_range(file, places):
    with pytest.raises(InvalidArgumentError):
        LocalSource(file).read(*_at(*places))


def test_missing_directory_pipe_and_forbidden(tmp_path):
    with pytest.raises(FileNotFoundError):
        LocalSource(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        LocalSource(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnsupportedError, match="not a regular file"):
        LocalSource(tmp_path / "pipe")


def _descriptors_of(file):
    """How many of this process's descriptors are of `file`: other threads open and close theirs meanwhile."""
    count = 0
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # one closed since the listing
            count += os.path.samestat(os.stat(f"/proc/self/fd/{descriptor}"), os.stat(file))
    return count


def test_descriptors_are_given_back(file):
    assert _descriptors_of(file) == 0
    source = LocalSource(file)
    assert _descriptors_of(file) == 1
    source.close()
    source.close()
    assert _descriptors_of(file) == 0
    with pytest.raises(InvalidArgumentError, match="closed"):
        source.read(*_at((0, 1)))
    kept = LocalSource(file)
    assert _descriptors_of(file) == 1
    del kept
    assert _descriptors_of(file) == 0


def test_threads_share_a_source(file):
    source = LocalSource(file)
    failures = []

    def work(seed):
        generator = np.random.default_rng(seed)
        for _ in range(50):
            start = int(generator.integers(0, 90_000))
            if source.read(*_at((start, start + 5000)))[0].tobytes() != CONTENT[start : start + 5000]:
                failures.append(start)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@given(
    st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 300)), max_size=40),
    st.integers(0, 20_000),
    st.randoms(use_true_random=False),
)
def test_close_ranges_are_read_together_and_lie_apart(file, steps, first, chance):
    """Gaps on both sides of what one call reads over; some lists are shuffled, so that ranges go back, or overlap."""
    places, end = [], first
    for gap, size in steps:
        start = min(end + gap, len(CONTENT) - size)
        places.append((start, start + size))
        end = start + size
    if chance.random() < 0.3:
        chance.shuffle(places)
    starts, stops = _at(*places)
    slots = list(range(len(places)))
    chance.shuffle(slots)
    out, out_starts = np.full(300 * len(places) + 1, 7, np.uint8), np.array(slots, np.int64) * 300
    with file.open("rb") as handle:
        assert read_ranges(handle.fileno(), np.ascontiguousarray(starts), stops - starts, out_starts, out) == -1
    expected = np.full_like(out, 7)
    for (start, stop), slot in zip(places, slots, strict=True):
        expected[300 * slot : 300 * slot + stop - start] = np.frombuffer(CONTENT[start:stop], np.uint8)
    assert out.tobytes() == expected.tobytes()


def test_more_close_ranges_than_one_call_takes(file):
    starts = np.arange(0, 99_000, 33, dtype=np.int64)
    sizes = np.full_like(starts, 21)
    out = np.zeros(21 * len(starts), np.uint8)
    with file.open("rb") as handle:
        assert read_ranges(handle.fileno(), starts, sizes, np.arange(len(starts)) * 21, out) == -1
    assert out.tobytes() == b"".join(CONTENT[start : start + 21] for start in starts.tolist())


@pytest.mark.parametrize("last", [99_999, 100_000, 100_500])
def test_the_first_of_close_ranges_that_the_file_is_too_short_for_is_named(file, last):
    starts = np.array([99_000, 99_200, 99_400, last - 10, last + 200], np.int64)
    sizes = np.full_like(starts, 100)
    out = np.zeros(500, np.uint8)
    with file.open("rb") as handle:
        assert read_ranges(handle.fileno(), starts, sizes, np.arange(5) * 100, out) == 3
    assert out[:300].tobytes() == b"".join(CONTENT[start : start + 100] for start in (99_000, 99_200, 99_400))


def test_a_forked_child_reads_what_the_parent_opened(file):
    source = LocalSource(file)
    child = os.fork()
    if child == 0:
        os._exit(0 if source.read(*_at((100, 200)))[0].tobytes() == CONTENT[100:200] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert source.read(*_at((0, 9)))[0].tobytes() == CONTENT[:9]


def test_the_kernel_checks_what_it_is_given(file):
    out = np.zeros(10, np.uint8)
    one, four, eight = (np.array([value], np.int64) for value in (1, 4, 8))
    with file.open("rb") as handle:
        number = handle.fileno()
        assert read_ranges(number, one, four, one, out) == -1
        assert out.tobytes() == b"\0" + CONTENT[1:5] + b"\0" * 5
        for starts, sizes, out_starts in [
            (-one, four, one), (one, -four, one), (one, four, -one), (one, four, eight), (one, four, 100 * one),
            (one, np.array([1 << 62]), one), (one, np.array([4, 4]), one), (np.array([(1 << 63) - 2]), eight, one),
        ]:  # fmt: skip
            with pytest.raises(ValueError):
                read_ranges(number, starts, sizes, out_starts, out)
        assert read_ranges(number, np.array([0, len(CONTENT) - 2]), np.array([2, 4]), np.array([0, 2]), out) == 1
    with pytest.raises(OSError) as caught:
        read_ranges(number, one, four, one, out)
    assert caught.value.errno == errno.EBADF
