"""Time datasets of many files beside Arrow IPC and the reference; prints medians, asserts nothing.

`python tests/benchmarks/many_fragments.py [--fragments 1000] [--rows 1000] [--rounds 9] [--only scan]`. All readers
take turns; the reference reads in a process of its own, since its threads stay busy for a while after each read.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from measuring import Samples
from small_files import small_file_rows

import lance_arrow
from lance_arrow import LanceFormat, LanceTable

ROWS = 1000
CASES = ("open", "rows", "scan", "single", "project", "few", "half", "count", "first", "take")
COLUMNS = ["id", "double", "name"]
_IDS = list(range(17, 500_000, 4999))

Read = Callable[[], object]


def write(folder: Path, num_fragments: int, num_rows: int) -> None:
    """Write the same rows as a table, as bare files, and as Arrow IPC files."""
    batches = [small_file_rows(number, num_rows) for number in range(num_fragments)]
    LanceTable.create(folder / "t.lance", pa.Table.from_batches(batches), max_rows_per_file=num_rows)
    for number, batch in enumerate(batches):
        pads.write_dataset(
            [batch],
            folder / "ipc",
            format="ipc",
            schema=batch.schema,
            basename_template=f"{number:06}-{{i}}.arrow",
            existing_data_behavior="overwrite_or_ignore",
        )
        (folder / "bare").mkdir(exist_ok=True)
        lance_arrow.write_table(pa.Table.from_batches([batch]), folder / "bare" / f"{number:06}.lance")


def reads(open_: Callable[[], pads.Dataset]) -> dict[str, Read]:
    """What is measured of a dataset, which is opened anew for everything but takes."""
    id_, narrow = pads.field("id"), pads.field("narrow")
    held = open_()
    return {
        "open": open_,
        "rows": lambda: open_().count_rows(),
        "scan": lambda: open_().to_table(),
        "single": lambda: open_().to_table(use_threads=False),
        "project": lambda: open_().to_table(columns=COLUMNS),
        "few": lambda: open_().to_table(filter=(id_ >= 5000) & (id_ < 6000)),
        "half": lambda: open_().to_table(filter=narrow < 50_000),
        "count": lambda: open_().count_rows(filter=narrow < 50_000),
        "first": lambda: next(iter(open_().to_batches())),
        "take": lambda: held.take(_IDS),
    }


def readers(folder: Path) -> dict[str, dict[str, Read]]:
    """All readers of this process."""
    table = str(folder / "t.lance")
    bare = str(folder / "bare")
    return {
        "LanceTable": {"scan": lambda: LanceTable.open(table).to_table()},
        "lance_arrow.dataset(table)": reads(lambda: lance_arrow.dataset(table)),
        "lance_arrow.dataset(files)": reads(lambda: lance_arrow.dataset(bare)),
        "pyarrow.dataset(table)": reads(lambda: pads.dataset(table, format=LanceFormat())),
        "pyarrow.dataset(files)": reads(lambda: pads.dataset(bare, format=LanceFormat())),
        "pyarrow.dataset(ipc)": reads(lambda: pads.dataset(str(folder / "ipc"), format="ipc")),
    }


def reference(path: str) -> int:
    """Read what is asked on standard input, a case a line; answer with seconds by the clock and of the processor."""
    import lance  # noqa: PLC0415 - in this process alone

    filters = {"few": "id >= 5000 AND id < 6000", "half": "narrow < 50000", "count": "narrow < 50000"}
    held = lance.dataset(path)
    cases: dict[str, Read] = {
        "open": lambda: lance.dataset(path),
        "rows": lambda: lance.dataset(path).count_rows(),
        "scan": lambda: lance.dataset(path).to_table(),
        "project": lambda: lance.dataset(path).to_table(columns=COLUMNS),
        "few": lambda: lance.dataset(path).to_table(filter=filters["few"]),
        "half": lambda: lance.dataset(path).to_table(filter=filters["half"]),
        "count": lambda: lance.dataset(path).count_rows(filter=filters["count"]),
        "first": lambda: next(iter(lance.dataset(path).to_batches())),
        "take": lambda: held.take(_IDS),
    }
    for line in sys.stdin:
        print(*timed(cases[line.strip()]), flush=True)
    return 0


def timed(read: Read) -> tuple[float, float]:
    """Return seconds by the clock, and processor time of all threads."""
    cpu, begun = time.process_time(), time.perf_counter()
    result = read()
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
    del result
    return seconds, cpu_seconds


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fragments", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=ROWS, help="of each fragment")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="*", default=CASES)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--reference", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reference is not None:
        return reference(options.reference)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not (folder / "t.lance").exists():
            write(folder, options.fragments, options.rows)
        command = [sys.executable, __file__, "--reference", str(folder / "t.lance")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdin is not None
            assert other.stdout is not None

            def ask(case: str) -> tuple[float, float]:
                print(case, file=other.stdin, flush=True)
                seconds, cpu_seconds = other.stdout.readline().split()  # type: ignore[union-attr]
                return float(seconds), float(cpu_seconds)

            ours = readers(folder)
            for case in options.only:
                calls = {name: (lambda read=found[case]: timed(read)) for name, found in ours.items() if case in found}
                if case != "single":
                    calls["reference"] = lambda case=case: ask(case)
                _show(case, _in_turns(calls, options.rounds))
            other.stdin.close()
    return 0


def _in_turns(calls: dict[str, Callable[[], tuple[float, float]]], rounds: int) -> dict[str, Samples]:
    samples = {name: Samples([], []) for name in calls}
    names = list(calls)
    for number in range(rounds + 1):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            seconds, cpu_seconds = calls[name]()
            if number:
                samples[name].seconds.append(seconds)
                samples[name].cpu_seconds.append(cpu_seconds)
    return samples


def _show(case: str, samples: dict[str, Samples]) -> None:
    ipc = samples["pyarrow.dataset(ipc)"]
    for name, found in samples.items():
        ratio = found.median_ms / ipc.median_ms
        cpu_ratio = found.median_cpu_ms / ipc.median_cpu_ms
        print(
            f"{case:<8} {name:<27} {found.median_ms:9.1f} ms, processor {found.median_cpu_ms:9.1f} | "
            f"of IPC {ratio:5.2f}, {cpu_ratio:5.2f}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
