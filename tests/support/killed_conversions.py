"""Kills conversions at every call that changes a filesystem: a process without threads forks one for each moment.

`python killed_conversions.py FOLDER STEP` makes, for each way and every STEP-th moment, a folder ``<way> <number>`` in
which a conversion died just before its n-th such call. A conversion that lived to its end closes the list of its way.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import lance_arrow
from lance_arrow.runtime import default_runtime

_CALLS = ("open", "writev", "replace", "rename", "link", "unlink", "mkdir", "chmod", "fchmod", "fsync", "ftruncate")
ALIVE = 0
DEAD = 77
NUM_ROWS = 24_000
OLD_ROWS = 10


def rows(count: int) -> pa.Table:
    """Rows that compress badly, so that a file is written in several calls."""
    noise = np.random.default_rng(7).bytes(count * 64)
    return pa.table(
        {"n": np.arange(count), "b": pa.Array.from_buffers(pa.binary(64), count, [None, pa.py_buffer(noise)])}
    )


def _file(folder: Path) -> None:
    lance_arrow.convert(folder / "in", folder / "out.lance")


def _over_file(folder: Path) -> None:
    lance_arrow.convert(folder / "in", folder / "old.lance", overwrite=True)


def _table(folder: Path) -> None:
    lance_arrow.convert(folder / "in", folder / "out", table=True)


def _append(folder: Path) -> None:
    lance_arrow.convert(folder / "in", folder / "old", append=True)


def _over_table(folder: Path) -> None:
    lance_arrow.convert(folder / "in", folder / "old", table=True, overwrite=True)


def _export(folder: Path) -> None:
    lance_arrow.export(folder / "new.lance", folder / "out.parquet", compression="none", row_group_size=5000)


WAYS: dict[str, Callable[[Path], None]] = {
    "file": _file,
    "over file": _over_file,
    "table": _table,
    "append": _append,
    "over table": _over_table,
    "export": _export,
}


def prepare(folder: Path) -> None:
    """Write what every way reads and changes."""
    (folder / "in").mkdir(parents=True)
    for number in range(3):
        pq.write_table(rows(NUM_ROWS).slice(number * NUM_ROWS // 3, NUM_ROWS // 3), folder / "in" / f"{number}.parquet")
    lance_arrow.write_table(rows(OLD_ROWS), folder / "old.lance")
    lance_arrow.write_table(rows(NUM_ROWS), folder / "new.lance")
    lance_arrow.LanceTable.create(folder / "old", rows(OLD_ROWS))


def _fused(way: str, folder: Path, at: int) -> None:
    """In a fork: die just before the `at`-th call."""
    calls = 0
    os_open = os.open

    def fused(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            if real is os_open and not arguments[1] & os.O_CREAT:
                return real(*arguments, **options)
            if calls == at:
                os._exit(DEAD)
            calls += 1
            return real(*arguments, **options)

        return call

    for name in _CALLS:
        setattr(os, name, fused(getattr(os, name)))
    WAYS[way](folder)


def _import_what_is_imported(root: Path) -> None:
    """Import the modules that conversions import on their way: a fork learns their names, this process has no threads.

    Importing them costs a fork half a second, the conversion some milliseconds.
    """
    names = root / "modules"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            known = set(sys.modules)
            for way, convert in WAYS.items():
                folder = root / f"learnt {way}"
                os.system(f"cp -r {root / 'prepared'!s} '{folder!s}'")
                convert(folder)
            found = [name for name, module in sys.modules.items() if name not in known and module.__spec__]
            names.write_text("\n".join(found))
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    for name in names.read_text().splitlines():
        importlib.import_module(name)


def kill_all(root: Path, step: int) -> int:
    """Fork conversions until each way lived, each `step` calls later than the one before; return how many died."""
    # What each fork would import and load.
    default_runtime()
    lance_arrow.convert, lance_arrow.export  # noqa: B018 - imported when they are first named
    _import_what_is_imported(root)
    dead = 0
    for way in WAYS:
        for at in range(0, 10_000, step):
            folder = root / f"{way} {at:03}"
            os.system(f"cp -r {root / 'prepared'!s} '{folder!s}'")
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    _fused(way, folder, at)
                    code = ALIVE
                finally:
                    os._exit(code)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            assert code in (ALIVE, DEAD), f"{way} at call {at} ended with {code}"
            if code == ALIVE:
                break
            dead += 1
    return dead


if __name__ == "__main__":
    print(kill_all(Path(sys.argv[1]), int(sys.argv[2])))
