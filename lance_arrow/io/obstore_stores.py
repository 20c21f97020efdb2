"""What differs between the kinds of obstore's stores, and how a caller waits for them.

This module imports obstore. Import it only for an object of obstore.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
import sys
import threading
import time
from collections.abc import Coroutine
from threading import Lock
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from fsspec.asyn import get_loop
from obstore.store import AzureStore, GCSStore, HTTPStore, LocalStore, MemoryStore, S3Store

from lance_arrow.errors import InternalError, InvalidArgumentError, TruncatedReadError, UnsupportedError
from lance_arrow.redaction import redact

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore

_Answer = TypeVar("_Answer")
# Directory buckets of S3 list names without order.
_UNORDERED_BUCKETS = "--x-s3"
_UNINTERRUPTED_SECONDS = 1.0
_LEAVING_SECONDS = 5.0
"""How long a process waits at its end for threads that hand an answer over: each does so in microseconds."""
_LEAVING_TURN_SECONDS = 0.0005

_numbers = itertools.count()
_users: list[int] = []
"""The process whose threads obstore uses, once it does."""


def has_suffix_ranges(store: ObjectStore) -> bool:
    """Return whether a store returns the last bytes of an object whose size is unknown."""
    return not isinstance(store, AzureStore)


async def end_of(
    store: ObjectStore, key: str, num_bytes: int, places: list[tuple[int, int]] | None = None
) -> tuple[ObjectMeta, Any]:
    """Return facts of an object and its last bytes, by one request; facts alone of stores without suffix ranges.

    `places` takes the range that the answer begins with, for errors while the rest of it arrives.

    Raises
    ------
    TruncatedReadError
        The answer has another length than it says, or is not the end.
    """
    if not has_suffix_ranges(store):
        return await store.head_async(key), None
    answer = await store.get_async(key, options={"range": {"suffix": num_bytes}})
    meta, (start, stop) = answer.meta, answer.range
    if places is not None:
        places.append((start, stop))
    data = await answer.bytes_async()
    if stop != meta["size"] or len(data) != stop - start:
        raise TruncatedReadError(
            f"the answer for the last bytes of {meta['size']} has {len(data)}, and says that it is {start}..{stop}",
            byte_range=(start, stop),
        )
    return meta, data


async def version_range(store: ObjectStore, key: str, start: int, stop: int) -> tuple[ObjectMeta, Any]:
    """Return facts of an object and some of its bytes, by one request."""
    answer = await store.get_async(key, options={"range": (start, stop)})
    return answer.meta, await answer.bytes_async()


def version_of(meta: ObjectMeta) -> tuple[object, ...]:
    """Return what changes with the content of an object: ETag and version, or the time of change."""
    return meta["e_tag"] or str(meta["last_modified"]), meta["version"]


def is_in_process(store: ObjectStore) -> bool:
    """Return whether requests of a store do not leave this machine."""
    return isinstance(store, MemoryStore | LocalStore)


def run(work: Coroutine[Any, Any, _Answer], seconds: float | None) -> _Answer:
    """Wait for a coroutine of obstore; the wait can be interrupted, and ends after some seconds.

    A wait that ends early cancels the coroutine, and with it the requests that it waits for.

    Raises
    ------
    TimeoutError
        The time is up.
    UnsupportedError
        The process was forked after obstore was used: its threads do not exist here, and a request would never end.
    """
    try:
        check_process()
    except UnsupportedError:
        work.close()
        raise
    loop = get_loop()
    if asyncio.events._get_running_loop() is loop:
        work.close()
        raise InternalError("a thread waits for the event loop that it runs")
    tasks: list[asyncio.Task[_Answer]] = []
    ended = Lock()
    ended.acquire()

    def begin() -> None:
        tasks.append(loop.create_task(work))
        tasks[0].add_done_callback(lambda _: ended.release())

    def cancel() -> None:
        # What the loop was told first, it has done.
        tasks[0].cancel()

    # One task, and one crossing of threads each way: fsspec's `sync` makes three tasks of a call with a deadline.
    loop.call_soon_threadsafe(begin)
    last = None if seconds is None else time.monotonic() + seconds
    has_ended = False
    try:
        while not (has_ended := ended.acquire(timeout=_left(last))):
            if last is not None and time.monotonic() >= last:
                raise TimeoutError
    finally:
        if not has_ended:
            loop.call_soon_threadsafe(cancel)
    return tasks[0].result()


def _left(last: float | None) -> float:
    """Return how long a lock is waited for: on Windows, such a wait cannot be interrupted."""
    return _UNINTERRUPTED_SECONDS if last is None else max(0.0, min(_UNINTERRUPTED_SECONDS, last - time.monotonic()))


def is_usable() -> bool:
    """Return whether no parent of this process used obstore before it was forked."""
    return not _users or _users[0] == os.getpid()


def check_process() -> None:
    """Raise if the threads of obstore belong to the parent of this process; see `run`."""
    if not _users:
        _users.append(os.getpid())
        atexit.register(_leave_python)
    elif not is_usable():
        raise UnsupportedError(
            "obstore was used before this process was forked, and its threads do not survive a fork; "
            "start processes with multiprocessing's 'spawn' or 'forkserver'"
        )


def _leave_python() -> None:
    """Wait until no thread of obstore executes Python, at the end of the process.

    A thread hands an answer over by a call of Python, and the answer may be used before that call returns. Until Python
    3.14, a thread that is still in it when the interpreter ends aborts the process: Rust does not let it unwind.
    """
    last = time.monotonic() + _LEAVING_SECONDS
    # In a forked child, these threads do not exist.
    while is_usable() and _hands_over() and time.monotonic() < last:
        time.sleep(_LEAVING_TURN_SECONDS)


def _hands_over() -> bool:
    """Whether a thread that Python did not begin tells an event loop something, and does nothing else in Python."""
    begun = {one.ident for one in threading.enumerate()}
    for number, frame in sys._current_frames().items():
        outermost: FrameType | None = None if number in begun else frame
        while outermost is not None and outermost.f_back is not None:
            outermost = outermost.f_back
        if outermost is not None and outermost.f_code.co_name == "call_soon_threadsafe":
            return True
    return False


def lists_in_order(store: ObjectStore) -> bool:
    """Return whether a store lists objects in the order of names, so that the first page has the first ones."""
    if not isinstance(store, S3Store | GCSStore | AzureStore):
        return False
    return not str(store.config.get("bucket", "")).endswith(_UNORDERED_BUCKETS)


def lists_after(store: ObjectStore) -> bool:
    """Return whether a listing may begin after a name at the cost of one page: Azure's older servers do not know it."""
    return lists_in_order(store) and not isinstance(store, AzureStore)


