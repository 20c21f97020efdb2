"""From what callers give to a place, and what of it may be printed."""

from pathlib import Path, PurePosixPath

import fsspec
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from pyarrow import fs as arrow_fs

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import Location, open_source, redact, resolve


class LikeUPath:
    """What a UPath shows of itself."""

    def __init__(self, filesystem, path):
        self.fs, self.path = filesystem, path


@pytest.mark.parametrize("given", ["/a/b.lance", Path("/a/b.lance"), PurePosixPath("/a/b.lance"), "file:///a/b.lance"])
def test_local_paths(given):
    place = resolve(given)
    assert isinstance(place.filesystem, LocalFileSystem)
    assert (place.path, str(place)) == ("/a/b.lance", "/a/b.lance")


def test_a_local_file_whose_name_looks_like_a_chain(tmp_path, monkeypatch):
    (tmp_path / "a::b").write_bytes(b"12345")
    assert open_source(str(tmp_path / "a::b")).size() == 5
    monkeypatch.chdir(tmp_path)
    assert open_source("a::b").size() == 5


def test_objects_with_a_filesystem():
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/like/upath", b"123")
    place = resolve(LikeUPath(memory, "/like/upath"))
    assert (place.filesystem, place.path) == (memory, "/like/upath")
    assert resolve(fsspec.open("memory://like/upath")).path == "/like/upath"
    assert open_source(LikeUPath(memory, "/like/upath")).size() == 3


def test_wrappers_come_off():
    memory = fsspec.filesystem("memory")
    place = resolve("c", DirFileSystem(path="/a/b", fs=memory))
    assert (place.filesystem, place.path) == (memory, "/a/b/c")
    tree = arrow_fs.SubTreeFileSystem("/a", arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(memory)))
    assert resolve("c", tree) == Location(memory, "/a/c")
    place = resolve("/x", arrow_fs.LocalFileSystem())
    assert isinstance(place.filesystem, LocalFileSystem)


def test_storage_options_reach_the_filesystem_and_no_text(tmp_path):
    options = {"simplecache": {"cache_storage": str(tmp_path), "password": "hush"}}
    place = resolve("simplecache::memory://x", storage_options=options)
    assert place.filesystem.storage[0] == str(tmp_path)
    assert "hush" not in f"{place} {place!r}"


@pytest.mark.parametrize(
    ("uri", "filesystem", "options"),
    [("a", "memory", None), (3, None, None), (b"a", None, None), ("a", fsspec.filesystem("memory"), {"key": "x"})],
)
def test_nonsense_is_refused(uri, filesystem, options):
    with pytest.raises(InvalidArgumentError):
        resolve(uri, filesystem, options)


@pytest.mark.parametrize(
    ("uri", "printed"),
    [
        ("sftp://me:secret@host:22/a@b", "sftp://host:22/a@b"),
        ("ftp://me:sec/ret@host/a", "ftp://host/a"),
        ("https://token@host/a?sig=secret&x", "https://host/a"),
        ("https://me:secret@host/a?sig=secret", "https://host/a"),
        ("https://host:80/a@b", "https://host:80/a@b"),
        ("https://host/a@b", "https://host/a@b"),
        ("s3://bucket/key@1", "s3://bucket/key@1"),
        ("abfs://container@account.host/a", "abfs://container@account.host/a"),
        ("zip://a.lance::https://me:secret@h/b.zip?t=secret", "zip://a.lance::https://h/b.zip"),
        ("memory://a?b", "memory://a?b"),
        ("ftp://me:p@ss@host/a", "ftp://host/a"),
        ("ftp://me:p@s/s@t@host/a", "ftp://s/s@t@host/a"),
        ("s3://key:sec:ret@bucket/a", "s3://bucket/a"),
        ("https://me:se?c#ret@host/a", "https://host/a"),
        ("https://host/a#token=secret", "https://host/a"),
        ("https://host/a;token=secret/b", "https://host/a"),
        ("https://host/a;v1/b", "https://host/a;v1/b"),
        ("abfs://me:secret@account.host/a", "abfs://account.host/a"),
        ("abfs://me:secret@container@account.host/a", "abfs://account.host/a"),
        ("abfss://container@account.host/a?sig=secret", "abfss://container@account.host/a"),
        ("HTTPS://me:secret@host/a", "HTTPS://host/a"),
        ("simplecache::https://me:p@ss@host/a?sig=secret", "simplecache::https://host/a"),
        ("/plain/me:x@y?z", "/plain/me:x@y?z"),
    ],
)
def test_no_credentials_are_printed(uri, printed):
    assert redact(uri) == printed
    assert Location(fsspec.filesystem("memory"), "p", uri).name == printed


def test_paths_that_are_urls_are_redacted_too():
    class Http(fsspec.AbstractFileSystem):
        protocol = ("http", "https")

    place = Location(Http(), "https://me:secret@host/a?sig=secret")
    assert str(place) == "https://host/a"
    assert "secret" not in repr(place)
    assert Location(Http(), "host/a?sig=secret").name == "http://host/a"
