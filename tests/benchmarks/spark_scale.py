"""What the driver of a Spark job does with 1 M fragments and 10,000 tasks: plans, reads manifests, commits; no JVM.

``python spark_scale.py [--fragments 1000000] [--tasks 10000]``; every phase runs in a process of its own, so that its
peak memory is its own. Prints one line each: phase, seconds, bytes in the process at its peak.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lance_arrow import LanceTable
from lance_arrow.manifests.versions import VersionChoice, open_version, table_location
from lance_arrow.proto.table_pb2 import DataFile, DataFragment
from lance_arrow.settings import Limits
from lance_arrow.spark.planning import plan_splits
from lance_arrow.spark.source import LanceDataSource
from lance_arrow.spark.write_plans import TaskMessage

ROWS = 100_000
FILE_BYTES = 20 << 20


def messages(count: int, tasks: int) -> list[TaskMessage]:
    """Make what tasks would tell of a file each."""
    per_task = -(-count // tasks)
    made = []
    for _ in range(tasks):
        job = str(uuid.uuid4())
        fragments = tuple(
            DataFragment(
                physical_rows=ROWS,
                files=[
                    DataFile(
                        path=f"{job}-{number:05}.lance", fields=[0, 1], column_indices=[0, 1], file_major_version=2,
                        file_minor_version=2, file_size_bytes=FILE_BYTES,
                    )
                ],
            ).SerializeToString()
            for number in range(per_task)
        )  # fmt: skip
        made.append(TaskMessage(job, fragments, ROWS * per_task, FILE_BYTES * per_task))
    return made


def commit(folder: Path, count: int, tasks: int) -> dict[str, Any]:
    """Commit all files at once, as the end of an ingest does."""
    LanceTable.create(folder / "t", pa.table({"id": pa.array([1], pa.int64()), "s": ["x"]}))
    source = LanceDataSource({"path": str(folder / "t")})
    writer = source.writer(source.schema(), False)
    told = [pickle.loads(pickle.dumps(one)) for one in messages(count, tasks)]
    begun = time.perf_counter()
    writer.commit(told)
    seconds = time.perf_counter() - begun
    newest = max((folder / "t" / "_versions").iterdir(), key=lambda file: file.stat().st_size)
    return {"seconds": seconds, "manifest_bytes": newest.stat().st_size, "fragments": count}


def append(folder: Path, count: int, tasks: int) -> dict[str, Any]:
    """Append a hundred files to the table of all these."""
    source = LanceDataSource({"path": str(folder / "t")})
    begun = time.perf_counter()
    writer = source.writer(source.schema(), False)
    planned = time.perf_counter() - begun
    told = messages(100, 100)
    begun = time.perf_counter()
    writer.commit(told)
    return {"seconds": time.perf_counter() - begun, "seconds_to_plan": planned}


def read_manifest(folder: Path, count: int, tasks: int) -> dict[str, Any]:
    """Open the newest version."""
    begun = time.perf_counter()
    manifest = open_version(table_location(folder / "t"), VersionChoice(), Limits())
    seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    fragments = len([one for one in manifest.fragments if one.physical_rows])
    return {"seconds": seconds, "seconds_to_check_all": time.perf_counter() - begun, "fragments": fragments}


def plan(folder: Path, count: int, tasks: int) -> dict[str, Any]:
    """Plan a read of all of it: the reader, its partitions, and their pickles, as Spark sends them."""
    source = LanceDataSource({"path": str(folder / "t"), "splitrows": str(ROWS * count // tasks)})
    schema = source.schema()
    begun = time.perf_counter()
    reader = source.reader(schema)
    opened = time.perf_counter() - begun
    begun = time.perf_counter()
    partitions = reader.partitions()
    seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    sizes = [len(pickle.dumps(one)) for one in partitions]
    return {
        "seconds": seconds,
        "seconds_to_open": opened,
        "seconds_to_pickle": time.perf_counter() - begun,
        "partitions": len(partitions),
        "largest_partition_bytes": max(sizes),
        "all_partitions_bytes": sum(sizes),
        "reader_bytes": len(pickle.dumps(reader)),
    }


def plan_alone(folder: Path, count: int, tasks: int) -> dict[str, Any]:
    """Cut and pack alone, of fragments of uneven size."""
    generator = np.random.default_rng(7)
    rows = generator.integers(1, 2 * ROWS, count)
    begun = time.perf_counter()
    made = plan_splits(rows, rows * 200.0, split_rows=int(rows.sum() // tasks))
    seconds = time.perf_counter() - begun
    totals = np.add.reduceat(made.stops - made.starts, made.borders[:-1])
    return {
        "seconds": seconds,
        "partitions": made.num_partitions,
        "heaviest_to_mean": float(totals.max() / totals.mean()),
    }


PHASES: dict[str, Callable[[Path, int, int], dict[str, Any]]] = {
    "plan alone": plan_alone, "commit": commit, "open": read_manifest, "plan": plan, "append": append,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fragments", type=int, default=1_000_000)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--phase")
    parser.add_argument("--folder")
    given = parser.parse_args()
    if given.phase is not None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = PHASES[given.phase](Path(given.folder), given.fragments, given.tasks)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({"phase": given.phase, **found, "peak_mib": peak >> 10, "mib_at_start": before >> 10}))
        return
    with tempfile.TemporaryDirectory() as folder:
        for phase in PHASES:
            command = [sys.executable, __file__, "--phase", phase, "--folder", folder]
            command += ["--fragments", str(given.fragments), "--tasks", str(given.tasks)]
            print(subprocess.run(command, capture_output=True, text=True, check=True).stdout, end="", flush=True)


if __name__ == "__main__":
    main()
