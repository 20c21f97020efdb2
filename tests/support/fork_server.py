"""Forks processes that have pyarrow imported, and nothing of this project: `forked.py` starts it and asks it.

Each line of standard input asks for one process: its words after the interpreter, its folder, its environment, and the
files of its outputs. A line of standard output has its exit code. The process is this one forked. What it imported is
not taken apart at its end, which would take longer than all else.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import runpy
import sys
import types
from typing import Any

# What takes longest of a process that reads a file, or that runs tests.
import pyarrow.dataset  # noqa: F401
import pytest  # noqa: F401


def next_child() -> dict[str, Any]:
    """Fork for each line, and return what it asks in the child; the server ends with its input."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            return dict(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    raise SystemExit(0)


def become(asked: dict[str, Any], path: list[str]) -> None:
    """Give this process what a fresh interpreter has from its command line and environment."""
    for number, name in enumerate((os.devnull, asked["out"], asked["error"])):
        opened = os.open(name, os.O_RDWR)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    added = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    sys.path[:] = ["" if asked["words"][0] == "-c" else os.getcwd(), *added, *path]
    sys.argv[:] = ["-c", *asked["words"][2:]]
    importlib.invalidate_caches()


def run(kind: str, what: str) -> None:
    """Run the text of `-c`, or the module of `-m`."""
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(what, "<string>", "exec", dont_inherit=True), vars(sys.modules["__main__"]))


def end(code: object) -> None:
    """End the process with what `SystemExit` was given; an error that is not caught ends it as in any interpreter."""
    if isinstance(code, str):
        print(code, file=sys.stderr)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else bool(code))


if __name__ == "__main__":
    # Without the folder of this file.
    _path = sys.path[1:]
    _asked = next_child()
    become(_asked, _path)
    try:
        run(*_asked["words"][:2])
    except SystemExit as ended:
        end(ended.code)
    end(None)
