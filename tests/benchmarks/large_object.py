"""Read parts of one object of 50 GB in a far store on loopback: ours by each door, and the reference.

`python tests/benchmarks/large_object.py FOLDER [--gigabytes 50] [--milliseconds 30] [--megabytes 90] [--rounds 3]`. The
folder gets a table of one fragment: a sorted key, a number, a text, and a vector of 1,536 floats a row. It is written
if it is not there, and stays. Each way reads in a process of its own, which has read a small table of the store before.
Prints least times, processor time, requests and bytes; asserts nothing but that all read as many rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from bucket_server import BUCKET
from far_readers import Server, in_turns, reference_options, show, store_at, tell

DIMENSION = 1536
BATCH_ROWS = 20_000
WARM, LARGE = "warm", "large"
WAYS = ("table", "dataset", "reference")
CASES = ("open", "rows", "take 1", "take 100", "column", "filter", "count")
WARM_ROWS = BATCH_ROWS
_SHIFTS = 1 << 18


def batches(num_rows: int) -> Iterator[pa.RecordBatch]:
    """Rows of the table; vectors are parts of one pool of random numbers, which no codec makes smaller."""
    pool = np.random.default_rng(1).random(BATCH_ROWS * DIMENSION + _SHIFTS, dtype=np.float32)
    for first in range(0, num_rows, BATCH_ROWS):
        count = min(BATCH_ROWS, num_rows - first)
        start = first // BATCH_ROWS * 61 % _SHIFTS
        vectors = pa.array(pool[start : start + count * DIMENSION])
        numbers = np.random.default_rng(first).integers(0, 1000, count)
        yield pa.record_batch({
            "id": np.arange(first, first + count),
            "kind": numbers.astype(np.int32),
            "text": [f"document {number * 7919 % 9973} of {first}" for number in range(count)],
            "vector": pa.FixedSizeListArray.from_arrays(vectors, DIMENSION),
        })  # fmt: skip


def write(folder: Path, num_rows: int) -> None:
    """Write the tables that are not there."""
    from lance_arrow import LanceTable  # noqa: PLC0415 - readers import one peer each

    schema = next(batches(1)).schema
    for name, count in ((WARM, WARM_ROWS), (LARGE, num_rows)):
        if not (folder / name).exists():
            LanceTable.create(folder / name, batches(count), schema=schema, max_rows_per_file=count)


def opener(way: str, port: int) -> Callable[[str], Any]:
    """Return what opens a table in one way."""
    if way == "reference":
        import lance  # noqa: PLC0415

        options = reference_options(port)
        return lambda name: lance.dataset(f"s3://{BUCKET}/{name}", storage_options=options)
    import lance_arrow  # noqa: PLC0415

    store = store_at(port)
    if way == "dataset":
        return lambda name: lance_arrow.dataset(name, filesystem=store)
    return lambda name: lance_arrow.LanceTable.open(name, filesystem=store)


def read(found: Any, way: str, case: str, num_rows: int) -> int:
    """Read one case of an open table; return how many rows it gave."""
    middle = num_rows // 2 + 7
    if case == "open":
        return len(found.schema)
    if case == "rows":
        return int(found.count_rows())
    if case.startswith("take"):
        random = np.random.default_rng(7)
        count = int(case.partition(" ")[2])
        return int(found.take(sorted(random.choice(num_rows, count, replace=False).tolist())).num_rows)
    if case == "column":
        return int(found.to_table(columns=["kind"]).num_rows)
    if case == "filter":
        return int(found.to_table(filter=f"id >= {middle} AND id < {middle + 10}").num_rows)
    condition = "kind < 10"
    return int(found.count_rows(filter=condition) if way == "reference" else found.count_rows(condition))


def measure(way: str, case: str, port: int, num_rows: int) -> None:
    """Read once and print seconds and rows; what runs before warms up connections and code."""
    open_ = opener(way, port)
    read(open_(WARM), way, case, WARM_ROWS)
    tell(lambda: read(open_(LARGE), way, case, num_rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=50)
    parser.add_argument("--milliseconds", type=float, default=30)
    parser.add_argument("--megabytes", type=float, default=90)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=CASES)
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS)
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        way, case, port, num_rows = asked.measure
        measure(way, case, int(port), int(num_rows))
        return
    num_rows = int(asked.gigabytes * 1e9 / (4 * DIMENSION))
    write(asked.folder, num_rows)
    with closing(Server(asked.folder, asked.milliseconds / 1e3, asked.megabytes * 1e6)) as server:
        for case in asked.cases:
            words = {way: [".", "--measure", way, case, str(server.port), str(num_rows)] for way in asked.ways}
            show(case, in_turns(__file__, words, server, asked.rounds))


if __name__ == "__main__":
    main()
