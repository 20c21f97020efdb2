"""Files of fsspec filesystems, well-behaved and not."""

import asyncio
import io
import os
import threading
import uuid
import zipfile
from typing import ClassVar

import fsspec
import numpy as np
import pytest
from fsspec import AbstractFileSystem
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.cached import SimpleCacheFileSystem
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.spec import AbstractBufferedFile
from stores import CountingStore

from lance_arrow.errors import (
    InvalidArgumentError,
    StoreError,
    StoreRefusedError,
    TruncatedReadError,
    UnsupportedError,
)
from lance_arrow.io import LocalSource, Location, MeteredSource, RangeSource, list_tree, open_source, read_coalesced

CONTENT = np.random.default_rng(2).integers(0, 256, 200_000, np.uint8).tobytes()
PLACES = [(150_000, 150_100), (0, 10), (5, 5), (199_990, 200_000), (5, 5000)]


def _at(*places):
    both = np.array(places, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _check(source, content=CONTENT):
    assert isinstance(source, RangeSource)
    assert source.size() == len(content)
    for read in (source.read, lambda starts, stops: read_coalesced(source, starts, stops)):
        pieces = read(*_at(*PLACES))
        assert [piece.tobytes() for piece in pieces] == [content[start:stop] for start, stop in PLACES]
        assert not any(piece.flags.writeable for piece in pieces)
    with pytest.raises(TruncatedReadError):
        source.read(*_at((0, len(content) + 1)))


class Recording(AbstractFileSystem):
    """Synchronous, with buffered files as most remote filesystems have them; counts the bytes it hands out."""

    protocol = "recording"
    cachable = False

    def __init__(self, content=CONTENT, **facts):
        super().__init__()
        self.content = content
        self.facts = facts
        self.fetched = []
        self.infos = 0

    def info(self, path, **kwargs):
        self.infos += 1
        if path == "folder":
            return {"name": path, "size": 0, "type": "directory"}
        if path not in ("data", "root/data"):
            raise FileNotFoundError(path)
        return {"name": path, "size": len(self.content), "type": "file", **self.facts}

    def _open(self, path, mode="rb", block_size=None, cache_options=None, **kwargs):
        return RecordedFile(self, path, mode, block_size or "default", cache_options=cache_options, **kwargs)


class RecordedFile(AbstractBufferedFile):
    def _fetch_range(self, start, end):
        self.fs.fetched.append((start, min(end, len(self.fs.content))))
        return self.fs.content[start:end]


class Odd(AbstractFileSystem):
    """Answers ranges in a way of its own."""

    protocol = "odd"
    cachable = False

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def info(self, path, **kwargs):
        return {"name": path, "size": len(CONTENT), "type": "file"}

    def cat_ranges(self, paths, starts, ends, max_gap=None, on_error="return", **kwargs):
        return [self.answer(start, end) for start, end in zip(starts, ends, strict=True)]


class Slow(AsyncFileSystem):
    """Asynchronous, with latency."""

    protocol = "slow"
    cachable = False

    def __init__(self):
        super().__init__()
        self.running = self.most = 0

    async def _info(self, path, **kwargs):
        if path == "absent":
            raise FileNotFoundError(path)
        return {"name": path, "size": len(CONTENT), "type": "file", "ETag": '"1"'}

    async def _cat_file(self, path, start=None, end=None, **kwargs):
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.02)
        self.running -= 1
        return CONTENT[start:end]


@pytest.fixture
def memory():
    filesystem = fsspec.filesystem("memory")
    folder = f"/{uuid.uuid4().hex}"
    filesystem.pipe_file(f"{folder}/data", CONTENT)
    yield filesystem, folder
    filesystem.rm(folder, recursive=True)


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("stored/data", CONTENT, zipfile.ZIP_STORED)
        file.writestr("packed/data", CONTENT[:1000] * 200, zipfile.ZIP_DEFLATED)
    return path


def test_memory(memory):
    filesystem, folder = memory
    _check(open_source(f"memory:/{folder}/data"))
    source = open_source(f"{folder}/data", filesystem=filesystem)
    _check(source)
    before = source.identity()
    assert before is not None
    assert open_source(f"memory:/{folder}/data").identity() == before
    filesystem.pipe_file(f"{folder}/data", CONTENT[::-1])
    assert open_source(f"memory:/{folder}/data").identity() != before


def test_what_is_not_there(memory):
    filesystem, folder = memory
    with pytest.raises(FileNotFoundError):
        open_source(f"memory:/{folder}/absent")
    with pytest.raises(IsADirectoryError):
        open_source(folder, filesystem=filesystem)
    with pytest.raises(FileNotFoundError):
        open_source("slow", filesystem=Recording())


def test_zip(archive):
    _check(open_source(f"zip://stored/data::{archive}"))
    _check(open_source(f"zip://packed/data::file://{archive}"), CONTENT[:1000] * 200)
    with pytest.raises(FileNotFoundError):
        open_source(f"zip://absent::{archive}")
    with pytest.raises(IsADirectoryError):
        open_source(f"zip://packed::{archive}")


