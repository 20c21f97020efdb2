"""How long a store is waited for: attempts, the delays between them, and a deadline.

A request that failed is repeated where that can mend it: the server was busy, the connection broke, the body had a
wrong length. Some clients repeat such requests themselves (obstore, s3fs, gcsfs, adlfs). They are not asked again for
what they gave up. None of them repeats answers of a wrong length or range. What is given up is a `StoreError`.

| Given up because | Raised |
|---|---|
| the last attempt failed, or repeating is useless | `StoreError` |
| the store refuses the credentials | `StoreRefusedError` |
| the time is up | `StoreTimeoutError` |
| the file, or a file, is missing, exists, is a folder | the built-in exception, as it came |
"""

from __future__ import annotations

import errno
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from lance_arrow.errors import (
    LanceError,
    StoreError,
    StoreRefusedError,
    StoreTimeoutError,
    TruncatedReadError,
    UnsupportedError,
)
from lance_arrow.io.foreign_errors import hide_secrets
from lance_arrow.io.http_answers import answered_status, status_of
from lance_arrow.redaction import redact_text
from lance_arrow.settings import MEBIBYTE, Settings

_Answer = TypeVar("_Answer")
_FIRST_DELAY_SECONDS = 0.1
_LONGEST_DELAY_SECONDS = 5.0
_MOST_CAUSES = 10
# A server that does not know ranges sends the whole object each time.
_ATTEMPTS_WITHOUT_RANGES = 2
_PASSING_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, 509})
_PASSING_NUMBERS = frozenset({
    errno.EIO, errno.EBUSY, errno.EAGAIN, errno.EPIPE, errno.ETIMEDOUT, errno.ECONNRESET, errno.ECONNABORTED,
    errno.ECONNREFUSED, errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET, errno.EHOSTUNREACH,
})  # fmt: skip
_WITHOUT_REFUSAL = (None, 404, 410)
_NETWORKS = ("aiohttp", "botocore", "aiobotocore", "urllib3", "requests", "httpx")
_BREAKING = ("Connection", "Disconnected", "Payload", "Timeout", "HTTPClient", "IncompleteRead", "ResponseStream")
_REPEATING = ("s3fs", "gcsfs", "adlfs")
_OF_PATHS = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError)
_EXPIRED = (
    "ExpiredToken",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "RequestTimeTooSkewed",
    "TokenRefreshRequired",
)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often a store is asked.

    Parameters
    ----------
    seconds
        For a read or another call of a store, with all its attempts. Each MiB that is asked for adds a second.
    attempts
        Most attempts.
    """

    seconds: float
    attempts: int

    def allowed_seconds(self, num_bytes: int) -> float:
        """Return the seconds for a read of so many bytes."""
        return self.seconds + num_bytes / MEBIBYTE


def patience_of(settings: Settings) -> Patience:
    """Return what settings say."""
    return Patience(settings.read_seconds, settings.read_attempts)


def patience() -> Patience:
    """Return what the environment says, or the default.

    Raises
    ------
    InvalidArgumentError
        A variable of the environment is not valid.
    """
    return _patience(os.environ.get("LANCE_ARROW_READ_SECONDS"), os.environ.get("LANCE_ARROW_READ_ATTEMPTS"))


@lru_cache(8)
def _patience(*_texts: str | None) -> Patience:
    return patience_of(Settings.from_environment())


def repeats_requests(filesystem: object) -> bool:
    """Return whether a filesystem repeats failed requests itself."""
    return any(kind.__module__.partition(".")[0] in _REPEATING for kind in type(filesystem).__mro__)


def attempted(
    work: Callable[[float], _Answer],
    *,
    name: str,
    patience: Patience,
    place: Callable[[], tuple[int, int] | None] | None = None,
    num_bytes: int = 0,
    is_repeated: bool = False,
) -> _Answer:
    """Return the answer of a call of a store, which is repeated while that may help.

    Parameters
    ----------
    work
        Called with the seconds that are left for it.
    name
        Printable name of the file, without credentials.
    patience
        How often, and for how long.
    place
        Returns the bytes of the file that failed last, for messages; None while they are not known.
    num_bytes
        Bytes that are asked for.
    is_repeated
        Whether the client has repeated failed requests already. Answers of wrong length are repeated here in any case.

    Raises
    ------
    StoreError, TruncatedReadError, UnsupportedError
        What was given up; the latter two for answers of wrong length.
    OSError
        Files that are missing or exist, and folders.
    """
    begun = time.monotonic()
    allowed = patience.allowed_seconds(num_bytes)
    attempt = 0
    while True:
        attempt += 1
        try:
            return work(max(begun + allowed - time.monotonic(), 0.001))
        except Exception as error:
            most = _attempts(error, patience.attempts, is_repeated)
            if most == 0:
                raise
            spent = time.monotonic() - begun
            delay = random.uniform(0.5, 1) * min(_FIRST_DELAY_SECONDS * 2 ** (attempt - 1), _LONGEST_DELAY_SECONDS)
            if attempt >= most or spent + delay >= allowed:
                where = None if place is None else place()
                raise given_up(
                    error, name=name, attempts=attempt, seconds=spent, byte_range=where, allowed=allowed
                ) from _shown(error)
        time.sleep(delay)


def given_up(
    error: BaseException,
    *,
    name: str,
    attempts: int = 1,
    seconds: float = 0.0,
    byte_range: tuple[int, int] | None = None,
    allowed: float = 0.0,
) -> LanceError:
    """Return what to raise in place of an exception of a store, or of its client, that is final."""
    tried = f"after {attempts} attempt{'s' if attempts > 1 else ''} in {seconds:.1f} s"
    if isinstance(error, TruncatedReadError | UnsupportedError):
        again = type(error)(f"{error.message}; given up {tried}", path=name, byte_range=byte_range or error.byte_range)
        return again
    if isinstance(error, StoreError):
        if attempts == 1:
            error.byte_range = error.byte_range or byte_range
            return error
        return type(error)(
            f"{error.message}; given up {tried}",
            path=name,
            byte_range=error.byte_range or byte_range,
            attempts=max(error.attempts, attempts),
            status=error.status,
        )
    if isinstance(error, FileNotFoundError) and error.__cause__ is not None:
        # fsspec says so of a broken connection.
        error = error.__cause__
    said = told(error)
    if _is_late(error):
        within = f"within {allowed:g} s" if allowed else "in time"
        return StoreTimeoutError(
            f"the store did not answer {within}, {tried}; LANCE_ARROW_READ_SECONDS raises the limit",
            path=name,
            byte_range=byte_range,
            attempts=attempts,
        )
    is_refused = isinstance(error, PermissionError) or status_of(error) in (401, 403) or says_refused(f"{said} {error}")
    kind = StoreRefusedError if is_refused else StoreError
    return kind(
        f"the store failed {tried}: {said}",
        path=name,
        byte_range=byte_range,
        attempts=attempts,
        status=status_of(error),
    )


def told(error: BaseException) -> str:
    """Return what a store or its client said, without secrets."""
    status = status_of(error)
    text = str(error.strerror) if isinstance(error, OSError) and error.strerror else str(error)
    text = redact_text(text).strip() or type(error).__name__
    return text if status is None or str(status) in text else f"{status} {text}"


def says_refused(text: str) -> bool:
    """Return whether a store says that the credentials of a request are not, or no longer, valid."""
    return any(code in text for code in _EXPIRED)


def _attempts(error: Exception, attempts: int, is_repeated: bool) -> int:
    """Return how many attempts an exception may have; 0 if it says something about a path, or about the program."""
    if isinstance(error, TruncatedReadError):
        return attempts
    if isinstance(error, UnsupportedError):
        return min(attempts, _ATTEMPTS_WITHOUT_RANGES) if error.byte_range is not None else 0
    if isinstance(error, StoreError):
        return attempts if error.is_repeatable else 1
    if isinstance(error, LanceError):
        return 0
    if is_passing(error):
        broken_body = type(error).__module__.startswith("aiohttp")
        return 1 if is_repeated and not broken_body else attempts
    return int(is_of_store(error))


def is_of_store(error: Exception) -> bool:
    """Return whether an exception says something about a store, not about a path or the program; false for ours."""
    if isinstance(error, LanceError):
        return False
    is_path = isinstance(error, _OF_PATHS) and status_of(error) in _WITHOUT_REFUSAL
    return not is_path and (isinstance(error, OSError) or _is_of_network(error))


def is_passing(error: BaseException) -> bool:
    """Return whether asking again may have another outcome."""
    one: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if one is None:
            return False
        status = answered_status(one)
        if status is not None:
            return status in _PASSING_STATUSES
        if isinstance(one, ConnectionError | TimeoutError):
            return True
        if _is_of_network(one):
            return any(word in kind.__name__ for kind in type(one).__mro__ for word in _BREAKING)
        if isinstance(one, OSError) and not isinstance(one, FileNotFoundError):
            return one.errno in _PASSING_NUMBERS
        # fsspec says of a broken connection that there is no such file.
        one = one.__cause__
    return False


def _is_late(error: BaseException) -> bool:
    return isinstance(error, TimeoutError) and getattr(error, "errno", None) is None


def _is_of_network(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] in _NETWORKS for kind in type(error).__mro__)


def _shown(error: BaseException) -> BaseException | None:
    """Return an exception as a cause that tells no secrets; ours have no other."""
    if isinstance(error, LanceError):
        return None
    hide_secrets(error)
    return error
