"""Rows taken by several threads: `LanceFile`, `lance_arrow.dataset` and `LanceTable` beside the reference's dataset.

Run by `nox -s bench_threads`; alone: ``python threads.py --rows 1000000``. All readers answer in turns. Each number is
the median of the takes a second of all threads together, and of the processor time of one take. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa

import lance_arrow

Take = Callable[[list[int]], pa.Table]
_LISTS = 200


def ten_columns(num_rows: int) -> pa.Table:
    """Numbers, floats, two columns of strings, and bits."""
    random = np.random.default_rng(1)
    return pa.table(
        {
            "id": np.arange(num_rows),
            "a": random.random(num_rows),
            "b": random.integers(0, 1000, num_rows),
            "c": random.integers(0, 2**40, num_rows),
            "s": [f"n{row % 1000}" for row in range(num_rows)],
            "t": [f"text {row}" for row in range(num_rows)],
            "f": random.random(num_rows).astype("f4"),
            "g": random.integers(0, 100, num_rows).astype("i2"),
            "h": random.random(num_rows) > 0.5,
            "u": random.integers(0, 2**30, num_rows),
        }
    )


def takers(table: pa.Table, folder: Path) -> dict[str, Take]:
    """Write the rows for every reader, and open them."""
    lance_arrow.write_table(table, folder / "file.lance")
    lance_arrow.LanceTable.create(folder / "table.lance", table)
    lance.write_dataset(table, str(folder / "reference.lance"))
    reference = lance.dataset(str(folder / "reference.lance"))
    return {
        "LanceFile": lance_arrow.LanceFile(folder / "file.lance").take,
        "lance_arrow.dataset": lance_arrow.dataset(folder / "file.lance").take,
        "LanceTable": lance_arrow.LanceTable.open(folder / "table.lance").take,
        "reference": reference.take,
    }


def rate(take: Take, lists: list[list[int]], num_threads: int, seconds: float) -> tuple[float, float]:
    """Take for some time; returns takes a second, and microseconds of processor time of each."""
    counts = [0] * num_threads
    begun, processor = time.perf_counter(), time.process_time()
    stop = begun + seconds

    def work(thread: int) -> None:
        turn = 7 * thread
        while time.perf_counter() < stop:
            take(lists[turn % len(lists)])
            turn += 1
            counts[thread] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(num_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = sum(counts)
    return total / (time.perf_counter() - begun), 1e6 * (time.process_time() - processor) / total


def measure(
    readers: Mapping[str, Take], num_rows: int, sizes: list[int], threads: list[int], rounds: int, seconds: float
) -> None:
    """Print a line for each number of rows and each reader."""
    random = np.random.default_rng(2)
    for size in sizes:
        lists = [np.sort(random.choice(num_rows, size, replace=False)).tolist() for _ in range(_LISTS)]
        for take in readers.values():
            for rows in lists:
                take(rows)
        found: dict[tuple[str, int], list[tuple[float, float]]] = {}
        for _ in range(rounds):
            for count in threads:
                for name, take in readers.items():
                    found.setdefault((name, count), []).append(rate(take, lists, count, seconds))
        for name in readers:
            medians = [tuple(map(statistics.median, zip(*found[name, count], strict=True))) for count in threads]
            first = medians[0][0]
            cells = [f"{takes:9,.0f} ({takes / first:.2f}) {micros:8.1f} us" for takes, micros in medians]
            print(f"{size:6} {name:20} " + " ".join(cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 100])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 16])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.7)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        readers = takers(ten_columns(wanted.rows), Path(folder))
        print(
            f"{'rows':>6} {'reader':20} takes a second (of one thread's), processor time, by {wanted.threads} threads"
        )
        measure(readers, wanted.rows, wanted.sizes, wanted.threads, wanted.rounds, wanted.seconds)


if __name__ == "__main__":
    main()
