"""Exceptions of filesystems: their type stays, and no credential is in what is printed of them."""

from __future__ import annotations

import contextlib
import functools
import http.server
import pickle
import shutil
import socket
import struct
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_arrow
from lance_arrow import LanceFile, LanceTable
from lance_arrow.cli.app import run
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import Location, foreign_errors, list_names, list_sizes, open_source, redact_text

URL = "https://me:hunter2@host/t.lance/data/a.lance?sv=1&sig=hunter3#token=hunter4"
SECRETS = ("hunter2", "hunter3", "hunter4", "aHVudGVy")
"""The last one is how HTTP sends a user and a password that begin with ``hunter``, after a name of three letters."""


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
    """All that may be printed of an exception: what logs and debuggers show of it, too."""
    shown = ["".join(traceback.format_exception(error))]
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        shown += [str(one), repr(one), repr(one.args), repr(vars(one)), repr(getattr(one, "__notes__", None))]
        shown += [repr(pickle.dumps(one)), str(pickle.loads(pickle.dumps(one)))]
        waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    return "\n".join(shown)


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


class _Answering(http.server.SimpleHTTPRequestHandler):
    """Answers as told: a status, 0 for a connection that ends, 200 for the files of a folder, with ranges."""

    status = 403

    def do_GET(self) -> None:
        if self.status == 0:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            return
        if self.status != 200:
            self.send_error(self.status)
            return
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        first, last = 0, len(content) - 1
        if (asked := self.headers.get("Range")) is not None:
            start, _, stop = asked.removeprefix("bytes=").partition("-")
            first = int(start) if start else len(content) - int(stop)
            last = min(int(stop), last) if start and stop else last
        self.send_response(200 if asked is None else 206)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.send_header("Content-Length", str(last + 1 - first))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[first : last + 1])

    do_HEAD = do_GET

    def handle(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().handle()

    def finish(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().finish()

    def log_message(self, *args: object) -> None:
        return


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More than stays in memory of what opening and the first take read."""
    path = tmp_path_factory.mktemp("long") / "a.lance"
    rows = pa.table({"n": range(500_000), "s": [f"text {n * n}" for n in range(500_000)]})
    lance_arrow.write_table(rows, path)
    return path


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[http.server.HTTPServer]:
    # As many attempts as ever, without the delays between them.
    monkeypatch.setattr("lance_arrow.io.patience._FIRST_DELAY_SECONDS", 0.001)
    handler = functools.partial(_Answering, directory=str(tmp_path))
    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    # It looks so often whether it shall end.
    threading.Thread(target=served.serve_forever, args=(0.01,), daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


STATUSES = [403, 404, 429, 500, 503, 0]


def signed(server: http.server.HTTPServer, path: str) -> str:
    return f"http://hunter2:hunter2@127.0.0.1:{server.server_port}/{path}?sig=hunter3"


@pytest.mark.parametrize("status", STATUSES)
def test_answers_of_a_web_server(server: http.server.HTTPServer, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(_Answering, "status", status)
    url = signed(server, "t.lance/a.lance")
    place = Location(fsspec.filesystem("http"), url)
    rows = pa.table({"n": [1]})
    doors = [
        lambda: LanceFile(url),
        lambda: LanceTable.open(url),
        lambda: LanceTable.open(url, version=1),
        lambda: lance_arrow.dataset(url),
        lambda: lance_arrow.dataset([url]),
        lambda: lance_arrow.verify(url),
        lambda: lance_arrow.read_table(url),
        lambda: lance_arrow.write_table(rows, url),
        lambda: LanceTable.create(url, rows),
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
    if status == 500:
        # Not an exception of the client, which callers need not know.
        with pytest.raises(OSError, match="the server answered 500 Internal Server Error") as answered:
            LanceTable.open(url)
        assert f"127.0.0.1:{server.server_port}/t.lance" in str(answered.value)


@pytest.mark.share(2)
@pytest.mark.parametrize("status", STATUSES)
def test_a_signature_that_ends_while_a_file_is_read(
    server: http.server.HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, long_file: Path, status: int
) -> None:
    pytest.importorskip("aiohttp")
    shutil.copy(long_file, tmp_path)
    monkeypatch.setattr(_Answering, "status", 200)
    url = signed(server, "a.lance")
    with LanceFile(url) as file:
        dataset = lance_arrow.dataset(url)
        assert file.take([5])["n"].to_pylist() == [5]
        doors = [
            file.read,
            lambda: list(file.to_batches()),
            lambda: file.take([5, 200_000]),
            dataset.to_table,
            lambda: dataset.to_table(filter=(pc.field("n") > 199_990) & (pc.field("n") < 200_000)),
        ]
        monkeypatch.setattr(_Answering, "status", status)
        for door in doors:
            with pytest.raises(Exception) as caught:
                door()
            assert not [secret for secret in SECRETS if secret in printed(caught.value)], printed(caught.value)


@pytest.mark.cover(1)
@pytest.mark.parametrize("status", [403, 500, 0])
@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["text", "json"])
def test_commands_print_no_signature(
    server: http.server.HTTPServer,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    status: int,
    flags: list[str],
) -> None:
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(_Answering, "status", status)
    url = signed(server, "t.lance")
    for command in (["schema"], ["head"], ["verify"], ["table", "log"], ["stats"]):
        assert run([*flags, *command, url]) == 1
        written = capfd.readouterr()
        assert not [secret for secret in SECRETS if secret in written.out + written.err], written
        assert ("Connection reset" in written.err and status == 0) or "127.0.0.1" in written.err


class _Answer(NamedTuple):
    """What an HTTP library keeps of an answer."""

    headers: dict[str, str]
    asked: Asked


def test_fields_arguments_notes_and_groups() -> None:
    answer = _Answer({"Authorization": "Bearer hunter4", "Server": "s"}, Asked(URL, "GET"))
    told = ResponseError(Asked(URL, "GET"))
    told.status = 403  # type: ignore[attr-defined]
    told.answers = [answer, 7]  # type: ignore[attr-defined]
    quiet = RuntimeError("failed", answer)
    quiet.add_note(f"while reading {URL}")
    group = ExceptionGroup("two failed", [told, quiet])
    with pytest.raises(ExceptionGroup) as caught, foreign_errors():
        raise group
    assert caught.value is group
    assert not [secret for secret in SECRETS if secret in printed(group)], printed(group)
    assert told.status == 403  # type: ignore[attr-defined]
    assert told.answers[1] == 7  # type: ignore[attr-defined]
    assert "'Server': 's'" in told.answers[0]  # type: ignore[attr-defined]
    assert quiet.args[0] == "failed"
    assert "host" in quiet.args[1]


@pytest.mark.parametrize(
    "text",
    [
        "s3://key:hunter2@bucket/t.lance",
        "abfs://c@account/t.lance?sv=1&sig=hunter3",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=hunter4;EndpointSuffix=x",
        "{'Authorization': 'Basic hunter2'}",
        'Cookie: "a=hunter3"',
        "BasicAuth(login='me', password='hunter2', encoding='latin1')",
    ],
)
def test_forms_of_secrets(text: str) -> None:
    assert not [secret for secret in SECRETS if secret in redact_text(f"cannot open {text}, sorry")]
    assert redact_text(redact_text(text)) == redact_text(text)
    assert redact_text(f"cannot open {text}, sorry").endswith("sorry")


def _range() -> tuple[object, object]:

    return np.array([0]), np.array([10])


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "unit",
    [
        "n",
        "a-",
        "&a_",
        "token=;",
        "cookie='",
        "s3://",
        "s3::",
        "://",
        "s3://a:1",
        ":1@",
        ";",
        "password ",
        "?#",
        "a;b=",
    ],
)
def test_long_names_take_time_in_proportion(unit: str) -> None:
    """A file from a stranger may have names of any length, and errors print them."""
    text = unit * (1 << 18) + ":=" + URL
    begun = time.process_time()
    redacted = redact_text(text)
    assert time.process_time() - begun < 10
    assert not any(secret in redacted for secret in SECRETS[:2])
