"""Sinks: bytes in order, which appear at once or not at all, in every kind of filesystem."""

from __future__ import annotations

import io
import os
from pathlib import Path

import fsspec
import numpy as np
import pyarrow.fs as arrow_fs
import pytest
from fsspec import AbstractFileSystem
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.spec import AbstractBufferedFile

from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.io import ByteSink, Location, open_sink
from lance_arrow.io.sink import BUFFER_BYTES

OLD = b"an older file"


class Renaming(AbstractFileSystem):
    """A store as sftp is: files grow under the eyes of readers, and can be renamed."""

    protocol = "renaming"
    cachable = False

    def __init__(self, *, replaces: bool = True, fail_after: int | None = None) -> None:
        super().__init__()
        self.files: dict[str, bytes] = {}
        self.calls: list[tuple[str, ...]] = []
        self.replaces = replaces
        self.fail_after = fail_after

    def _open(self, path, mode="rb", **_):
        self.calls.append(("open", path, mode))
        self.files[path] = b""
        return _Growing(self, path)

    def info(self, path, **_):
        if path not in self.files:
            raise FileNotFoundError(path)
        return {"name": path, "size": len(self.files[path]), "type": "file"}

    def mv(self, path1, path2, **_):
        self.calls.append(("mv", path1, path2))
        if path2 in self.files and not self.replaces:
            raise FileExistsError(path2)
        self.files[path2] = self.files.pop(path1)

    def rm_file(self, path):
        self.calls.append(("rm", path))
        del self.files[path]


class Plain(Renaming):
    """A store that can only be opened for writing."""

    protocol = "plain"
    mv = AbstractFileSystem.mv


class _Growing(io.RawIOBase):
    def __init__(self, store, path):
        super().__init__()
        self.store, self.path = store, path

    def writable(self):
        return True

    def write(self, data):
        # As raw files may, take a part only.
        part = bytes(data)[: 1 << 19]
        held = self.store.files[self.path]
        if self.store.fail_after is not None and len(held) + len(part) > self.store.fail_after:
            raise OSError("the store is full")
        self.store.files[self.path] = held + part
        return len(part)


class Uploading(AsyncFileSystem):
    """An object store: files of several parts, complete when closed."""

    protocol = "uploading"
    cachable = False

    def __init__(self, *, fail_on: int | None = None, own_discard: bool = True) -> None:
        super().__init__()
        self.files: dict[str, bytes] = {}
        self.cancelled: list[str] = []
        self.fail_on = fail_on
        self.own_discard = own_discard

    def _open(self, path, mode="rb", block_size=None, **_):
        kind = _Upload if self.own_discard else _UploadWithoutDiscard
        return kind(self, path, mode, block_size=1 << 18)


class _UploadWithoutDiscard(AbstractBufferedFile):
    def _initiate_upload(self):
        self.parts = []

    def _upload_chunk(self, final=False):
        if self.fs.fail_on is not None and len(self.parts) >= self.fs.fail_on:
            raise OSError("the upload failed")
        self.parts.append(self.buffer.getvalue())
        if final:
            self.fs.files[self.path] = b"".join(self.parts)
        return True


class _Upload(_UploadWithoutDiscard):
    def discard(self):
        self.fs.cancelled.append(self.path)


def pieces(seed: int = 1) -> list[bytes]:
    sizes = [0, 1, 64, 5000, BUFFER_BYTES - 1, BUFFER_BYTES, 3 * BUFFER_BYTES + 7, 13]
    rng = np.random.default_rng(seed)
    return [rng.bytes(size) for size in sizes]


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


class Place:
    """Somewhere to write: what `open_sink` is given, and the files that are there, by name."""

    def __init__(self, target, files, put, **options):
        self.target, self.files, self.put, self.options = target, files, put, options

    def open(self) -> ByteSink:
        return open_sink(self.target, **self.options)


def local_place(folder: Path, target, **options) -> Place:
    def put(content):
        (folder / "a.lance").write_bytes(content)

    return Place(target, lambda: {name: (folder / name).read_bytes() for name in names(folder)}, put, **options)


