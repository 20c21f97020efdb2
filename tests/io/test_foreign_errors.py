"""Exceptions of filesystems: their type stays, and no credential is in what is printed of them."""

from __future__ import annotations

import http.server
import pickle
import threading
import traceback
from collections.abc import Iterator
from typing import NamedTuple

import fsspec
import numpy as np
import pytest

import lance_arrow
from lance_arrow import LanceFile, LanceTable
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import Location, foreign_errors, list_names, list_sizes, open_source, redact_text

URL = "https://me:hunter2@host/t.lance/data/a.lance?sv=1&sig=hunter3#token=hunter4"
SECRETS = ("hunter2", "hunter3", "hunter4")


class Asked(NamedTuple):
    """What an HTTP library knows of a request."""

    url: str
    method: str


class ResponseError(Exception):
    """An error that makes its text of a field, as those of HTTP libraries do."""

    def __init__(self, asked: Asked) -> None:
        super().__init__(asked)
        self.asked = asked

    def __str__(self) -> str:
        return f"403, url={self.asked.url!r}"


def printed(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + str(error) + repr(error)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (FileNotFoundError(URL), FileNotFoundError),
        (FileNotFoundError(2, "no such file", URL), FileNotFoundError),
        (PermissionError(13, f"denied: {URL}"), PermissionError),
        (OSError(5, "moved", "a", None, URL), OSError),
        (ResponseError(Asked(URL, "GET")), ResponseError),
        (ValueError(f"cannot open {URL!r}, {URL}"), ValueError),
        (TimeoutError(f"GET /c/b?sv=1&sig=hunter3&se=2 of {URL}"), TimeoutError),
    ],
    ids=lambda one: one.__name__ if isinstance(one, type) else "",
)
def test_types_stay_and_secrets_go(raised: BaseException, kind: type[BaseException]) -> None:
    cause = ResponseError(Asked(URL, "GET"))
    with pytest.raises(kind) as caught, foreign_errors():
        raise raised from cause
    assert caught.value is raised
    assert isinstance(raised.__cause__, ResponseError)
    assert type(raised).__name__ == kind.__name__
    assert not [secret for secret in SECRETS if secret in printed(raised)], printed(raised)
    assert "host" in str(raised)
    again = pickle.loads(pickle.dumps(raised))
    assert not [secret for secret in SECRETS if secret in str(again)]


def test_other_errors_are_left_alone() -> None:
    for error in (OSError(2, "no such file", "/data/token=5/a@b"), KeyError("sig=1"), InvalidArgumentError(URL)):
        arguments, text = error.args, str(error)
        with pytest.raises(type(error)) as caught, foreign_errors():
            raise error
        assert (caught.value, error.args, str(error)) == (error, arguments, text)


def test_texts() -> None:
    assert redact_text("GET /a?sv=1&sig=x%2F; DefaultEndpoint=1;AccountKey=abc==;x") == (
        "GET /a?sv=1&sig=...; DefaultEndpoint=1;AccountKey=...;x"
    )
    assert redact_text("token=5 in /data/sig=1") == "token=5 in /data/sig=1"


class _Refusing(http.server.BaseHTTPRequestHandler):
    status = 403

    def do_GET(self) -> None:
        self.send_error(self.status)

    do_HEAD = do_GET

    def log_message(self, *args: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[http.server.HTTPServer]:
    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refusing)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


@pytest.mark.parametrize("status", [403, 404, 500])
def test_answers_of_a_web_server(server: http.server.HTTPServer, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(_Refusing, "status", status)
    url = f"http://me:hunter2@127.0.0.1:{server.server_port}/t.lance/a.lance?sig=hunter3"
    place = Location(fsspec.filesystem("http"), url)
    doors = [
        lambda: LanceFile(url),
        lambda: LanceTable.open(url),
        lambda: lance_arrow.dataset(url),
        lambda: open_source(place, size_bytes=100).read(*_range()),
        lambda: list_names(place.filesystem, url) or list_sizes(place.filesystem, url) or LanceFile(url),
    ]
    for door in doors:
        with pytest.raises(Exception) as caught:
            door()
        assert not [secret for secret in SECRETS if secret in printed(caught.value)], printed(caught.value)
    if status == 404:
        with pytest.raises(FileNotFoundError):
            LanceFile(url)


def _range() -> tuple[object, object]:

    return np.array([0]), np.array([10])
