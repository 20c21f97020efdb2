"""Bytes of each column, with the times to write and scan it: both presets, Parquet, the reference package, Vortex.

Run by `nox -s bench_sizes`; alone: ``python sizes.py --tables lineitem flights``. Each column is a file of its own, and
so is the whole table. Bytes are counts; times are the least processor time of a few runs, in turns. Nothing is
asserted.
`--parquet FILE` measures other rows, such as TPC-H's.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import lance.file
import pyarrow as pa
import pyarrow.parquet as pq
import vortex
from engines import lineitem
from tables import TABLES
from writing import flights, reference

import lance_arrow

_Door = tuple[Callable[[pa.Table, str], object], Callable[[str], object]]


def _ours(preset: str) -> _Door:
    def write(table: pa.Table, path: str) -> None:
        lance_arrow.write_table(table, path, preset=preset)

    def read(path: str) -> pa.Table:
        with lance_arrow.LanceFile(path) as file:
            return file.read()

    return write, read


WAYS: Mapping[str, _Door] = {
    "default": _ours("default"),
    "compact": _ours("compact"),
    "zstd": (lambda table, path: pq.write_table(table, path, compression="zstd"), pq.read_table),
    "snappy": (pq.write_table, pq.read_table),
    "reference": (
        lambda table, path: reference(table, Path(path), "2.2"),
        lambda path: lance.file.LanceFileReader(path).read_all().to_table(),
    ),
    "vortex": (vortex.io.write, lambda path: vortex.open(path).to_arrow().read_all()),
}


def lineitem_decimals(num_rows: int = 1_200_000) -> pa.Table:
    """The rows of `engines.lineitem`; prices, quantities, taxes and discounts are decimals, as TPC-H has them."""
    table = lineitem(num_rows)
    money = pa.decimal128(15, 2)
    for name in ("l_quantity", "l_extendedprice", "l_discount", "l_tax"):
        table = table.set_column(table.schema.get_field_index(name), name, table[name].cast(money, safe=False))
    lines = pa.array(range(num_rows), pa.int64())
    lines = pa.compute.add(pa.compute.subtract(lines, pa.compute.multiply(pa.compute.divide(lines, 7), 7)), 1)
    return table.append_column("l_linenumber", lines.cast(pa.int32()))


def spent(call: Callable[[], object]) -> float:
    """Milliseconds of processor time of all threads."""
    begun = time.process_time()
    call()
    return 1e3 * (time.process_time() - begun)


def measure(table: pa.Table, ways: Mapping[str, _Door], runs: int, folder: str) -> str:
    """Return one cell for each way: kB, and milliseconds to write and to scan."""
    paths = {name: os.path.join(folder, name) for name in ways}
    writes: dict[str, list[float]] = {name: [] for name in ways}
    reads: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, (write, read) in ways.items():
            writes[name].append(spent(lambda: write(table, paths[name])))  # noqa: B023
            reads[name].append(spent(lambda: read(paths[name])))  # noqa: B023
    cells = [
        f"{os.path.getsize(paths[name]) / 1e3:9,.0f} ({min(writes[name]):6.1f}, {min(reads[name]):6.1f})"
        for name in ways
    ]
    return " | ".join(cells)


def main() -> None:
    known = {"lineitem": lineitem_decimals, "flights": flights, **TABLES}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=known, default=["lineitem", "flights"])
    parser.add_argument("--parquet", type=Path, help="rows of this file instead")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    ways = {name: WAYS[name] for name in asked.ways}
    tables = {asked.parquet.stem: lambda: pq.read_table(asked.parquet)} if asked.parquet else known
    print("kB (milliseconds of processor time to write, to scan)")
    for name in tables if asked.parquet else asked.tables:
        table = tables[name]()
        print(f"\n| {name} | " + " | ".join(ways) + " |\n|" + "---|" * (len(ways) + 1))
        with tempfile.TemporaryDirectory() as folder:
            for column in [*table.schema.names, None]:
                part = table if column is None else table.select([column])
                print(f"| {column or 'all'} | {measure(part, ways, asked.runs, folder)} |", flush=True)


if __name__ == "__main__":
    main()
