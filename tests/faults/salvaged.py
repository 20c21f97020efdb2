"""Damages random files, salvages them, and compares each saved row with the original at its place.

`python tests/faults/salvaged.py --count 2000`: each file is a random table, damaged once by one kind of damage. We
count the share of values that a salvage saves, beside the share that `read` alone returns: all, or none.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "differential"), str(HERE.parent / "support")]

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
from canonical import difference  # noqa: E402
from random_tables import random_case  # noqa: E402

import lance_arrow  # noqa: E402
from lance_arrow.container.checksums import MAGIC  # noqa: E402
from lance_arrow.container.columns import ColumnTable  # noqa: E402
from lance_arrow.container.file_reader import LanceFileReader  # noqa: E402
from lance_arrow.container.footer import FOOTER_BYTES  # noqa: E402
from lance_arrow.container.metadata_bytes import MetadataBytes  # noqa: E402
from lance_arrow.errors import InvalidArgumentError, LanceError, UnsupportedError  # noqa: E402
from lance_arrow.files.salvaging.file_salvage import FileSalvage  # noqa: E402
from lance_arrow.files.salvaging.row_runs import as_mask, gaps  # noqa: E402
from lance_arrow.io import open_source  # noqa: E402
from lance_arrow.settings import Limits  # noqa: E402

VERSIONS = ("2.0", "2.1", "2.2", "2.3")
SECTOR = 4096
SHOWN_FAILURES = 20
Span = tuple[int, int]
Damage = Callable[["Whole", np.random.Generator], bytes]


@dataclass(frozen=True, slots=True)
class Whole:
    """A sound file, its rows, and where its parts lie."""

    content: bytes
    table: pa.Table
    data: Span
    columns: list[Span]
    column_table: Span
    buffer_table: Span
    descriptor: Span

    @classmethod
    def of(cls, content: bytes) -> Whole:
        with lance_arrow.LanceFile(content) as file:
            table = file.read()
        source = open_source(content)
        reader = LanceFileReader(source)
        footer, place = reader.footer, reader.global_buffers.place(0)
        stored = ColumnTable(MetadataBytes(source, Limits()), footer, Limits())
        columns = [stored.place(column) for column in range(footer.num_columns)]
        return cls(
            content,
            table,
            (0, content.rfind(MAGIC) if reader.promises_checksums else place.start),
            columns,
            footer.column_table,
            footer.buffer_table,
            (place.start, place.stop),
        )

    def changed(self, span: Span, rng: np.random.Generator, most: int) -> bytes:
        """Replace some bytes of a part by zeros or by random ones."""
        damaged = bytearray(self.content)
        start = int(rng.integers(span[0], max(span[1], span[0] + 1)))
        size = max(0, min(int(rng.integers(1, most + 1)), span[1] - start))
        damaged[start : start + size] = bytes(size) if rng.random() < 0.5 else rng.bytes(size)
        return bytes(damaged)


def _sector(whole: Whole, rng: np.random.Generator) -> bytes:
    damaged = bytearray(whole.content)
    start = int(rng.integers(0, max(whole.data[1], 1))) // SECTOR * SECTOR
    size = max(0, min(SECTOR, whole.data[1] - start))
    damaged[start : start + size] = bytes(size)
    return bytes(damaged)


def _checksums(whole: Whole, rng: np.random.Generator) -> bytes:
    start = max(whole.content.rfind(MAGIC), 0)
    return whole.changed((start, whole.descriptor[0]), rng, 16)


def _column(whole: Whole, rng: np.random.Generator) -> bytes:
    return whole.changed(whole.columns[rng.integers(len(whole.columns))], rng, 16)


def _footer(whole: Whole, rng: np.random.Generator) -> bytes:
    size = len(whole.content)
    return whole.changed((size - FOOTER_BYTES, size), rng, 40)


def _end(whole: Whole, rng: np.random.Generator) -> bytes:
    """Zero all that follows the metadata of columns, as where the last sector is lost."""
    start = int(rng.integers(whole.column_table[0], len(whole.content)))
    return whole.content[:start] + bytes(len(whole.content) - start)


def _cut(whole: Whole, rng: np.random.Generator) -> bytes:
    return whole.content[: int(rng.integers(whole.column_table[0], len(whole.content)))]


KINDS: dict[str, Damage] = {
    "some bytes of pages": lambda whole, rng: whole.changed(whole.data, rng, 16),
    "a sector of pages": _sector,
    "metadata of a column": _column,
    "table of columns": lambda whole, rng: whole.changed(whole.column_table, rng, 16),
    "table of global buffers": lambda whole, rng: whole.changed(whole.buffer_table, rng, 16),
    "footer": _footer,
    "end of the file zeroed": _end,
    "end of the file cut off": _cut,
    "table of checksums": _checksums,
    "schema": lambda whole, rng: whole.changed(whole.descriptor, rng, 16),
}


@dataclass(slots=True)
class Tally:
    """What came of one kind of damage."""

    files: int = 0
    values: int = 0
    by_read: int = 0
    saved: int = 0
    refused: int = 0
    changed: int = 0

    def add(self, other: Tally) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def __str__(self) -> str:
        read, saved = (100 * part / max(self.values, 1) for part in (self.by_read, self.saved))
        changed = f", {self.changed:,} unproven columns differ" if self.changed else ""
        return f"{self.files:5,} files: read {read:5.1f} %, salvage {saved:5.1f} %, refused {self.refused:,}{changed}"


def salvaged(seed: int, folder: Path, *, checksums: bool = True) -> tuple[str, Tally, list[str]]:
    """Damage one file and salvage it; returns the kind of damage, counts, and what is wrong with the saved rows."""
    rng = np.random.default_rng((seed, 42))
    version = VERSIONS[seed % len(VERSIONS)]
    kind = list(KINDS)[int(rng.integers(len(KINDS)))]
    if kind == "table of checksums" and not checksums:
        kind = "a sector of pages"
    path = folder / "damaged.lance"
    try:
        lance_arrow.write_table(
            random_case(seed, version).table,
            path,
            file_version=version,
            checksums=checksums,
            page_bytes=int(rng.choice([2048, 16_384, 8 << 20])),
            rows_per_zone=int(rng.choice([0, 64, 8192])),
        )
    except UnsupportedError:
        return kind, Tally(), []
    try:
        whole = Whole.of(path.read_bytes())
    except UnsupportedError:
        # Small codes cannot count the items of all dictionaries together: there is nothing to compare with.
        return kind, Tally(), []
    path.write_bytes(KINDS[kind](whole, rng))
    tally = Tally(files=1, values=whole.table.num_rows * whole.table.num_columns)
    try:
        with lance_arrow.LanceFile(path) as file:
            tally.by_read = tally.values if file.read().num_rows == whole.table.num_rows else 0
    except LanceError:
        pass
    found: list[str] = []
    for lost in ("null", "skip"):
        # A test that keeps no secret: what is not proven is asked for by its name.
        for allow_unchecked in (False, True):
            said = _compared(whole, path, lost, tally, allow_unchecked=allow_unchecked)
            found += [f"seed {seed} {version} {kind} {lost} {allow_unchecked=}: {one}" for one in said]
    return kind, tally, found


def _compared(whole: Whole, path: Path, lost: str, tally: Tally, *, allow_unchecked: bool) -> list[str]:
    """Salvage once, and compare; counts values where nulls are wanted and unproven ones are taken."""
    is_counted = lost == "null" and allow_unchecked
    try:
        with FileSalvage(path, lost=lost, allow_unchecked=allow_unchecked, runtime=lance_arrow.Runtime()) as salvage:
            table, report = salvage.read(), salvage.report
    except (LanceError, InvalidArgumentError):
        tally.refused += is_counted
        return []
    said = []
    if not allow_unchecked and not report.is_proven:
        said.append("unproven rows were returned")
    if report.num_rows != whole.table.num_rows:
        return ["another number of rows"] if report.is_proven else []
    everything = (0, report.num_rows)
    kept = gaps(report.left_out, everything)
    rows = np.flatnonzero(as_mask(kept, everything))
    if table.num_rows != len(rows) or report.rows_saved != len(rows):
        said.append(f"{table.num_rows} rows, the report has {report.rows_saved}, expected {len(rows)}")
    for name in table.column_names:
        gone = [one.rows for one in report.lost if one.column is not None and one.column.split(".")[0] == name]
        is_lost = np.zeros(report.num_rows, np.bool_)
        for start, stop in gone:
            is_lost[start:stop] = True
        is_sound = ~is_lost[rows]
        column = table[name]
        if not pa.compute.all(column.filter(pa.array(~is_sound)).is_null(), min_count=0).as_py():
            said.append(f"column {name} has values where they are lost")
        wrong = difference(whole.table[name], column.filter(pa.array(is_sound)), rows[is_sound])
        if wrong is not None and report.is_proven:
            said.append(f"column {name}: {wrong}")
        tally.changed += is_counted and wrong is not None
        tally.saved += int(np.count_nonzero(is_sound)) if is_counted else 0
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument(
        "--without-checksums", action="store_true", help="files as writers without checksums write them"
    )
    options = parser.parse_args()
    tallies: dict[str, Tally] = defaultdict(Tally)
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.count):
            kind, tally, wrong = salvaged(seed, Path(folder), checksums=not options.without_checksums)
            tallies[kind].add(tally)
            failures += wrong
    for kind, tally in sorted(tallies.items()):
        print(f"{kind:26} {tally}")
    num_files = sum(tally.files for tally in tallies.values())
    print(f"{num_files:,} files in all, {len(failures)} failures", *failures[:SHOWN_FAILURES], sep="\n  ")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
