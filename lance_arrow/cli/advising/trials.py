"""One column written to a file of its own and read back: bytes and times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from lance_arrow.cli.file_view import view_file
from lance_arrow.errors import InternalError, InvalidArgumentError, UnsupportedError
from lance_arrow.files.lance_file import LanceFile
from lance_arrow.files.lance_writer import write_table

_REPEATS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Measurements of one column with some options.

    Parameters
    ----------
    options
        The column options; empty for the default.
    codecs
        The codecs of its pages, outermost first: each combination once.
    num_bytes
        Bytes of its pages.
    write_ms, scan_ms, take_ms
        Milliseconds to write the column, to open and read it, and to take some rows of the open file. Reading times are
        the least of three.
    """

    options: dict[str, Any]
    codecs: list[str]
    num_bytes: int
    write_ms: float
    scan_ms: float
    take_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Options that do not fit a column, and why."""

    options: dict[str, Any]
    reason: str


def try_options(
    column: pa.Table, options: dict[str, Any], folder: Path, *, file_version: Any, rows: Sequence[int]
) -> Trial | Refusal:
    """Write a table of one column with `options`, and read it.

    Parameters
    ----------
    column
        The sample.
    options
        Column options.
    folder
        Where the file goes; it is removed.
    file_version
        As for `write_table`.
    rows
        Row numbers to take.

    Raises
    ------
    InternalError
        What was read differs from what was written: a codec is broken.
    """
    (name,) = column.column_names
    path = folder / "trial.lance"
    words: dict[str, Any] = {"column_options": {name: options}} if options else {}
    try:
        begun = time.perf_counter()
        write_table(column, path, file_version=file_version, rows_per_zone=None, allow_private_encodings=True, **words)
        write_ms = 1000 * (time.perf_counter() - begun)
    except (UnsupportedError, InvalidArgumentError) as error:
        path.unlink(missing_ok=True)
        return Refusal(options=options, reason=error.message)
    with LanceFile(path) as file:
        if not _same(file.read(), column):
            raise InternalError(f"column {name!r} reads back differently with the options {options}")
        take_ms = _least_ms(lambda: file.take(rows))
    scan_ms = _least_ms(lambda: _read(path))
    pages = [page for leaf in view_file(str(path)).columns for page in leaf.pages]
    path.unlink()
    return Trial(
        options=options,
        codecs=list(dict.fromkeys(" > ".join(page.codecs) for page in pages)),
        num_bytes=sum(page.size_bytes for page in pages),
        write_ms=write_ms,
        scan_ms=scan_ms,
        take_ms=take_ms,
    )


def _same(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables have the same values; Arrow says no of NaN, and of dictionaries in another order."""
    return bool(one.equals(other)) or repr(one.to_pylist()) == repr(other.to_pylist())


def _read(path: Path) -> None:
    with LanceFile(path) as file:
        file.read()


def _least_ms(run: Callable[[], Any]) -> float:
    times = []
    for _ in range(_REPEATS):
        begun = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - begun))
    return min(times)
