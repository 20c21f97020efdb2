"""How versions are made: who is first decides the filesystem, a plugin, or nobody."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import fs as arrow_fs

from lance_arrow import LanceTable
from lance_arrow.errors import CommitConflictError, PluginContractError, TableExistsError, UnsupportedError
from lance_arrow.io import Location, can_create_exclusively, create_exclusively, exclusive
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import hookimpl
from lance_arrow.spi.commits import CommitAttempt, CommitStrategy, LockedCommit, TablePlace
from lance_arrow.table.strategies import ExclusiveCreate, SingleWriter, choose_strategy

ROWS = pa.table({"id": [1, 2, 3]})


class PlainFileSystem(MemoryFileSystem):
    """Promises nothing: it is no memory filesystem as far as anybody can tell."""

    protocol = "plain"
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self.store = {}  # type: ignore[misc]
        self.pseudo_dirs = [""]  # type: ignore[misc]


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> PlainFileSystem:
    monkeypatch.setattr(exclusive, "_is_in_memory", lambda filesystem: False)
    return PlainFileSystem()


def test_local_files_appear_whole_or_not(tmp_path: Path) -> None:
    place = Location(LocalFileSystem(), str(tmp_path / "a.bin"))
    assert can_create_exclusively(place.filesystem)
    assert create_exclusively(place, b"first")
    assert not create_exclusively(place, b"second")
    assert (tmp_path / "a.bin").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_one_of_many_threads_is_first(tmp_path: Path, kind: str) -> None:
    filesystem = LocalFileSystem() if kind == "local" else MemoryFileSystem()
    folder = str(tmp_path) if kind == "local" else f"/{tmp_path.name}"
    start = threading.Barrier(8)
    won: list[tuple[int, int]] = []

    def work(number: int) -> None:
        start.wait()
        for name in range(20):
            if create_exclusively(Location(filesystem, f"{folder}/{name}"), bytes([number])):
                won.append((name, number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(name for name, _ in won) == list(range(20))
    assert all(filesystem.cat_file(f"{folder}/{name}") == bytes([number]) for name, number in won)


def test_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(UnsupportedError, match="no hard links"):
        create_exclusively(Location(LocalFileSystem(), str(tmp_path / "a.bin")), b"x")
    with pytest.raises(UnsupportedError, match="no hard links"):
        LanceTable.create(tmp_path / "t.lance", ROWS)
    assert not [name for _, _, names in os.walk(tmp_path) for name in names]
    table = LanceTable.create(tmp_path / "t.lance", ROWS, unsafe_single_writer=True)
    table.append(ROWS)
    assert LanceTable.open(tmp_path / "t.lance").version == 2
    assert not [name for _, _, names in os.walk(tmp_path) for name in names if name.startswith(".")]


class Store(AbstractFileSystem):
    """A store of objects with conditional put, or one that ignores the condition."""

    protocol = "store"
    cachable = False

    def __init__(self, *, ignores: bool = False, racing: int = 0) -> None:
        super().__init__()
        self.objects: dict[str, bytes] = {}
        self.ignores = ignores
        self.racing = racing
        self.puts = 0

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        self.puts += 1
        if self.racing and "probe" not in path:
            self.racing -= 1
            raise OSError("ConditionalRequestConflict: a conflicting operation is under way")
        if mode == "create" and path in self.objects and not self.ignores:
            raise FileExistsError(path)
        self.objects[path] = value

    def rm_file(self, path: str) -> None:
        del self.objects[path]


def test_conditional_put(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(exclusive._CONDITIONAL, f"{Store.__module__}.{Store.__qualname__}", {"mode": "create"})
    store = Store()
    assert can_create_exclusively(store)
    assert create_exclusively(Location(store, "bucket/a"), b"first")
    assert not create_exclusively(Location(store, "bucket/a"), b"second")
    assert store.objects == {"bucket/a": b"first"}
    # The store was put to the test once.
    assert store.puts == 4
    racing = Store(racing=1)
    assert not create_exclusively(Location(racing, "bucket/a"), b"x")
    assert create_exclusively(Location(racing, "bucket/a"), b"x")
    with pytest.raises(UnsupportedError, match="ignores the condition"):
        create_exclusively(Location(Store(ignores=True), "bucket/a"), b"x")
    # Each bucket is: others may be on other servers.
    assert create_exclusively(Location(store, "other/a"), b"first")
    assert store.puts == 7


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("s3fs.core.S3FileSystem", {"mode": "create"}),
        ("gcsfs.core.GCSFileSystem", {"mode": "create"}),
        ("adlfs.spec.AzureBlobFileSystem", {"overwrite": False}),
        ("lance_arrow.io.obstore_filesystem.StoreFileSystem", {"mode": "create"}),
    ],
)
def test_stores_are_told_the_condition_in_their_own_words(kind: str, condition: dict[str, Any]) -> None:
    class Told(AbstractFileSystem):
        cachable = False
        told: ClassVar[list[dict[str, Any]]] = []

        def pipe_file(self, path: str, value: bytes, **how: Any) -> None:
            Told.told.append(how)
            if "probe" in path and len(Told.told) == 2:
                raise FileExistsError(path)

        def rm_file(self, path: str) -> None:
            pass

    Told.__module__, _, Told.__qualname__ = kind.rpartition(".")
    # Kinds made of them have it, too.
    store = type("Own", (Told,), {})()
    assert can_create_exclusively(store)
    assert create_exclusively(Location(store, "bucket/a"), b"first")
    assert Told.told == [condition] * 3
    store.has_conditional_put = False
    assert not can_create_exclusively(store)


def test_a_version_is_not_written_where_the_condition_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(exclusive._CONDITIONAL, f"{Store.__module__}.{Store.__qualname__}", {"mode": "create"})

    class Attempt:
        path, data = "bucket/t/_versions/1.manifest", b"manifest"

        def exists(self) -> bool:
            raise AssertionError("this is a race")

    with pytest.raises(UnsupportedError, match="ignores the condition"):
        ExclusiveCreate(Location(Store(ignores=True), "bucket/t")).publish(Attempt())  # type: ignore[arg-type]


def test_a_conditional_put_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the answer of the first was lost, the second would find the file, and another writer seem to be first."""
    monkeypatch.setitem(exclusive._CONDITIONAL, f"{Store.__module__}.{Store.__qualname__}", {"mode": "create"})

    class Unsteady(Store):
        def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **how: Any) -> None:
            super().pipe_file(path, value, mode, **how)
            if "probe" not in path:
                raise ConnectionResetError(104, "Connection reset by peer")

    store = Unsteady()
    with pytest.raises(ConnectionResetError):
        create_exclusively(Location(store, "bucket/a"), b"first")
    assert store.puts == 3


