"""What a store of obstore does as a filesystem: list, create if absent, copy, rename, remove, stream."""

from __future__ import annotations

import asyncio
import datetime
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bucket_server import BUCKET, Bucket, bucket
from obstore.fsspec import FsspecStore
from obstore.store import HTTPStore, LocalStore, MemoryStore
from pyarrow import fs as arrow_fs

from lance_arrow.errors import InvalidArgumentError, StoreTimeoutError, UnsupportedError
from lance_arrow.io import (
    Location,
    can_create_exclusively,
    create_exclusively,
    file_exists,
    list_first,
    list_folders,
    list_names,
    list_sizes,
    list_tree,
    obstore_filesystem,
    obstore_stores,
    open_sink,
    read_small_files,
    read_whole,
    remove_file,
    remove_files,
    remove_tree,
    resolve,
    write_file,
)

KINDS: dict[str, Callable[[Bucket], tuple[Any, str]]] = {
    "s3": lambda server: (server.store(), ""),
    "s3 with a prefix": lambda server: (server.store(prefix="deep/er"), ""),
    "fsspec": lambda server: (
        FsspecStore(
            "s3", endpoint=server.endpoint, access_key_id="key", secret_access_key="secret", region="us-east-1",
            client_options={"allow_http": True},
        ),
        f"{BUCKET}/",
    ),
    "local": lambda server: (LocalStore(str(server.folder)), ""),
    "fsspec of a disk": lambda server: (FsspecStore("file"), f"{server.folder}/"),
    "memory": lambda _: (MemoryStore(), ""),
}  # fmt: skip
NAMES = ["a1/x", "a[1]/deep/x", "b/x", "file", "k=ü ä/50% #1?.lance"]
WRITERS = 8


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Bucket]:
    with bucket(tmp_path) as started:
        yield started


@pytest.fixture(params=KINDS)
def root(server: Bucket, request: pytest.FixtureRequest) -> Location:
    """A folder that does not exist yet."""
    store, before = KINDS[request.param](server)
    return resolve(f"{before}root", store)


def filled(root: Location) -> Location:
    for name in NAMES:
        write_file(root.at(f"{root.path}/{name}"), name.encode())
    return root


def test_files_and_folders_are_listed(root: Location) -> None:
    assert list_folders(root.filesystem, root.path) == []
    filled(root)
    assert list_folders(root.filesystem, root.path) == ["a1", "a[1]", "b", "k=ü ä"]
    assert list_names(root.filesystem, root.path) == ["file"]
    assert list_sizes(root.filesystem, root.path) == {"file": 4}
    assert list_names(root.filesystem, f"{root.path}/file") == []
    found = list_tree(root.filesystem, root.path)
    assert list(found) == NAMES
    assert [one.size_bytes for one in found.values()] == [len(name.encode()) for name in NAMES]
    # Cleanup compares times: a listing without them would keep or remove wrongly.
    assert all(isinstance(one.modified, datetime.datetime) for one in found.values())


def test_files_are_read_whole(root: Location) -> None:
    filled(root)
    for name in NAMES:
        assert read_whole(root.at(f"{root.path}/{name}"), 1000) == name.encode()
    paths = [f"{root.path}/{name}" for name in [*NAMES, "absent"]]
    sizes = [len(name.encode()) for name in NAMES]
    data, starts, flags = read_small_files(
        root.filesystem, paths, np.array([*sizes, 5]), lambda call, numbers: [call(one) for one in numbers], 1
    )
    assert flags.tolist() == [1] * len(NAMES) + [0]
    assert [bytes(data[at : at + size]) for at, size in zip(starts.tolist(), sizes, strict=False)] == [
        name.encode() for name in NAMES
    ]


def test_files_are_removed(root: Location) -> None:
    filled(root)
    # A name with brackets is no pattern.
    remove_tree(root.filesystem, f"{root.path}/a[1]")
    remove_file(root.at(f"{root.path}/absent"))
    remove_file(root.at(f"{root.path}/file"))
    remove_files(root.filesystem, root.path, ["b/x", "absent", "a1/x"])
    assert list(list_tree(root.filesystem, root.path)) == [NAMES[-1]]


