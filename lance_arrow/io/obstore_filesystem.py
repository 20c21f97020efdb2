"""`StoreFileSystem`: a store of obstore as a filesystem of fsspec, for everything but reading Lance files.

obstore has a filesystem of its own, `FsspecStore`. It drops the mode of a put, so that a conditional put replaces an
object, and its listings have no times. Both are needed for tables. So stores and `FsspecStore` get this one.

This module imports obstore. Import it only for an object of obstore: `location` and `obstore_urls` do.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import errno
import hashlib
import time
from collections.abc import MutableMapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import obstore
from fsspec.asyn import AsyncFileSystem, get_loop
from fsspec.spec import AbstractBufferedFile
from fsspec.utils import tokenize
from obstore.exceptions import GenericError, NotSupportedError
from obstore.fsspec import FsspecStore
from obstore.store import HTTPStore, LocalStore

from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.io.obstore_errors import bounded_errors, store_errors
from lance_arrow.io.obstore_stores import (
    check_process,
    end_of,
    is_in_process,
    lists_after,
    lists_in_order,
    place_and_token,
    run,
)
from lance_arrow.io.pacing.pace import PaceMeter
from lance_arrow.io.pacing.policy import paced
from lance_arrow.io.pacing.waves import FileWaves
from lance_arrow.io.patience import patience
from lance_arrow.io.source import LOCAL_COALESCING, THREADED_COALESCING, Coalescing
from lance_arrow.redaction import redact

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_HTTP = ("http", "https")
_WITHOUT_BUCKETS = ("file", "memory")
_NO_LISTING = (f"(os error {errno.ENOTDIR})", "405 Method Not Allowed", "501 Not Implemented")
_LISTED_AT_ONCE = 1000
_PART_BYTES = 10 << 20
_PARTS_AT_ONCE = 8

_made: WeakValueDictionary[int, StoreFileSystem] = WeakValueDictionary()
"""Filesystems by the identity of what they are made of, which they keep alive."""


def as_filesystem(given: ObjectStore | FsspecStore) -> StoreFileSystem:
    """Return the filesystem of a store, or of a filesystem of obstore: the same one for the same object."""
    found = _made.get(id(given))
    if found is None:
        found = _made[id(given)] = StoreFileSystem(given)
    return found


class StoreFileSystem(AsyncFileSystem):  # type: ignore[misc]
    """Files of a store, or of the stores of an `FsspecStore`, which has one for each bucket.

    Parameters
    ----------
    given
        A store: paths are those in it. Or an `FsspecStore`: paths are its paths.
    """

    cachable = False

    def __init__(self, given: ObjectStore | FsspecStore) -> None:
        super().__init__()
        self._store: ObjectStore | None = None
        self._buckets: Any = None
        self._asked: tuple[str, Future[Any] | None] = "", None
        self.meter = PaceMeter()
        self._waves = FileWaves(self.meter)
        if isinstance(given, FsspecStore):
            self._buckets = given
            self.protocol, self._shown_before = given.protocol, ""
            facts = tokenize(type(given).__qualname__, given.protocol, given.storage_args, given.storage_options)
        else:
            self._store = given
            # Paths of a store are no URLs: no protocol of another filesystem may stand for it.
            self.protocol = "obstore"
            self._shown_before, facts = place_and_token(given)
        self.token = hashlib.sha256(facts.encode()).hexdigest()

    @property
    def _fs_token(self) -> str:
        """What tells two filesystems apart: stores print without their credentials, so their texts do not."""
        return self.token

    def unstrip_protocol(self, name: str) -> str:
        """Return the URL of a path.

        Raises
        ------
        UnsupportedError
            A store was given, whose paths are no URLs.
        """
        if self._store is not None:
            raise UnsupportedError(
                "paths of a store of obstore have no URLs; use obstore.fsspec.FsspecStore for clones and other bases",
                path=self.printed(name),
            )
        found: str = super().unstrip_protocol(name)
        return found

    def printed(self, path: str) -> str:
        """Return a path with its protocol and bucket, without credentials."""
        if self._store is not None:
            return redact(f"{self._shown_before}{path}")
        protocol = self.protocol if isinstance(self.protocol, str) else self.protocol[0]
        return redact(path if "://" in path else f"{protocol}://{path}")

    def own_path(self, path: str) -> str:
        """Return a path without the protocol, where buckets come first."""
        protocol, mark, rest = path.partition("://")
        has_buckets = self._store is None and self.protocol not in (*_HTTP, *_WITHOUT_BUCKETS)
        return (rest if mark and has_buckets and protocol == self.protocol else path).rstrip("/")

    def placed(self, path: str) -> tuple[ObjectStore, str]:
        """Return the store of a path, and the path in it.

        Raises
        ------
        InvalidArgumentError
            A URL, where the store was given.
        UnsupportedError
            A URL with a query, which obstore would drop.
        """
        if self._store is not None:
            if "://" in path:
                raise InvalidArgumentError(
                    "with a store of obstore, give a path in the store, not a URL", path=redact(path)
                )
            return self._store, path.strip("/")
        if self.protocol in _HTTP and "?" in path:
            raise UnsupportedError(
                "obstore's filesystem drops the query of a URL; pass an HTTPStore, or fsspec's filesystem",
                path=redact(path),
            )
        with store_errors(path, redact):
            bucket, inner = self._buckets._split_path(path)
            return self._buckets._construct_store(bucket), inner.strip("/")

    @property
    def has_folders(self) -> bool:
        """Whether the store lists folders: of servers of HTTP, only those of WebDAV do."""
        return self.protocol not in _HTTP and not isinstance(self._store, HTTPStore)

    @property
    def coalescing(self) -> Coalescing:
        """Limits for joining ranges of its files."""
        is_near = self.protocol in _WITHOUT_BUCKETS if self._store is None else is_in_process(self._store)
        return LOCAL_COALESCING if is_near else paced(THREADED_COALESCING, self.meter.pace)

    @property
    def has_conditional_put(self) -> bool:
        """Whether the store can create an object only if it does not exist."""
        return self.has_folders

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        # A URL keeps its protocol: `placed` reads it, as `FsspecStore` does.
        return path.rstrip("/")

    def invalidate_cache(self, path: str | None = None) -> None:
        """Do nothing: no listing is kept."""

    def created(self, path: str) -> datetime.datetime:
        """Return the time of the last change: an object is created as a whole."""
        return self.modified(path)

    def modified(self, path: str) -> datetime.datetime:
        """Return the time of the last change."""
        found: datetime.datetime = self.info(path)["last_modified"]
        return found

    def is_folder(self, path: str) -> bool:
        """Return whether objects lie below a path; False where the store does not list them."""
        try:
            return bool(self.ls(path, detail=False))
        except OSError:
            return False

    def ask_end(self, path: str) -> Future[Any]:
        """Begin to ask for the end of an object, before it is known to be one; the next opening takes the answer."""
        store, key = self.placed(path)
        check_process()
        work = asyncio.wait_for(end_of(store, key, THREADED_COALESCING.tail_bytes), patience().seconds)
        asked = asyncio.run_coroutine_threadsafe(work, get_loop())
        self._asked = path, asked
        return asked

    def take_asked(self, path: str) -> Future[Any] | None:
        """Return the answer that `ask_end` is to bring for a path, once; None if it was not asked, or only others."""
        (asked_path, found), self._asked = self._asked, ("", None)
        return found if asked_path == path else None

    def list_ordered(self, folder: str, count: int, after: str) -> tuple[dict[str, int], bool] | None:
        """Return names and sizes of the first files directly in a folder, by their names; see `folders.list_first`."""
        store, key = self.placed(folder)
        if not (lists_after(store) if after else lists_in_order(store)):
            return None

        async def listed() -> Sequence[Any]:
            stream = store.list(key, offset=f"{key}/{after}" if after else None, chunk_size=count + 1)
            async with self._bounded(folder):
                try:
                    return await anext(stream)
                except StopAsyncIteration:
                    return []

        found = run(listed(), None)
        names = {one["path"].removeprefix(_inside(key)): one["size"] for one in found}
        files = {name: size for name, size in names.items() if name and "/" not in name}
        return dict(list(files.items())[:count]), len(found) <= count

    async def _info(self, path: str, **_: Any) -> dict[str, Any]:
        store, key = self.placed(path)
        if not key:
            return {"name": path, "size": 0, "type": "directory"}
        async with self._bounded(path):
            try:
                return _described(path, await store.head_async(key))
            except FileNotFoundError:
                if isinstance(store, HTTPStore):
                    raise
            listed = await store.list_with_delimiter_async(key)
            if not listed["objects"] and not listed["common_prefixes"]:
                raise FileNotFoundError(key)
        return {"name": path, "size": 0, "type": "directory"}

    async def _ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        store, key = self.placed(path)
        async with self._bounded(path):
            try:
                listed = await store.list_with_delimiter_async(key or None)
            except (GenericError, NotSupportedError) as error:
                # Of HTTP servers, only those of WebDAV list folders. On a disk, a file is no folder.
                if not isinstance(store, HTTPStore | LocalStore) or not any(one in str(error) for one in _NO_LISTING):
                    raise
                raise FileNotFoundError(key) from None
            folder, inside = path.rstrip("/"), _inside(key)
            found = [_described(_joined(folder, one["path"], inside), one) for one in listed["objects"]]
            # Stores that show folders as empty objects list the folder itself.
            found = [one for one in found if one["name"] != f"{folder}/"]
            for one in listed["common_prefixes"]:
                found.append({"name": _joined(folder, one.rstrip("/"), inside), "size": 0, "type": "directory"})
            if not found and key:
                raise FileNotFoundError(key)
        found.sort(key=lambda one: one["name"])
        return found if detail else [one["name"] for one in found]

    async def _find(
        self, path: str, maxdepth: int | None = None, withdirs: bool = False, **kwargs: Any
    ) -> list[str] | dict[str, Any]:
        if maxdepth is not None and maxdepth > 1:
            found: list[str] | dict[str, Any] = await super()._find(path, maxdepth, withdirs, **kwargs)
            return found
        store, key = self.placed(path)
        folder, inside = path.rstrip("/"), _inside(key)
        entries: dict[str, Any] = {}
        if maxdepth == 1:
            with contextlib.suppress(FileNotFoundError):
                entries = {one["name"]: one for one in await self._ls(path, detail=True)}
            if not withdirs:
                entries = {name: one for name, one in entries.items() if one["type"] == "file"}
        else:
            pages = store.list(key or None, chunk_size=_LISTED_AT_ONCE)
            listed: list[Any] = []
            while True:
                # Each page has the time of a read.
                async with self._bounded(path):
                    try:
                        listed += await anext(pages)
                    except StopAsyncIteration:
                        break
            for one in listed:
                name = _joined(folder, one["path"], inside)
                entries[name] = _described(name, one)
                while withdirs and (name := name.rpartition("/")[0]) not in (folder, "") and name not in entries:
                    entries[name] = {"name": name, "size": 0, "type": "directory"}
        if not entries and key and await self._isfile(path):
            entries = {path: await self._info(path)}
        names = sorted(entries)
        return {name: entries[name] for name in names} if kwargs.get("detail") else names

    async def _isfile(self, path: str) -> bool:
        store, key = self.placed(path)
        if not key:
            return False
        async with self._bounded(path):
            try:
                await store.head_async(key)
            except FileNotFoundError:
                return False
        return True

    async def _pipe_file(self, path: str, value: Any, mode: str = "overwrite", **_: Any) -> None:
        store, key = self.placed(path)
        async with self._bounded(path, len(value) if isinstance(value, bytes) else None):
            await store.put_async(key, value, mode="create" if mode == "create" else "overwrite")

    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        store, key = self.placed(path)
        async with self._bounded(path, None if start is None or end is None else abs(end - start)):
            if start is None and end is None:
                begun = time.perf_counter()
                whole = bytes(await (await store.get_async(key)).bytes_async())
                self.meter.saw(len(whole), time.perf_counter() - begun)
                return whole
            if start is None or end is None or start < 0 or end < 0:
                meta = await store.head_async(key)
                start, end, _step = slice(start, end).indices(meta["size"])
            if start >= end:
                return b""
            return bytes(await store.get_range_async(key, start=start, end=end))

    async def _cat_ranges(
        self,
        paths: list[str],
        starts: Sequence[int] | int,
        ends: Sequence[int] | int,
        max_gap: int | None = None,
        batch_size: int | None = None,
        on_error: str = "return",
        **kwargs: Any,
    ) -> list[Any]:
        begins = [starts] * len(paths) if isinstance(starts, int) else starts
        stops = [ends] * len(paths) if isinstance(ends, int) else ends
        are_plain = all(type(one) is int and one >= 0 for sides in (begins, stops) for one in sides)
        if max_gap is not None or not are_plain or not len(paths) == len(begins) == len(stops):
            found: list[Any] = await super()._cat_ranges(
                paths, starts, ends, max_gap=max_gap, batch_size=batch_size, on_error=on_error, **kwargs
            )
            return found
        views = await self._waves.views(self, paths, begins, stops)
        failed = next((one for one in views if isinstance(one, Exception)), None)
        if failed is not None and on_error != "return":
            raise failed
        return [one if isinstance(one, Exception) else bytes(one) for one in views]

    def read_views(
        self,
        paths: Sequence[str],
        starts: Sequence[int],
        stops: Sequence[int],
        versions: MutableMapping[str, object] | None = None,
    ) -> list[memoryview | Exception]:
        """Ask for ranges of files, as `cat_ranges` does, and return memory of obstore, or what went wrong.

        `versions` has the version of each file that was read before, by its path, and gets that of others. Of a file
        that has another one now, `FileChangedError` is returned. None: files never change.

        Raises
        ------
        UnsupportedError
            As `run`.
        """
        return run(self._waves.views(self, paths, starts, stops, versions), None)

    async def _put_file(self, lpath: str, rpath: str, mode: str = "overwrite", **_: Any) -> None:
        with open(lpath, "rb") as file:
            await self._pipe_file(rpath, file, mode)

    async def _get_file(self, rpath: str, lpath: str, **_: Any) -> None:
        store, key = self.placed(rpath)
        with store_errors(self.printed(rpath)):
            whole = await store.get_async(key)
            with open(lpath, "wb") as file:
                async for part in whole.stream():
                    file.write(part)

    async def _cp_file(self, path1: str, path2: str, **_: Any) -> None:
        (store, first), (other, second) = self.placed(path1), self.placed(path2)
        with store_errors(self.printed(path1)):
            if store is other:
                await store.copy_async(first, second)
            else:
                await other.put_async(second, await store.get_async(first))

    async def _rm_file(self, path: str, **_: Any) -> None:
        store, key = self.placed(path)
        async with self._bounded(path):
            await store.delete_async(key)

    async def _rm(
        self, path: str | list[str], recursive: bool = False, batch_size: int | None = None, **kwargs: Any
    ) -> None:
        many = await self._expand_path(path, recursive=recursive, **kwargs) if recursive else path
        places = [self.placed(one) for one in ([many] if isinstance(many, str) else many)]
        for store in {id(store): store for store, _ in places}.values():
            keys = [key for one, key in places if one is store and key]
            with store_errors(self.printed(path if isinstance(path, str) else path[0])):
                await store.delete_async(keys)

    def _bounded(self, path: str, num_bytes: int | None = 0) -> bounded_errors:
        """Translate errors, and end after the seconds of a read of so many bytes; None for objects of any size."""
        seconds = None if num_bytes is None else patience().allowed_seconds(num_bytes)
        return bounded_errors(path, seconds, self.printed)

    def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> StoreFile:
        if mode not in ("rb", "wb"):
            raise InvalidArgumentError(f"a file of a store is opened as 'rb' or 'wb', not {mode!r}", detail=mode)
        return StoreFile(self, path, mode, **kwargs)


class StoreFile(AbstractBufferedFile):  # type: ignore[misc]
    """A file of a store: read by ranges, or written as a whole, in parts of 10 MiB if it is larger."""

    _writer: Any = None

    def _fetch_range(self, start: int, end: int) -> bytes:
        found: bytes = self.fs.cat_file(self.path, start, end)
        return found

    def _initiate_upload(self) -> None:
        check_process()
        store, key = self.fs.placed(self.path)
        with store_errors(self.fs.printed(self.path)):
            self._writer = obstore.open_writer_async(
                store, key, buffer_size=_PART_BYTES, max_concurrency=_PARTS_AT_ONCE
            )

    def _upload_chunk(self, final: bool = False) -> bool:
        writer, data = self._writer, self.buffer.getvalue()
        if final:
            # It is closed then even if closing fails: nothing is left to abort.
            self._writer = None
        # Parts that were sent before may be waited for, too.
        waited_bytes = min(self.loc, (_PARTS_AT_ONCE + 1) * _PART_BYTES)

        async def send() -> None:
            async with self.fs._bounded(self.path, waited_bytes):
                await writer.write(data)
                if final:
                    await writer.close()

        run(send(), None)
        return True

    def discard(self) -> None:
        """Abort the upload: no object appears, and the store drops the parts that it has."""
        writer, self._writer = self._writer, None

        async def abort() -> None:
            async with self.fs._bounded(self.path):
                # obstore aborts where the block of a writer raises.
                await writer.__aexit__(InterruptedError, InterruptedError(), None)

        if writer is not None:
            run(abort(), None)


def _described(name: str, meta: Any) -> dict[str, Any]:
    return {
        "name": name,
        "size": meta["size"],
        "type": "file",
        "e_tag": meta["e_tag"],
        "version": meta["version"],
        "last_modified": meta["last_modified"],
    }


def _inside(key: str) -> str:
    """Return what the keys in a folder begin with."""
    return f"{key}/" if key else ""


def _joined(folder: str, listed: str, inside: str) -> str:
    """Return the path of a listed object: that of the folder, and its name in it."""
    name = listed.removeprefix(inside)
    return f"{folder}/{name}" if folder else name
