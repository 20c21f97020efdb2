"""What takes long to make is made once in a process, and copied for each test that asks for it."""

from __future__ import annotations

import functools
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path

import pyarrow as pa

_made: dict[Hashable, Path] = {}


@functools.cache
def _home() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="made-once-")


def copied(key: Hashable, path: Path, make: Callable[[Path], object]) -> Path:
    """Make a folder at a path by copying what `make` made when the key was first asked for; returns the path."""
    if key not in _made:
        made = Path(tempfile.mkdtemp(dir=_home().name)) / path.name
        make(made)
        _made[key] = made
    shutil.copytree(_made[key], path, dirs_exist_ok=True)
    return path


def key_of(rows: pa.Table, *others: object) -> Hashable:
    """Return a key of rows, with their schema and chunks, and of other values by their text."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return hashlib.sha256(sink.getvalue()).digest(), repr(others)
