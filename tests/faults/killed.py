"""Kills writers at random moments: whatever has the name of a file is a whole one, of the old rows or of the new.

`nox -s fuzz_written` kills 200; `test_killed_writers.py` a few. A process without threads forks the writers, so that
each begins to write at once; this one looks at what they left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.dataset as pads

import lance_arrow
from lance_arrow import LanceFile, LanceFormat, LanceWriter, write_table
from lance_arrow.errors import CorruptFileError
from lance_arrow.runtime import default_runtime

NUM_ROWS = 60_000
OLD_ROWS = 1000
FILES = 4
NAME = "t.lance"
SLACK = 1.2
"""How far beyond the work of a whole write kills are spread: some writers are to finish."""


def rows(count: int) -> pa.Table:
    numbers = np.arange(count)
    return pa.table(
        {
            "n": numbers,
            "x": np.sin(numbers),
            "s": pa.array([f"row {number * 7919 % 100_003}" for number in range(count)]),
            "l": pa.ListArray.from_arrays(np.arange(count + 1, dtype=np.int32), pa.array(numbers % 9)),
        }
    )


def by_writer(folder: Path, table: pa.Table) -> None:
    with LanceWriter(folder / NAME, table.schema, page_bytes=1 << 16) as writer:
        for start in range(0, table.num_rows, 5000):
            writer.write(table.slice(start, 5000))


def over_another(folder: Path, table: pa.Table) -> None:
    write_table(table, folder / NAME, page_bytes=1 << 16)


def by_url(folder: Path, table: pa.Table) -> None:
    write_table(table, f"file://{folder / NAME}", page_bytes=1 << 16)


def by_dataset(folder: Path, table: pa.Table) -> None:
    per_file = NUM_ROWS // FILES
    pads.write_dataset(
        table, folder, format=LanceFormat(), max_rows_per_file=per_file, max_rows_per_group=per_file // 4
    )


WAYS: dict[str, Callable[[Path, pa.Table], None]] = {
    "writer": by_writer,
    "over another": over_another,
    "url": by_url,
    "dataset": by_dataset,
}


def fork_writers(root: Path, seed: int, count: int) -> int:
    """The forker: each writer has a folder of its own, and is killed when it has done a random part of the work.

    Work is time on a processor: how fast a busy machine gets on with it does not matter.
    """
    chance = random.Random(seed)
    table = rows(NUM_ROWS)
    default_runtime()
    seconds = {}
    for number, name in enumerate(WAYS):
        folder = root / f"whole {number}"
        folder.mkdir()
        _, status, usage = os.wait4(_fork(name, folder, table), 0)
        assert status == 0, f"the way {name!r} does not work at all"
        seconds[name] = usage.ru_utime + usage.ru_stime
    for number in range(count):
        name = list(WAYS)[number % len(WAYS)]
        folder = root / f"{number:04} {name}"
        folder.mkdir()
        if name == "over another":
            (folder / NAME).write_bytes((root / "old").read_bytes())
        writer = _fork(name, folder, table)
        _wait_for_work(writer, chance.uniform(0, SLACK * seconds[name]))
        # Clocks of processes tick every 10 ms.
        time.sleep(chance.uniform(0, 0.01))
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
    return 0


def _wait_for_work(writer: int, seconds: float) -> None:
    process = psutil.Process(writer)
    while process.status() != psutil.STATUS_ZOMBIE:
        times = process.cpu_times()
        if times.user + times.system >= seconds:
            return
        time.sleep(0.0005)


def _fork(name: str, folder: Path, table: pa.Table) -> int:
    writer = os.fork()
    if writer == 0:
        code = 1
        try:
            WAYS[name](folder, table)
            code = 0
        finally:
            os._exit(code)
    return writer


def outcome(folder: Path) -> str:
    """What a killed writer left; anything that may not be is raised as `AssertionError`."""
    name = folder.name.partition(" ")[2]
    visible = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    hidden = [path for path in folder.iterdir() if path.name.startswith(".")]
    assert all(path.name.endswith(".tmp") for path in hidden), hidden
    found = pads.dataset(folder, format=LanceFormat(), schema=rows(0).schema)
    assert [Path(one) for one in found.files] == visible, "hidden files are passed over"
    if name == "dataset":
        return _parts(visible)
    assert [path.name for path in visible] in ([], [NAME]), visible
    if not visible:
        assert name != "over another", "the old file is gone"
        return "nothing, and a hidden file" if hidden else "nothing"
    report = lance_arrow.verify(visible[0])
    assert report.ok, report.errors
    with LanceFile(visible[0]) as file:
        table = file.read()
    for text, expected in (("old", OLD_ROWS), ("new", NUM_ROWS)):
        if table.equals(rows(expected)) and (text == "new" or name == "over another"):
            return text
    raise AssertionError(f"{visible[0]} holds {table.num_rows} rows that nobody wrote")


def _parts(files: list[Path]) -> str:
    """Arrow itself opens the names of the files of a dataset: those that were begun do not open."""
    counts: Counter[str] = Counter()
    for path in files:
        try:
            LanceFile(path).close()
        except CorruptFileError:
            counts["begun"] += 1
            continue
        report = lance_arrow.verify(path)
        assert report.ok, report.errors
        counts["whole"] += 1
    whole = "all" if counts["whole"] == FILES else "some" if counts["whole"] else "no"
    return f"{whole} files whole" + (", one begun" if counts["begun"] else "")


def run(root: Path, seed: int, count: int, seconds: float) -> tuple[Counter[str], list[str]]:
    """Kill `count` writers; return what they left, and everything that may not be."""
    write_table(rows(OLD_ROWS), root / "old")
    command = [sys.executable, str(Path(__file__)), "--fork", str(root), str(seed), str(count)]
    subprocess.run(command, check=True, timeout=seconds)
    outcomes: Counter[str] = Counter()
    failures = []
    for folder in sorted(root.glob("[0-9]*")):
        try:
            outcomes[f"{folder.name.partition(' ')[2]}: {outcome(folder)}"] += 1
        # Whatever goes wrong is what this looks for.
        except Exception as error:  # noqa: BLE001
            failures.append(f"{folder.name}: {error!r}")
    return outcomes, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writers", type=int, default=200, help="how many to kill")
    parser.add_argument("--minutes", type=float, default=30.0, help="how long they may take")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="which moments")
    parser.add_argument("--fork", nargs=3, metavar="ARGUMENT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fork:
        root, seed, count = options.fork
        return fork_writers(Path(root), int(seed), int(count))
    with tempfile.TemporaryDirectory() as root:
        outcomes, failures = run(Path(root), options.seed, options.writers, options.minutes * 60)
    for failure in failures:
        print(failure)
    print("seed", options.seed, json.dumps(dict(sorted(outcomes.items()))), len(failures), "failures")
    return 1 if failures or sum(outcomes.values()) < options.writers else 0


if __name__ == "__main__":
    sys.exit(main())
