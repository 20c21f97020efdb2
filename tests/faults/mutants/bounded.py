"""Bounds on one read of damaged bytes: five seconds of processor time, and four times the bytes plus 64 MiB of memory.

Processor time, because a fuzzer shares its machine: a read that waits for its turn is no hang. A read that sleeps is
found by a limit on the clock. Memory is the peak of resident memory above its level before the read, as Linux counts
it; elsewhere only the limit on addresses holds.

`SETTINGS` are those of a user who wants this bound: limits of what a file may claim, and budgets of what is kept.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import signal
import sys
from collections.abc import Iterator

import pyarrow as pa

from lance_arrow.settings import MEBIBYTE, Limits, Settings

ROOM_BYTES = 64 * MEBIBYTE
FACTOR = 4
PROCESSOR_SECONDS = 5.0
CLOCK_SECONDS = 120
ADDRESS_BYTES = 3 << 30
LIMITS = Limits(
    max_metadata_bytes=8 * MEBIBYTE,
    max_description_bytes=1 * MEBIBYTE,
    max_chunk_bytes=4 * MEBIBYTE,
    max_value_bytes=4 * MEBIBYTE,
    max_dictionary_bytes=4 * MEBIBYTE,
    max_batch_bytes=4 * MEBIBYTE,
    max_expanded_bytes=16 * MEBIBYTE,
)
SETTINGS = Settings(
    limits=LIMITS,
    num_threads=1,
    index_cache_bytes=4 * MEBIBYTE,
    scratch_bytes_per_thread=4 * MEBIBYTE,
    memory_budget_bytes=16 * MEBIBYTE,
)
SANITIZED = "ASAN_OPTIONS" in os.environ
"""A sanitizer's quarantine keeps what was freed, its checks take time: its own options bound both."""
MEASURED = sys.platform.startswith("linux") and not SANITIZED
ENVIRONMENT = {
    # What is freed goes back, so that a peak is what was held at once.
    "MALLOC_MMAP_THRESHOLD_": str(MEBIBYTE),
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Of worker processes."""
_RETURNED_FROM_BYTES = 16 * MEBIBYTE


class OutOfBounds(Exception):
    """A read took more memory than it may."""


class Bounds:
    """The bounds of a worker process; it may be made once."""

    def __init__(self) -> None:
        if not SANITIZED:
            # The shadow of AddressSanitizer alone takes terabytes of addresses.
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))
        self.most_bytes = 0
        if MEASURED:
            self._status = os.open("/proc/self/status", os.O_RDONLY)
            # What is written there lets the peak of resident memory begin anew.
            self._peaks = os.open("/proc/self/clear_refs", os.O_WRONLY)
            self._lowest = self._resident()[0]
            self._trim = ctypes.CDLL(None).malloc_trim

    @contextlib.contextmanager
    def keep(self, num_bytes: int) -> Iterator[None]:
        """Bound a read of so many damaged bytes.

        Raises
        ------
        OutOfBounds
            It took too much memory. Too much time ends the process with a signal.
        """
        before = self._level()
        signal.setitimer(signal.ITIMER_PROF, PROCESSOR_SECONDS * (10 if SANITIZED else 1))
        signal.alarm(CLOCK_SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
        if not MEASURED:
            return
        taken = self._resident()[1] - before
        self.most_bytes = max(self.most_bytes, taken)
        allowed = FACTOR * num_bytes + ROOM_BYTES
        if taken > allowed:
            raise OutOfBounds(
                f"{taken:,} bytes of memory for {num_bytes:,} damaged ones, at most {allowed:,} are right"
            )

    def _level(self) -> int:
        """Resident memory now; its peak begins anew."""
        if not MEASURED:
            return 0
        level = self._resident()[0]
        if level > self._lowest + _RETURNED_FROM_BYTES:
            gc.collect()
            pa.default_memory_pool().release_unused()
            self._trim(0)
            level = self._lowest = self._resident()[0]
        os.write(self._peaks, b"5")
        return level

    def _resident(self) -> tuple[int, int]:
        """Return resident memory and its peak."""
        # A mutant takes a millisecond, so the file stays open. `getrusage` has the peak of the process before `exec`.
        text = os.pread(self._status, 4096, 0)
        found = [int(text.split(name, 1)[1].split(None, 1)[0]) << 10 for name in (b"VmRSS:", b"VmHWM:")]
        return found[0], found[1]
