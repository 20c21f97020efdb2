"""A bucket over a folder: as much of S3's protocol as reading needs, on loopback, and a list of the requests.

pyarrow's own client reads from it, whose requests no wrapper in Python sees.
"""

from __future__ import annotations

import email.utils
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.sax.saxutils import escape

from pyarrow import fs

BUCKET = "bucket"
_PACED_BYTES = 1 << 20


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
    """

    def __init__(self, folder: Path, *, seconds: float = 0.0, bytes_per_second: float | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.folder = folder
        self.seconds, self.bytes_per_second = seconds, bytes_per_second
        self.requests: list[str] = []
        self.sent: list[int] = []

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
def bucket(folder: Path, *, seconds: float = 0.0, bytes_per_second: float | None = None) -> Iterator[Bucket]:
    """Serve a folder as `BUCKET`, as slowly as `Bucket` is told."""
    server = Bucket(folder, seconds=seconds, bytes_per_second=bytes_per_second)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _Answers(BaseHTTPRequestHandler):
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
        time.sleep(self.server.seconds)
        key = urllib.parse.unquote(url.path).removeprefix(f"/{BUCKET}").lstrip("/")
        if "list-type" in asked:
            self.server.requests.append("LIST")
            self._answer(200, self._listed(asked["prefix"][0]))
            return
        self.server.requests.append(f"{self.command} {key}")
        file = self.server.folder / key
        if not file.is_file():
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        facts = file.stat()
        start, stop, size = 0, facts.st_size, facts.st_size
        headers, status = {}, 200
        # Arrow's client asks for ranges with a first and a last byte.
        first, dash, last = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        if dash:
            if int(first) >= size:
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
        if self.command != "GET":
            return
        if self.server.bytes_per_second is None:
            self.wfile.write(body)
            return
        for start in range(0, len(body), _PACED_BYTES):
            piece = body[start : start + _PACED_BYTES]
            self.wfile.write(piece)
            time.sleep(len(piece) / self.server.bytes_per_second)

    def _listed(self, prefix: str) -> bytes:
        """Answer with the files and folders right below a prefix."""
        folder = self.server.folder / prefix
        entries = sorted(folder.iterdir()) if folder.is_dir() else []
        files = "".join(
            f"<Contents><Key>{escape(prefix + one.name)}</Key><Size>{one.stat().st_size}</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for one in entries
            if one.is_file()
        )
        folders = "".join(
            f"<CommonPrefixes><Prefix>{escape(prefix + one.name)}/</Prefix></CommonPrefixes>"
            for one in entries
            if one.is_dir()
        )
        count = len(entries)
        return (
            f"<ListBucketResult><Prefix>{escape(prefix)}</Prefix><KeyCount>{count}</KeyCount>"
            f"<IsTruncated>false</IsTruncated>{files}{folders}</ListBucketResult>"
        ).encode()
