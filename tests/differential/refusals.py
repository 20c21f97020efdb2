"""Compare what the engine says of damaged files with what a second reader says, which reads pages in Python.

`python tests/differential/refusals.py --version 2.2 --count 400`: we write random tables, and damage some bytes
of their pages. Both read each file, by a scan or a take, near or far. They return the same rows,
or refuse the same page of the same column.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parent / "reference")]

import fsspec  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
from canonical import difference  # noqa: E402
from random_tables import random_case  # noqa: E402
from second_reader import read_twice  # noqa: E402
from ways import some_rows  # noqa: E402

import lance_arrow  # noqa: E402
from lance_arrow.errors import LanceError, UnsupportedError  # noqa: E402
from lance_arrow.scan.legacy.v2_0_row_reader import V20RowReader  # noqa: E402

VERSIONS = ("2.0", "2.1", "2.2", "2.3")
WAYS = ("scan", "take", "far scan", "far take")
LONG = 400
DAMAGES = 16
SHOWN_FAILURES = 20
PATTERNS = (b"\xff" * 8, b"\x00" * 24, b"\xf7" * 3, b"\x80", b"\x01\x00\x00\x80")


@dataclass(frozen=True, slots=True)
class Found:
    """What one reader found: rows, or the error and its place."""

    rows: pa.Table | None
    error: str | None
    place: tuple[object, ...]

    def says(self) -> str:
        return "rows" if self.error is None else f"{self.error} at {self.place}"


def refused(version: str, seed: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """Damage one table; returns counts of outcomes, and how the readers differ."""
    rng = np.random.default_rng((seed, VERSIONS.index(version)))
    table = random_case(seed, version).table
    path = folder / "whole.lance"
    counts: Counter[str] = Counter()
    failures: list[str] = []
    try:
        lance_arrow.write_table(
            table, path, file_version=version, checksums=False, page_bytes=int(rng.integers(1, 9)) << 11
        )
    except UnsupportedError:
        return Counter(unsupported=1), failures
    whole = path.read_bytes()
    rows = some_rows(table.num_rows, rng)
    with lance_arrow.LanceFile(path) as file:
        kept = file.take(rows)
    for number, (place, data) in enumerate(_damaged(whole, _data_stop(path), rng)):
        way = WAYS[number % len(WAYS)]
        natively, by_second = (_read(data, folder, way, rows, is_native=is_native) for is_native in (True, False))
        counts["rows" if by_second.error is None else "refused"] += 1
        # A take of the engine does not read all that the second reader reads.
        is_whole = way.endswith("take") and natively.rows is not None and _equal(natively.rows, kept)
        if not is_whole and not _agree(natively, by_second):
            failures.append(f"{version} seed {seed} byte {place} {way}: {natively.says()} != {by_second.says()}")
    return counts, failures


def _data_stop(path: Path) -> int:
    with lance_arrow.LanceFile(path) as file:
        return file._rows.file.footer.data_stop


def _damaged(whole: bytes, data_stop: int, rng: np.random.Generator) -> Iterator[tuple[int, bytes]]:
    """Yield files with some bytes of their pages changed, and where."""
    for _ in range(DAMAGES if data_stop else 0):
        place = int(rng.integers(0, data_stop))
        pattern = PATTERNS[rng.integers(len(PATTERNS))][: data_stop - place]
        data = bytearray(whole)
        data[place : place + len(pattern)] = pattern
        yield place, bytes(data)


def _read(data: bytes, folder: Path, way: str, rows: np.ndarray, *, is_native: bool) -> Found:
    path, filesystem = folder / "damaged.lance", None
    if way.startswith("far"):
        filesystem = fsspec.filesystem("memory")
        filesystem.pipe_file("/damaged.lance", data)
    else:
        path.write_bytes(data)
    source: Any = path if filesystem is None else "/damaged.lance"
    runtime = lance_arrow.Runtime() if is_native else read_twice(lance_arrow.Runtime())
    # Arrays of 2.0 are read in Python by the layout of the format itself.
    with patch.object(V20RowReader, "_read_natively", V20RowReader._read_natively if is_native else _by_second):
        try:
            with lance_arrow.LanceFile(source, filesystem=filesystem, runtime=runtime) as file:
                return Found(file.take(rows) if way.endswith("take") else file.read(), None, ())
        except LanceError as error:
            return Found(None, type(error).__name__, (error.column, error.page, error.byte_range))


def _by_second(reader: V20RowReader, nodes: Any, rows: Any, pool: Any, *, is_scan: bool) -> Any:
    return reader._read(nodes, rows, pool, {})


def _agree(natively: Found, by_second: Found) -> bool:
    if natively.rows is None or by_second.rows is None:
        return (natively.error, natively.place) == (by_second.error, by_second.place)
    return _equal(natively.rows, by_second.rows)


def _equal(left: pa.Table, right: pa.Table) -> bool:
    """Compare tables, where a NaN equals a NaN."""
    if left.equals(right):
        return True
    columns = zip(left.columns, right.columns, strict=True)
    return left.num_rows == right.num_rows and all(difference(*pair) is None for pair in columns)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", choices=VERSIONS, nargs="*", default=VERSIONS)
    parser.add_argument("--count", type=int, default=LONG)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    num_failures = 0
    for version in options.version:
        counts: Counter[str] = Counter()
        failures: list[str] = []
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(options.first, options.first + options.count):
                found, differ = refused(version, seed, Path(folder))
                counts.update(found)
                failures += differ
        print(f"{version}: {dict(counts)}, {len(failures)} differ", *failures[:SHOWN_FAILURES], sep="\n  ", flush=True)
        num_failures += len(failures)
    return int(num_failures > 0)


if __name__ == "__main__":
    sys.exit(main())
