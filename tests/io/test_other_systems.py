"""Local files where the system lacks what POSIX has, as Windows does: calls and flags are taken away."""

from __future__ import annotations

import errno
import importlib
import os
import sys

import pytest

from lance_arrow.errors import UnsupportedError
from lance_arrow.io import LocalSource, create_exclusively, local_source, location, open_sink, resolve
from lance_arrow.io.location import Location

CONTENT = b"first\nsecond\r\n\x1a rest"


@pytest.fixture
def bare(monkeypatch):
    """Take from `os` what Windows lacks."""
    for name in ("writev", "pread", "preadv", "fchmod", "register_at_fork", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY"):
        monkeypatch.delattr(os, name, raising=False)


def again(monkeypatch, name):
    """Import a module once more, under its own name, as if for the first time; the old one comes back afterwards."""
    old = sys.modules[name]
    monkeypatch.delitem(sys.modules, name)
    new = importlib.import_module(name)
    monkeypatch.setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], old)
    return new


def test_files_are_written_and_read_without_calls_of_posix(bare, monkeypatch, tmp_path):
    sinks = again(monkeypatch, "lance_arrow.io.local_sink")
    for content in (CONTENT, b"other"):
        with sinks.LocalSink(tmp_path / "a") as sink:
            for byte in content:
                sink.write(bytes([byte]))
        assert LocalSource(tmp_path / "a").read_end(100).tobytes() == content


def test_locks_need_no_forks(bare, monkeypatch):
    assert again(monkeypatch, "lance_arrow.io.fsspec_source").open_fsspec


def test_files_are_opened_as_bytes(monkeypatch, tmp_path):
    # Windows changes line ends without this flag, which other systems do not have.
    monkeypatch.setattr(os, "O_BINARY", 1 << 29, raising=False)
    flags = []
    real = os.open

    def opened(path, flag, *mode):
        flags.append(flag)
        return real(path, flag & ~(1 << 29), *mode)

    monkeypatch.setattr(os, "open", opened)
    again(monkeypatch, "lance_arrow.io.local_sink").LocalSink(tmp_path / "a").close()
    assert flags[0] & os.O_BINARY


def test_folders_that_cannot_be_opened_are_told_from_files(monkeypatch, tmp_path):
    def refused(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)

    monkeypatch.setattr(local_source, "open_file", refused)
    with pytest.raises(IsADirectoryError, match=r"lance_arrow\.dataset opens"):
        LocalSource(tmp_path)


def test_filesystems_of_windows_without_links_say_so(monkeypatch, tmp_path):
    class Refusal(OSError):
        winerror = 1  # ERROR_INVALID_FUNCTION: what FAT answers, as EINVAL

    def refused(*_):
        raise Refusal(errno.EINVAL, "Incorrect function")

    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(UnsupportedError, match="no hard links"):
        create_exclusively(resolve(str(tmp_path / "a")), b"1")
    assert os.listdir(tmp_path) == []


def test_paths_of_windows_have_slashes(monkeypatch):
    monkeypatch.setattr(location, "_SEPARATOR", "/")
    assert Location(None, "C:\\data\\x.lance").path == "C:\\data\\x.lance"
    monkeypatch.setattr(location, "_SEPARATOR", "\\")
    assert Location(None, "C:\\data\\x.lance").path == "C:/data/x.lance"
    assert resolve("C:\\data\\x.lance").path == "C:/data/x.lance"
    assert resolve("C:\\data\\x.lance").name == "C:\\data\\x.lance"


def test_a_sink_closes_before_it_renames(monkeypatch, tmp_path):
    # Windows renames and deletes no file that is open.
    descriptors = []
    real_open, real_close, real_replace = os.open, os.close, os.replace

    def opened(*arguments):
        descriptors.append(real_open(*arguments))
        return descriptors[-1]

    def closed(descriptor):
        if descriptor in descriptors:
            descriptors.remove(descriptor)
        real_close(descriptor)

    def replaced(*names):
        assert not descriptors
        real_replace(*names)

    for name, call in (("open", opened), ("close", closed), ("replace", replaced)):
        monkeypatch.setattr(os, name, call)
    with open_sink(tmp_path / "a") as sink:
        sink.write(b"1")
    assert (tmp_path / "a").read_bytes() == b"1"
