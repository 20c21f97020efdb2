"""An S3 server in this process, which shows every request before it is done and after, and can hold or refuse it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import fsspec
import psutil
from moto.moto_server.werkzeug_app import create_backend_app
from running import HOST
from s3_server import Application
from werkzeug.serving import WSGIRequestHandler, make_server

from lance_arrow import LanceTable

BUCKET = "bucket"
_UNAVAILABLE = b"<?xml version='1.0'?><Error><Code>ServiceUnavailable</Code><Message>try later</Message></Error>"
# No hold lasts longer: what it waits for does not come.
HOLD_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Parameters
    ----------
    method
        Of HTTP.
    key
        Of the object, below the bucket.
    port
        From which the client asks.
    """

    method: str
    key: str
    port: int

    @property
    def name(self) -> str:
        """Last part of the key."""
        return self.key.rpartition("/")[2]

    def client(self) -> psutil.Process | None:
        """Return the process that asks; None when it is gone already."""
        for one in psutil.net_connections("tcp"):
            if one.laddr and one.laddr.port == self.port and one.pid is not None:
                return psutil.Process(one.pid)
        return None


def is_data(request: Request) -> bool:
    """Whether a data file is written."""
    return request.method == "PUT" and "/data/" in request.key


def is_manifest(request: Request) -> bool:
    """Whether a version is committed."""
    return request.method == "PUT" and "/_versions/" in request.key and request.key.endswith(".manifest")


@dataclass(eq=False)
class Rule:
    """What is done about some requests.

    Parameters
    ----------
    matches
        Which requests; asked once about each, while no other request is looked at: it may not use the storage.
    before, after
        Called with the request before it is done, and before it is answered. A status that `before` returns is the
        answer, and nothing is done; one that `after` returns is the answer though all was done.
    times
        For how many requests; for all when None.
    """

    matches: Callable[[Request], bool]
    before: Callable[[Request], int | None] | None = None
    after: Callable[[Request], int | None] | None = None
    times: int | None = None
    seen: list[Request] = field(default_factory=list)


class Storage:
    """The server; a context manager. Its tables are gone when it ends."""

    def __init__(self) -> None:
        self._application = Application(create_backend_app)
        self._lock = threading.Lock()
        self._rules: list[Rule] = []
        self._out_until = 0.0
        self.refused = 0

    def __enter__(self) -> Storage:
        self._server = make_server(HOST, 0, self._answer, threaded=True, request_handler=_Quiet)
        self._server.daemon_threads = True
        self.options = {"key": "test", "secret": "test", "endpoint_url": f"http://{HOST}:{self._server.server_port}"}
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.filesystem = fsspec.filesystem("s3", **self.options)
        self.filesystem.mkdir(BUCKET)
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join(30)

    @contextmanager
    def rule(self, rule: Rule) -> Iterator[Rule]:
        """Follow a rule within a block."""
        with self._lock:
            self._rules.append(rule)
        try:
            yield rule
        finally:
            with self._lock:
                self._rules.remove(rule)

    @contextmanager
    def unavailable(self, begins: Callable[[Request], bool], seconds: float) -> Iterator[Rule]:
        """Answer 503 to every request, for some seconds from the first one of a kind on."""
        begun: list[Request] = []

        def refuse(request: Request) -> int | None:
            if not begun and begins(request):
                begun.append(request)
                self._out_until = time.monotonic() + seconds
            return 503 if self.is_out() else None

        with self.rule(Rule(lambda _: True, before=refuse)) as rule:
            yield rule

    def is_out(self) -> bool:
        """Whether all is refused now."""
        return time.monotonic() < self._out_until

    def table(self, uri: str) -> LanceTable:
        """Open the newest version of a table, without what fsspec remembers of folders that others write to."""
        self.filesystem.invalidate_cache()
        return LanceTable.open(uri, storage_options=self.options)

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        key = environ["PATH_INFO"].removeprefix(f"/{BUCKET}/")
        request = Request(environ["REQUEST_METHOD"], key, int(environ.get("REMOTE_PORT") or 0))
        with self._lock:
            rules = []
            for rule in self._rules:
                if (rule.times is None or len(rule.seen) < rule.times) and rule.matches(request):
                    rule.seen.append(request)
                    rules.append(rule)
        said = [status for rule in rules if rule.before is not None for status in [rule.before(request)] if status]
        if not said:
            # Whole: what comes after must not be answered before all is done.
            answer = list(self._application(environ, start_response))
            said = [status for rule in rules if rule.after is not None for status in [rule.after(request)] if status]
            if not said:
                return answer
        self.refused += 1
        # Headers of the answer that is thrown away are replaced.
        start_response(f"{said[0]} Refused", [("Content-Type", "application/xml")], (None, None, None))
        return [_UNAVAILABLE]


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing of requests."""


def wait(condition: Callable[[], bool], seconds: float = HOLD_SECONDS) -> bool:
    """Wait until something is so, and return whether it is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()
