"""`SimulatedFileSystem`: an fsspec filesystem of objects in memory, each call of which is a step of a `World`.

It derives from the filesystem in memory of fsspec, so that the product reads it in the calling thread. Nothing of that
class is used but its type.
"""

from __future__ import annotations

import datetime
import errno
import io
import os
import posixpath
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fsspec.implementations.memory import MemoryFileSystem
from world import World

PUT_FAULTS = frozenset({"error", "lost", "again", "late", "twice", "racing", "crash", "crash_after"})
# A disk answers once, and late effects do not happen; the answer to a link over a network may be lost.
DISK_FAULTS = frozenset({"error", "lost", "again", "crash", "crash_after"})
# No effect may happen after its error: the lock would be another's by then.
LOCK_FAULTS = frozenset({"error", "lost", "again", "crash", "crash_after"})
FAULTS = {
    "put-if-absent": PUT_FAULTS,
    "stale-listing": PUT_FAULTS,
    "rename": DISK_FAULTS,
    "lock": LOCK_FAULTS,
    "none": LOCK_FAULTS,
}
KINDS = tuple(FAULTS)


@dataclass(frozen=True, slots=True)
class Object:
    """A file: its bytes, the time of its last change, and a number that no other content has."""

    data: bytes
    modified: float
    number: int


class Store:
    """Objects by path, and what is told of each change.

    Parameters
    ----------
    world
        Has the clock.
    run
        Number of the history in this process: makes facts of files differ between histories, so that no cache of the
        product serves two of them.
    """

    def __init__(self, world: World, run: int, objects: dict[str, Object] | None = None) -> None:
        self.world = world
        self.run = run
        self.objects = dict(objects or {})
        self.on_put: Callable[[str, Object | None], None] = lambda path, old: None
        self.on_remove: Callable[[str], None] = lambda path: None
        self.past: list[tuple[int, dict[str, Object]]] = []
        self.keeps_past = False
        self._changes = 0

    def put(self, path: str, data: bytes) -> None:
        """Create or replace an object."""
        old = self.objects.get(path)
        self._remember()
        self._changes += 1
        self.objects[path] = Object(data, self.world.now, self._changes)
        self.on_put(path, old)

    def remove(self, path: str) -> None:
        """Remove an object, which must exist."""
        if path not in self.objects:
            raise FileNotFoundError(errno.ENOENT, "no such object", path)
        self._remember()
        del self.objects[path]
        self.on_remove(path)

    def _remember(self) -> None:
        if self.keeps_past:
            self.past.append((self.world.steps, dict(self.objects)))
            del self.past[:-8]

    def listed(self, stale: int) -> dict[str, Object]:
        """Return the objects that a listing shows: of now, or before the last `stale` changes."""
        if not stale or not self.past:
            return self.objects
        return self.past[max(len(self.past) - stale, 0)][1]


