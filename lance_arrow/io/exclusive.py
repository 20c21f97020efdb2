"""Create a file atomically, and only if it does not exist: the way of each filesystem.

| Filesystem | How | Between |
|---|---|---|
| local | a complete hidden file, synced if requested, gets its name by a hard link | all processes |
| `memory://` | one step of the dictionary that holds the files | threads of one process |
| s3fs, gcsfs, adlfs, obstore | conditional put (``If-None-Match``, ``ifGenerationMatch=0``) | writers of the store |
| all others | none: a check before writing is a race | |

`pipe_file(mode="create")` of fsspec guarantees this for every filesystem, but most check first and write then, and
`FsspecStore` of obstore replaces the file. So only the filesystems above are used. S3-compatible stores may ignore the
condition, so each of them is tested once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import secrets
import threading
from typing import TYPE_CHECKING, Any, TypeGuard
from weakref import WeakKeyDictionary

from lance_arrow.errors import UnsupportedError
from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.local_sink import CREATE_FLAGS, hidden_name
from lance_arrow.io.location import AnyFileSystem, Location
from lance_arrow.io.sink import name_file
from lance_arrow.io.syncing import sync_folder
from lance_arrow.late_names import late_module
from lance_arrow.redaction import redact

if TYPE_CHECKING:
    from fsspec import spec
    from fsspec.implementations import local, memory

    from lance_arrow.io import store_calls
else:
    # Local tables do without them.
    spec = late_module("fsspec.spec")
    local = late_module("fsspec.implementations.local")
    memory = late_module("fsspec.implementations.memory")
    store_calls = late_module("lance_arrow.io.store_calls")

_CONDITIONAL: dict[str, dict[str, Any]] = {
    "s3fs.core.S3FileSystem": {"mode": "create"},
    "gcsfs.core.GCSFileSystem": {"mode": "create"},
    # Has the condition under this name in every version.
    "adlfs.spec.AzureBlobFileSystem": {"overwrite": False},
    "lance_arrow.io.obstore_filesystem.StoreFileSystem": {"mode": "create"},
}
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
# ERROR_INVALID_FUNCTION and ERROR_NOT_SUPPORTED: what Windows says of FAT and of some shares.
_NO_LINKS_ON_WINDOWS = (1, 50)
# S3's error code for "another conditional put is in progress".
_RACING = "ConditionalRequestConflict"

_tested: WeakKeyDictionary[spec.AbstractFileSystem, set[str]] = WeakKeyDictionary()
_lock = threading.Lock()


def can_create_exclusively(filesystem: AnyFileSystem | None) -> bool:
    """Return whether `create_exclusively` supports this filesystem; None is the local one."""
    if _is_on_disk(filesystem) or _is_in_memory(filesystem):
        return True
    return isinstance(filesystem, spec.AbstractFileSystem) and _condition(filesystem) is not None


@foreign_errors()
def create_exclusively(place: Location, data: bytes, *, synced: bool = True) -> bool:
    """Create a file atomically, unless it exists.

    Parameters
    ----------
    place
        Place of the file; on a local filesystem, its folder must exist.
    data
        Content of the file.
    synced
        Whether content and name of a local file are flushed to the disk.

    Returns
    -------
    bool
        True: the file was created. False: it exists already, and nothing was changed.

    Raises
    ------
    UnsupportedError
        The filesystem does not support this, or ignores the condition.
    OSError
        Errors of the filesystem, without credentials in their text. It is then unknown whether the file exists.
    """
    if _is_on_disk(place.given):
        return _link(place, data, synced=synced)
    filesystem = place.filesystem
    if _is_in_memory(filesystem):
        path = filesystem._strip_protocol(place.path)
        mine = memory.MemoryFile(filesystem, path, data)
        return filesystem.store.setdefault(path, mine) is mine
    if isinstance(filesystem, spec.AbstractFileSystem):
        condition = _condition(filesystem)
        if condition is not None:
            _test(filesystem, place, condition)
            return _put(filesystem, place.path, data, condition)
    raise UnsupportedError(
        "this filesystem cannot create a file atomically, so writers could replace each other's files",
        path=place.name,
    )


def _is_on_disk(filesystem: AnyFileSystem | None) -> bool:
    return filesystem is None or type(filesystem) is local.LocalFileSystem


def _is_in_memory(filesystem: AnyFileSystem | None) -> TypeGuard[memory.MemoryFileSystem]:
    return isinstance(filesystem, memory.MemoryFileSystem)


def _link(place: Location, data: bytes, *, synced: bool) -> bool:
    folder, name = os.path.split(os.path.abspath(place.path))
    hidden = os.path.join(folder, hidden_name(name))
    try:
        descriptor = os.open(hidden, CREATE_FLAGS, 0o666)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            if synced:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.link(hidden, os.path.join(folder, name))
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS and getattr(error, "winerror", None) not in _NO_LINKS_ON_WINDOWS:
            # `write` and `fsync` name no file, for example if a disk is full.
            name_file(error, place.name)
            raise
        raise UnsupportedError(
            f"this filesystem has no hard links ({error.strerror}), which are needed to create a file only if it does "
            "not exist; pass unsafe_single_writer=True if there is no other writer",
            path=place.name,
        ) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(hidden)
    if synced:
        sync_folder(folder)
    return True


def _condition(filesystem: spec.AbstractFileSystem) -> dict[str, Any] | None:
    for kind in type(filesystem).__mro__:
        known = _CONDITIONAL.get(f"{kind.__module__}.{kind.__qualname__}")
        if known is not None:
            # Servers of HTTP have no conditions.
            return known if getattr(filesystem, "has_conditional_put", True) else None
    return None


def _put(filesystem: spec.AbstractFileSystem, path: str, data: bytes, condition: dict[str, Any]) -> bool:
    try:
        # A lost answer is told apart by the caller: it may have been a "yes".
        store_calls.call_store(filesystem, "pipe_file", path, data, name=redact(path), is_safe=False, **condition)
    except FileExistsError:
        return False
    except OSError as error:
        if _RACING in str(error):
            return False
        raise
    return True


def _test(filesystem: spec.AbstractFileSystem, place: Location, condition: dict[str, Any]) -> None:
    """Put a small object twice, once for each bucket: the second put must fail."""
    bucket = place.path.lstrip("/").partition("/")[0]
    with _lock:
        if bucket in _tested.setdefault(filesystem, set()):
            return
    probe = posixpath.join(posixpath.dirname(place.path), f".probe-{secrets.token_hex(8)}.tmp")
    _put(filesystem, probe, b"first", condition)
    try:
        ignored = _put(filesystem, probe, b"second", condition)
    finally:
        filesystem.rm_file(probe)
    if ignored:
        raise UnsupportedError(
            "this store takes a conditional put, but ignores the condition: writers could replace each other's files; "
            "pass unsafe_single_writer=True if there is no other writer",
            path=place.name,
        )
    with _lock:
        _tested[filesystem].add(bucket)
