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
    one: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if one is None:
            return None
        status = getattr(one, "status", None)
        if isinstance(status, int) and type(one).__module__.partition(".")[0] == "aiohttp":
            try:
                said = f"{status} {http.HTTPStatus(status).phrase}"
            except ValueError:
                said = str(status)
            return OSError(_NUMBERS.get(status, errno.EIO), f"the server answered {said}", name)
        one = one.__cause__ or one.__context__
    return None
