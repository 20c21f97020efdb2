"""Ranges of many files of a store of obstore: a few tasks ask for all of them, one after another.

This module imports obstore.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from obstore.exceptions import BaseError

from lance_arrow.errors import LanceError
from lance_arrow.io.checked_ranges import changed
from lance_arrow.io.obstore_errors import given_up_after, translated
from lance_arrow.io.obstore_stores import version_of, version_range
from lance_arrow.io.pacing.pace import PaceMeter
from lance_arrow.io.pacing.policy import files_at_once
from lance_arrow.io.patience import patience

if TYPE_CHECKING:
    from lance_arrow.io.obstore_filesystem import StoreFileSystem


class FileWaves:
    """Asks one filesystem for ranges; all callers together have no more requests in flight than its pace allows.

    Parameters
    ----------
    meter
        The pace of the filesystem; it learns from each answer.
    """

    def __init__(self, meter: PaceMeter) -> None:
        self._meter = meter
        # A semaphore belongs to the event loop that waits for it.
        self._free: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[int, asyncio.Semaphore]] = WeakKeyDictionary()

    async def views(
        self,
        filesystem: StoreFileSystem,
        paths: Sequence[str],
        starts: Sequence[int],
        stops: Sequence[int],
        versions: MutableMapping[str, object] | None = None,
    ) -> list[memoryview | Exception]:
        """Ask for ranges within the seconds of a read of them all; see `StoreFileSystem.read_views`."""
        out: list[Any] = [None] * len(paths)
        waiting = iter(range(len(paths)))
        most, free = self._places()

        async def ask() -> None:
            for number in waiting:
                path, start, stop = paths[number], starts[number], stops[number]
                try:
                    store, key = filesystem.placed(path)
                    # Stores refuse ranges without bytes.
                    if start < stop:
                        async with free:
                            begun = time.perf_counter()
                            if versions is None:
                                found = memoryview(await store.get_range_async(key, start=start, end=stop))
                            else:
                                meta, data = await version_range(store, key, start, stop)
                                _compare(versions, path, (version_of(meta), meta["size"]), filesystem.printed(path))
                                found = memoryview(data)
                            self._meter.saw(len(found), time.perf_counter() - begun, len(paths))
                        out[number] = found
                    else:
                        out[number] = memoryview(b"")
                except (BaseError, LanceError, OSError, ValueError) as error:
                    out[number] = translated(error, filesystem.printed(path))

        seconds = patience().allowed_seconds(sum(stops) - sum(starts))
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*[ask() for _ in range(min(len(paths), most))])
        except TimeoutError as late:
            missing = [number for number, one in enumerate(out) if one is None]
            for number in missing:
                out[number] = given_up_after(late, filesystem.printed(paths[number]), seconds)
        return out

    def _places(self) -> tuple[int, asyncio.Semaphore]:
        """Return how many requests may be in flight, and their places; after a change, former requests run out."""
        most, loop = files_at_once(self._meter.pace), asyncio.get_running_loop()
        known = self._free.get(loop)
        if known is None or known[0] != most:
            known = self._free[loop] = most, asyncio.Semaphore(most)
        return known


def _compare(versions: MutableMapping[str, object], path: str, found: object, name: str) -> None:
    """Remember the version of a file, or raise `FileChangedError` if it is not the one that is remembered."""
    known = versions.setdefault(path, found)
    if known != found:
        raise changed(name, f"version and size {known}", str(found))
