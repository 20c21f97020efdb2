"""Files of pyarrow filesystems, and buffers."""

import uuid

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs as arrow_fs

from lance_arrow.errors import InvalidArgumentError, TruncatedReadError
from lance_arrow.io import BufferSource, LocalSource, RangeSource, open_source, read_coalesced
from lance_arrow.io.arrow_source import ArrowSource
from lance_arrow.io.fsspec_source import FsspecSource

CONTENT = np.random.default_rng(3).integers(0, 256, 50_000, np.uint8).tobytes()
PLACES = [(40_000, 40_100), (0, 10), (5, 5), (5, 5000)]


def _at(*places):
    both = np.array(places, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _check(source):
    assert isinstance(source, RangeSource)
    assert source.size() == len(CONTENT)
    for pieces in (source.read(*_at(*PLACES)), read_coalesced(source, *_at(*PLACES))):
        assert [piece.tobytes() for piece in pieces] == [CONTENT[start:stop] for start, stop in PLACES]
        assert not any(piece.flags.writeable for piece in pieces)
    with pytest.raises(TruncatedReadError):
        source.read(*_at((0, len(CONTENT) + 1)))
    source.close()
    with pytest.raises(InvalidArgumentError, match="closed"):
        source.read(*_at((0, 1)))


class OwnHandler(arrow_fs.FileSystemHandler):
    """A filesystem in Python with one file."""

    def __init__(self, content=CONTENT, mtime=5.0):
        self.content, self.promised, self.mtime = content, len(CONTENT), mtime

    def get_type_name(self):
        return "own"

    def normalize_path(self, path):
        return path

    def get_file_info(self, paths):
        kinds = {"data": arrow_fs.FileType.File, "folder": arrow_fs.FileType.Directory}
        return [
            arrow_fs.FileInfo(path, kinds.get(path, arrow_fs.FileType.NotFound), mtime=self.mtime, size=self.promised)
            for path in paths
        ]

    def open_input_file(self, path):
        return pa.PythonFile(Shrinking(self.content, self.promised), mode="r")

    def _unused(self, *args):
        raise OSError("read only")

    get_file_info_selector = create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _unused
    delete_file = move = copy_file = open_input_stream = open_output_stream = open_append_stream = _unused


class Shrinking:
    """A file that promises more than it has, unless the two agree."""

    closed = False

    def __init__(self, content, promised):
        self.content, self.promised, self.at = content, promised, 0

    def seekable(self):
        return True

    def seek(self, at, whence=0):
        self.at = self.promised + at if whence == 2 else at
        return self.at

    def tell(self):
        return self.at

    def read(self, size=None):
        part = self.content[self.at : self.at + size]
        self.at += len(part)
        return part

    def close(self):
        self.closed = True


@pytest.fixture
def file(tmp_path):
    (tmp_path / "data").write_bytes(CONTENT)
    return tmp_path / "data"


def test_local(file):
    source = open_source(str(file), filesystem=arrow_fs.LocalFileSystem())
    assert isinstance(source, LocalSource)
    _check(source)


def test_subtree_of_local(file):
    tree = arrow_fs.SubTreeFileSystem(str(file.parent), arrow_fs.LocalFileSystem())
    source = open_source("data", filesystem=tree)
    assert isinstance(source, LocalSource)
    assert source.name == str(file)
    _check(source)


def test_fsspec_behind_pyarrow_comes_out():
    memory = fsspec.filesystem("memory")
    folder = f"/{uuid.uuid4().hex}"
    memory.pipe_file(f"{folder}/data", CONTENT)
    wrapped = arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(memory))
    for filesystem, path in ((wrapped, f"{folder}/data"), (arrow_fs.SubTreeFileSystem(folder, wrapped), "data")):
        source = open_source(path, filesystem=filesystem)
        assert isinstance(source, FsspecSource)
        assert source.name == f"memory://{folder}/data"
        _check(source)


def test_any_other_filesystem():
    filesystem = arrow_fs.PyFileSystem(OwnHandler())
    source = open_source("data", filesystem=filesystem)
    assert isinstance(source, ArrowSource)
    assert source.name == "py::own://data"
    identity = source.identity()
    _check(source)
    assert identity is not None
    assert open_source("data", filesystem=arrow_fs.PyFileSystem(OwnHandler(mtime=6.0))).identity() != identity
    assert open_source("data", filesystem=arrow_fs.PyFileSystem(OwnHandler(mtime=None))).identity() is None
    unpicklable = OwnHandler()
    unpicklable.extra = lambda: None
    assert open_source("data", filesystem=arrow_fs.PyFileSystem(unpicklable)).identity() is None


def test_missing_and_directory():
    filesystem = arrow_fs.PyFileSystem(OwnHandler())
    with pytest.raises(FileNotFoundError):
        open_source("absent", filesystem=filesystem)
    with pytest.raises(IsADirectoryError):
        open_source("folder", filesystem=filesystem)
    with pytest.raises(FileNotFoundError):
        open_source("/absent", filesystem=arrow_fs.LocalFileSystem())


def test_short_answers():
    source = open_source("data", filesystem=arrow_fs.PyFileSystem(OwnHandler(content=CONTENT[:100])))
    with pytest.raises(TruncatedReadError) as caught:
        source.read(*_at((0, 10), (90, 110)))
    assert caught.value.byte_range == (90, 110)


@pytest.mark.parametrize(
    "make", [bytes, bytearray, memoryview, pa.py_buffer, lambda content: np.frombuffer(content, np.uint16)]
)
def test_buffers(make):
    source = open_source(make(CONTENT))
    assert isinstance(source, BufferSource)
    assert source.identity() is None
    _check(source)


def test_an_empty_buffer():
    assert open_source(b"").size() == 0


def test_an_open_source_is_taken_as_it_is():
    source = BufferSource(b"x")
    assert open_source(source) is source
