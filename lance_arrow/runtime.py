"""`Runtime`: what reads share (encoding table, binder, caches, threads), built once; the only composition root."""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from itertools import chain, islice
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from lance_arrow.errors import NotPicklableError, PluginContractError
from lance_arrow.settings import Settings
from lance_arrow.spi.loading import LoadedPlugins, load_plugins
from lance_arrow.spi.scratch import Scratch
from lance_arrow.spi.table import EncodingTable
from lance_arrow.structure.binder import Binder
from lance_arrow.structure.index_cache import IndexCache

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from lance_arrow.container.known_tails import KnownTails
    from lance_arrow.io import RangeSource
    from lance_arrow.io.kept_bytes import KeptBytes
    from lance_arrow.spi.commits import CommitStrategy, TablePlace
    from lance_arrow.spi.reports import ReadReport

FAR_THREADS = 32
"""Threads for calls that wait for a store: as many as requests are in flight of one file."""
_PART_OF_INDICES = 8
"""Indices of pages take at most this part of the memory budget."""
_LEAST_INDEX_BYTES = 1 << 20
"""Indices may always take so many bytes: without them, each take reads them again."""
_PART_OF_FAR_BYTES = 16
"""Part of the memory budget that holds bytes of far files which were read."""

T = TypeVar("T")
R = TypeVar("R")

MANY_COLUMNS = 1024
"""Of so many columns Python does not look for garbage while their objects are made."""


