"""Readers of a far store in processes of their own, in turns: the store, clients of it, and what is told of them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from bucket_server import BUCKET

Measured: TypeAlias = tuple[float, float, int, int, int]
"""Seconds, processor seconds, requests, bytes and rows."""


class Server:
    """The store, in a process of its own: what `far_server` does in the reader's would count as the reader's time."""

    def __init__(self, folder: Path, seconds: float, bytes_per_second: float) -> None:
        program = Path(__file__).with_name("far_server.py")
        self._process = subprocess.Popen(
            [sys.executable, str(program), str(folder), str(seconds), str(bytes_per_second)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.port = int(self._line())

    def counted(self) -> tuple[int, int]:
        """Return the requests since the last call, and their bytes."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        requests, sent, _ = map(int, self._line().split())
        return requests, sent

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def endpoint_at(port: int) -> str:
    """Return the address of a server here."""
    return f"http://127.0.0.1:{port}"


def reference_options(port: int) -> dict[str, str]:
    """Return how the reference reads from it."""
    return {
        "aws_endpoint": endpoint_at(port), "allow_http": "true", "aws_region": "us-east-1",
        "aws_access_key_id": "key", "aws_secret_access_key": "secret",
    }  # fmt: skip


def store_at(port: int) -> Any:
    """Return a store of obstore over it."""
    from obstore.store import S3Store  # noqa: PLC0415 - others have clients of their own

    return S3Store(
        BUCKET, endpoint=endpoint_at(port), region="us-east-1", access_key_id="key", secret_access_key="secret",
        client_options={"allow_http": True},
    )  # fmt: skip


def tell(read: Callable[[], int]) -> None:
    """Say that what comes before is done, wait to be asked, read, and print what it took."""
    print("warm", flush=True)
    sys.stdin.readline()
    begun, processor = time.perf_counter(), time.process_time()
    found = read()
    print(json.dumps([time.perf_counter() - begun, time.process_time() - processor, found]), flush=True)


def in_turns(program: str, words: Mapping[str, Sequence[str]], server: Server, rounds: int) -> dict[str, Measured]:
    """Run a program that calls `tell` with the words of each way, in turns; return the least of each."""
    every = [{way: _timed([program, *one], server) for way, one in words.items()} for _ in range(rounds)]
    return {way: min(one[way] for one in every) for way in words}


def _timed(command: Sequence[str], server: Server) -> Measured:
    with subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if process.stdout.readline() != "warm\n":
            raise RuntimeError(f"{' '.join(command)} cannot read")
        server.counted()
        process.stdin.write("\n")
        process.stdin.flush()
        seconds, processor, found = json.loads(process.stdout.readline())
        return seconds, processor, *server.counted(), found


def show(case: str, least: Mapping[str, Measured], *, are_rows: bool = True) -> None:
    """Print what each way took; raises `AssertionError` where `are_rows` and the ways read other numbers of them."""
    if are_rows and len({found for *_, found in least.values()}) > 1:
        raise AssertionError(f"{case}: {least}")
    figures = "\n  ".join(
        f"{way:<10} {1e3 * seconds:6.0f} ms, processor {1e3 * processor:4.0f} {requests:4} {sent / 1e6:7.2f} MB"
        f" ratio {seconds / least.get('reference', (seconds,))[0]:4.2f}"
        for way, (seconds, processor, requests, sent, _) in least.items()
    )
    print(f"{case}\n  {figures}", flush=True)
