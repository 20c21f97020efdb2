"""What a server of HTTP answered, as an exception of the operating system.

fsspec raises `FileNotFoundError` for each status when it looks for a file, and exceptions of aiohttp when it lists a
folder. The status is in the exception or in its causes.

| Status | Raised |
|---|---|
| 401, 403 | `PermissionError` |
| 404, 410 | `FileNotFoundError` |
| all others | `OSError` with ``EIO`` |
"""

from __future__ import annotations

import errno
import http

_NUMBERS = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT, 410: errno.ENOENT}
_MOST_CAUSES = 10


def answer_of(error: BaseException, name: str) -> OSError | None:
    """Return what to raise for an exception in place of it; None if no server answered with an error.

    Parameters
    ----------
    error
        An exception of a filesystem.
    name
        Printable name of the file, without credentials.
    """
    status = status_of(error)
    if status is None:
        return None
    try:
        said = f"{status} {http.HTTPStatus(status).phrase}"
    except ValueError:
        said = str(status)
    answer = OSError(_NUMBERS.get(status, errno.EIO), f"the server answered {said}", name)
    answer.answered_status = status  # type: ignore[attr-defined]
    return answer


def status_of(error: BaseException) -> int | None:
    """Return the status that a server of HTTP answered with; None if an exception and its causes have none."""
    one: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if one is None:
            return None
        status = answered_status(one)
        if status is not None:
            return status
        one = one.__cause__ or one.__context__
    return None


def answered_status(error: BaseException) -> int | None:
    """Return the status of one exception: of aiohttp, or of `answer_of`."""
    own: int | None = getattr(error, "answered_status", None)
    if own is not None:
        return own
    status = getattr(error, "status", None)
    is_answer = isinstance(status, int) and type(error).__module__.partition(".")[0] == "aiohttp"
    # A body that broke off has the status of its parser.
    return status if is_answer and hasattr(error, "request_info") else None
