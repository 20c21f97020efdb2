"""Use an installed lance_arrow in every way that touches native code: `python .ci/smoke.py [--no-bridge]`.

Needs the package and its dependencies, nothing else. With `--no-bridge`, for a pyarrow that the wheel was not built
for: what needs no bridge works, and what does says so.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import platform
import sys
import tempfile

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

import lance_arrow


def expect(found: object, wanted: object) -> None:
    """Stop unless both are equal; `assert` would go away with `-O`."""
    if found != wanted:
        raise SystemExit(f"found {found!r}, expected {wanted!r}")


def rows_of(count: int) -> pa.Table:
    """Columns of the kinds that decoders differ for."""
    numbers = range(count)
    return pa.table({
        "id": pa.array(numbers, pa.int64()),
        "price": pa.array([None if i % 7 == 0 else i / 4 for i in numbers], pa.float64()),
        "name": [f"name {i % 100}" for i in numbers],
        "kind": pa.array([("a", "b", "c")[i % 3] for i in numbers]).dictionary_encode(),
        "parts": [None if i % 5 == 0 else list(range(i % 4)) for i in numbers],
        "place": [{"x": i, "y": None if i % 2 else str(i)} for i in numbers],
    })  # fmt: skip


def without_bridge(rows: pa.Table) -> None:
    """Files and tables."""
    lance_arrow.write_table(rows, "a.lance", rows_per_zone=1000)
    with lance_arrow.LanceFile("a.lance") as file:
        expect(file.read().equals(rows), True)
        expect(file.take([7, 3]).column("id").to_pylist(), [7, 3])
        expect(file.read(columns=["name"], filter=pc.field("id") >= rows.num_rows - 10).num_rows, 10)
    expect(lance_arrow.verify("a.lance").ok, True)
    table = lance_arrow.LanceTable.create("table.lance", rows)
    table.append(rows)
    table.delete(pc.field("id") < 10)
    expect(table.count_rows(), 2 * rows.num_rows - 20)
    expect(table.to_table(filter=pc.field("id") == 10).num_rows, 2)
    expect(table.take([0]).column("id").to_pylist(), [10])
    table.compact()
    expect(table.checkout(1).to_table().equals(rows), True)


def with_bridge(rows: pa.Table) -> None:
    """Datasets of files and of tables."""
    dataset = ds.dataset("a.lance", format=lance_arrow.LanceFormat())
    expect(dataset.to_table().equals(rows), True)
    expect(dataset.to_table(filter=pc.field("id") < 5, columns=["id"]).num_rows, 5)
    expect(dataset.count_rows(filter=pc.is_null(pc.field("price"))), rows.column("price").null_count)
    expect(pickle.loads(pickle.dumps(dataset)).head(3).equals(rows.slice(0, 3)), True)
    ds.write_dataset(rows, "written", format=lance_arrow.LanceFormat(), partitioning=["kind"])
    expect(lance_arrow.dataset("written", partitioning=["kind"]).count_rows(), rows.num_rows)
    expect(lance_arrow.LanceTable.open("table.lance").dataset().count_rows(filter=pc.field("id") < 12), 4)
    if importlib.util.find_spec("duckdb"):
        duckdb = importlib.import_module("duckdb")
        expect(duckdb.sql("SELECT count(*) FROM dataset WHERE id < 5").fetchall(), [(5,)])


def main() -> None:
    rows = rows_of(20_000)
    # Some systems keep the name of an open file until it is closed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        without_bridge(rows)
        if "--no-bridge" not in sys.argv:
            with_bridge(rows)
        else:
            try:
                lance_arrow.dataset("a.lance")
            except ImportError as error:
                print(error)
            else:
                raise SystemExit("a bridge was found that should not be there")
        os.chdir("/")
    installed = "with" if importlib.util.find_spec("pandas") else "without"
    print(f"right: Python {platform.python_version()}, pyarrow {pa.__version__}, {installed} pandas")


if __name__ == "__main__":
    main()
