"""Run as a program: end many forked processes in each of several ways, and print how they ended.

Forking after the imports makes a process cost milliseconds; its end is the interpreter's full one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
from bridge_toys import toy_format, write_toy

NUM_TASKS = 40
CONCURRENT = 3
TIMEOUT_SECONDS = 60
kept: list[object] = []


def write_file(folder: Path) -> None:
    """Write what the modes read."""
    write_toy(folder / "f.toy", pa.table({"a": list(range(2 * NUM_TASKS))}), rows_per_batch=2)


def open_dataset(folder: Path, delay_seconds: float = 0.001) -> pads.Dataset:
    """Open the file, with tasks slow enough to be caught in the act."""
    return pads.dataset(str(folder / "f.toy"), format=toy_format(delay_seconds=delay_seconds))


def full_read(folder: Path) -> None:
    """Read all."""
    assert open_dataset(folder).to_table().num_rows == 2 * NUM_TASKS


def early_break(folder: Path) -> None:
    """Abandon a scan in progress."""
    for _ in open_dataset(folder).to_batches():
        break


def iterator_alive(folder: Path) -> None:
    """End with a scan in progress that is still held."""
    batches: Iterator[pa.RecordBatch] = open_dataset(folder).to_batches()
    next(batches)
    kept.append(batches)


def background_scan(folder: Path) -> None:
    """End the main thread while others scan."""
    for _ in range(2):
        threading.Thread(target=full_read, args=(folder,)).start()
    time.sleep(0.005)


def daemon_scan(folder: Path) -> None:
    """End while a daemon thread waits in Arrow for a scan that takes longer than the rest of the process."""
    dataset = open_dataset(folder, delay_seconds=0.05)
    threading.Thread(target=dataset.to_table, daemon=True).start()
    time.sleep(0.02)


def failed_scan(folder: Path) -> None:
    """End after, and while, tasks raise."""

    def fail(index: int) -> None:
        time.sleep(0.001 * index)
        raise LookupError(index)

    dataset = pads.dataset(str(folder / "f.toy"), format=toy_format(on_run=fail))
    batches = dataset.to_batches()
    kept.append(batches)
    try:
        dataset.to_table()
    except LookupError:
        return
    raise AssertionError


MODES: dict[str, Callable[[Path], None]] = {
    mode.__name__: mode for mode in (full_read, early_break, iterator_alive, background_scan, daemon_scan, failed_scan)
}


def end_processes(mode: str, count: int, folder: Path) -> list[int] | None:
    """Return the exit codes of `count` processes; None in a child, which is to end in the ordinary way."""
    codes: list[int] = []
    running = 0
    for _ in range(count):
        if running == CONCURRENT:
            codes.append(os.waitstatus_to_exitcode(os.wait()[1]))
            running -= 1
        if os.fork() == 0:
            signal.alarm(TIMEOUT_SECONDS)
            MODES[mode](folder)
            return None
        running += 1
    codes.extend(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(running))
    return codes


def end_in_each_way(count: int, folder: Path) -> dict[str, list[int]] | None:
    """Return the exit codes of `count` processes of each mode; None in a child."""
    found: dict[str, list[int]] = {}
    for mode in MODES:
        codes = end_processes(mode, count, folder)
        if codes is None:
            return None
        found[mode] = codes
    return found


if __name__ == "__main__":
    exit_codes = end_in_each_way(int(sys.argv[1]), Path(sys.argv[2]))
    if exit_codes is not None:
        print(json.dumps(exit_codes))
