"""moto's server, with conditional writes one after the other: run with the arguments of `python -m moto.server`.

moto looks whether the object exists and stores it in two steps, between which another request gets in: both are told
that theirs was made, and the first one's data is gone. No table can be kept where conditional puts do that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto import server

_CONDITIONS = ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH")
_WRITES = ("PUT", "POST")
_one_at_a_time = threading.Lock()


class Application(server.DomainDispatcherApplication):
    """moto's application, which answers a conditional write before it begins the next."""

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        if environ["REQUEST_METHOD"] in _WRITES and any(name in environ for name in _CONDITIONS):
            with _one_at_a_time:
                return list(super().__call__(environ, start_response))
        return super().__call__(environ, start_response)


if __name__ == "__main__":
    server.DomainDispatcherApplication = Application
    server.main()
