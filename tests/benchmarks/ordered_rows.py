"""Time `order_by` with a limit, beside DuckDB over Parquet; prints medians and bytes read, asserts that keys are equal.

`python tests/benchmarks/ordered_rows.py [--rounds 5] [--rows 20000000] [--limit 10]`. Each query runs in a process of
its own, engines in turns, after the same query of a small table: imports are not timed. Bytes are those that the
process read by system calls during the query (`rchar` of Linux), from the page cache.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

SEED = 42
CASES = [(column, order) for column in ("up", "nearly", "mixed", "name") for order in ("ascending", "descending")]


def made(num_rows: int) -> pa.Table:
    """Return rows: sorted, sorted within a thousandth of the rows, at random as numbers and as text; two others."""
    random = np.random.default_rng(SEED)
    up = np.arange(num_rows, dtype=np.int64)
    mixed = random.permutation(num_rows)
    names = pa.array(mixed).cast(pa.string())
    return pa.table(
        {
            "up": up,
            "nearly": up + random.integers(0, max(1, num_rows // 1000), num_rows),
            "mixed": mixed,
            "name": names,
            "x": random.random(num_rows),
        }
    )


def bytes_read() -> int:
    return int(Path("/proc/self/io").read_text(encoding="ascii").split()[1])


def asked(engine: str, folder: Path, name: str, column: str, order: str, limit: int) -> Callable[[], pa.Table]:
    """Return a query."""
    if engine == "lance":
        import lance_arrow  # noqa: PLC0415 - not in the other's process

        return lambda: lance_arrow.LanceTable.open(folder / name).to_table(order_by=[(column, order)], limit=limit)
    import duckdb  # noqa: PLC0415 - not in the other's process

    direction = "ASC" if order == "ascending" else "DESC"
    text = f"SELECT * FROM read_parquet('{folder / name}.parquet') ORDER BY {column} {direction} LIMIT {limit}"
    connection = duckdb.connect()
    return lambda: connection.sql(text).to_arrow_table()


def query(engine: str, folder: Path, column: str, order: str, limit: int) -> dict[str, object]:
    """Run one query in this process, after the same of a small table."""
    asked(engine, folder, "small", column, order, limit)()
    read = asked(engine, folder, "large", column, order, limit)
    before, started = bytes_read(), time.perf_counter()
    rows = read()
    return {"seconds": time.perf_counter() - started, "bytes": bytes_read() - before, "keys": rows[column].to_pylist()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--one", nargs=4)
    given = parser.parse_args()
    if given.one:
        engine, folder, column, order = given.one
        print(json.dumps(query(engine, Path(folder), column, order, given.limit)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        import pyarrow.parquet  # noqa: PLC0415

        import lance_arrow  # noqa: PLC0415 - for the writer alone

        for kind, num_rows in {"small": 1000, "large": given.rows}.items():
            rows = made(num_rows)
            lance_arrow.LanceTable.create(folder / kind, rows)
            pyarrow.parquet.write_table(rows, folder / f"{kind}.parquet", row_group_size=122_880)
            del rows
        for column, order in CASES:
            taken: dict[str, list[dict[str, object]]] = {"lance": [], "duckdb": []}
            for number in range(given.rounds):
                for engine in sorted(taken, reverse=bool(number % 2)):
                    arguments = ["--one", engine, str(folder), column, order, "--limit", str(given.limit)]
                    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, check=True)
                    taken[engine].append(json.loads(done.stdout))
            assert len({tuple(one["keys"]) for runs in taken.values() for one in runs}) == 1, (column, order)
            figures = {
                engine: (
                    statistics.median(one["seconds"] for one in runs) * 1000,
                    statistics.median(one["bytes"] for one in runs) / 1e6,
                )
                for engine, runs in taken.items()
            }
            (own, own_bytes), (other, other_bytes) = figures["lance"], figures["duckdb"]
            beside = f"DuckDB {other:8.1f} ms {other_bytes:8.2f} MB"
            print(f"{column:7} {order:10} {own:8.1f} ms {own_bytes:8.2f} MB   {beside}", flush=True)


if __name__ == "__main__":
    main()
