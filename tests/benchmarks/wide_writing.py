"""Writes and appends of wide tables: this package, the reference, and Parquet (snappy), in turns."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import lance_arrow

try:
    import lance
    from lance.file import LanceFileWriter
except ImportError:
    lance = None

FILES = ((200, 2000), (1000, 1000), (200, 10_000))
APPEND = (100, 500)
KINDS = ("doubles", "integers", "with nulls", "booleans", "strings", "categories")


def column(kind: str, rng: np.random.Generator, num_rows: int) -> pa.Array:
    """Return one column of a kind."""
    match kind:
        case "integers":
            return pa.array(rng.integers(0, 1 << 40, num_rows))
        case "with nulls":
            return pa.array(rng.normal(size=num_rows), mask=rng.random(num_rows) < 0.1)
        case "booleans":
            return pa.array(rng.integers(0, 2, num_rows).astype(bool))
        case "strings":
            return pa.array([f"value {number}" for number in rng.integers(0, 1 << 20, num_rows).tolist()])
        case "categories":
            return pa.array([f"category {number:06}" for number in rng.integers(0, 60, num_rows).tolist()])
    return pa.array(rng.normal(size=num_rows))


def wide(kind: str, num_rows: int, num_columns: int) -> pa.Table:
    """Return a table of columns of one kind."""
    rng = np.random.default_rng(0)
    return pa.table({f"column{number}": column(kind, rng, num_rows) for number in range(num_columns)})


def _reference_file(table: pa.Table, path: Path) -> None:
    with LanceFileWriter(str(path), table.schema, version="2.2") as writer:
        for batch in table.to_batches():
            writer.write_batch(batch)


def file_writers() -> dict[str, Callable[[pa.Table, Path], Any]]:
    """Return what writes a file, by package."""
    writers: dict[str, Callable[[pa.Table, Path], Any]] = {
        "ours": lance_arrow.write_table,
        "parquet": lambda table, path: pq.write_table(table, path, compression="snappy"),
    }
    if lance is not None:
        writers["reference"] = _reference_file
    return writers


def timed(actions: dict[str, Callable[[], Any]], rounds: int) -> dict[str, tuple[float, float]]:
    """Run actions in turns; return the medians of the clock and of processor time, in milliseconds."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in actions}
    for number in range(rounds + 1):
        for name, action in actions.items():
            clock, processor = time.perf_counter(), time.process_time()
            action()
            spent = time.perf_counter() - clock, time.process_time() - processor
            # The first round warms caches, and plans.
            if number:
                found[name].append(spent)
    return {
        name: tuple(1e3 * statistics.median(one) for one in zip(*all_, strict=True)) for name, all_ in found.items()
    }


def show(what: str, found: dict[str, tuple[float, float]], num_columns: int) -> None:
    """Print one row."""
    ours = found["ours"]
    cells = [f"{name} {clock:8.1f} / {processor:8.1f} ms" for name, (clock, processor) in found.items()]
    ratios = [f"{ours[0] / clock:.2f} x {name}" for name, (clock, _) in found.items() if name != "ours"]
    print(f"{what:42} {'   '.join(cells)}   {', '.join(ratios)}   {1e3 * ours[1] / num_columns:.1f} us a column")


@contextmanager
def table_folder(rows: pa.Table) -> Iterator[dict[str, Callable[[], Any]]]:
    """Make a table for each package, and yield what appends to it."""
    folder = Path(tempfile.mkdtemp())
    own = lance_arrow.LanceTable.create(folder / "own.lance", rows, durability="rename")
    actions: dict[str, Callable[[], Any]] = {"ours": lambda: own.append(rows)}
    if lance is not None:
        lance.write_dataset(rows, str(folder / "reference.lance"))
        actions["reference"] = lambda: lance.write_dataset(rows, str(folder / "reference.lance"), mode="append")
    try:
        yield actions
    finally:
        shutil.rmtree(folder)


def main(rounds: int) -> None:
    """Print all rows: clock / processor time."""
    with tempfile.TemporaryDirectory() as folder:
        for num_rows, num_columns in FILES:
            table = wide("doubles", num_rows, num_columns)
            actions = {
                name: lambda write=write, name=name, table=table: write(table, Path(folder) / f"{name}.file")
                for name, write in file_writers().items()
            }
            show(f"write a file, {num_rows:,} x {num_columns:,} doubles", timed(actions, rounds), num_columns)
        for kind in KINDS[1:]:
            table = wide(kind, 200, 1000)
            actions = {
                name: lambda write=write, name=name, table=table: write(table, Path(folder) / f"{name}.file")
                for name, write in file_writers().items()
            }
            show(f"write a file, 200 x 1,000 {kind}", timed(actions, rounds), 1000)
    rows = wide("doubles", *APPEND)
    with table_folder(rows) as actions:
        show(f"append {APPEND[0]} rows x {APPEND[1]} columns", timed(actions, rounds), APPEND[1])
