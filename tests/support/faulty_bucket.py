"""A bucket whose server fails as those of stores and the networks before them do: one seed gives all faults.

| Fault | What the client sees |
|---|---|
| `busy`, `throttled`, `broken` | 503, 429, 500, before anything was done |
| `expired`, `denied` | 400 `ExpiredToken`, 403 |
| `silent` | no answer for `silent_seconds`, then the connection is closed |
| `reset` | the connection is reset before anything was done |
| `lost` | the request is done, and the connection is reset instead of an answer |
| `failed_late` | the request is done, and the answer is 503 |
| `cut` | half of the body, then the end of the connection |
| `short`, `long` | fewer or more bytes than were asked for, and a Content-Length that agrees with them |
| `elsewhere` | the bytes of another range, and a Content-Range that says so |
| `whole` | 200 and all of the object in place of a range |
| `slow` | the right answer, after `slow_seconds` |
"""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bucket_server import Answers, Bucket, serve

STATUSES = {"busy": 503, "throttled": 429, "broken": 500, "expired": 400, "denied": 403}
PASSING = ("busy", "throttled", "broken", "reset", "lost", "failed_late", "cut", "short", "long", "elsewhere", "whole")
"""Faults that asking again mends, `silent` and `slow` aside."""
_OF_BODIES = frozenset({"cut", "short", "long", "elsewhere", "whole"})
_CODES = {"expired": "ExpiredToken", "busy": "SlowDown", "denied": "AccessDenied"}
_SHIFT_BYTES = 16


class FaultyBucket(Bucket):
    """A bucket that gives some requests a fault.

    Parameters
    ----------
    folder
        What it serves.
    seed
        Of the faults: the n-th request gets the same one at each run.
    share
        Of requests that get a fault.
    kinds
        Which faults.
    silent_seconds, slow_seconds
        See the table.
    """

    def __init__(
        self,
        folder: Path,
        *,
        seed: int = 0,
        share: float = 0.0,
        kinds: Sequence[str] = PASSING,
        silent_seconds: float = 60.0,
        slow_seconds: float = 0.2,
    ) -> None:
        super().__init__(folder, answers=_FaultyAnswers)
        self.kinds, self.share = kinds, share
        self.silent_seconds, self.slow_seconds = silent_seconds, slow_seconds
        self.given: Counter[str] = Counter()
        self.only = ""
        """Part of the method and path of requests that get faults; others get none."""
        self.after: Callable[[str], None] = lambda _: None
        """Called with method and path of each request, once its fault is chosen."""
        self.closing = threading.Event()
        self._random, self._lock = random.Random(seed), threading.Lock()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up."""

    def next_fault(self, request: str) -> str | None:
        """Return the fault of a request, or None."""
        with self._lock:
            if self.only not in request or self._random.random() >= self.share:
                return None
            kind = self._random.choice(self.kinds)
            self.given[kind] += 1
            return kind


@contextmanager
def faulty_bucket(folder: Path, **options: object) -> Iterator[FaultyBucket]:
    """Serve a folder as `BUCKET`, with the options of `FaultyBucket`."""
    server = FaultyBucket(folder, **options)  # type: ignore[arg-type]
    with serve(server):
        try:
            yield server
        finally:
            server.closing.set()


class _FaultyAnswers(Answers):
    server: FaultyBucket
    fault: str | None = None

    def _refused(self, request: str) -> bool:
        fault = self.fault = self.server.next_fault(request)
        self.server.after(request)
        if fault is None:
            return super()._refused(request)
        self.server.requests.append(request)
        if fault in STATUSES:
            self._refuse(STATUSES[fault], _CODES.get(fault, "InternalError"))
            return True
        if fault == "silent":
            self.server.closing.wait(self.server.silent_seconds)
            self.close_connection = True
            return True
        if fault == "reset":
            self._reset()
            return True
        if fault == "slow":
            self.server.closing.wait(self.server.slow_seconds)
        wanted = self.headers.get("Range")
        if self.command == "GET" and wanted is not None and fault in ("elsewhere", "whole"):
            del self.headers["Range"]
            if fault == "elsewhere":
                self.headers["Range"] = _moved(wanted)
        return False

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        fault, self.fault = self.fault, None
        if fault == "lost":
            self._reset()
            return
        if fault == "failed_late":
            self._refuse(503, "InternalError")
            return
        if self.command != "GET" or status not in (200, 206) or fault not in _OF_BODIES or len(body) < 2:
            super()._answer(status, body, headers)
        elif fault == "short":
            super()._answer(status, body[: len(body) // 2], headers)
        elif fault == "long":
            super()._answer(status, body + bytes(_SHIFT_BYTES), headers)
        elif fault == "cut":
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        else:
            super()._answer(status, body, headers)

    def _refuse(self, status: int, code: str) -> None:
        text = f"<Error><Code>{code}</Code><Message>{status} of the test</Message></Error>".encode()
        super()._answer(status, text)

    def _reset(self) -> None:
        """Close the connection so that the client gets a reset, not an end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def finish(self) -> None:
        """End a connection; one that was reset has nothing to flush."""
        try:
            super().finish()
        except (OSError, ValueError):
            return


def _moved(wanted: str) -> str:
    """Return another range of the same length: the header of an answer that is elsewhere."""
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    if not first:
        return f"bytes=-{max(int(last) - _SHIFT_BYTES, 1)}"
    shift = _SHIFT_BYTES if int(first) < _SHIFT_BYTES else -_SHIFT_BYTES
    return f"bytes={int(first) + shift}-{int(last) + shift if last else ''}"
