"""Sinks on the local filesystem: links and permissions, several writers, processes that fork or die, full disks."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from fsspec.implementations.local import LocalFileSystem
from full_disks import no_file_above

from lance_arrow.io import StreamSink, create_exclusively, open_sink, resolve
from lance_arrow.io.local_sink import LocalSink

OLD = b"an older file"


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_folders_are_made_only_where_the_filesystem_says_so(tmp_path):
    with open_sink(tmp_path / "x" / "y" / "a.lance", filesystem=LocalFileSystem(auto_mkdir=True)) as sink:
        sink.write(b"1")
    assert (tmp_path / "x" / "y" / "a.lance").read_bytes() == b"1"


def test_links_and_permissions_survive(tmp_path):
    real = tmp_path / "real.lance"
    real.write_bytes(OLD)
    real.chmod(0o640)
    link = tmp_path / "link.lance"
    link.symlink_to(real)
    with open_sink(link) as sink:
        sink.write(b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    umask = os.umask(0o027)
    try:
        open_sink(tmp_path / "fresh").close()
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640


def test_long_names_and_two_writers(tmp_path):
    path = tmp_path / ("n" * 250)
    with open_sink(path) as first, open_sink(path) as second:
        assert all(name.startswith(".") for name in names(tmp_path))
        assert len(names(tmp_path)) == 2
        first.write(b"1")
        second.write(b"2")
    # The outer one closes last.
    assert path.read_bytes() == b"1"
    assert names(tmp_path) == [path.name]


def test_a_forgotten_sink_leaves_nothing(tmp_path):
    sink = open_sink(tmp_path / "a")
    sink.write(b"x")
    del sink
    assert names(tmp_path) == []


@pytest.mark.parametrize("way", ["forgets", "aborts"])
def test_a_child_process_does_not_clean_up_for_its_parent(tmp_path, way):
    sink = open_sink(tmp_path / "a")
    child = os.fork()
    if child == 0:
        if way == "aborts":
            sink.abort()
        del sink
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0
    sink.write(b"whole")
    sink.close()
    assert (tmp_path / "a").read_bytes() == b"whole"


def test_a_killed_process_leaves_the_older_file(tmp_path):
    script = """
        import sys
        from lance_arrow.io import open_sink

        with open_sink(sys.argv[1]) as sink:
            while True:
                sink.write(bytes(1 << 20))
                print(sink.position, flush=True)
    """
    path = tmp_path / "a.lance"
    for before in (None, OLD):
        if before is not None:
            path.write_bytes(before)
        command = [sys.executable, "-c", textwrap.dedent(script), str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            time.sleep(0.02)
            child.kill()
        visible = [name for name in names(tmp_path) if not name.startswith(".")]
        assert visible == ([] if before is None else ["a.lance"])
        assert before is None or path.read_bytes() == before


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    place = resolve(tmp_path / "f")
    with no_file_above(1000):
        with pytest.raises(OSError) as sunk, open_sink(tmp_path / "f") as sink:
            sink.write(b"x" * 3000)
        with pytest.raises(OSError) as made:
            create_exclusively(place, b"x" * 3000)
        with (
            open(tmp_path / "s", "wb", buffering=0) as stream,
            pytest.raises(OSError) as streamed,
            StreamSink(stream, name="some stream") as sink,
        ):
            sink.write(b"x" * 3000)
    assert sunk.value.filename == made.value.filename == str(tmp_path / "f")
    assert streamed.value.filename == "some stream"
    assert os.listdir(tmp_path) == ["s"]


def test_a_folder_above_a_linked_one_is_that_of_its_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "far" / "real").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "real")
    monkeypatch.chdir(tmp_path)
    with LocalSink("link/../x") as sink:
        # The file appears where it was begun.
        monkeypatch.chdir("/")
        sink.write(b"content")
    assert (tmp_path / "far" / "x").read_bytes() == b"content"
    assert [one.name for one in (tmp_path / "far").iterdir() if one.is_file()] == ["x"]