class SimulatedFileSystem(MemoryFileSystem):
    """A view of a store.

    Parameters
    ----------
    held
        The store.
    kind
        One of `KINDS`.
    """

    cachable = False
    protocol = "memory"

    def __init__(self, held: Store, kind: str) -> None:
        super().__init__(run=held.run)
        self.held = held
        self.kind = kind
        self.has_conditional_put = kind in ("put-if-absent", "stale-listing")

    def _call(
        self, name: str, path: str, effect: Callable[[], Any], *, changes: bool = False, is_publish: bool = False
    ) -> Any:
        world = self.held.world
        return world.call(f"{name} {path}", effect, changes=changes, is_publish=is_publish, allowed=FAULTS[self.kind])

    def _facts(self, path: str, file: Object) -> dict[str, Any]:
        moment = datetime.datetime.fromtimestamp(file.modified, datetime.UTC)
        etag = f"{self.held.run}-{file.number}-{zlib.crc32(file.data)}"
        return {"name": path, "size": len(file.data), "type": "file", "created": moment, "ETag": etag}

    def _stale(self) -> int:
        world = self.held.world
        task = world.current
        if task is None or self.kind != "stale-listing":
            return 0
        stale = next((one.amount for one in task.faults if one.kind == "stale" and one.at == task.calls - 1), 0)
        if stale:
            world.note(f"the listing is {stale} changes old")
            task.injected += 1
        return stale

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        """List a folder."""
        folder = self._strip_protocol(path).rstrip("/")

        def listed() -> list[dict[str, Any]]:
            prefix = f"{folder}/"
            found: dict[str, dict[str, Any]] = {}
            for name, file in self.held.listed(self._stale()).items():
                if name.startswith(prefix):
                    below, _, deeper = name[len(prefix) :].partition("/")
                    full = prefix + below
                    if deeper:
                        found[full] = {"name": full, "size": 0, "type": "directory"}
                    else:
                        found[full] = self._facts(full, file)
            if not found:
                raise FileNotFoundError(errno.ENOENT, "no such folder", folder)
            return [found[name] for name in sorted(found)]

        answer = self._call("list", folder, listed)
        return answer if detail else [one["name"] for one in answer]

    def find(
        self, path: str, maxdepth: Any = None, withdirs: bool = False, detail: bool = False, **options: Any
    ) -> Any:
        """List a folder with all below it."""
        folder = self._strip_protocol(path).rstrip("/")

        def found() -> dict[str, Any]:
            files = self.held.listed(self._stale())
            return {name: self._facts(name, files[name]) for name in sorted(files) if name.startswith(f"{folder}/")}

        answer = self._call("find", folder, found)
        return answer if detail else list(answer)

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Return the facts of a file or folder."""
        path = self._strip_protocol(path)

        def facts() -> dict[str, Any]:
            file = self.held.objects.get(path)
            if file is not None:
                return self._facts(path, file)
            if any(name.startswith(f"{path}/") for name in self.held.objects):
                return {"name": path, "size": 0, "type": "directory"}
            raise FileNotFoundError(errno.ENOENT, "no such object", path)

        answer: dict[str, Any] = self._call("info", path, facts)
        return answer

    def isfile(self, path: str) -> bool:
        """Return whether there is such a file; errors of the store are errors, unlike in fsspec."""
        path = self._strip_protocol(path)
        return bool(self._call("isfile", path, lambda: path in self.held.objects))

    def exists(self, path: str, **options: Any) -> bool:
        """Return whether there is such a file or folder."""
        path = self._strip_protocol(path)
        return bool(
            self._call("exists", path, lambda: any(f"{name}/".startswith(f"{path}/") for name in self.held.objects))
        )

    def _bytes(self, path: str, start: int | None, stop: int | None) -> bytes:
        file = self.held.objects.get(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, "no such object", path)
        return file.data[start:stop]

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """Read a file, or a range of one."""
        path = self._strip_protocol(path)
        return bytes(self._call("read", path, lambda: self._bytes(path, start, end)))

    def cat_ranges(
        self,
        paths: Sequence[str],
        starts: Any,
        ends: Any,
        max_gap: Any = None,
        on_error: str = "return",
        **options: Any,
    ) -> list[Any]:
        """Read ranges, in one step."""
        names = [self._strip_protocol(path) for path in paths]
        if isinstance(starts, int):
            starts, ends = [starts] * len(names), [ends] * len(names)

        def read() -> list[Any]:
            found: list[Any] = []
            for name, start, stop in zip(names, starts, ends, strict=True):
                try:
                    found.append(self._bytes(name, start, stop))
                except FileNotFoundError as error:
                    if on_error == "raise":
                        raise
                    found.append(error)
            return found

        answer: list[Any] = self._call("read", ",".join(dict.fromkeys(names)), read)
        return answer

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        """Create an object: whole, or not at all."""
        path, data = self._strip_protocol(path), bytes(value)

        def put() -> None:
            if mode == "create" and path in self.held.objects:
                raise FileExistsError(errno.EEXIST, "the object exists", path)
            self.held.put(path, data)

        is_publish = mode == "create" or "/_versions/" in path or "/_refs/" in path
        self._call(f"put {zlib.crc32(data):08x}", path, put, changes=True, is_publish=is_publish)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        path = self._strip_protocol(path)
        if mode == "wb":
            return _Upload(self, path)
        return io.BytesIO(self.cat_file(path))

    def _put_part(self, path: str, data: bytes) -> None:
        self._call(f"write {zlib.crc32(data):08x}", path, lambda: self.held.put(path, data), changes=True)

    def rm_file(self, path: str) -> None:
        """Remove a file."""
        path = self._strip_protocol(path)
        self._call("remove", path, lambda: self.held.remove(path), changes=True)

    def _rm(self, path: str) -> None:
        self.rm_file(path)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Folders need no making."""

    def invalidate_cache(self, path: str | None = None) -> None:
        """Nothing is cached."""

    def modified(self, path: str) -> datetime.datetime:
        """Return the time of the last change."""
        found: datetime.datetime = self.info(path)["created"]
        return found

    created = modified