def store_place(store) -> Place:
    def put(content):
        store.files["box/a.lance"] = content

    files = lambda: {path.removeprefix("box/"): content for path, content in store.files.items()}  # noqa: E731
    return Place("box/a.lance", files, put, filesystem=store)


def memory_place(target, **options) -> Place:
    store = MemoryFileSystem()
    store.store.clear()
    files = lambda: {path.removeprefix("/box/"): file.getvalue() for path, file in store.store.items()}  # noqa: E731
    return Place(target, files, lambda content: store.pipe_file("/box/a.lance", content), **options)


def arrow_mock_place() -> Place:
    mock = arrow_fs._MockFileSystem()
    mock.create_dir("box")

    def files():
        infos = mock.get_file_info(arrow_fs.FileSelector("box"))
        return {info.base_name: mock.open_input_stream(info.path).read() for info in infos}

    def put(content):
        with mock.open_output_stream("box/a.lance") as stream:
            stream.write(content)

    return Place("box/a.lance", files, put, filesystem=mock)


PLACES = {
    "path": lambda folder: local_place(folder, str(folder / "a.lance")),
    "pathlib": lambda folder: local_place(folder, folder / "a.lance"),
    "file URL": lambda folder: local_place(folder, f"file://{folder}/a.lance"),
    "location": lambda folder: local_place(folder, Location(LocalFileSystem(), str(folder / "a.lance"))),
    "fsspec local": lambda folder: local_place(folder, str(folder / "a.lance"), filesystem=LocalFileSystem()),
    "fsspec dir": lambda folder: local_place(
        folder, "a.lance", filesystem=fsspec.filesystem("dir", path=str(folder), fs=LocalFileSystem())
    ),
    "arrow local": lambda folder: local_place(folder, str(folder / "a.lance"), filesystem=arrow_fs.LocalFileSystem()),
    "arrow subtree": lambda folder: local_place(
        folder, "a.lance", filesystem=arrow_fs.SubTreeFileSystem(str(folder), arrow_fs.LocalFileSystem())
    ),
    "memory": lambda folder: memory_place("memory://box/a.lance"),
    "arrow over memory": lambda folder: memory_place(
        "box/a.lance", filesystem=arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(MemoryFileSystem()))
    ),
    "simplecache": lambda folder: memory_place(
        "simplecache::memory://box/a.lance", storage_options={"simplecache": {"cache_storage": str(folder)}}
    ),
    "filecache": lambda folder: memory_place(
        "filecache::memory://box/a.lance", storage_options={"filecache": {"cache_storage": str(folder)}}
    ),
    "renaming": lambda folder: store_place(Renaming()),
    "renaming, not onto": lambda folder: store_place(Renaming(replaces=False)),
    "plain": lambda folder: store_place(Plain()),
    "uploading": lambda folder: store_place(Uploading()),
    "uploading without discard": lambda folder: store_place(Uploading(own_discard=False)),
    "arrow mock": lambda folder: arrow_mock_place(),
}


@pytest.fixture(params=PLACES)
def place(request, tmp_path) -> Place:
    return PLACES[request.param](tmp_path)


def test_bytes_appear_in_order_and_only_when_closed(place):
    parts = pieces()
    with place.open() as sink:
        assert isinstance(sink, ByteSink)
        for part in parts:
            sink.write(part)
        assert sink.position == sum(map(len, parts))
        assert "a.lance" not in place.files()
    assert place.files() == {"a.lance": b"".join(parts)}
    sink.close()
    sink.abort()
    assert place.files() == {"a.lance": b"".join(parts)}


def test_an_older_file_is_replaced(place):
    place.put(OLD)
    with place.open() as sink:
        sink.write_many(pieces())
    assert place.files() == {"a.lance": b"".join(pieces())}


def test_an_exception_leaves_what_was_there(place):
    place.put(OLD)
    with pytest.raises(ZeroDivisionError):
        _write_badly(place)
    assert place.files() == {"a.lance": OLD}


def _write_badly(place):
    with place.open() as sink:
        sink.write_many(pieces())
        raise ZeroDivisionError


