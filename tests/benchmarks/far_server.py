"""A store for benchmarks: a process of its own with one thread, which takes a fifth of the time of `bucket_server`.

`python tests/benchmarks/far_server.py FOLDER SECONDS BYTES_PER_SECOND` prints its port. Each line of its input is
answered by a line: number of requests, bytes, and the most requests that waited at the same time, since the last one.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import mmap
import sys
import urllib.parse
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from bucket_server import BUCKET, Answers

_PIECE_BYTES = 64 << 10
_LEAST_SLEEP_SECONDS = 5e-4


class Store:
    """Answers reads and listings of a folder, each after a while; a connection carries so many bytes a second."""

    def __init__(self, folder: Path, seconds: float, bytes_per_second: float) -> None:
        self._folder, self._seconds, self._bytes_per_second = folder, seconds, bytes_per_second
        self._files: dict[str, tuple[memoryview, str]] = {}
        self._num_waiting = 0
        self.counts = [0, 0, 0]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        # Clients end without goodbye.
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await self._answer(await reader.readuntil(b"\r\n\r\n"), writer)
        writer.close()

    async def _answer(self, asked: bytes, writer: asyncio.StreamWriter) -> None:
        first, *lines = asked.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        named = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self._num_waiting += 1
        self.counts[0] += 1
        self.counts[2] = max(self.counts[2], self._num_waiting)
        await asyncio.sleep(self._seconds)
        self._num_waiting -= 1
        status, headers, body = self._found(urllib.parse.urlsplit(target), named.get("range", ""))
        said = "".join(f"{name}: {value}\r\n" for name, value in {"Content-Length": len(body), **headers}.items())
        writer.write(f"HTTP/1.1 {status} said\r\n{said}\r\n".encode())
        if method == "HEAD":
            return
        self.counts[1] += len(body)
        now = asyncio.get_running_loop().time
        begun = now()
        for start in range(0, len(body), _PIECE_BYTES):
            piece = body[start : start + _PIECE_BYTES]
            late = begun + (start + len(piece)) / self._bytes_per_second - now()
            if late > _LEAST_SLEEP_SECONDS:
                await asyncio.sleep(late)
            writer.write(piece)
        await writer.drain()

    def _found(self, url: urllib.parse.SplitResult, places: str) -> tuple[int, dict[str, str], memoryview]:
        query = {name: one for name, (one, *_) in urllib.parse.parse_qs(url.query).items()}
        if "list-type" in query:
            holder = SimpleNamespace(server=SimpleNamespace(folder=self._folder))
            return 200, {}, memoryview(Answers._listed(holder, query))  # type: ignore[arg-type]
        key = urllib.parse.unquote(url.path).removeprefix(f"/{BUCKET}").lstrip("/")
        held = self._files.get(key)
        if held is None:
            file = self._folder / key
            if not file.is_file():
                return 404, {}, memoryview(b"<Error><Code>NoSuchKey</Code></Error>")
            when = email.utils.formatdate(file.stat().st_mtime, usegmt=True)
            held = self._files[key] = _mapped(file), when
        data, when = held
        headers = {"ETag": f'"{key}"', "Last-Modified": when}
        if not places:
            return 200, headers, data
        first, _, last = places.removeprefix("bytes=").partition("-")
        start, stop = int(first or 0), min(int(last) + 1 if last else len(data), len(data))
        if not first:
            start, stop = max(len(data) - int(last), 0), len(data)
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(data)}"
        return 206, headers, data[start:stop]


def _mapped(file: Path) -> memoryview:
    """Return the bytes of a file, which may be larger than memory."""
    if not file.stat().st_size:
        return memoryview(b"")
    with file.open("rb") as opened:
        return memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))


async def main() -> None:
    folder, seconds, bytes_per_second = sys.argv[1:]
    store = Store(Path(folder), float(seconds), float(bytes_per_second))
    server = await asyncio.start_server(store.serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        print(*store.counts, flush=True)
        store.counts = [0, 0, 0]


if __name__ == "__main__":
    asyncio.run(main())