class _Making:
    """While it is entered, by any thread, Python does not look for garbage; reentrant."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._num_entered = 0
        self._was_enabled = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._num_entered:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._num_entered += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._num_entered -= 1
            if not self._num_entered and self._was_enabled:
                gc.enable()


_making = _Making()
_nothing = nullcontext()


def making_objects(num_columns: int) -> AbstractContextManager[None]:
    """Let Python not look for garbage while objects of many columns are made: all of them live on.

    It would look at all objects of the process a few times: a third of the time to read 10,000 columns. Few columns
    make no difference.

    Parameters
    ----------
    num_columns
        How many columns there are.
    """
    return _making if num_columns >= MANY_COLUMNS else _nothing


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as computed_once
else:

    class computed_once:
        """A `functools.cached_property` without the lock of Python 3.11, which all objects of a class share.

        What is computed may wait for a store. Two threads may compute it for one object.
        """

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self._function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            found = instance.__dict__[self._name] = self._function(instance)
            return found


class Runtime:
    """Plugins resolved under one set of settings.

    Parameters
    ----------
    settings
        Limits, preferences, budgets; by default those of the environment.
    plugins
        Loaded plugins; by default every entry point of the group.

    Raises
    ------
    PluginConflictError, PluginLoadError
        The installed plugins cannot be resolved.

    Examples
    --------
    >>> runtime = lance_arrow.Runtime(lance_arrow.Settings(num_threads=1))
    >>> lance_arrow.verify("flights.lance", runtime=runtime).ok
    True
    """

    def __init__(self, settings: Settings | None = None, plugins: LoadedPlugins | None = None) -> None:
        self.settings = settings if settings is not None else Settings.from_environment()
        self.plugins = plugins if plugins is not None else load_plugins()
        self.table = EncodingTable(self.plugins, self.settings.prefer)
        self.scratch = Scratch(self.settings.scratch_bytes_per_thread, self.settings.limits)
        self.binder = Binder(self.table, self.settings.limits, self.scratch)
        most_index_bytes = max(_LEAST_INDEX_BYTES, self.settings.memory_budget_bytes // _PART_OF_INDICES)
        index_bytes = min(self.settings.index_cache_bytes, most_index_bytes)
        self.indices = IndexCache(index_bytes, self.settings.limits if self.settings.prove_row_indices else None)
        self._far_bytes: KeptBytes | None = None
        self._threads: dict[bool, ThreadPoolExecutor] = {}
        self._threads_pid = 0
        self._lock = Lock()

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> Iterable[R]:
        """Apply `function` to each item, on this runtime's threads when that pays; results in order.

        Examples
        --------
        >>> runtime = lance_arrow.Runtime(lance_arrow.Settings(num_threads=2))
        >>> list(runtime.map(str, [1, 2]))
        ['1', '2']
        """
        if self.settings.num_threads == 1 or len(items) < 2:
            return [function(item) for item in items]
        return self._executor().map(function, items)

    def each(
        self, function: Callable[[T], R], items: Iterable[T], *, is_far: bool, num_ahead: int | None = None
    ) -> Iterator[R]:
        """Apply `function` to items in order; what waits for a store is begun for many of them, as by `ahead`.

        Examples
        --------
        >>> runtime = lance_arrow.Runtime(lance_arrow.Settings(num_threads=2))
        >>> list(runtime.each(str, [1, 2], is_far=False))
        ['1', '2']
        """
        return self.ahead(function, items, num_ahead=num_ahead, is_far=True) if is_far else map(function, items)

    def side_by_side(self, function: Callable[[T], R], items: Sequence[T], *, is_far: bool = False) -> list[R]:
        """Apply `function` to few items at once, the caller working too; results in order.

        The caller also runs items that no thread has started, so busy threads never make it wait. So it may be one of
        these threads itself, where `ahead` could wait for ever. With `is_far`, they are those that wait for a store.

        Examples
        --------
        >>> runtime = lance_arrow.Runtime(lance_arrow.Settings(num_threads=2))
        >>> runtime.side_by_side(str, [1, 2])
        ['1', '2']
        """
        if self.settings.num_threads == 1 or len(items) < 2:
            return [function(item) for item in items]
        executor = self._executor(is_far=is_far)
        futures = [executor.submit(function, item) for item in items[1:]]
        results = [function(items[0])]
        for item, future in zip(items[1:], futures, strict=True):
            results.append(function(item) if future.cancel() else future.result())
        return results

    def ahead(
        self,
        function: Callable[[T], R],
        items: Iterable[T],
        *,
        num_ahead: int | None = None,
        is_far: bool = False,
        weigh: Callable[[T], float] | None = None,
        most_weight: float = 0.0,
        may_stop: bool = False,
        is_first_alone: bool = False,
    ) -> Iterator[R]:
        """Apply `function` to items in order, at most `num_ahead` (None: `num_threads`) ahead of the consumer.

        A consumer that stops early leaves no more than those running. One item alone is for the consumer itself.

        Parameters
        ----------
        function, items
            What is applied to what.
        num_ahead
            How far ahead.
        is_far
            Whether calls mostly wait for a store: then 32 threads of their own make them, unless `num_threads` is 1.
        weigh, most_weight
            What an item weighs, and the most that items ahead may weigh together; only `num_ahead` counts when None.
        may_stop
            Whether the consumer may want the first results alone: then these do not wait for items that are ahead.
        is_first_alone
            Whether no item is asked for before the consumer has the first result.

        Examples
        --------
        >>> runtime = lance_arrow.Runtime(lance_arrow.Settings(num_threads=2))
        >>> list(runtime.ahead(str, range(3), num_ahead=1))
        ['0', '1', '2']
        """
        if self.settings.num_threads == 1:
            yield from map(function, items)
            return
        if num_ahead is None:
            num_ahead = FAR_THREADS if is_far else self.settings.num_threads
        # The second may take long to be made.
        if num_ahead > 0 and not may_stop and not is_first_alone:
            rest = iter(items)
            first = list(islice(rest, 2))
            if len(first) < 2:
                yield from map(function, first)
                return
            items = chain(first, rest)
        executor = self._executor(is_far=is_far)
        pending: deque[tuple[Future[R], float]] = deque()
        weight, num_taken = 0.0, 0
        try:
            for item in items:
                own = 0.0 if weigh is None else weigh(item)
                pending.append((executor.submit(function, item), own))
                weight += own
                while pending and (
                    len(pending) > num_ahead
                    or (weight > most_weight > 0 and len(pending) > 1)
                    # One more for each that was taken: a consumer that goes on finds as much ahead as any.
                    or (may_stop and len(pending) > num_taken and pending[0][0].done())
                    or (is_first_alone and not num_taken)
                ):
                    future, own = pending.popleft()
                    weight -= own
                    num_taken += 1
                    yield future.result()
            while pending:
                yield pending.popleft()[0].result()
        finally:
            for future, _ in pending:
                future.cancel()

    @cached_property
    def tails(self) -> KnownTails:
        """What is known of files that were opened before."""
        from lance_arrow.container.known_tails import KnownTails  # noqa: PLC0415 - for datasets and tables

        return KnownTails()

    def keeping(self, source: RangeSource) -> RangeSource:
        """Return a far source as one that keeps what it has read; all of them share a part of the memory budget."""
        from lance_arrow.io.kept_source import KeptSource  # noqa: PLC0415 - for far files alone

        return KeptSource(source, self.far_bytes)

    @property
    def far_bytes(self) -> KeptBytes:
        """Bytes of far files that are kept: a part of the memory budget."""
        from lance_arrow.io.kept_bytes import KeptBytes  # noqa: PLC0415 - for far files alone

        with self._lock:
            if self._far_bytes is None:
                self._far_bytes = KeptBytes(self.settings.memory_budget_bytes // _PART_OF_FAR_BYTES)
            return self._far_bytes

    @property
    def is_watched(self) -> bool:
        """Whether a plugin or `receipts()` collects reports of reads; else none are made."""
        return bool(self.plugins.manager.hook.lance_read_finished.get_hookimpls())

    def finished(self, report: ReadReport) -> None:
        """Hand a receipt to the plugins that look at it."""
        self.plugins.manager.hook.lance_read_finished(report=report)

    def commit_strategy(self, location: TablePlace) -> CommitStrategy | None:
        """Return how a plugin wants versions of a table to be made; None where none has an opinion.

        Raises
        ------
        PluginContractError
            What a plugin returned is no strategy.
        """
        from lance_arrow.spi.commits import CommitStrategy  # noqa: PLC0415 - for commits alone

        found = self.plugins.manager.hook.lance_commit_strategy(location=location, settings=self.settings)
        if found is not None and not isinstance(found, CommitStrategy):
            raise PluginContractError(
                f"lance_commit_strategy returned {type(found).__name__}, which has no publish()", path=location.name
            )
        return found

    def __reduce__(self) -> tuple[object, ...]:
        raise NotPicklableError(
            "a Runtime holds threads, caches and loaded plugins of this process; pickle its settings, and make "
            "Runtime(settings) in the other process"
        )

    def __repr__(self) -> str:
        plugins = len(self.plugins.manager.get_plugins())
        settings = self.settings
        return (
            f"Runtime(plugins={plugins}, num_threads={settings.num_threads}, "
            f"memory_budget_bytes={settings.memory_budget_bytes:,})"
        )

    def _executor(self, *, is_far: bool = False) -> ThreadPoolExecutor:
        with self._lock:
            pid = os.getpid()
            if self._threads_pid != pid:
                # Threads do not survive a fork: a child starts its own.
                self._threads.clear()
                self._threads_pid = pid
            if is_far not in self._threads:
                from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - for reads that need threads

                most = FAR_THREADS if is_far else self.settings.num_threads
                self._threads[is_far] = ThreadPoolExecutor(most, thread_name_prefix="lance-arrow")
            return self._threads[is_far]


_default: Runtime | None = None
_default_lock = Lock()


def default_runtime() -> Runtime:
    """The runtime of callers that bring none: built on first use, never at import."""
    global _default  # noqa: PLW0603
    with _default_lock:
        if _default is None:
            _default = Runtime()
        return _default
