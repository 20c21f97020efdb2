"""`BlobFile`: an ordinary file object that fetches what it is asked for."""

from __future__ import annotations

import io
import os
import threading
import zipfile

import pytest
from blobs import first_kind
from hypothesis import given
from hypothesis import strategies as st
from watched import WatchedSource
from witness import Witness

from lance_arrow import LanceFile
from lance_arrow.errors import InvalidArgumentError, TruncatedReadError
from lance_arrow.files.blob_file import BlobFile
from lance_arrow.io import BufferSource, LocalSource

CONTENT = bytes(range(256)) * 40
START, STOP = 1000, 9000
BLOB = CONTENT[START:STOP]


def opened() -> tuple[WatchedSource, BlobFile]:
    source = WatchedSource(BufferSource(CONTENT))
    return source, BlobFile(source, START, STOP - START, "blob")


STEP = st.one_of(
    st.tuples(st.just("read"), st.integers(-1, 9000)),
    st.tuples(st.just("readinto"), st.integers(0, 300)),
    st.tuples(st.just("seek"), st.tuples(st.integers(0, 9000), st.just(os.SEEK_SET))),
    st.tuples(st.just("seek"), st.tuples(st.integers(-50, 50), st.just(os.SEEK_CUR))),
    st.tuples(st.just("seek"), st.tuples(st.integers(-8100, 10), st.just(os.SEEK_END))),
)


@given(st.lists(STEP, max_size=12))
def test_behaves_as_bytes_in_memory(steps: list[tuple[str, object]]) -> None:
    _, blob = opened()
    expected = io.BytesIO(BLOB)
    for name, argument in steps:
        if name == "readinto":
            mine, theirs = bytearray(argument), bytearray(argument)
            assert blob.readinto(mine) == expected.readinto(theirs)
            assert mine == theirs
        elif name == "read":
            assert blob.read(argument) == expected.read(argument)
        else:
            offset, whence = argument
            origin = {os.SEEK_SET: 0, os.SEEK_CUR: expected.tell(), os.SEEK_END: len(BLOB)}[whence]
            if origin + offset < 0:
                with pytest.raises(ValueError, match="negative"):
                    blob.seek(offset, whence)
            else:
                assert blob.seek(offset, whence) == expected.seek(origin + offset)
        assert blob.tell() == expected.tell()


def test_a_read_fetches_its_bytes_and_no_others() -> None:
    source, blob = opened()
    assert blob.size() == len(BLOB)
    blob.seek(-10, os.SEEK_END)
    assert source.ranges == []
    assert blob.read(4) == BLOB[-10:-6]
    assert blob.read(100) == BLOB[-6:]
    assert blob.read(100) == b""
    assert source.ranges == [(STOP - 10, STOP - 6), (STOP - 6, STOP)]
    assert source.snapshot().bytes_fetched == 10


def test_buffered_readers_and_archives_take_it(tmp_path: object) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "first\nsecond\n")
    content = b"before" + packed.getvalue() + b"behind"
    source = WatchedSource(BufferSource(content))
    with zipfile.ZipFile(BlobFile(source, 6, len(packed.getvalue()), "zip")) as archive:
        assert archive.read("a.txt") == b"first\nsecond\n"
    lines = BlobFile(source, content.index(b"first"), 13, "text")
    assert list(io.TextIOWrapper(io.BufferedReader(lines))) == ["first\n", "second\n"]


def test_closing_one_leaves_the_file_open() -> None:
    source, blob = opened()
    with blob:
        assert blob.readable()
        assert blob.seekable()
        assert not blob.writable()
    assert blob.closed
    for use in (blob.read, blob.tell, blob.readall, lambda: blob.seek(0), lambda: blob.readinto(bytearray(1))):
        with pytest.raises(ValueError, match="closed"):
            use()
    assert BlobFile(source, START, 3, "other").read() == CONTENT[START : START + 3]


def test_memory_that_cannot_be_written_is_refused() -> None:
    _, blob = opened()
    with pytest.raises(TypeError, match="written"):
        blob.readinto(b"12345")
    with pytest.raises(ValueError, match="whence"):
        blob.seek(0, 9)
    assert blob.tell() == 0


def test_threads_share_one_without_losing_bytes() -> None:
    _, blob = opened()
    parts: list[bytes] = []

    def take() -> None:
        while part := blob.read(7):
            parts.append(part)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(parts) == sorted(BLOB[at : at + 7] for at in range(0, len(BLOB), 7))


def test_a_file_that_became_shorter_is_told(tmp_path: object) -> None:
    path = os.path.join(str(tmp_path), "short.bin")
    with open(path, "wb") as file:
        file.write(CONTENT)
    blob = BlobFile(LocalSource(path), START, STOP - START, "blob")
    os.truncate(path, START + 10)
    assert blob.read(10) == BLOB[:10]
    with pytest.raises(TruncatedReadError):
        blob.read(10)


@pytest.mark.interop
def test_take_blobs_reads_places_only(witness: Witness, tmp_path: object) -> None:
    values = [os.urandom(50_000) for _ in range(20)] + [None, b""]
    path = os.path.join(str(tmp_path), "file.lance")
    witness.write(first_kind(values), path, "2.1")
    source = WatchedSource(LocalSource(path))
    with LanceFile(source) as file:
        before = source.snapshot()
        found = file.take_blobs("b", [3, 20, 3, 21, 0])
        assert (source.snapshot() - before).bytes_fetched < 4096
        assert [blob if blob is None else blob.size() for blob in found] == [50_000, None, 50_000, 0, 50_000]
        first, _, again, empty, _ = found
        before = source.snapshot()
        first.seek(49_990)
        assert first.read(5) == values[3][49_990:49_995]
        assert again.tell() == 0
        assert (source.snapshot() - before).bytes_fetched == 5
        assert empty.read() == b""
        for column, indices in (("n", [0]), ("b", [22]), ("b", [-1]), ("nothing", [0])):
            with pytest.raises(InvalidArgumentError):
                file.take_blobs(column, indices)
    with pytest.raises(InvalidArgumentError, match="closed"):
        first.read(1)