def place_and_token(store: ObjectStore) -> tuple[str, str]:
    """Return what stands before the paths of a store when they are printed, and what tells two stores apart.

    Raises
    ------
    InvalidArgumentError
        It is no store.
    """
    if isinstance(store, MemoryStore):
        return "memory://", f"memory {next(_numbers)}"
    if isinstance(store, LocalStore):
        prefix = f"{str(store.prefix or '').rstrip('/')}/"
        return f"file://{prefix}", f"file {prefix}"
    if isinstance(store, HTTPStore):
        return f"{redact(store.url).rstrip('/')}/", f"{store.url} {store.client_options}"
    if not isinstance(store, S3Store | AzureStore | GCSStore):
        raise InvalidArgumentError(f"expected a store of obstore, not {type(store).__name__}")
    config: dict[str, Any] = dict(store.config)
    protocol = "s3" if isinstance(store, S3Store) else "az" if isinstance(store, AzureStore) else "gs"
    bucket = config.get("bucket") or config.get("container_name", "")
    prefix = f"{store.prefix.strip('/')}/" if store.prefix else ""
    facts = sorted(map(str, config.items())), sorted(map(str, (store.client_options or {}).items()))
    return f"{protocol}://{bucket}/{prefix}", f"{protocol} {prefix} {facts} {store.credential_provider!r}"
