"""Time reads of files with many columns, beside the reference and Parquet, all in turns.

`python tests/benchmarks/wide_reading.py [--rounds 7]`. Schemas are known after the first round. The readers "new
schema" and "new schema, dataset" forget them before each read. Prints medians, asserts nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from lance.file import LanceFileReader, LanceFileWriter

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from measuring import interleaved, median_ratio

import lance_arrow
from lance_arrow import LanceFile, LanceFormat
from lance_arrow.container.schema_facts import known_schemas

SHAPES = ((1000, 200), (2000, 200), (1000, 1000), (10_000, 20))
"""Columns and rows."""


def write(folder: Path, columns: int, rows: int) -> dict[str, str]:
    """Write the same rows for each reader; return the paths by format."""
    rng = np.random.default_rng(columns + rows)
    table = pa.table({f"c{number}": rng.standard_normal(rows) for number in range(columns)})
    paths = {name: str(folder / f"{columns}x{rows}.{name}") for name in ("lance", "reference", "parquet")}
    lance_arrow.write_table(table, paths["lance"])
    with LanceFileWriter(paths["reference"], table.schema) as writer:
        writer.write_batch(table)
    pq.write_table(table, paths["parquet"])
    return paths


def readers(paths: dict[str, str], wanted: Sequence[str] | None) -> dict[str, Callable[[], Any]]:
    """Return what reads some columns, or all, by name; opening included."""

    def ours(path: str) -> pa.Table:
        with LanceFile(path) as file:
            return file.read(columns=wanted)

    def new_schema() -> pa.Table:
        known_schemas.clear()
        return ours(paths["lance"])

    def dataset() -> pa.Table:
        return lance_arrow.dataset(paths["lance"]).to_table(columns=wanted)

    def new_dataset() -> pa.Table:
        known_schemas.clear()
        return dataset()

    def theirs() -> pa.Table:
        return LanceFileReader(paths["reference"], columns=wanted).read_all().to_table()

    return {
        "LanceFile": lambda: ours(paths["lance"]),
        "new schema": new_schema,
        # This one makes the Arrow schema anew, which files need not, and the two below know it.
        "new schema, dataset": new_dataset,
        "lance_arrow.dataset": dataset,
        "pyarrow.dataset": lambda: pads.dataset(paths["lance"], format=LanceFormat()).to_table(columns=wanted),
        "reference": theirs,
        "Parquet": lambda: pq.read_table(paths["parquet"], columns=wanted),
    }


def main(rounds: int) -> None:
    """Time each reader in each shape, and print it beside the reference."""
    with tempfile.TemporaryDirectory() as folder:
        for columns, rows in SHAPES:
            paths = write(Path(folder), columns, rows)
            three = [f"c{number}" for number in (1, columns // 2, columns - 1)]
            for case, wanted in (("3 columns", three), ("all", None)):
                calls = readers(paths, wanted)
                samples = interleaved(calls, [dict.fromkeys(calls, ())] * (rounds + 1))
                peer = samples["reference"]
                for name, found in samples.items():
                    ratio = median_ratio(found.seconds, peer.seconds)
                    cpu_ratio = median_ratio(found.cpu_seconds, peer.cpu_seconds)
                    print(
                        f"{columns:>6} x {rows:<5} {case:<10} {name:<20} {found.median_ms:9.2f} ms, "
                        f"processor {found.median_cpu_ms:9.2f} | of the reference {ratio:5.2f}, {cpu_ratio:5.2f}",
                        flush=True,
                    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    main(parser.parse_args().rounds)
