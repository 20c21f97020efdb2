"""Full scan and 100-row take of 1 M rows x 10 scalar columns, beside the reference package in one interleaved run.

Run by `nox -s bench`; prints one line per case: medians in milliseconds, and the median of the ratios of neighbouring
runs (ours / reference's faster reader). Nothing here is a test: times are compared, never asserted.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
from lance.file import LanceFileReader, LanceFileWriter

from lance_arrow import LanceFile, LanceFormat

ROWS = 1_000_000


def scalar_table(num_rows: int = ROWS) -> pa.Table:
    """Ten columns: random, small-range, sequential and constant-step numbers, floats, bools, times, some with nulls."""
    random = np.random.default_rng(20)
    return pa.table(
        {
            "wide": random.integers(0, 1 << 40, num_rows),
            "narrow": random.integers(0, 100_000, num_rows, dtype=np.int32),
            "double": random.random(num_rows),
            "single": random.random(num_rows).astype(np.float32),
            "flag": random.random(num_rows) < 0.5,
            "nullable": pa.array(random.integers(0, 1000, num_rows), mask=random.random(num_rows) < 0.1),
            "time": pa.array(np.arange(num_rows) * 1000, pa.timestamp("us")),
            "tiny": random.integers(-100, 100, num_rows, dtype=np.int8),
            "sequence": np.arange(num_rows),
            "nullable_double": pa.array(random.random(num_rows), mask=random.random(num_rows) < 0.1),
        }
    )


def interleaved(cases: dict[str, Callable[[], object]], runs: int) -> dict[str, list[float]]:
    """Time every case once per round, so that all of them see the same machine; the first round warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for run in range(runs + 1):
        for name, call in cases.items():
            begun = time.perf_counter()
            call()
            if run:
                seconds[name].append(time.perf_counter() - begun)
    return seconds


def compare(
    title: str, ours: dict[str, Callable[[], object]], theirs: dict[str, Callable[[], object]], runs: int
) -> None:
    """Print one line per case of ours, against the faster of theirs."""
    seconds = interleaved({**theirs, **ours}, runs)
    best = min(theirs, key=lambda name: statistics.median(seconds[name]))
    for name in ours:
        ratios = [mine / other for mine, other in zip(seconds[name], seconds[best], strict=True)]
        print(
            f"{title} | {name} {1e3 * statistics.median(seconds[name]):.2f} ms | "
            f"{best} {1e3 * statistics.median(seconds[best]):.2f} ms | ratio {statistics.median(ratios):.2f}",
            flush=True,
        )


def run_version(folder: Path, version: str, runs: int) -> None:
    """Compare scans and takes on one file version."""
    table = scalar_table()
    path = str(folder / f"scalars-{version}.lance")
    with LanceFileWriter(path, table.schema, version=version) as writer:
        writer.write_batch(table)
    root = str(folder / f"table-{version}")
    lance.write_dataset(table, root, data_storage_version=version)
    reference = lance.dataset(root)
    opened, reader = LanceFile(path), LanceFileReader(path)
    if not opened.read().equals(table):
        raise SystemExit("wrong rows: no figures")
    compare(
        f"scan {version}",
        {
            "LanceFile.read": lambda: LanceFile(path).read(),
            "dataset.to_table": lambda: pads.dataset(path, format=LanceFormat()).to_table(),
        },
        {
            "reference file": lambda: LanceFileReader(path).read_all().to_table(),
            "reference dataset": reference.to_table,
        },
        runs,
    )
    for count in (1, 100, 10_000):
        compare_takes(f"take {count} {version}", count, opened, reader, reference, runs)


def compare_takes(
    title: str, count: int, opened: LanceFile, reader: LanceFileReader, reference: lance.LanceDataset, runs: int
) -> None:
    """Compare takes of `count` random rows; every call takes other rows."""
    random = np.random.default_rng(count)
    picks = iter([random.choice(ROWS, count, replace=False) for _ in range(3 * (runs + 1))])
    compare(
        title,
        {"LanceFile.take": lambda: opened.take(next(picks))},
        {
            "reference file": lambda: reader.take_rows(sorted(next(picks).tolist())).to_table(),
            "reference dataset": lambda: reference.take(next(picks).tolist()),
        },
        runs,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--versions", nargs="+", default=["2.1", "2.2"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for version in arguments.versions:
            run_version(Path(folder), version, arguments.runs)


if __name__ == "__main__":
    main()
