"""Time reads of a far store on loopback, opening included: ours by each door, the reference, Parquet through s3fs.

`python tests/benchmarks/far.py [--milliseconds 30] [--megabytes 90] [--rows 1000000] [--rounds 3] [--fragments 1000]`.
The store waits so long before each answer, and carries so many bytes a second on each connection. Each way runs in a
process of its own, which has read another table of the store before; all take turns. Our doors read through obstore,
and `table s3fs` through s3fs. `folder` is a dataset of bare files. Prints least times, processor time of the reader,
requests and bytes; ratios are to the reference. Asserts nothing but that all read as many rows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from bucket_server import BUCKET
from far_readers import Server, endpoint_at, in_turns, reference_options, show, store_at, tell

WARM = "warm"
TABLE = "rows"
WAYS = ("file", "folder", "dataset", "table", "table s3fs", "reference", "parquet")
CASES = ("open", "take 1", "take 100", "column", "sorted filter", "scan", "count")
_NUM_TAKEN = 100
# As many as have the encodings of the large table: codecs are imported when they are first met.
_WARM_ROWS = 100_000
_SPAN = 10
# Fewer are read one by one.
_LEAST_FILES = 10


def rows(count: int) -> pa.Table:
    """Ten columns: a sorted key, numbers, texts of several lengths, and lists."""
    random = np.random.default_rng(1)
    words = pa.array([f"word{number}" for number in range(1000)])

    def text(length: int) -> pa.Array:
        parts = [words.take(pa.array(random.integers(0, 1000, count))) for _ in range(length)]
        return pc.binary_join_element_wise(*parts, " ")

    return pa.table({
        "id": np.arange(count),
        "i32": random.integers(0, 1000, count).astype(np.int32),
        "i64": random.integers(0, 1 << 40, count),
        "f32": random.random(count).astype(np.float32),
        "f64": random.random(count),
        "flag": random.random(count) < 0.5,
        "day": pa.array(random.integers(8000, 11000, count).astype(np.int32)).cast(pa.date32()),
        "few": pa.array(["AIR", "RAIL", "TRUCK", "MAIL"]).take(pa.array(random.integers(0, 4, count))),
        "name": text(1),
        "comment": text(4),
    })  # fmt: skip


def write(folder: Path, count: int, num_fragments: int) -> None:
    """Write what each way reads, and a small table that warms it up."""
    import lance  # noqa: PLC0415 - readers do not import all peers
    import pyarrow.parquet as pq  # noqa: PLC0415

    import lance_arrow  # noqa: PLC0415

    for name, table, parts in ((WARM, rows(_WARM_ROWS), 1), (TABLE, rows(count), num_fragments)):
        most = -(-table.num_rows // parts)
        lance_arrow.LanceTable.create(str(folder / f"{name}.ours"), table, max_rows_per_file=most)
        lance_arrow.write_table(table, folder / f"{name}.lance")
        (folder / f"{name}.files").mkdir()
        num_files = max(parts, _LEAST_FILES)
        for number in range(num_files):
            first, stop = (table.num_rows * one // num_files for one in (number, number + 1))
            part = table.slice(first, stop - first)
            lance_arrow.write_table(part, folder / f"{name}.files" / f"{number:04}.lance")
        lance.write_dataset(
            table, str(folder / f"{name}.reference"), data_storage_version="2.1", max_rows_per_file=most
        )
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")


def reader(way: str, port: int) -> Callable[[str, str, Sequence[int]], int]:
    """Return what reads a table in one way: its name, a case and row numbers in, number of rows out."""
    if way == "reference":
        return _reference(reference_options(port))
    if way in ("file", "folder", "dataset", "table"):
        return _ours(way, store_at(port), "")
    import s3fs  # noqa: PLC0415

    files = s3fs.S3FileSystem(
        key="key", secret="secret", client_kwargs={"endpoint_url": endpoint_at(port), "region_name": "us-east-1"}
    )
    return _parquet(files) if way == "parquet" else _ours(way.partition(" ")[0], files, f"{BUCKET}/")


def _reference(options: dict[str, str]) -> Callable[[str, str, Sequence[int]], int]:
    import lance  # noqa: PLC0415

    def read(name: str, case: str, taken: Sequence[int]) -> int:
        found = lance.dataset(f"s3://{BUCKET}/{name}.reference", storage_options=options)
        if case == "open":
            return len(found.schema)
        if case.startswith("take"):
            return int(found.take(list(taken)).num_rows)
        if case == "count":
            return int(found.count_rows(filter="i32 < 10"))
        if case == "column":
            return int(found.to_table(columns=["f64"]).num_rows)
        if case == "sorted filter":
            return int(found.to_table(filter=f"id >= {taken[0]} and id < {taken[0] + _SPAN}").num_rows)
        return int(found.to_table().num_rows)

    return read


def _parquet(files: Any) -> Callable[[str, str, Sequence[int]], int]:
    import pyarrow.dataset as pads  # noqa: PLC0415

    def read(name: str, case: str, taken: Sequence[int]) -> int:
        found = pads.dataset(f"{BUCKET}/{name}.parquet", filesystem=files, format="parquet")
        if case == "open":
            return len(found.schema)
        if case.startswith("take"):
            return int(found.take(pa.array(taken)).num_rows)
        if case == "count":
            return int(found.count_rows(filter=pads.field("i32") < 10))
        if case == "column":
            return int(found.to_table(columns=["f64"]).num_rows)
        if case == "sorted filter":
            key = pads.field("id")
            return int(found.to_table(filter=(key >= taken[0]) & (key < taken[0] + _SPAN)).num_rows)
        return int(found.to_table().num_rows)

    return read


def _ours(way: str, files: Any, before: str) -> Callable[[str, str, Sequence[int]], int]:
    import lance_arrow  # noqa: PLC0415

    opened: Callable[[str], Any]
    if way == "file":
        opened = lambda name: lance_arrow.LanceFile(f"{before}{name}.lance", filesystem=files)  # noqa: E731
    elif way == "folder":
        opened = lambda name: lance_arrow.dataset(f"{before}{name}.files", filesystem=files)  # noqa: E731
    elif way == "dataset":
        opened = lambda name: lance_arrow.dataset(f"{before}{name}.ours", filesystem=files)  # noqa: E731
    else:
        opened = lambda name: lance_arrow.LanceTable.open(f"{before}{name}.ours", filesystem=files)  # noqa: E731

    def read(name: str, case: str, taken: Sequence[int]) -> int:
        found = opened(name)
        whole = found.read if way == "file" else found.to_table
        if case == "open":
            return len(found.schema)
        if case.startswith("take"):
            return int(found.take(list(taken)).num_rows)
        if case == "count":
            return int(found.count_rows("i32 < 10"))
        if case == "column":
            return int(whole(columns=["f64"]).num_rows)
        if case == "sorted filter":
            return int(whole(filter=f"id >= {taken[0]} and id < {taken[0] + _SPAN}").num_rows)
        return int(whole().num_rows)

    return read


def measure(way: str, case: str, port: int, num_rows: int) -> None:
    """Read once and print seconds and rows; what runs before warms up connections and code."""
    read = reader(way, port)
    random = np.random.default_rng(7)
    taken = [num_rows // 2] if case in ("take 1", "sorted filter") else sorted(
        random.choice(num_rows, _NUM_TAKEN, replace=False).tolist()
    )  # fmt: skip
    read(WARM, case, [one % 900 for one in taken])
    tell(lambda: read(TABLE, case, taken))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--milliseconds", type=float, default=30)
    parser.add_argument("--megabytes", type=float, default=90)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--fragments", type=int, default=1, help="of the tables")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=CASES)
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS)
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        way, case, port, num_rows = asked.measure
        measure(way, case, int(port), int(num_rows))
        return
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), asked.rows, asked.fragments)
        with closing(Server(Path(folder), asked.milliseconds / 1e3, asked.megabytes * 1e6)) as server:
            for case in asked.cases:
                words = {way: ["--measure", way, case, str(server.port), str(asked.rows)] for way in asked.ways}
                show(case, in_turns(__file__, words, server, asked.rounds), are_rows=case != "open")


if __name__ == "__main__":
    main()
