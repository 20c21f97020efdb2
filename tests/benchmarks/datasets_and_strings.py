"""Two writes beside Parquet with snappy: a dataset of hive partitions (and Arrow IPC), strings (and the reference).

Part of `nox -s bench_write`; alone: ``python datasets_and_strings.py``. Medians of wall and processor time, all ways in
turns. The reference writes no hive partitions.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path

import lance.file
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from measuring import interleaved, median_ratio

import lance_arrow

_WORDS = np.array(["alpha", "beta", "gamma", "error", "warning", "request", "timeout", "connection", "server", "the"])


def partitioned(num_rows: int = 500_000, num_partitions: int = 20) -> pa.Table:
    """Three columns of numbers, rows of all partitions mixed."""
    random = np.random.default_rng(0)
    return pa.table(
        {
            "part": pa.array(random.integers(0, num_partitions, num_rows), pa.int32()),
            "key": random.integers(0, 1 << 40, num_rows),
            "value": random.random(num_rows),
        }
    )


def strings(num_rows: int = 200_000) -> pa.Table:
    """Five columns: few, some and only distinct values, addresses, sentences."""
    random = np.random.default_rng(1)
    words = _WORDS[random.integers(0, len(_WORDS), (num_rows, 8))]
    numbers = random.integers(0, 1 << 30, num_rows)
    return pa.table(
        {
            "few": [f"category-{i}" for i in random.integers(0, 50, num_rows)],
            "some": [f"user-{i:08d}" for i in random.integers(0, 20_000, num_rows)],
            "distinct": [f"order-{i:012d}" for i in random.permutation(num_rows)],
            "address": [
                f"https://www.example.com/{a}/{b}?q={n}" for (a, b), n in zip(words[:, :2], numbers, strict=True)
            ],
            "sentence": [" ".join(row) for row in words],
        }
    )


def datasets(folder: Path) -> dict[str, Callable[[], None]]:
    """Writers of `partitioned`, ours first; each writes into a new folder each time."""
    table = partitioned()
    hive = pads.partitioning(pa.schema([table.schema.field("part")]), flavor="hive")
    names = itertools.count()

    def writer(format_: object) -> Callable[[], None]:
        return lambda: pads.write_dataset(table, folder / str(next(names)), format=format_, partitioning=hive)

    return {"ours": writer(lance_arrow.LanceFormat()), "parquet": writer("parquet"), "ipc": writer("ipc")}


def files(folder: Path) -> dict[str, Callable[[], None]]:
    """Writers of `strings`, ours first."""
    table = strings()

    def reference() -> None:
        with lance.file.LanceFileWriter(str(folder / "r.lance"), table.schema, version="2.2") as writer:
            for batch in table.to_batches():
                writer.write_batch(batch)

    return {
        "ours": lambda: lance_arrow.write_table(table, folder / "o.lance"),
        "parquet": lambda: pq.write_table(table, folder / "p.parquet"),
        "reference": reference,
    }


CASES: dict[str, Callable[[Path], dict[str, Callable[[], None]]]] = {
    "500,000 x 3 in 20 hive partitions": datasets,
    "200,000 x 5 strings": files,
}


def report(runs: int) -> list[str]:
    """Measure all cases; one line each."""
    lines = []
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            calls = case(Path(folder))
            samples = interleaved(calls, [dict.fromkeys(calls, ())] * (runs + 1))
        ours = samples["ours"]
        parts = [f"{name:34} ours {ours.median_ms:7.1f} ms (cpu {ours.median_cpu_ms:7.1f})"]
        for other, found in samples.items():
            if found is not ours:
                ratio = median_ratio(ours.seconds, found.seconds)
                cpu_ratio = median_ratio(ours.cpu_seconds, found.cpu_seconds)
                parts.append(f"/ {other} {found.median_ms:7.1f} ms: {ratio:5.2f} (cpu {cpu_ratio:5.2f})")
        lines.append("  ".join(parts))
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    print("\n".join(report(parser.parse_args().runs)))
