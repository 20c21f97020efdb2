"""Calls of fsspec filesystems that end in time: a deadline, few attempts, and an error of this package at the end.

Asynchronous filesystems, those of stores and of HTTP, are called through their event loop, where a call that takes too
long is cancelled. Calls of all others cannot be cancelled: they have the timeouts of their clients.
"""

from __future__ import annotations

import inspect
from types import MethodType
from typing import TYPE_CHECKING, Any

from lance_arrow.io.foreign_errors import foreign_errors, hide_secrets
from lance_arrow.io.patience import attempted, given_up, is_of_store, patience, repeats_requests
from lance_arrow.late_names import late_module

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem, asyn
else:
    asyn = late_module("fsspec.asyn")


@foreign_errors()
def call_store(
    filesystem: AbstractFileSystem, method: str, *args: Any, name: str, is_safe: bool = True, **options: Any
) -> Any:
    """Call a method of a filesystem; of asynchronous ones, within the deadline and with attempts.

    Parameters
    ----------
    filesystem, method, args, options
        What is called.
    name
        Printable name of the file or folder, without credentials.
    is_safe
        Whether the call may be repeated by this package: reads and listings.

    Raises
    ------
    StoreError
        What was given up.
    OSError
        Errors of the filesystem.
    """
    if not isinstance(filesystem, asyn.AsyncFileSystem):
        return getattr(filesystem, method)(*args, **options)
    return attempted(
        lambda seconds: call_within(filesystem, method, seconds, *args, **options),
        name=name,
        patience=patience(),
        is_repeated=not is_safe or repeats_requests(filesystem),
    )


class store_failures:
    """Turn exceptions of an asynchronous filesystem in a block into those of this package.

    Parameters
    ----------
    filesystem, name
        What is called, and the printable name of the file.
    """

    __slots__ = ("_filesystem", "_name")

    def __init__(self, filesystem: AbstractFileSystem, name: str) -> None:
        self._filesystem = filesystem
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and is_of_store(error) and isinstance(self._filesystem, asyn.AsyncFileSystem):
            hide_secrets(error)
            raise given_up(error, name=self._name) from error


def call_within(filesystem: AbstractFileSystem, method: str, seconds: float, *args: Any, **options: Any) -> Any:
    """Call a method once; one that is a coroutine of the filesystem is cancelled after some seconds.

    Raises
    ------
    TimeoutError
        The time is up.
    """
    work = coroutine_of(filesystem, method)
    if work is None:
        return getattr(filesystem, method)(*args, **options)
    return asyn.sync(filesystem.loop, work, *args, timeout=seconds, **options)


def coroutine_of(filesystem: AbstractFileSystem, method: str) -> Any:
    """Return the coroutine behind a method of a filesystem; None if there is none, or the method was replaced."""
    if not isinstance(filesystem, asyn.AsyncFileSystem) or filesystem.asynchronous:
        return None
    own = vars(filesystem).get(method)
    if own is not None:
        work = getattr(own, "__wrapped__", None)
    else:
        # A wrapper that all instances share knows the function, not the object.
        work = getattr(getattr(type(filesystem), method, None), "__wrapped__", None)
        work = None if work is None else MethodType(work, filesystem)
    return work if inspect.iscoroutinefunction(work) else None