def test_fsspec_operations(root: Location) -> None:
    filesystem, path = root.filesystem, filled(root).path
    assert [filesystem.isfile(f"{path}/file"), filesystem.isdir(path), filesystem.exists(f"{path}/file")] == [True] * 3
    assert not filesystem.exists(f"{path}/absent")
    filesystem.mv(f"{path}/file", f"{path}/moved")
    filesystem.cp_file(f"{path}/moved", f"{path}/copied")
    assert filesystem.cat_file(f"{path}/moved") == filesystem.cat_file(f"{path}/copied") == b"file"
    assert (filesystem.cat_file(f"{path}/moved", 1), filesystem.cat_file(f"{path}/moved", -2)) == (b"ile", b"le")
    assert filesystem.cat_file(f"{path}/moved", 2, 2) == b""
    assert not filesystem.exists(f"{path}/file")
    assert filesystem.glob(f"{path}/*ed") == [f"{path}/copied", f"{path}/moved"]
    assert filesystem.cat_ranges([f"{path}/moved", f"{path}/b/x"], [0, 1], [2, 3]) == [b"fi", b"/x"]
    answers = filesystem.cat_ranges([f"{path}/moved", f"{path}/absent"], [0, 1], [2, 3], on_error="return")
    assert answers[0] == b"fi"
    assert isinstance(answers[1], FileNotFoundError)
    with pytest.raises(FileNotFoundError, match="absent"):
        filesystem.cat_file(f"{path}/absent")
    with pytest.raises(InvalidArgumentError, match="'rb' or 'wb'"):
        filesystem.open(f"{path}/file", "ab")


def test_views_are_answers_or_what_went_wrong(root: Location) -> None:
    filesystem, path = root.filesystem, filled(root).path
    names = [f"{path}/{name}" for name in ("file", "absent", "b/x", "file")]
    found = filesystem.read_views(names, [0, 0, 1, 2], [4, 4, 3, 2])
    assert [bytes(found[number]) for number in (0, 2, 3)] == [b"file", b"/x", b""]
    assert isinstance(found[1], FileNotFoundError)


def test_several_event_loops_ask_for_many_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"file")
    with bucket(tmp_path) as server:
        filesystem = obstore_filesystem.as_filesystem(server.store())

        async def many() -> list[list[bytes]]:
            # More than may be in flight: some wait.
            return await asyncio.gather(*[filesystem._cat_ranges(["file"] * 60, 0, 4) for _ in range(3)])

        expected = [[b"file"] * 60] * 3
        assert obstore_stores.run(many(), None) == expected
        assert asyncio.run(many()) == expected


def test_files_without_an_answer_have_an_error_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"file")
    monkeypatch.setenv("LANCE_ARROW_READ_SECONDS", "0.3")
    with bucket(tmp_path, seconds=5) as slow:
        filesystem = obstore_filesystem.as_filesystem(slow.store())
        started = time.monotonic()
        found = filesystem.read_views(["file"] * 200, [0] * 200, [4] * 200)
        assert time.monotonic() - started < 3
        assert [(type(one), one.path) for one in found] == [(StoreTimeoutError, f"s3://{BUCKET}/file")] * 200


@pytest.mark.parametrize("stops", ["late", "interrupted"])
def test_who_stops_waiting_cancels(monkeypatch: pytest.MonkeyPatch, stops: str) -> None:
    begun, ended = threading.Event(), threading.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    def interrupt(_: float | None) -> float:
        assert begun.wait(5)
        raise KeyboardInterrupt

    if stops == "interrupted":
        monkeypatch.setattr(obstore_stores, "_left", interrupt)
    with pytest.raises(TimeoutError if stops == "late" else KeyboardInterrupt):
        obstore_stores.run(work(), 0.2)
    assert ended.wait(5)


def test_files_are_copied_from_and_to_a_disk(root: Location, tmp_path: Path) -> None:
    (tmp_path / "here").write_bytes(b"content")
    root.filesystem.put_file(str(tmp_path / "here"), f"{root.path}/there")
    root.filesystem.get_file(f"{root.path}/there", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == b"content"


def test_pyarrow_reads_and_writes(root: Location) -> None:
    files = arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(root.filesystem))
    with files.open_output_stream(f"{root.path}/x") as out:
        out.write(b"some bytes")
    with files.open_input_file(f"{root.path}/x") as file:
        assert (file.size(), file.read_at(5, 5)) == (10, b"bytes")
    (found,) = files.get_file_info(arrow_fs.FileSelector(root.path))
    assert (found.base_name, found.size, found.is_file) == ("x", 10, True)


