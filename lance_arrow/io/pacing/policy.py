"""All numbers that say how files of stores are read, and which of them follow from the `Pace` of a store.

| Question | Follows from |
|---|---|
| how large a request of a scan is | bandwidth: a request is transferred in 25 ms |
| how many requests of many files run | latency: as many as this process can handle while one of them waits |
| whether rows are guessed | both: a wave less for what a connection carries meanwhile |
| which holes are read, how many requests a wave has | processor time of a request: constants of decision 0090 |
| up to what size a filter reads files whole, how many groups are read ahead | the same: constants of 0099 |

Decision 0102 has the measurements.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from lance_arrow.io.pacing.pace import Pace
from lance_arrow.io.source import Coalescing

REQUEST_SECONDS = 0.25e-3
"""Processor time of this process for a request of a small file: more requests at once would wait for it."""
TINY_FILE_BYTES = 128 << 10
"""Up to this size a filter reads a file whole. Opening reads 64 KiB, and another request costs more than as much."""
FAR_GROUPS_AHEAD = 4
"""Groups of files that are opened ahead: they wait for requests, and each takes a part of the memory budget."""
_FEWEST_FILES, _MOST_FILES = 64, 256
_TRANSFER_SECONDS = 0.025
_LEAST_SPAN_BYTES = 1 << 20
_GUESSED_BYTES = 32 << 10
"""What the engine reads around a guessed row."""


def files_at_once(pace: Pace) -> int:
    """Return how many requests of different files are useful at a time: no more than can be handled meanwhile."""
    return int(min(max(pace.latency_seconds / REQUEST_SECONDS, _FEWEST_FILES), _MOST_FILES))


@lru_cache(64)
def paced(usual: Coalescing, pace: Pace) -> Coalescing:
    """Return limits for joining ranges that fit the pace of a store; `usual` has the largest ones."""
    span_bytes = min(max(int(pace.bytes_per_second * _TRANSFER_SECONDS), _LEAST_SPAN_BYTES), usual.max_span_bytes)
    return replace(
        usual,
        max_span_bytes=span_bytes,
        whole_bytes=min(usual.whole_bytes, span_bytes),
        guesses_rows=usual.guesses_rows and pace.round_bytes >= _GUESSED_BYTES,
        pace=pace,
    )
