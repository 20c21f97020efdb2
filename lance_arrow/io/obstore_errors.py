"""Exceptions of obstore as those of the operating system, which callers of filesystems expect.

obstore raises `FileNotFoundError` and `ValueError`, and exceptions of its own that are no `OSError`. Its texts have a
second part for developers, which repeats URLs and headers. Only the first part is kept.

| obstore | Here |
|---|---|
| `FileNotFoundError` | the same, with the name of the file |
| `PermissionDeniedError`, `UnauthenticatedError` | `PermissionError` |
| `AlreadyExistsError` | `FileExistsError` |
| `NotSupportedError` | `OSError` with ``ENOTSUP`` |
| `ValueError`, `InvalidPathError` | `OSError` with ``EINVAL`` |
| `OSError` of a writer | by its text, as the exceptions above |
| all others | `OSError` with ``EIO`` |
"""

from __future__ import annotations

import errno
import os
from types import TracebackType

from lance_arrow.errors import LanceError
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
_OF_WRITERS = {"The operation lacked": errno.EACCES, "Object at location": errno.ENOENT}


class store_errors:
    """Translate exceptions of obstore in a block.

    Parameters
    ----------
    name
        Printable name of the file, without credentials.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            told = translated(error, self._name)
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
    return OSError(number, said or os.strerror(number), name)