def test_filesystems_that_offer_nothing(tmp_path: Path, plain: PlainFileSystem) -> None:
    assert not can_create_exclusively(plain)
    assert not can_create_exclusively(arrow_fs.SubTreeFileSystem(str(tmp_path), arrow_fs.LocalFileSystem()))
    assert not can_create_exclusively(arrow_fs._MockFileSystem())
    for filesystem in (plain, arrow_fs._MockFileSystem()):
        with pytest.raises(UnsupportedError, match="cannot create a file atomically"):
            create_exclusively(Location(filesystem, "a"), b"x")
    with pytest.raises(UnsupportedError, match="read-only on this filesystem"):
        LanceTable.create("/t.lance", ROWS, filesystem=plain)
    assert not plain.store
    table = LanceTable.create("/t.lance", ROWS, filesystem=plain, unsafe_single_writer=True)
    table.append(ROWS)
    assert table.checkout(1).count_rows() == 3
    reader = LanceTable.open("/t.lance", filesystem=plain)
    assert reader.count_rows() == 6
    for edit in (
        lambda: reader.append(ROWS),
        lambda: reader.overwrite(ROWS),
        lambda: reader.delete([("id", "=", 1)]),
        lambda: reader.restore(1),
        lambda: reader.tags.create("one", 1),
    ):
        with pytest.raises(UnsupportedError, match="read-only on this filesystem"):
            edit()
    assert len(LanceTable.open("/t.lance", filesystem=plain).history()) == 2


class Plugin:
    """Brings a strategy."""

    def __init__(self, strategy: object) -> None:
        self.strategy = strategy
        self.asked: list[str] = []

    @hookimpl
    def lance_commit_strategy(self, location: TablePlace, settings: object) -> CommitStrategy | None:
        self.asked.append(location.name)
        return self.strategy  # type: ignore[return-value]


@pytest.fixture
def registered() -> Iterator[Any]:
    manager = default_runtime().plugins.manager
    with contextlib.ExitStack() as stack:

        def register(plugin: Plugin) -> Plugin:
            manager.register(plugin)
            stack.callback(manager.unregister, plugin)
            return plugin

        yield register


def test_a_lock_from_a_plugin(plain: PlainFileSystem, registered: Any) -> None:
    taken: list[CommitAttempt] = []

    @contextlib.contextmanager
    def lock(attempt: CommitAttempt) -> Iterator[None]:
        taken.append(attempt)
        yield

    plugin = registered(Plugin(LockedCommit(lock)))
    table = LanceTable.create("/t.lance", ROWS, filesystem=plain)
    other = LanceTable.open("/t.lance", filesystem=plain)
    table.append(ROWS)
    other.append(ROWS)
    assert other.version == 3
    assert other.count_rows() == 9
    assert [attempt.version for attempt in taken] == [1, 2, 3]
    assert {attempt.table for attempt in taken} == set(plugin.asked) == {"plain:///t.lance"}
    with pytest.raises(TableExistsError):
        LanceTable.create("/t.lance", ROWS, filesystem=plain)


def test_a_plugin_of_another_kind(tmp_path: Path, registered: Any) -> None:
    registered(Plugin("no strategy"))
    with pytest.raises(PluginContractError, match="publish"):
        LanceTable.create(tmp_path / "t.lance", ROWS)


def test_a_store_that_always_says_no(tmp_path: Path, registered: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Never:
        def publish(self, attempt: CommitAttempt) -> bool:
            return False

    monkeypatch.setattr("lance_arrow.table.commit._LONGEST_DELAY_SECONDS", 0.01)
    monkeypatch.setattr("lance_arrow.table.table_handle.default_runtime", _hurried)
    LanceTable.create(tmp_path / "t.lance", ROWS)
    registered(Plugin(Never()))
    with pytest.raises(CommitConflictError, match="committed first on every attempt") as caught:
        LanceTable.open(tmp_path / "t.lance").append(ROWS)
    assert caught.value.retryable
    assert LanceTable.open(tmp_path / "t.lance").version == 1


def _hurried() -> Any:
    runtime = default_runtime()
    settings = type(runtime.settings)(commit_seconds=0.05)
    return type("Hurried", (), {"settings": settings, "commit_strategy": runtime.commit_strategy})()


def test_which_one_is_chosen(tmp_path: Path, plain: PlainFileSystem) -> None:
    runtime = default_runtime()
    local = Location(LocalFileSystem(), str(tmp_path))
    assert isinstance(choose_strategy(local, runtime), ExclusiveCreate)
    assert isinstance(choose_strategy(local, runtime, unsafe_single_writer=True), ExclusiveCreate)
    assert isinstance(choose_strategy(Location(plain, "/t"), runtime, unsafe_single_writer=True), SingleWriter)
