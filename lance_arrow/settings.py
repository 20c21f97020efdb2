"""Frozen settings and limits, with the unit in each name; imports no module of this package except errors.

`Settings.from_environment()` reads the few variables a user without code needs (`LANCE_ARROW_PREFER`,
`LANCE_ARROW_THREADS`, `LANCE_ARROW_MEMORY_BYTES`, `LANCE_ARROW_LIMITS`, `LANCE_ARROW_READ_SECONDS`,
`LANCE_ARROW_READ_ATTEMPTS`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from lance_arrow.errors import InvalidArgumentError, ResourceLimitError

MEBIBYTE = 1 << 20
_BYTES_PER_DECODED_BYTE = 4
_COLUMN_BYTES = 28 << 10
"""Memory of a column that is read and written, however few rows it has: metadata, bounds, objects that hold them."""
_LEAST_SHARE = 4
"""Rows may always take this part of the memory budget."""
WAITING_PART = 3
"""Rows that wait to be pages of a file may take this part of what the budget leaves for rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Maxima for sizes that a file declares, checked before memory is allocated.

    Set them by ``Settings(limits=Limits(name=value))``. Datasets and tables take no settings: set
    ``LANCE_ARROW_LIMITS=name=value`` in the environment.

    Examples
    --------
    >>> limits = lance_arrow.Limits(max_expanded_bytes=1 << 32)
    >>> lance_arrow.Settings(limits=limits).limits.max_expanded_bytes
    4294967296
    """

    max_metadata_bytes: int = 512 * MEBIBYTE
    """Largest footer part (descriptor, column metadata, offset table) read at once."""
    max_description_bytes: int = 16 * MEBIBYTE
    """Largest page or column description."""
    max_description_depth: int = 32
    """Deepest tree of encodings."""
    max_chunk_bytes: int = 64 * MEBIBYTE
    """Largest decompressed mini-block chunk buffer."""
    max_value_bytes: int = 2048 * MEBIBYTE
    """Largest decompressed single value of a full-zip page."""
    max_dictionary_bytes: int = 1024 * MEBIBYTE
    """Largest decoded dictionary of a page."""
    max_batch_bytes: int = 4096 * MEBIBYTE
    """Largest buffer of one column in one batch, and largest intermediate buffer: what a damaged or hostile file can
    make the reader allocate at once. `Settings.memory_budget_bytes` bounds usual reads."""
    max_expanded_bytes: int = 1024 * MEBIBYTE
    """Largest table that is made, filtered or scanned from a file a thousand times smaller. A row counts as 8 bytes at
    least. Also the largest list of deleted rows."""

    def check(self, name: str, wanted: int) -> int:
        """Return `wanted`, or raise `ResourceLimitError` naming the limit and how to raise it.

        Examples
        --------
        >>> limits = lance_arrow.Limits()
        >>> limits.check("max_chunk_bytes", 4096)
        4096
        """
        ceiling: int = getattr(self, name)
        if wanted > ceiling:
            raise above_limit(f"{wanted:,} bytes or units are declared", name, ceiling)
        return wanted


def above_limit(wanted: str, name: str, ceiling: int) -> ResourceLimitError:
    """Return the error of what is wanted above one of `Limits`."""
    return ResourceLimitError(
        f"{wanted}, above the limit {name}={ceiling:,}; raise it with Settings(limits=Limits({name}=...)), or "
        f"LANCE_ARROW_LIMITS={name}=... in the environment, if the file is trusted",
        detail=name,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a `Runtime`: limits, memory, threads, plugins.

    Examples
    --------
    >>> settings = lance_arrow.Settings(num_threads=1)
    >>> with lance_arrow.LanceFile("flights.lance", runtime=lance_arrow.Runtime(settings)) as file:
    ...     file.count_rows("id < 10")
    10
    """

    limits: Limits = field(default_factory=Limits)
    prefer: Mapping[str, str] = field(default_factory=dict)
    """The plugin to use for a key that two provide: ``{"<message>/<case>": "<plugin name>"}``."""
    num_threads: int = field(default_factory=lambda: max(1, os.cpu_count() or 1))
    """Threads that decode columns of one read; 1 decodes in the caller."""
    index_cache_bytes: int = 64 * MEBIBYTE
    """Most bytes of chunk tables and row indices kept per runtime; at most an eighth of the memory budget, or 1 MiB."""
    blob_batch_bytes: int = 32 * MEBIBYTE
    """Maximum bytes of blobs in a batch; one larger blob makes a batch of its own."""
    prove_row_indices: bool = False
    """Whether a page's row index is compared with the whole page before rows are taken by it.

    If False, the index is compared with the chunks and rows that are read, not with those that are skipped. A wrong
    index can then find wrong rows. If True, the first take of a page reads the whole page. The index is kept within
    `index_cache_bytes`.
    """
    scratch_bytes_per_thread: int = 64 * MEBIBYTE
    """Scratch memory a thread keeps between calls."""
    memory_budget_bytes: int = 512 * MEBIBYTE
    """Bytes that a streaming read (`LanceFile.to_batches`, a scan of one file) may hold besides the caller's batch.

    They are for rows decoded ahead, and their encoded bytes. The budget sets how many rows are read at once and how far
    ahead. Each column counts 28 KiB of it. One batch, or one row, may exceed it. Sizes are estimated from column
    metadata; the estimate of strings and lists is corrected after the first rows.
    """

    commit_seconds: float = 60.0
    """Seconds for which a commit retries when other writers commit first."""
    read_seconds: float = 120.0
    """Seconds after which a read of a store is given up, with all its attempts; each MiB that it asks for adds one.

    Datasets and tables take no settings: set ``LANCE_ARROW_READ_SECONDS`` in the environment. Listings, and files of
    metadata, have this deadline too.
    """
    read_attempts: int = 4
    """Most attempts for a read whose answer is wrong or missing; ``LANCE_ARROW_READ_ATTEMPTS`` in the environment.

    Clients that repeat failed requests themselves (obstore, s3fs, gcsfs, adlfs) have their own number for these.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.commit_seconds, (int, float)) or not self.commit_seconds >= 0:
            raise InvalidArgumentError(
                f"commit_seconds is {self.commit_seconds!r}, expected a number, at least 0", detail=self.commit_seconds
            )
        if not isinstance(self.read_seconds, (int, float)) or not self.read_seconds > 0:
            raise InvalidArgumentError(
                f"read_seconds is {self.read_seconds!r}, expected a number above 0", detail=self.read_seconds
            )
        for name in ("num_threads", "memory_budget_bytes", "read_attempts"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InvalidArgumentError(f"{name} is {value!r}, expected an integer, at least 1", detail=value)

    def row_bytes(self, num_columns: int) -> int:
        """Return what is left of the memory budget for rows of many columns: at least a quarter.

        Each column takes memory however few rows it has.

        Examples
        --------
        >>> settings = lance_arrow.Settings()
        >>> settings.row_bytes(1) > settings.row_bytes(10_000) > settings.memory_budget_bytes // 3
        True
        """
        budget = self.memory_budget_bytes
        return max(1, budget - num_columns * _COLUMN_BYTES, budget // _LEAST_SHARE)

    def window_bytes(self, num_windows: float, num_columns: int = 0) -> int:
        """Return the decoded bytes that each of several windows in flight may take.

        It takes as much again encoded, and allocators keep about as much as they were once asked for. `num_columns` is
        that of the rows, see `row_bytes`.

        Examples
        --------
        >>> settings = lance_arrow.Settings(memory_budget_bytes=1 << 30)
        >>> settings.window_bytes(4) > settings.window_bytes(8)
        True
        """
        return max(1, int(self.row_bytes(num_columns) // (_BYTES_PER_DECODED_BYTE * num_windows)))

    @property
    def blob_piece_bytes(self) -> int:
        """Bytes of blobs that a batch of a stream should not exceed, so that two are within the budget."""
        return max(1, min(self.blob_batch_bytes, self.memory_budget_bytes // (2 * _BYTES_PER_DECODED_BYTE)))

    def windows_within_budget(self, window_bytes: float) -> int:
        """How many windows of a size may be in flight: at least one, at most one per thread and one that waits.

        Examples
        --------
        >>> settings = lance_arrow.Settings(memory_budget_bytes=1 << 30, num_threads=4)
        >>> settings.windows_within_budget(1 << 20), settings.windows_within_budget(1 << 40)
        (5, 1)
        """
        fitting = self.memory_budget_bytes / (_BYTES_PER_DECODED_BYTE * max(window_bytes, 1.0))
        return max(1, min(self.num_threads + 1, int(fitting)))

    @classmethod
    def from_environment(cls) -> Settings:
        """Build the default settings, with what the environment says applied.

        ``LANCE_ARROW_PREFER`` is a list ``message/case=plugin`` separated by commas, ``LANCE_ARROW_THREADS`` and
        ``LANCE_ARROW_MEMORY_BYTES`` are numbers of at least 1. ``LANCE_ARROW_LIMITS`` is a list ``name=number``, with
        the names of `Limits`. ``LANCE_ARROW_READ_SECONDS`` is a number above 0, ``LANCE_ARROW_READ_ATTEMPTS`` one
        of at least 1.
        """
        prefer = {}
        for item in filter(None, os.environ.get("LANCE_ARROW_PREFER", "").split(",")):
            key, equals, plugin = item.partition("=")
            if not equals or not key.strip() or not plugin.strip():
                raise InvalidArgumentError(f"LANCE_ARROW_PREFER holds {item!r}, expected message/case=plugin")
            prefer[key.strip()] = plugin.strip()
        threads = _number("LANCE_ARROW_THREADS")
        budget = _number("LANCE_ARROW_MEMORY_BYTES")
        seconds, attempts = _seconds("LANCE_ARROW_READ_SECONDS"), _number("LANCE_ARROW_READ_ATTEMPTS")
        found = cls(prefer=prefer)
        return replace(
            found,
            num_threads=found.num_threads if threads is None else threads,
            memory_budget_bytes=found.memory_budget_bytes if budget is None else budget,
            limits=replace(found.limits, **_limits("LANCE_ARROW_LIMITS")),
            read_seconds=found.read_seconds if seconds is None else seconds,
            read_attempts=found.read_attempts if attempts is None else attempts,
        )


def _limits(name: str) -> dict[str, int]:
    known = [one.name for one in fields(Limits)]
    found = {}
    for item in filter(None, os.environ.get(name, "").split(",")):
        limit, equals, text = (part.strip() for part in item.partition("="))
        if not equals or limit not in known or not text.isdecimal():
            raise InvalidArgumentError(f"{name} holds {item!r}, expected name=number; names: {', '.join(known)}")
        found[limit] = int(text)
    return found


def _number(name: str) -> int | None:
    text = os.environ.get(name)
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise InvalidArgumentError(f"{name} is {text!r}, expected a number of at least 1")
    return int(text)


def _seconds(name: str) -> float | None:
    text = os.environ.get(name)
    if text is None:
        return None
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise InvalidArgumentError(f"{name} is {text!r}, expected a number above 0")
    return found