def test_zip_members_from_many_threads(archive):
    filesystem = fsspec.filesystem("zip", fo=str(archive))
    sources = [open_source(f"{name}/data", filesystem=filesystem) for name in ("stored", "packed")]
    contents = [CONTENT, CONTENT[:1000] * 200]
    failures = []

    def work(which):
        for step in range(20):
            start = step * 9_000
            if sources[which].read(*_at((start, start + 3000)))[0].tobytes() != contents[which][start : start + 3000]:
                failures.append((which, start))

    threads = [threading.Thread(target=work, args=(which % 2,)) for which in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_simplecache_downloads_once_and_then_reads_the_copy(memory, tmp_path):
    _, folder = memory
    _check(
        open_source(
            f"simplecache::memory:/{folder}/data", storage_options={"simplecache": {"cache_storage": str(tmp_path)}}
        )
    )
    inner = Recording()
    cached = SimpleCacheFileSystem(fs=inner, cache_storage=str(tmp_path / "c"))
    source = open_source("data", filesystem=cached)
    assert isinstance(source, LocalSource)
    _check(source)
    _check(open_source("data", filesystem=cached))
    assert sum(stop - start for start, stop in inner.fetched) == len(CONTENT)
    with pytest.raises(FileNotFoundError):
        open_source("absent", filesystem=cached)


def test_simplecache_opened_by_many_threads_at_once(tmp_path):
    """A copy being made already has its final name: nobody may take half of it for the file."""
    inner = Recording(CONTENT * 50)
    cached = SimpleCacheFileSystem(fs=inner, cache_storage=str(tmp_path))
    sizes = []
    threads = [
        threading.Thread(target=lambda: sizes.append(open_source("data", filesystem=cached).size())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sizes == [len(CONTENT) * 50] * 8


def test_directory_wrapper(memory):
    filesystem, folder = memory
    _check(open_source("data", filesystem=DirFileSystem(path=folder, fs=filesystem)))
    inner = Recording(CONTENT * 100)
    source = open_source("data", filesystem=DirFileSystem(path="root", fs=inner))
    assert source.read(*_at((7, 10)))[0].tobytes() == CONTENT[7:10]
    assert inner.fetched == [(7, 10)]


def test_local_wrappers_end_at_the_local_source(tmp_path):
    (tmp_path / "data").write_bytes(CONTENT)
    for filesystem in (fsspec.filesystem("file"), DirFileSystem(path=str(tmp_path), fs=fsspec.filesystem("file"))):
        path = "data" if isinstance(filesystem, DirFileSystem) else str(tmp_path / "data")
        source = open_source(path, filesystem=filesystem)
        assert isinstance(source, LocalSource)
        _check(source)


def test_no_read_ahead_where_ranges_are_only_inherited():
    filesystem = Recording(CONTENT * 100)
    source = open_source("data", filesystem=filesystem)
    places = [(start, start + 100) for start in range(0, 15_000_000, 1_000_000)]
    source.read(*_at(*places))
    assert sorted(filesystem.fetched) == places
    assert filesystem.infos <= 3


def test_size_from_a_listing_saves_the_lookup():
    filesystem = Slow()
    source = open_source("data", filesystem=filesystem, size_bytes=len(CONTENT))
    _check(source)


def test_identity_needs_a_fact():
    assert open_source("data", filesystem=Recording()).identity() is None
    one, two = (open_source("data", filesystem=Recording(ETag=tag)).identity() for tag in ("a", "b"))
    assert one is not None
    assert one != two


def test_short_answers():
    source = open_source("data", filesystem=Odd(lambda start, end: CONTENT[start : end - 1]))
    with pytest.raises(TruncatedReadError) as caught:
        source.read(*_at((10, 20)))
    assert caught.value.byte_range == (10, 20)
    assert caught.value.path == "odd://data"
    shrunk = Recording()
    source = open_source("data", filesystem=shrunk)
    shrunk.content = CONTENT[:100]
    with pytest.raises(TruncatedReadError):
        source.read(*_at((50, 150)))


def test_whole_file_in_answer_to_a_range():
    source = open_source("data", filesystem=Odd(lambda start, end: CONTENT))
    with pytest.raises(UnsupportedError, match="does not honour byte ranges"):
        source.read(*_at((0, 20)))


def test_exceptions_in_place_of_bytes_are_raised():
    failure = PermissionError("no")
    source = open_source("data", filesystem=Odd(lambda start, end: failure if start else CONTENT[:end]))
    with pytest.raises(PermissionError) as caught:
        source.read(*_at((0, 5), (7, 9)))
    assert caught.value.__cause__ is failure
    assert isinstance(caught.value, StoreRefusedError)
    assert (caught.value.byte_range, caught.value.attempts) == ((7, 9), 1)
    with pytest.raises(UnsupportedError, match="NoneType"):
        open_source("data", filesystem=Odd(lambda start, end: None)).read(*_at((0, 5)))


def test_broken_connections_are_tried_again_and_given_up(monkeypatch):
    monkeypatch.setenv("LANCE_ARROW_READ_ATTEMPTS", "3")

    class Broken(Slow):
        asked: ClassVar[list[tuple[int, int]]] = []

        async def _cat_file(self, path, start=None, end=None, **kwargs):
            self.asked.append((start, end))
            if start:
                raise ConnectionResetError("gone")
            return CONTENT[start:end]

    with pytest.raises(StoreError, match=r"after 3 attempts .* gone .*bytes 6\.\.7") as caught:
        open_source("data", filesystem=Broken()).read(*_at((0, 5), (6, 7)))
    assert isinstance(caught.value.__cause__, ConnectionResetError)
    assert Broken.asked.count((0, 5)) == 1, "only what failed is asked for again"
    assert Broken.asked.count((6, 7)) == 3


def test_asynchronous_from_here_from_a_thread_and_inside_a_loop():
    filesystem = Slow()
    source = open_source("data", filesystem=filesystem)
    _check(source)
    assert filesystem.most > 1, "the ranges of a read run side by side"
    seen = []
    thread = threading.Thread(target=lambda: seen.append(source.read(*_at((3, 9)))[0].tobytes()))
    thread.start()
    thread.join()

    async def inside():
        return source.read(*_at((3, 9)))[0].tobytes()

    seen.append(asyncio.run(inside()))
    assert seen == [CONTENT[3:9]] * 2
    with pytest.raises(FileNotFoundError):
        open_source("absent", filesystem=filesystem)


def test_closed(memory):
    _, folder = memory
    source = open_source(f"memory:/{folder}/data")
    source.close()
    with pytest.raises(InvalidArgumentError, match="closed"):
        source.read(*_at((0, 1)))


def test_no_range_is_lost_by_handles_that_read_little_at_a_time():
    class Dribble(io.RawIOBase):
        def __init__(self):
            self.at = 0

        def seek(self, at, whence=0):
            self.at = at
            return at

        def read(self, size=-1):
            part = CONTENT[self.at : self.at + min(size, 7)]
            self.at += len(part)
            return part

    class Dribbling(Recording):
        def _open(self, path, mode="rb", **kwargs):
            return Dribble()

    _check(open_source("data", filesystem=Dribbling()))


def test_the_meter_sees_both_sides(memory):
    _, folder = memory
    source = MeteredSource(open_source(f"memory:/{folder}/data"))
    before = source.snapshot()
    read_coalesced(source, *_at((0, 10), (20, 30), (100_000, 100_010), (7, 7)))
    spent = source.snapshot() - before
    assert (spent.waves, spent.requests, spent.ranges_wanted) == (1, 2, 4)
    assert (spent.bytes_wanted, spent.bytes_fetched) == (30, 40)
    assert spent.seconds > 0
    source.read(*_at((0, 10)))
    assert (source.snapshot() - before).bytes_wanted == 40
    assert read_coalesced(source, *_at((7, 7)))[0].size == 0
    assert source.snapshot().waves == 2


def test_a_child_process_can_take_the_locks(archive):
    filesystem = fsspec.filesystem("zip", fo=str(archive))
    source = open_source("stored/data", filesystem=filesystem)
    with source._exclusively():
        child = os.fork()
        if child == 0:
            with source._exclusively():
                os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_the_end_of_a_far_file_is_read_once() -> None:
    content = bytes(range(256)) * 8
    store = CountingStore({"/f": content})
    source = open_source("/f", filesystem=store)
    starts, stops = np.array([2000]), np.array([2048])
    assert source.read(starts, stops)[0].tobytes() == content[2000:]
    again = source.read(np.array([2000, 2010, 5, 2040]), np.array([2048, 2010, 9, 2041]))
    assert [one.tobytes() for one in again] == [content[2000:], b"", content[5:9], content[2040:2041]]
    assert source.read(np.array([1999]), np.array([2001]))[0].tobytes() == content[1999:2001]
    assert store.waves == [[(2000, 2048)], [(5, 9)], [(1999, 2001)]]


class Listed(MemoryFileSystem):
    """Files in memory; keeps listings and answers from them, as filesystems of stores do."""

    cachable = False
    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    def find(self, path, **options):
        found = super().find(path, **options)
        for name in found:
            folder = self._parent(name)
            self.dircache[folder] = [*self.dircache.get(folder, []), name]
        return found

    def info(self, path, **options):
        path = self._strip_protocol(path)
        if path not in self.dircache.get(self._parent(path), [path]):
            raise FileNotFoundError(path)
        return super().info(path, **options)

    def invalidate_cache(self, path=None):
        self.dircache.pop(self._strip_protocol(path), None)


def test_kept_listings_hide_no_file():
    filesystem = Listed()
    filesystem.pipe_file("/t/data/a", b"a")
    filesystem.pipe_file("/t/top", b"t")
    assert set(list_tree(filesystem, "/t")) == {"data/a", "top"}
    assert not list(filesystem.dircache)
    # Listed by others.
    filesystem.find("/t")
    filesystem.pipe_file("/t/data/b", b"bb")
    assert open_source(Location(filesystem, "/t/data/b")).size() == 2
    with pytest.raises(FileNotFoundError):
        open_source(Location(filesystem, "/t/data/c"))
