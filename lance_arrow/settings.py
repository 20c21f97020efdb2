"""Frozen settings and limits: what may be tuned, with the unit in each name; imports nothing of ours but errors.

`Settings.from_environment()` reads the few variables a user without code needs (`LANCE_ARROW_PREFER`,
`LANCE_ARROW_THREADS`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from lance_arrow.errors import InvalidArgumentError, ResourceLimitError

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Ceilings checked against sizes that a file declares, before anything is allocated.

    Raise one by passing ``Settings(limits=Limits(name=value))``.
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
    """Largest destination of one column in one batch, and largest intermediate on the way there."""
    max_expanded_bytes: int = 4096 * MEBIBYTE
    """Largest table made or filtered at once from a file a thousand times smaller: rows of one scalar take no bytes."""

    def check(self, name: str, wanted: int) -> int:
        """Return `wanted`, or raise `ResourceLimitError` naming the limit and how to raise it."""
        ceiling: int = getattr(self, name)
        if wanted > ceiling:
            raise ResourceLimitError(
                f"{wanted:,} bytes or units are declared, above the limit {name}={ceiling:,}; "
                f"raise it with Settings(limits=Limits({name}=...)) if the file is trusted",
                detail=name,
            )
        return wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a `Runtime` is built from."""

    limits: Limits = field(default_factory=Limits)
    prefer: Mapping[str, str] = field(default_factory=dict)
    """Which plugin wins a key that two provide: ``{"<message>/<case>": "<plugin name>"}``."""
    num_threads: int = field(default_factory=lambda: max(1, os.cpu_count() or 1))
    """Threads that decode columns of one read; 1 decodes in the caller."""
    index_cache_bytes: int = 64 * MEBIBYTE
    """Budget for chunk tables and row indices kept per runtime."""
    blob_batch_bytes: int = 32 * MEBIBYTE
    """Bytes of blobs that a batch should not exceed; one larger blob makes a batch of its own."""
    prove_row_indices: bool = False
    """Whether a page's row index is compared with the whole page before rows are taken by it.

    Without, every chunk or row that is read is compared with the index, but not those that are skipped: an index that
    lies about them finds other rows. With it, the first take of a page reads the page; the index is then kept, as long
    as `index_cache_bytes` has room for it.
    """
    scratch_bytes_per_thread: int = 64 * MEBIBYTE
    """Scratch memory a thread keeps between calls."""

    @classmethod
    def from_environment(cls) -> Settings:
        """Build the default settings, with ``LANCE_ARROW_PREFER`` and ``LANCE_ARROW_THREADS`` applied.

        ``LANCE_ARROW_PREFER`` is a list ``message/case=plugin`` separated by commas.
        """
        prefer = {}
        for item in filter(None, os.environ.get("LANCE_ARROW_PREFER", "").split(",")):
            key, equals, plugin = item.partition("=")
            if not equals or not key.strip() or not plugin.strip():
                raise InvalidArgumentError(f"LANCE_ARROW_PREFER holds {item!r}, expected message/case=plugin")
            prefer[key.strip()] = plugin.strip()
        threads = os.environ.get("LANCE_ARROW_THREADS")
        if threads is None:
            return cls(prefer=prefer)
        if not threads.isdecimal() or int(threads) < 1:
            raise InvalidArgumentError(f"LANCE_ARROW_THREADS is {threads!r}, expected a number of at least 1")
        return cls(prefer=prefer, num_threads=int(threads))
