"""Objects of obstore's stores as byte sources: one request to open, ranges together, errors of the operating system."""

from __future__ import annotations

import multiprocessing
import pickle
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bucket_server import BUCKET, Bucket, bucket
from obstore.fsspec import FsspecStore
from obstore.store import HTTPStore, LocalStore, MemoryStore
from outside import run

from lance_arrow.errors import (
    FileChangedError,
    InvalidArgumentError,
    StoreError,
    StoreRefusedError,
    TruncatedReadError,
    UnsupportedError,
)
from lance_arrow.io import RangeSource, open_source, read_coalesced, read_end

CONTENT = np.random.default_rng(2).integers(0, 256, 900_000, np.uint8).tobytes()
PLACES = [(150_000, 150_100), (0, 10), (5, 5), (899_990, 900_000), (5, 5000)]
PLAIN = {"allow_http": True}
ONCE = {"max_retries": 0}


def at(*places: tuple[int, int]) -> tuple[Any, Any]:
    both = np.array(places, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Bucket]:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "data").write_bytes(CONTENT)
    (tmp_path / "empty").write_bytes(b"")
    with bucket(tmp_path) as started:
        yield started


def of_bucket(server: Bucket) -> FsspecStore:
    return FsspecStore(
        "s3", endpoint=server.endpoint, access_key_id="key", secret_access_key="secret", region="us-east-1",
        client_options=PLAIN, retry_config=ONCE,
    )  # fmt: skip


def in_memory(_: Bucket) -> MemoryStore:
    store = MemoryStore()
    store.put("folder/data", CONTENT)
    store.put("empty", b"")
    return store


KINDS: dict[str, Callable[[Bucket], Any]] = {
    "s3": lambda server: server.store(retry_config=ONCE),
    "s3 with a prefix": lambda server: server.store(prefix="folder", retry_config=ONCE),
    "fsspec": of_bucket,
    "http": lambda server: HTTPStore(f"{server.endpoint}/{BUCKET}", client_options=PLAIN, retry_config=ONCE),
    "local": lambda server: LocalStore(str(server.folder)),
    "memory": in_memory,
}


def path_in(kind: str, path: str) -> str:
    if kind == "s3 with a prefix":
        return path.removeprefix("folder/")
    return f"{BUCKET}/{path}" if kind == "fsspec" else path


@pytest.mark.parametrize("kind", KINDS)
def test_ranges_are_read(server: Bucket, kind: str) -> None:
    source = open_source(path_in(kind, "folder/data"), filesystem=KINDS[kind](server))
    assert isinstance(source, RangeSource)
    assert source.size() == len(CONTENT)
    for read in (source.read, lambda starts, stops: read_coalesced(source, starts, stops)):
        pieces = read(*at(*PLACES))
        assert [piece.tobytes() for piece in pieces] == [CONTENT[start:stop] for start, stop in PLACES]
        assert not any(piece.flags.writeable for piece in pieces)
    with pytest.raises(TruncatedReadError):
        source.read(*at((0, len(CONTENT) + 1)))
    source.close()
    with pytest.raises(InvalidArgumentError, match="closed"):
        source.read(*at((0, 1)))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "s3 with a prefix"])
def test_an_empty_object(server: Bucket, kind: str) -> None:
    source = open_source(path_in(kind, "empty"), filesystem=KINDS[kind](server))
    assert source.size() == 0
    assert len(read_end(source, 100)) == 0


def test_opening_is_one_request_and_has_the_end(server: Bucket) -> None:
    source = open_source("folder/data", filesystem=server.store())
    assert server.requests == ["GET folder/data"]
    size = source.size()
    assert read_end(source, source.coalescing.tail_bytes).tobytes() == CONTENT[-source.coalescing.tail_bytes :]
    assert source.identity() is not None
    assert source.kept_from == size - source.coalescing.tail_bytes
    assert server.requests == ["GET folder/data"]


def test_a_known_size_takes_no_request(server: Bucket) -> None:
    source = open_source("folder/data", filesystem=server.store(), size_bytes=len(CONTENT))
    assert server.requests == []
    assert source.read(*at((7, 9)))[0].tobytes() == CONTENT[7:9]
    assert server.requests == ["GET folder/data"]


@pytest.mark.parametrize("count", [2, 9, 10, 11, 25, 100])
def test_each_range_is_one_request(server: Bucket, count: int) -> None:
    source = open_source("folder/data", filesystem=server.store(), size_bytes=len(CONTENT))
    starts = np.arange(count, dtype=np.int64) * 8000
    pieces = source.read(starts, starts + 100)
    assert [piece.tobytes() for piece in pieces] == [CONTENT[start : start + 100] for start in starts.tolist()]
    assert server.sent == [100] * count


def test_all_ranges_of_a_read_are_in_flight(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(CONTENT)
    with bucket(tmp_path, seconds=0.4) as slow:
        source = open_source("data", filesystem=slow.store(), size_bytes=len(CONTENT))
        starts = np.arange(100, dtype=np.int64) * 8000
        begun = time.perf_counter()
        source.read(starts, starts + 100)
        # Ten at a time would take 4 seconds.
        assert time.perf_counter() - begun < 2


@pytest.mark.parametrize("count", [2, 3, 10, 21])
def test_neighbours_stay_separate_requests(server: Bucket, count: int) -> None:
    source = open_source("folder/data", filesystem=server.store(), size_bytes=len(CONTENT))
    starts = np.arange(count, dtype=np.int64) * 1000
    pieces = source.read(starts, starts + 1000)
    assert b"".join(piece.tobytes() for piece in pieces) == CONTENT[: 1000 * count]
    assert server.sent == [1000] * count


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "s3 with a prefix"])
def test_what_is_missing_is_named(server: Bucket, kind: str) -> None:
    store = KINDS[kind](server)
    with pytest.raises(FileNotFoundError, match=r"folder/absent"):
        open_source(path_in(kind, "folder/absent"), filesystem=store)
    with pytest.raises(FileNotFoundError if kind == "http" else IsADirectoryError, match="folder"):
        open_source(path_in(kind, "folder"), filesystem=store)
    known = open_source(path_in(kind, "folder/absent"), filesystem=store, size_bytes=5)
    with pytest.raises(FileNotFoundError, match=r"folder/absent"):
        known.read(*at((0, 5)))


