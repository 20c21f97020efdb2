"""A bucket over a folder: as much of S3's protocol as tables need, on loopback, and a list of the requests.

pyarrow's own client and obstore use it, whose requests no wrapper in Python sees. A conditional put is one step.
Uploads in parts are not known here.
"""

from __future__ import annotations

import datetime
import email.utils
import os
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from pyarrow import fs

BUCKET = "bucket"
_PACED_BYTES = 64 << 10
_HIDDEN = ".being-written-"


def _time_of(facts: os.stat_result) -> str:
    return datetime.datetime.fromtimestamp(facts.st_mtime, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Bucket(ThreadingHTTPServer):
    """The server; `requests` has method and path of each request since it was cleared, `sent` the bytes of each.

    Parameters
    ----------
    folder
        What it serves.
    seconds
        How long each request waits for its answer.
    bytes_per_second
        How fast a connection carries bytes; as fast as it can when None.
    answers
        Handler of requests.
    """

    # As many connections as a client opens at once: the others would wait for a second.
    request_queue_size = 256

    def __init__(
        self,
        folder: Path,
        *,
        seconds: float = 0.0,
        bytes_per_second: float | None = None,
        answers: type[Answers] | None = None,
    ) -> None:
        super().__init__(("127.0.0.1", 0), answers or Answers)
        self.folder = folder
        self.seconds, self.bytes_per_second = seconds, bytes_per_second
        self.requests: list[str] = []
        self.sent: list[int] = []
        self.refusal: Callable[[str], int | None] = lambda _: None
        """Returns a status instead of an answer, for method and path of a request."""
        self.writing = threading.Lock()
        self.most_waiting = self._num_waiting = 0
        """Most reads and listings that waited at the same time."""

    def filesystem(self) -> fs.S3FileSystem:
        """Return a filesystem of pyarrow that reads the bucket."""
        return fs.S3FileSystem(
            endpoint_override=f"127.0.0.1:{self.server_port}",
            scheme="http",
            access_key="key",
            secret_key="secret",
            region="us-east-1",
        )

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count a request among those that wait at the same time."""
        with self.writing:
            self._num_waiting += 1
            self.most_waiting = max(self.most_waiting, self._num_waiting)
        try:
            yield
        finally:
            with self.writing:
                self._num_waiting -= 1

    @property
    def endpoint(self) -> str:
        """URL of the server."""
        return f"http://127.0.0.1:{self.server_port}"

    def store(self, **options: Any) -> Any:
        """Return a store of obstore for the bucket."""
        from obstore.store import S3Store  # noqa: PLC0415 - for tests of obstore alone

        return S3Store(
            BUCKET,
            endpoint=self.endpoint,
            access_key_id="key",
            secret_access_key="secret",
            region="us-east-1",
            client_options={"allow_http": True},
            **options,
        )


@contextmanager
def bucket(folder: Path, *, seconds: float = 0.0, bytes_per_second: float | None = None) -> Iterator[Bucket]:
    """Serve a folder as `BUCKET`, as slowly as `Bucket` is told."""
    server = Bucket(folder, seconds=seconds, bytes_per_second=bytes_per_second)
    with serve(server):
        yield server


@contextmanager
def serve(server: Bucket) -> Iterator[None]:
    """Answer requests in a block."""
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Bucket

    def log_message(self, *args: object) -> None:
        return

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        asked = urllib.parse.parse_qs(url.query)
        with self.server.waiting():
            time.sleep(self.server.seconds)
        key = self._key(url.path)
        if "list-type" in asked:
            if not self._refused("LIST"):
                self._answer(200, self._listed({name: one for name, (one, *_) in asked.items()}))
            return
        if self._refused(f"{self.command} {key}"):
            return
        file = self.server.folder / key
        if not file.is_file():
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        facts = file.stat()
        start, stop, size = 0, facts.st_size, facts.st_size
        headers, status = {}, 200
        # Arrow's client asks for ranges with a first and a last byte.
        first, dash, last = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        if dash and not first and size:
            first, last = str(max(size - int(last), 0)), ""
        if dash:
            if int(first or 0) >= size:
                self._answer(416, b"<Error><Code>InvalidRange</Code></Error>")
                return
            # Others ask for all bytes from one on.
            start, stop, status = int(first), min(int(last) + 1 if last else size, size), 206
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        with file.open("rb") as opened:
            opened.seek(start)
            data = opened.read(stop - start)
        self.server.sent.append(len(data) if self.command == "GET" else 0)
        headers["ETag"] = f'"{facts.st_mtime_ns:x}-{facts.st_ino:x}"'
        headers["Last-Modified"] = email.utils.formatdate(facts.st_mtime, usegmt=True)
        self._answer(status, data, headers)

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.server.bytes_per_second is None:
            self.wfile.write(body)
            return
        begun = time.perf_counter()
        for start in range(0, len(body), _PACED_BYTES):
            piece = body[start : start + _PACED_BYTES]
            # A piece arrives when the connection has carried it.
            due = begun + (start + len(piece)) / self.server.bytes_per_second
            time.sleep(max(0.0, due - time.perf_counter()))
            self.wfile.write(piece)

    def do_PUT(self) -> None:
        key = self._key(urllib.parse.urlsplit(self.path).path)
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.waiting():
            time.sleep(self.server.seconds)
        if self._refused(f"PUT {key}"):
            return
        file, source = self.server.folder / key, self.headers.get("x-amz-copy-source")
        if source is not None:
            data = (self.server.folder / self._key(f"/{source.lstrip('/')}")).read_bytes()
        with self.server.writing:
            if self.headers.get("If-None-Match") == "*" and file.exists():
                self._answer(412, b"<Error><Code>PreconditionFailed</Code><Condition>If-None-Match</Condition></Error>")
                return
            file.parent.mkdir(parents=True, exist_ok=True)
            # An object appears as a whole.
            hidden = file.with_name(f"{_HIDDEN}{file.name}")
            hidden.write_bytes(data)
            hidden.replace(file)
        etag = f'"{file.stat().st_mtime_ns:x}"'
        self._answer(200, f"<CopyObjectResult><ETag>{escape(etag)}</ETag></CopyObjectResult>".encode(), {"ETag": etag})

    def do_PROPFIND(self) -> None:
        """Refuse to list a folder, as servers without WebDAV do."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self._refused("PROPFIND"):
            self._answer(405, b"")

    def do_DELETE(self) -> None:
        key = self._key(urllib.parse.urlsplit(self.path).path)
        time.sleep(self.server.seconds)
        if not self._refused(f"DELETE {key}"):
            (self.server.folder / key).unlink(missing_ok=True)
            self._answer(204, b"")

    def do_POST(self) -> None:
        """Delete many objects."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        time.sleep(self.server.seconds)
        if self._refused("DELETE many"):
            return
        keys = [str(one.text) for one in ElementTree.fromstring(body).iter() if one.tag.endswith("Key")]
        for key in keys:
            (self.server.folder / key).unlink(missing_ok=True)
        told = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        self._answer(200, f"<DeleteResult>{told}</DeleteResult>".encode())

    def _key(self, path: str) -> str:
        return urllib.parse.unquote(path).removeprefix(f"/{BUCKET}").lstrip("/")

    def _refused(self, request: str) -> bool:
        """Note a request, and answer it if it is refused."""
        self.server.requests.append(request)
        status = self.server.refusal(request)
        if status is not None:
            self._answer(status, f"<Error><Code>Refused</Code><Message>{status} of the test</Message></Error>".encode())
        return status is not None

    def _listed(self, asked: dict[str, str]) -> bytes:
        """Answer with the files below a prefix, or with files and folders right below it."""
        # A token of ours is the last name of the page before.
        prefix, after = asked.get("prefix", ""), asked.get("continuation-token") or asked.get("start-after", "")
        most = int(asked.get("max-keys", 1000))
        top = self.server.folder
        found: dict[str, os.stat_result | None] = {}
        for file in (top / prefix[: prefix.rfind("/") + 1]).rglob("*"):
            key = file.relative_to(top).as_posix()
            if file.is_file() and not file.name.startswith(_HIDDEN) and key.startswith(prefix) and key > after:
                name, slash, _ = key.removeprefix(prefix).partition("/")
                is_folder = slash and "delimiter" in asked
                # Files go while others are listed.
                with suppress(FileNotFoundError):
                    found[f"{prefix}{name}/" if is_folder else key] = None if is_folder else file.stat()
        is_cut, names = len(found) > most, sorted(found)[:most]
        told = "".join(
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
            if (one := found[name]) is None
            else f"<Contents><Key>{escape(name)}</Key><Size>{one.st_size}</Size>"
            f"<LastModified>{_time_of(one)}</LastModified></Contents>"
            for name in names
        )
        return (
            f"<ListBucketResult><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(names)}</KeyCount>"
            f"<IsTruncated>{str(is_cut).lower()}</IsTruncated>"
            f"{f'<NextContinuationToken>{escape(names[-1])}</NextContinuationToken>' if is_cut else ''}"
            f"{told}</ListBucketResult>"
        ).encode()
