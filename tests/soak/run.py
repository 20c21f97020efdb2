"""Scan again and again with one processor thread and one I/O thread: `python tests/soak/run.py --scans 10000`.

Scans, counts, heads, takes and nested scans, by turns in the main thread, in several threads, in forked and in spawned
processes. A part that does not end is a deadlock; memory and descriptors are looked at after a tenth of the scans and
at the end.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

import lance_arrow
from lance_arrow import LanceFormat, write_table

ROWS, FILES = 4000, 3
MAX_GROWTH_BYTES = 24 << 20
MAX_MORE_DESCRIPTORS = 4
PART_SECONDS = 120
THREADS = 4


def one_scan(folder: str, number: int) -> None:
    """Read in one of several ways, and check what was read."""
    kind = number % 6
    low = (number * 97) % (ROWS * FILES - 50)
    condition = (pc.field("id") >= low) & (pc.field("id") < low + 50)
    if kind == 0:
        found = pads.dataset(folder, format=LanceFormat()).to_table(filter=condition).num_rows
    elif kind == 1:
        found = pads.dataset(folder, format=LanceFormat()).count_rows(filter=condition)
    elif kind == 2:
        found = lance_arrow.dataset(folder).head(50, columns=["word"]).num_rows
    elif kind == 3:
        found = lance_arrow.dataset(folder).take(list(range(low, low + 50))).num_rows
    elif kind == 4:
        # Left early: what is read ahead is dropped.
        found = next(iter(lance_arrow.dataset(folder).to_batches(batch_size=50))).num_rows
    else:
        dataset = lance_arrow.dataset(folder)
        outer = dataset.to_batches(batch_size=500, filter=condition)
        found = sum(dataset.count_rows(filter=condition) * batch.num_rows for batch in outer) // 50
    if found != 50:
        raise AssertionError(f"scan {number}: {found} rows, expected 50")


def some_scans(folder: str, first: int, stop: int) -> None:
    """Scan in a process of its own; it ends with an error when a scan fails."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    for number in range(first, stop):
        one_scan(folder, number)


def in_threads(folder: str, first: int, stop: int) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for one in range(first + number, stop, THREADS):
                one_scan(folder, one)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PART_SECONDS)
        if thread.is_alive():
            raise AssertionError("a thread that scans does not end")
    if failures:
        raise failures[0]


def in_process(start: str, folder: str, first: int, stop: int) -> None:
    process = multiprocessing.get_context(start).Process(target=some_scans, args=(folder, first, stop))
    process.start()
    process.join(PART_SECONDS)
    if process.is_alive():
        process.kill()
        raise AssertionError(f"a {start} process that scans does not end")
    if process.exitcode:
        raise AssertionError(f"a {start} process ended with {process.exitcode}")


def held(process: psutil.Process) -> tuple[int, int, int]:
    """Memory, descriptors and Arrow's bytes, once what refers to itself is gone."""
    gc.collect()
    # What a scan that was left early reads ahead ends a little later.
    time.sleep(0.5)
    gc.collect()
    return process.memory_info().rss, process.num_fds(), pa.total_allocated_bytes()


def soak(scans: int, folder: Path) -> str:
    """Run all parts; raises `AssertionError` for what does not end, is wrong, or grows."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    for number in range(FILES):
        ids = range(number * ROWS, (number + 1) * ROWS)
        table = pa.table({"id": ids, "word": [f"w{one}" for one in ids]})
        write_table(table, folder / f"{number}.lance", rows_per_zone=500)
    own = psutil.Process(os.getpid())
    step = max(12, scans // 100)
    parts = {0: some_scans, 1: in_threads, 2: some_scans, 3: in_threads}
    before: tuple[int, int, int] | None = None
    begun, done, turn = time.perf_counter(), 0, 0
    while done < scans:
        stop = min(done + step, scans)
        parts[turn % 4](str(folder), done, stop)
        # A few scans in a child each: what it inherits has had threads.
        if turn % 10 == 4:
            in_process("fork", str(folder), done, done + 12)
        if turn % 20 == 9:
            in_process("spawn", str(folder), done, done + 12)
        done, turn = stop, turn + 1
        if before is None and done >= scans // 10:
            before = held(own)
    assert before is not None
    after = held(own)
    growth, descriptors = after[0] - before[0], after[1] - before[1]
    said = (
        f"{scans:,} scans in {time.perf_counter() - begun:.0f} s: memory {growth / (1 << 20):+.1f} MiB, "
        f"descriptors {descriptors:+}, Arrow's own {after[2] - before[2]:+} bytes"
    )
    if growth > MAX_GROWTH_BYTES or descriptors > MAX_MORE_DESCRIPTORS:
        raise AssertionError(said)
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scans", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(soak(options.scans, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
