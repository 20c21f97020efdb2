"""Exceptions of obstore as those of the operating system, which callers of filesystems expect.

obstore raises `FileNotFoundError` and `ValueError`, and exceptions of its own that are no `OSError`. Its texts have a
second part for developers, which repeats URLs and headers. Only the first part is kept.

| obstore | Here |
|---|---|
| `FileNotFoundError` | the same, with the name of the file |
| `PermissionDeniedError`, `UnauthenticatedError` | `StoreRefusedError` |
| `AlreadyExistsError` | `FileExistsError` |
| `NotSupportedError` | `OSError` with ``ENOTSUP`` |
| `ValueError`, `InvalidPathError` | `OSError` with ``EINVAL`` |
| `OSError` of a writer | by its text, as the exceptions above |
| `TimeoutError` of `bounded_errors` | `StoreTimeoutError` |
| all others | `StoreError` |
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
from collections.abc import Callable
from types import TracebackType

from lance_arrow.errors import LanceError, StoreError, StoreRefusedError
from lance_arrow.io.patience import given_up, says_refused
from lance_arrow.redaction import redact_text

_DEVELOPERS_PART = "\n\nDebug source:"
_NUMBERS = {
    "NotFoundError": errno.ENOENT,
    "PermissionDeniedError": errno.EACCES,
    "UnauthenticatedError": errno.EACCES,
    "AlreadyExistsError": errno.EEXIST,
    "NotSupportedError": errno.ENOTSUP,
    "InvalidPathError": errno.EINVAL,
}
_ANSWERED = re.compile(r"\b([45]\d\d) [A-Z]")
_ASKED = re.compile(r"Requested (\d+)\.\.(\d+)")
_REPEATED = re.compile(r"after (\d+) retries")
# Answers of another range: obstore does not repeat these.
_OF_RANGES = ("Requested", "non-partial", "Content-Range", "content-range")
_OF_WRITERS = {"The operation lacked": errno.EACCES, "Object at location": errno.ENOENT}


class store_errors:
    """Translate exceptions of obstore in a block.

    Parameters
    ----------
    name
        Printable name of the file, without credentials.
    shown
        What makes the printable name of `name`, where an exception needs it: redaction takes as long as a request.
    """

    __slots__ = ("_name", "_shown")

    def __init__(self, name: str, shown: Callable[[str], str] = str) -> None:
        self._name = name
        self._shown = shown

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            told = translated(error, self._shown(self._name))
            if told is not error:
                # The cause would show what its text shows.
                raise told from None


def translated(error: BaseException, name: str) -> BaseException:
    """Return what to raise for an exception: `OSError` for those of obstore, all others as they are."""
    kinds = type(error).__mro__
    own = next((kind.__name__ for kind in kinds if kind.__module__.partition(".")[0] == "obstore"), None)
    if own is not None:
        number = _NUMBERS.get(own, errno.EIO)
    elif isinstance(error, FileNotFoundError) and error.errno is None:
        number = errno.ENOENT
    elif type(error) is OSError and error.errno is None:
        # What a writer of obstore raises has no other type.
        number = next((number for said, number in _OF_WRITERS.items() if str(error).startswith(said)), errno.EIO)
    elif isinstance(error, ValueError) and not isinstance(error, LanceError | UnicodeError):
        number = errno.EINVAL
    else:
        return error
    if number in (errno.ENOENT, errno.EEXIST):
        # What obstore adds is the path again.
        return OSError(number, os.strerror(number), name)
    said = redact_text(str(error).partition(_DEVELOPERS_PART)[0])
    if number not in (errno.EIO, errno.EACCES):
        return OSError(number, said or os.strerror(number), name)
    status, repeated = _ANSWERED.search(said), _REPEATED.search(said)
    answered = int(status.group(1)) if status else None
    kind = StoreRefusedError if number == errno.EACCES or answered in (401, 403) or says_refused(said) else StoreError
    asked = _ASKED.search(said)
    return kind(
        said or os.strerror(number),
        path=name,
        byte_range=(int(asked.group(1)), int(asked.group(2))) if asked else None,
        attempts=1 + (int(repeated.group(1)) if repeated else 0),
        status=answered,
        is_repeatable=status is None and any(word in said for word in _OF_RANGES),
    )


class bounded_errors(store_errors):
    """As `store_errors`, for a block of a coroutine that ends after some seconds.

    Parameters
    ----------
    name, shown
        As for `store_errors`.
    seconds
        After which what the block waits for is cancelled; None for no end.
    """

    __slots__ = ("_seconds", "_timeout")

    def __init__(self, name: str, seconds: float | None, shown: Callable[[str], str] = str) -> None:
        super().__init__(name, shown)
        self._seconds = seconds

    async def __aenter__(self) -> None:
        self._timeout = asyncio.timeout(self._seconds)
        await self._timeout.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError as late:
            raise given_up_after(late, self._shown(self._name), self._seconds or 0.0) from None
        self.__exit__(kind, error, trace)


def given_up_after(late: TimeoutError, name: str, seconds: float) -> LanceError:
    """Return what to raise for a file whose store did not answer in so many seconds."""
    return given_up(late, name=name, seconds=seconds, allowed=seconds)