def test_an_abort_leaves_nothing(place):
    sink = place.open()
    sink.write_many(pieces())
    sink.abort()
    sink.abort()
    assert place.files() == {}
    with pytest.raises(InvalidArgumentError, match="aborted"):
        sink.write(b"more")
    with pytest.raises(InvalidArgumentError, match="aborted"):
        sink.close()
    del sink
    assert place.files() == {}


def test_nothing_at_all_is_a_file_too(place):
    place.open().close()
    assert place.files() == {"a.lance": b""}


@pytest.mark.parametrize(
    "store",
    [Renaming(fail_after=BUFFER_BYTES), Plain(fail_after=BUFFER_BYTES), Uploading(fail_on=3)],
    ids=["renaming", "plain", "uploading"],
)
def test_a_failing_store_raises_its_own_error_and_shows_nothing(store):
    sink = open_sink("box/a.lance", filesystem=store)
    with pytest.raises(OSError, match=r"the store is full|the upload failed"), sink:
        sink.write_many(pieces())
    assert store.files == {}
    with pytest.raises(InvalidArgumentError, match="aborted"):
        sink.close()


def test_a_store_that_fails_at_the_end_shows_nothing():
    store = Uploading(fail_on=0)
    sink = open_sink("box/a.lance", filesystem=store)
    sink.write(b"few bytes")
    with pytest.raises(OSError, match="the upload failed"):
        sink.close()
    assert store.files == {}
    assert store.cancelled == ["box/a.lance"]


def test_a_rename_onto_a_file_removes_it_only_where_it_must():
    for replaces in (True, False):
        store = Renaming(replaces=replaces)
        store.files["box/a.lance"] = OLD
        with open_sink("box/a.lance", filesystem=store) as sink:
            sink.write(b"new")
        assert store.files == {"box/a.lance": b"new"}
        assert (("rm", "box/a.lance") in store.calls) == (not replaces)
        opened = [path for call, path, *_ in store.calls if call == "open"]
        assert len(opened) == 1
        assert opened[0].startswith("box/.a.lance.")


def test_what_a_cache_holds_of_the_older_file_is_forgotten(tmp_path):
    target = PLACES["simplecache"](tmp_path)
    options = {"simplecache": {"cache_storage": str(tmp_path)}}
    for content in (b"first", b"second"):
        with target.open() as sink:
            sink.write(content)
        with fsspec.open(target.target, **options) as file:
            assert file.read() == content


def test_what_is_no_place_to_write_to(tmp_path):
    with pytest.raises(InvalidArgumentError, match="text"):
        open_sink(io.StringIO())
    with pytest.raises(InvalidArgumentError, match="path or URL"):
        open_sink(3)
    with pytest.raises(InvalidArgumentError, match="open streams"):
        open_sink(io.BytesIO(), filesystem=MemoryFileSystem())
    with pytest.raises(IsADirectoryError):
        open_sink(tmp_path)
    with pytest.raises(FileNotFoundError) as caught:
        open_sink(tmp_path / "absent" / "a.lance")
    assert caught.value.filename == str(tmp_path / "absent" / "a.lance")
    os.mkfifo(tmp_path / "pipe")
    for special in (tmp_path / "pipe", "/dev/null"):
        with pytest.raises(UnsupportedError, match="regular"):
            open_sink(special)
    assert names(tmp_path) == ["pipe"]


def test_a_sink_already_open_is_itself(tmp_path):
    with open_sink(tmp_path / "a") as sink:
        assert open_sink(sink) is sink


def test_views_with_holes_and_many_parts(tmp_path):
    with open_sink(tmp_path / "a") as sink:
        with pytest.raises(InvalidArgumentError, match="contiguous"):
            sink.write(np.arange(10, dtype=np.uint8)[::2])
        wide = np.arange(BUFFER_BYTES // 8)
        sink.write_many([wide, *[b"x"] * 3000, np.empty(0, np.int64), wide.reshape(2, -1)])
    assert (tmp_path / "a").read_bytes() == wide.tobytes() + b"x" * 3000 + wide.tobytes()


def test_the_caller_may_reuse_its_memory(tmp_path):
    data = bytearray(b"before")
    with open_sink(tmp_path / "a") as sink:
        sink.write(data)
        data[:] = b"after!"
    assert (tmp_path / "a").read_bytes() == b"before"
