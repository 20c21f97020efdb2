"""`Pace`: latency of a store and bandwidth of one connection, learned from what its answers took.

Answers take longer than the store needs if this process is busy. So of the last answers the fastest ones count: a store
that became slower is noticed once its fast answers are forgotten.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from threading import Lock

_NUM_KEPT = 16
"""Answers that are remembered of each kind."""
_LEAST_ANSWERS = 2
"""The first answer also waits for its connection to be opened."""
_LEAST_LARGE_ANSWERS = 4
"""Large answers share the client with others, so that one tells less."""
_SMALL_BYTES = 128 << 10
"""Answers up to this size tell the latency: at 5 MB/s, transferring them takes less than usual stores wait."""
_LARGE_BYTES = 512 << 10
"""Answers from this size on tell the bandwidth."""
_MOST_TOGETHER = 4
"""More requests at once wait for each other in the client."""
_LATENCIES = (1e-3, 0.5)
_BANDWIDTHS = (5e6, 1e9)


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a store is.

    Parameters
    ----------
    latency_seconds
        Time from a request to the first byte of its answer.
    bytes_per_second
        Bandwidth of one connection.
    is_learned
        Whether answers told at least one of the two.
    """

    latency_seconds: float
    bytes_per_second: float
    is_learned: bool = False

    @property
    def round_bytes(self) -> float:
        """Bytes that a connection carries while a request waits."""
        return self.latency_seconds * self.bytes_per_second

    def __str__(self) -> str:
        told = "learned" if self.is_learned else "usual"
        return f"{1e3 * self.latency_seconds:.0f} ms, {self.bytes_per_second / 1e6:.0f} MB/s a connection ({told})"


USUAL_PACE = Pace(0.030, 90e6)
"""Of S3, GCS, Azure and servers of HTTP in the same region, before answers told more."""


class PaceMeter:
    """Learns the pace of one filesystem; threads share it.

    Parameters
    ----------
    usual
        The pace until enough answers came.
    """

    def __init__(self, usual: Pace = USUAL_PACE) -> None:
        self._usual = self._pace = usual
        self._latencies: deque[float] = deque(maxlen=_NUM_KEPT)
        self._bandwidths: deque[float] = deque(maxlen=_NUM_KEPT)
        self._lock = Lock()

    @property
    def pace(self) -> Pace:
        """What is known now."""
        return self._pace

    def saw(self, num_bytes: int, seconds: float, num_together: int = 1) -> None:
        """Note an answer.

        Parameters
        ----------
        num_bytes
            Its size; of requests that were made together, that of the largest answer.
        seconds
            Time from the first request to the last byte.
        num_together
            Number of requests that were made together.
        """
        is_small = num_bytes <= _SMALL_BYTES and num_together <= _MOST_TOGETHER
        if not is_small and num_bytes < _LARGE_BYTES:
            return
        with self._lock:
            if is_small:
                self._latencies.append(seconds - num_bytes / self._pace.bytes_per_second)
            elif seconds > self._pace.latency_seconds:
                self._bandwidths.append(num_bytes / (seconds - self._pace.latency_seconds))
            self._pace = self._learned()

    def _learned(self) -> Pace:
        latency, bandwidth = self._usual.latency_seconds, self._usual.bytes_per_second
        knows_latency = len(self._latencies) >= _LEAST_ANSWERS
        knows_bandwidth = len(self._bandwidths) >= _LEAST_LARGE_ANSWERS
        if knows_latency:
            latency = _rounded(min(self._latencies), _LATENCIES)
        if knows_bandwidth:
            bandwidth = _rounded(max(self._bandwidths), _BANDWIDTHS)
        return Pace(latency, bandwidth, is_learned=knows_latency or knows_bandwidth)


def _rounded(value: float, bounds: tuple[float, float]) -> float:
    """Return a value within bounds, to a tenth of its size: small differences shall not change plans."""
    inside = min(max(value, bounds[0]), bounds[1])
    unit = 10.0 ** (math.floor(math.log10(inside)) - 1)
    return min(max(round(inside / unit) * unit, bounds[0]), bounds[1])
