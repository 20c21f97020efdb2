"""Time reads of a far store on loopback, opening included: ours by each door, the reference, Parquet through s3fs.

`python tests/benchmarks/far.py [--milliseconds 30] [--megabytes 90] [--rows 1000000] [--rounds 3] [--fragments 1000]`.
The store waits so long before each answer, and carries so many bytes a second on each connection. Each way runs in a
process of its own, which has read another table of the store before; all take turns. Our doors read through obstore,
and `table s3fs` through s3fs. `folder` is a dataset of bare files. Prints least times, processor time of the reader,
requests and bytes; ratios are to the reference. Asserts nothing but that all read as many rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from bucket_server import BUCKET

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
    endpoint = f"http://127.0.0.1:{port}"
    if way == "reference":
        return _reference({
            "aws_endpoint": endpoint, "allow_http": "true", "aws_region": "us-east-1",
            "aws_access_key_id": "key", "aws_secret_access_key": "secret",
        })  # fmt: skip
    if way in ("file", "folder", "dataset", "table"):
        from obstore.store import S3Store  # noqa: PLC0415 - others have clients of their own

        store = S3Store(
            BUCKET, endpoint=endpoint, region="us-east-1", access_key_id="key", secret_access_key="secret",
            client_options={"allow_http": True},
        )  # fmt: skip
        return _ours(way, store, "")
    import s3fs  # noqa: PLC0415

    files = s3fs.S3FileSystem(
        key="key", secret="secret", client_kwargs={"endpoint_url": endpoint, "region_name": "us-east-1"}
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
    print("warm", flush=True)
    sys.stdin.readline()
    started, processor = time.perf_counter(), time.process_time()
    found = read(TABLE, case, taken)
    print(json.dumps([time.perf_counter() - started, time.process_time() - processor, found]), flush=True)


class Server:
    """The store, in a process of its own: what `far_server` does in the reader's would count as the reader's time."""

    def __init__(self, folder: Path, seconds: float, bytes_per_second: float) -> None:
        program = Path(__file__).with_name("far_server.py")
        self._process = subprocess.Popen(
            [sys.executable, str(program), str(folder), str(seconds), str(bytes_per_second)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.port = int(self._line())

    def counted(self) -> tuple[int, int]:
        """Return the requests since the last call, and their bytes."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        requests, sent, _ = map(int, self._line().split())
        return requests, sent

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def timed(way: str, case: str, server: Server, num_rows: int) -> tuple[float, float, int, int, int]:
    """Run one way in a process of its own; return seconds, processor seconds, requests, bytes and rows."""
    command = [sys.executable, __file__, "--measure", way, case, str(server.port), str(num_rows)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if process.stdout.readline() != "warm\n":
            raise RuntimeError(f"{way} cannot read {case}")
        server.counted()
        process.stdin.write("\n")
        process.stdin.flush()
        seconds, processor, found = json.loads(process.stdout.readline())
        return seconds, processor, *server.counted(), found


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
                rounds = [
                    {way: timed(way, case, server, asked.rows) for way in asked.ways} for _ in range(asked.rounds)
                ]
                least = {way: min(one[way] for one in rounds) for way in asked.ways}
                if len({found for *_, found in least.values()}) > 1 and case != "open":
                    raise AssertionError(f"{case}: {least}")
                figures = "\n  ".join(
                    f"{way:<10} {1e3 * seconds:6.0f} ms, processor {1e3 * processor:4.0f}"
                    f" {requests:4} {sent / 1e6:6.2f} MB"
                    f" ratio {seconds / least.get('reference', (seconds,))[0]:4.2f}"
                    for way, (seconds, processor, requests, sent, _) in least.items()
                )
                print(f"{case}\n  {figures}", flush=True)


if __name__ == "__main__":
    main()
