"""Measure the peak memory of operations of a table ten times larger than the memory budget; asserts nothing.

`python tests/benchmarks/table_memory.py [--rows 10000000] [--budget-mib 64] [--cases merge]`. Each operation runs in
a process of its own, on a copy of the same table; what is printed is by how much its resident set grew at most, beyond
what it was after the same operation of a small table.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from table_operations import NARROW, rows

MEBIBYTE = 1 << 20
BATCH_ROWS = 50_000
SMALL_ROWS = 100_000
PART_ROWS = 100_000
SMALL_PART_ROWS = 10_000


@contextlib.contextmanager
def stream(path: Path) -> Iterator[pa.RecordBatchReader]:
    """Rows as they come from a file, a batch at a time."""
    with pa.OSFile(str(path)) as file:
        yield pa.ipc.open_stream(file)


def store(path: Path, first: int, count: int, *, step: int = 1) -> None:
    """Write rows for `stream`; with `step` 2, every other batch has numbers of rows that follow all others."""
    with pa.OSFile(str(path), "wb") as file:
        writer: Any = None
        for number, start in enumerate(range(0, count, BATCH_ROWS)):
            some = min(BATCH_ROWS, count - start)
            batch = rows(first + start + (10 * count if step == 2 and number % 2 else 0), some)
            writer = writer or pa.ipc.new_stream(file, batch.schema)
            writer.write_table(batch)
        writer.close()


def create(folder: Path) -> None:
    _created(folder, "created")


def _created(folder: Path, name: str, **options: Any) -> Any:
    from lance_arrow import LanceTable  # noqa: PLC0415 - in processes that measure

    with stream(folder / "rows.arrows") as source:
        return LanceTable.create(folder / name, source, **options)


def _opened(folder: Path, name: str = "table") -> Any:
    from lance_arrow import LanceTable  # noqa: PLC0415 - in processes that measure

    return LanceTable.open(folder / name)


def append(folder: Path) -> None:
    with stream(folder / "rows.arrows") as source:
        _opened(folder).append(source)


def delete(folder: Path) -> None:
    _opened(folder).delete(f"narrow < {NARROW // 2}")


def update(folder: Path) -> None:
    _opened(folder).update({"double": "double * 2"}, where=f"narrow >= {NARROW // 10 * 9}")


def update_all(folder: Path) -> None:
    _opened(folder).update({"double": "double * 2"})


def merge(folder: Path) -> None:
    """As many rows as half of the table, half of them new."""
    with stream(folder / "merged.arrows") as source:
        merge = _opened(folder).merge(source, on="id")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()


def merge_by_text(folder: Path) -> None:
    with stream(folder / "merged.arrows") as source:
        merge = _opened(folder).merge(source, on=["name", "id"])
        merge.when_matched_update_all().when_not_matched_insert_all().execute()


def add_columns(folder: Path) -> None:
    _opened(folder).add_columns({"sum": "double + narrow"})


def compact(folder: Path) -> None:
    """Pages are copied."""
    _opened(folder, "parts").compact()


def compact_small(folder: Path) -> None:
    """Pages are too small to be copied."""
    _opened(folder, "small").compact()


def cluster(folder: Path) -> None:
    """Rows are sorted through temporary files."""
    _opened(folder).compact(cluster_by="double")


def scan(folder: Path) -> None:
    for _ in _opened(folder).to_batches():
        pass


def filtered(folder: Path) -> None:
    for _ in _opened(folder).to_batches(filter="double > 0.5"):
        pass


CASES: dict[str, Callable[[Path], None]] = {
    one.__name__: one
    for one in (
        create, append, delete, update, update_all, merge, merge_by_text, add_columns, compact, compact_small, cluster,
        scan, filtered,
    )
}  # fmt: skip


def prepare(folder: Path, num_rows: int) -> None:
    """Make the table of each operation, and the rows that it is given."""
    store(folder / "rows.arrows", 0, num_rows)
    store(folder / "merged.arrows", num_rows // 4, num_rows // 2, step=2)
    _created(folder, "table")
    _created(folder, "parts", max_rows_per_file=PART_ROWS)
    _created(folder, "small", max_rows_per_file=SMALL_PART_ROWS)


def resident(what: str) -> int:
    (line,) = [one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith(what)]
    return int(line.split()[1]) * 1024


def measure(case: str, small: Path, large: Path) -> None:
    """Print the growth in bytes, and seconds; the small table brings modules, threads and pools."""
    CASES[case](small)
    Path("/proc/self/clear_refs").write_text("5")
    before, begun = resident("VmRSS"), time.perf_counter()
    CASES[case](large)
    print(resident("VmHWM") - before, time.perf_counter() - begun)


def copied(folder: Path, target: Path) -> Path:
    """Copy tables; data files, which nothing changes, are links."""
    shutil.copytree(folder, target, copy_function=os.link)
    return target


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000, help="of 65 bytes")
    parser.add_argument("--budget-mib", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--folder", type=Path, help="where tables are made; a temporary folder unless given")
    parser.add_argument("--prepare", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        case, small, large = options.measure
        measure(case, Path(small), Path(large))
        return 0
    if options.prepare:
        prepare(options.folder, options.rows)
        return 0
    budget = str(options.budget_mib * MEBIBYTE)
    variables = {**os.environ, "LANCE_ARROW_MEMORY_BYTES": budget, "LANCE_ARROW_THREADS": str(options.threads)}
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folders = {name: Path(temporary) / name for name in ("small", "large")}
        for name, num_rows in (("small", SMALL_ROWS), ("large", options.rows)):
            folders[name].mkdir()
            command = [sys.executable, __file__, "--prepare", "--folder", str(folders[name]), "--rows", str(num_rows)]
            subprocess.run(command, check=True)
        print(
            f"{options.rows:,} rows, budget {options.budget_mib} MiB, {options.threads} threads; growth in MiB, seconds"
        )
        for case in options.cases:
            places = [copied(folder, Path(temporary) / f"{case}-{name}") for name, folder in folders.items()]
            command = [sys.executable, __file__, "--measure", case, *map(str, places)]
            done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{case:<14} {done.stderr.strip().splitlines()[-1]}", flush=True)
            else:
                growth, seconds = done.stdout.split()
                print(f"{case:<14} {int(growth) / MEBIBYTE:8.0f} {float(seconds):8.1f}", flush=True)
            for place in places:
                shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
