"""Processes for what is found or missing when this package is first imported, at a tenth of an interpreter's start.

`outside.run_command` starts an interpreter, which takes half a second to import pyarrow and pandas. Here, each process
is a fork of one that has imported them, and nothing of this project. What is asked about imports, memory, signals or
the end of processes needs `outside`.
"""

from __future__ import annotations

import functools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

SERVER = Path(__file__).with_name("fork_server.py")


@functools.cache
def _server() -> subprocess.Popen[str]:
    """Start the server of this process; it ends when this process does."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.Popen(
        [sys.executable, str(SERVER)], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def run_command(
    command: list[str], target: Path | None, variables: Mapping[str, str], timeout_seconds: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run this interpreter with `-c` or `-m`, as `outside.run_command` does, in a process that sees `target`."""
    interpreter, *words = command
    assert interpreter == sys.executable
    assert words[0] in {"-c", "-m"}
    environment = {**os.environ, **variables}
    if target is not None:
        environment["PYTHONPATH"] = str(target)
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as error:
        asked = {
            "words": words,
            "folder": str(target or Path.cwd()),
            "environment": environment,
            "out": out.name,
            "error": error.name,
        }
        code = _ask(json.dumps(asked), command, timeout_seconds)
        return subprocess.CompletedProcess(command, code, out.read(), error.read())


def _ask(line: str, command: list[str], timeout_seconds: float) -> int:
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(line + "\n")
    server.stdin.flush()
    answered, _, _ = select.select([server.stdout], [], [], timeout_seconds)
    if not answered:
        # With the process that it waits for.
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        _server.cache_clear()
        raise subprocess.TimeoutExpired(command, timeout_seconds)
    return int(server.stdout.readline())


def run(
    script: str, *arguments: str | Path, target: Path | None = None, timeout_seconds: float = 120, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run Python text in such a process; environment `variables` come on top."""
    return run_command([sys.executable, "-c", script, *map(str, arguments)], target, variables, timeout_seconds)
