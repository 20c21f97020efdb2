"""`simulated`: the product with the clock, the random numbers, the disk and the locks of a `World`.

Names of modules of the product are replaced while a history runs; the product has no code for it.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import random
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from store import DiskFileSystem, SimulatedFileSystem, SystemCalls
from world import Lock, World

from lance_arrow import runtime as runtimes
from lance_arrow.io import exclusive, local_sink
from lance_arrow.manifests import version_marks, writing
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi.commits import CommitStrategy, LockedCommit, TablePlace
from lance_arrow.table import (
    added_files,
    branches,
    cleanup,
    commit,
    data_files,
    deletion_files,
    tags,
    writable_branch,
    zone_index,
)
from lance_arrow.table.copies import cloning
from lance_arrow.table.indices import remaking

_NANOSECONDS = 1_000_000_000


class _SimulatedRuntime(Runtime):
    """A runtime of one thread, whose plugins know the lock of the world."""

    def __init__(self) -> None:
        super().__init__(Settings(num_threads=1))
        self.strategy: CommitStrategy | None = None

    def commit_strategy(self, location: TablePlace) -> CommitStrategy | None:
        return self.strategy


def _computed(self: Any, instance: Any, owner: Any = None) -> Any:
    """Return a cached property; that of Python 3.11 holds a lock of its class, which processes do not share."""
    if instance is None:
        return self
    held = vars(instance)
    if self.attrname not in held:
        held[self.attrname] = self.func(instance)
    return held[self.attrname]


# Plugins are loaded once: it takes as long as a history.
_runtime: list[_SimulatedRuntime] = []


@contextlib.contextmanager
def simulated(world: World, kind: str, view: Any, *, seed: str) -> Iterator[None]:
    """Let the product run in a world.

    Parameters
    ----------
    world
        Has the clock and the tasks.
    kind
        One of `store.KINDS`.
    view
        Returns the filesystem, for what works on descriptors.
    seed
        What random numbers are drawn from when no task runs.
    """
    alone = random.Random(f"alone {seed}")
    if not _runtime:
        _runtime.append(_SimulatedRuntime())
    runtime = _runtime[0]
    lock = Lock(world)
    runtime.strategy = LockedCommit(lambda attempt: lock) if kind == "lock" else None

    def chance() -> random.Random:
        return alone if world.current is None else world.current.random

    class Moment(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return datetime.datetime.fromtimestamp(world.time(), tz)

    clock = SimpleNamespace(
        time=world.time,
        time_ns=lambda: int(world.time() * _NANOSECONDS),
        monotonic=lambda: world.now,
        perf_counter=lambda: world.now,
        sleep=world.sleep,
    )
    dates = SimpleNamespace(datetime=Moment, timedelta=datetime.timedelta, UTC=datetime.UTC, date=datetime.date)
    with contextlib.ExitStack() as stack:

        def replace(where: Any, name: str, what: Any) -> None:
            stack.enter_context(patch.object(where, name, what))

        replace(runtimes, "_default", runtime)
        replace(functools.cached_property, "__get__", _computed)
        for module in (branches, commit, writable_branch, writing, zone_index, remaking):
            replace(module, "time", clock)
        for module in (cleanup, tags):
            replace(module, "datetime", dates)
        replace(commit, "random", SimpleNamespace(uniform=lambda low, high: chance().uniform(low, high)))
        # In the product's modules alone: other modules draw too, when they are imported.
        names = SimpleNamespace(UUID=uuid.UUID, uuid4=lambda: uuid.UUID(int=chance().getrandbits(128), version=4))
        for module in (added_files, branches, cloning, commit, data_files, remaking, zone_index):
            replace(module, "uuid", names)
        drawn = SimpleNamespace(
            token_hex=lambda count: chance().randbytes(count).hex(), randbits=lambda bits: chance().getrandbits(bits)
        )
        for module in (deletion_files, exclusive, local_sink, version_marks):
            replace(module, "secrets", drawn)
        # The filesystem is one in memory for reads alone.
        replace(exclusive, "_is_in_memory", lambda filesystem: False)
        name = f"{SimulatedFileSystem.__module__}.{SimulatedFileSystem.__qualname__}"
        stack.enter_context(patch.dict(exclusive._CONDITIONAL, {name: {"mode": "create"}}))
        if kind == "rename":
            replace(exclusive, "_is_on_disk", lambda filesystem: type(filesystem) is DiskFileSystem)
            replace(exclusive, "os", SystemCalls(view))
            replace(exclusive, "sync_folder", lambda folder: None)
            replace(exclusive, "CREATE_FLAGS", 0)
        yield