@pytest.mark.parametrize("num_bytes", [0, 10, 25 << 20])
@pytest.mark.parametrize("kind", ["local", "memory"])
def test_a_file_appears_when_it_is_closed(server: Bucket, kind: str, num_bytes: int) -> None:
    store, before = KINDS[kind](server)
    place = resolve(f"{before}sunk", store)
    data = bytes(range(256)) * (num_bytes // 256) + bytes(num_bytes % 256)
    with open_sink(place) as sink:
        for start in range(0, len(data), 7 << 20):
            sink.write(data[start : start + (7 << 20)])
        assert not file_exists(place)
    assert place.filesystem.cat_file(place.path) == data
    aborted = open_sink(place.at("aborted"))
    aborted.write(data)
    aborted.abort()
    assert list_names(place.filesystem, "") == ["sunk"]


def test_a_refused_upload_is_one_error(server: Bucket) -> None:
    server.refusal = lambda request: 403 if request.startswith("PUT") else None
    sink = open_sink(resolve("refused", server.store()))
    sink.write(b"x" * 1000)
    with pytest.raises(PermissionError, match="refused") as caught:
        sink.close()
    assert not getattr(caught.value, "__notes__", [])


def test_a_file_is_created_once(root: Location) -> None:
    place = root.at(f"{root.path}/one")
    assert can_create_exclusively(root.filesystem)
    assert create_exclusively(place, b"first")
    assert not create_exclusively(place, b"second")
    assert root.filesystem.cat_file(place.path) == b"first"


@pytest.mark.share(2)
def test_one_writer_of_many_creates_a_file(root: Location) -> None:
    together = threading.Barrier(WRITERS)
    won: list[tuple[int, int]] = []

    def write(writer: int) -> None:
        for number in range(10):
            together.wait()
            if create_exclusively(root.at(f"{root.path}/{number}"), f"{writer}".encode()):
                won.append((number, writer))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number for number, _ in won) == list(range(10))
    for number, writer in won:
        assert root.filesystem.cat_file(f"{root.path}/{number}") == f"{writer}".encode()


def test_http_has_no_conditional_put(server: Bucket) -> None:
    place = resolve("x", HTTPStore(f"{server.endpoint}/{BUCKET}", client_options={"allow_http": True}))
    assert not can_create_exclusively(place.filesystem)
    with pytest.raises(UnsupportedError, match="atomically"):
        create_exclusively(place, b"x")


def test_the_first_names_take_one_request(server: Bucket) -> None:
    for number in range(50):
        (server.folder / "many").mkdir(exist_ok=True)
        (server.folder / "many" / f"{number:02}").write_bytes(b"x")
    place = resolve("many", server.store())
    found = list_first(place.filesystem, place.path, 3)
    assert found == ({"00": 1, "01": 1, "02": 1}, False)
    assert list_first(place.filesystem, place.path, 3, after="47") == ({"48": 1, "49": 1}, True)
    assert list_first(place.filesystem, "none", 3) == ({}, True)
    assert server.requests == ["LIST"] * 3
    assert list_first(resolve("many", LocalStore(str(server.folder))).filesystem, "many", 3) is None


def test_the_same_object_gives_the_same_filesystem(server: Bucket) -> None:
    store = server.store()
    first, second = resolve("a", store), resolve("a", store)
    assert (first, hash(first)) == (second, hash(second))
    assert first.filesystem is second.filesystem
    assert resolve("a", server.store()) == first
    assert resolve("a", server.store(session_token="x")) != first
    assert pickle.loads(pickle.dumps(first.filesystem)) == first.filesystem
    assert resolve("a", MemoryStore()) != resolve("a", MemoryStore())


def test_names_are_printed_without_secrets(server: Bucket) -> None:
    assert resolve("a/b", server.store(prefix="p")).name == "s3://bucket/p/a/b"
    with_user = HTTPStore("http://user:word@127.0.0.1/x?sig=secret", client_options={"allow_http": True})
    assert resolve("a", with_user).name == "http://127.0.0.1/x/a"
    assert "secret" not in repr(resolve("a", server.store()).filesystem)