class DiskFileSystem(SimulatedFileSystem):
    """A view of a disk: files grow while they are written, under hidden names, and get their names by a rename."""

    def mv(self, path1: str, path2: str, **options: Any) -> None:
        """Rename a file; one of the other name is replaced."""
        old, new = self._strip_protocol(path1), self._strip_protocol(path2)

        def rename() -> None:
            data = self._bytes(old, None, None)
            self.held.put(new, data)
            self.held.remove(old)

        self._call(f"rename {old}", new, rename, changes=True, is_publish="/_refs/" in new)

    def link(self, old: str, new: str) -> None:
        """Give a file a second name, which must be new."""

        def link() -> None:
            if new in self.held.objects:
                raise FileExistsError(errno.EEXIST, "the file exists", new)
            self.held.put(new, self._bytes(old, None, None))

        self._call(f"link {old}", new, link, changes=True, is_publish=True)


class _Upload:
    """A file of a disk that is open for writing: what was written is there, also if the rest never comes."""

    def __init__(self, filesystem: SimulatedFileSystem, path: str) -> None:
        self._filesystem, self._path = filesystem, path
        self._parts: list[bytes] = []
        self.closed = False
        filesystem._put_part(path, b"")

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._filesystem._put_part(self._path, b"".join(self._parts))
        return len(self._parts[-1])

    def flush(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        self.closed = True


class SystemCalls:
    """What `lance_arrow.io.exclusive` takes for the module `os`: calls of the running task on its disk."""

    path = posixpath
    fspath = staticmethod(os.fspath)

    def __init__(self, filesystem_of: Callable[[], DiskFileSystem]) -> None:
        self._of = filesystem_of
        self._open: dict[int, tuple[str, bytes]] = {}

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        """Create a file."""
        self._of()._put_part(path, b"")
        descriptor = len(self._open) + 1
        self._open[descriptor] = path, b""
        return descriptor

    def write(self, descriptor: int, data: Any) -> int:
        """Write half of what is left, so that there are partial files."""
        path, held = self._open[descriptor]
        count = (len(data) + 1) // 2 if len(data) > 64 else len(data)
        self._open[descriptor] = path, held + bytes(data[:count])
        self._of()._put_part(path, self._open[descriptor][1])
        return count

    def fsync(self, descriptor: int) -> None:
        """Nothing to be done: no simulated machine loses power."""

    def close(self, descriptor: int) -> None:
        """Close a file."""

    def link(self, old: str, new: str) -> None:
        """Give a file a second name."""
        self._of().link(old, new)

    def unlink(self, path: str) -> None:
        """Remove a name."""
        self._of().rm_file(path)


def kind_of(kind: str) -> type[SimulatedFileSystem]:
    """Return the filesystem of a kind of store."""
    return DiskFileSystem if kind == "rename" else SimulatedFileSystem
