"""Interpreters of this machine, and clean environments made with them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


def interpreter(version: str) -> str | None:
    """Return a Python ``X.Y`` of this machine: one on the path that starts, or one of pyenv; None without any.

    The one that the variable ``CI_PYTHON`` names comes first: `.ci/aarch64.py` sets it.
    """
    of_pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    for name in filter(None, (os.environ.get("CI_PYTHON"), f"python{version}", *map(str, of_pyenv))):
        if shutil.which(name) is None:
            continue
        # pyenv's shims are there and fail.
        told = subprocess.run([name, "-c", _VERSION], capture_output=True, text=True, check=False)
        if told.stdout.strip() == version:
            return name
    return None


def interpreters(wanted: tuple[str, ...]) -> dict[str, str]:
    """Return those that are here, by version; say which are not."""
    found = {version: interpreter(version) for version in wanted}
    for version, name in found.items():
        if name is None:
            print(f"Python {version} is left out: it is not installed here", flush=True)
    return {version: name for version, name in found.items() if name is not None}


def run(*command: object, cwd: Path | None = None) -> None:
    """Run a command and show what it is; a failure ends this process with its code."""
    words = [str(word) for word in command]
    print("$", *words, flush=True)
    code = subprocess.run(words, cwd=cwd, check=False).returncode
    if code:
        raise SystemExit(code)


@contextmanager
def clean_environment(python: str, home: Path) -> Iterator[Path]:
    """Make an empty environment, yield its interpreter, and remove it: each holds a pyarrow of 150 MB."""
    shutil.rmtree(home, ignore_errors=True)
    run(python, "-m", "venv", home)
    made = home / "bin" / "python"
    try:
        yield made if made.exists() else home / "Scripts" / "python.exe"
    finally:
        shutil.rmtree(home, ignore_errors=True)