@pytest.mark.parametrize(
    ("status", "expected"),
    [(403, StoreRefusedError), (401, StoreRefusedError), (404, FileNotFoundError), (500, StoreError)],
)
@pytest.mark.parametrize("kind", ["s3", "http"])
def test_refusals_have_their_types(server: Bucket, kind: str, status: int, expected: type[OSError]) -> None:
    server.refusal = lambda request: None if request == "LIST" else status
    with pytest.raises(expected) as caught:
        open_source("folder/data", filesystem=KINDS[kind](server))
    assert "folder/data" in str(caught.value)
    assert type(caught.value) is expected
    if status == 500:
        assert "500" in str(caught.value)
    assert "Debug source" not in str(caught.value)


def test_a_shorter_object_is_truncated(server: Bucket) -> None:
    for size in (0, 1000):
        source = open_source("folder/data", filesystem=server.store(), size_bytes=len(CONTENT))
        (server.folder / "folder" / "data").write_bytes(CONTENT[:size])
        with pytest.raises(FileChangedError if size else TruncatedReadError):
            source.read(*at((500, 1500), (800_000, 800_100)))


def test_identity_changes_with_the_content(server: Bucket) -> None:
    store = server.store()
    found = [open_source("folder/data", filesystem=store).identity() for _ in range(2)]
    assert found[0] == found[1] is not None
    assert open_source("empty", filesystem=store).identity() != found[0]
    assert open_source("folder/data", filesystem=store, size_bytes=len(CONTENT)).identity() == found[0]
    (server.folder / "folder" / "data").write_bytes(CONTENT)
    assert open_source("folder/data", filesystem=store).identity() != found[0]


def test_stores_of_other_credentials_are_others(server: Bucket) -> None:
    one, other = server.store(), server.store(session_token="token")
    assert repr(one) == repr(other)
    found = {open_source("folder/data", filesystem=store).identity() for store in (one, other, server.store())}
    assert len(found) == 2
    assert open_source("folder/data", filesystem=pickle.loads(pickle.dumps(one))).identity() in found


def test_two_stores_in_memory_are_two(server: Bucket) -> None:
    one, other = in_memory(server), in_memory(server)
    sources = [open_source("folder/data", filesystem=store) for store in (one, other, one)]
    first, second, third = (source.identity() for source in sources)
    assert first == third != second


def test_a_url_with_a_store_is_refused(server: Bucket) -> None:
    with pytest.raises(InvalidArgumentError, match="not a URL"):
        open_source("s3://bucket/folder/data", filesystem=server.store())
    with pytest.raises(UnsupportedError, match="drops the query") as caught:
        open_source(f"{server.endpoint}/bucket/x?sig=secret", filesystem=FsspecStore("http", client_options=PLAIN))
    assert "secret" not in str(caught.value)


# In a process of its own: others may have changed what a signal does.
WAIT = """
import os, signal, sys, threading, time
import numpy as np
from obstore.store import S3Store
from lance_arrow.io import open_source
# Who runs tests in the background may have them ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
store = S3Store(
    sys.argv[1], endpoint=sys.argv[2], region="us-east-1", access_key_id="key", secret_access_key="secret",
    client_options={"allow_http": True},
)
source = open_source("data", filesystem=store, size_bytes=1000)
begun = time.perf_counter()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    source.read(np.array([0]), np.array([10]))
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - begun < 10, flush=True)
    os._exit(0)
"""


def test_a_wait_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(CONTENT)
    with bucket(tmp_path, seconds=20) as slow:
        done = run(WAIT, BUCKET, slow.endpoint)
    assert done.stdout.split() == ["interrupted", "True"], done.stderr


def _read_in_a_child(source: RangeSource, told: Any) -> None:
    try:
        source.read(*at((0, 10)))
    except UnsupportedError as error:
        told.put(str(error))
    else:
        told.put("read")


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_is_told(server: Bucket) -> None:
    source = open_source("folder/data", filesystem=server.store())
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    child = context.Process(target=_read_in_a_child, args=(source, told))
    child.start()
    assert "do not survive a fork" in told.get(timeout=30)
    child.join(30)


# The answer is used as soon as it is sent, when the thread that sent it has not returned yet.
LEAVE = """
import time
import obstore
from fsspec.asyn import get_loop
from lance_arrow.io import open_source
store = obstore.store.MemoryStore()
store.put("data", b"some bytes")
loop = get_loop()
own = loop._csock
class SlowToReturn:
    def send(self, data):
        sent = own.send(data)
        time.sleep(0.2)
        return sent
loop._csock = SlowToReturn()
print(open_source("data", filesystem=store).size())
"""


def test_a_process_ends_while_a_thread_of_the_store_is_in_python() -> None:
    done = run(LEAVE)
    assert (done.returncode, done.stdout.strip()) == (0, "10"), done.stderr
