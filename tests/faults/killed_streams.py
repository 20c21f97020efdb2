"""Kill a streaming query at random moments, driver and all, and start it again: each row arrives exactly once.

``python killed_streams.py [--kills 20] [--seed 1]``: a source table of many small fragments, a query that copies it a
fragment or two at a time, killed with SIGKILL a random time after its first sign of life; at last one run to the end.
Prints what was done; exits 1 when a row is missing, or is there twice.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa

from lance_arrow import LanceTable

ROWS, ROWS_PER_FILE = 2000, 20
QUERY = """
import sys
from pyspark.sql import SparkSession
from lance_arrow.spark.source import register

folder = sys.argv[1]
spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", "1g").config(
    "spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").config("spark.local.dir", folder).config(
    "spark.driver.extraJavaOptions", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
register(spark)
incoming = spark.readStream.format("lance").option("maxFragmentsPerTrigger", 2).load(f"{folder}/from")
query = (incoming.writeStream.format("lance").option("checkpointLocation", f"{folder}/checkpoint")
    .option("path", f"{folder}/to").trigger(availableNow=True).start())
print("started", flush=True)
query.awaitTermination()
spark.stop()
print("done", flush=True)
"""


def start(folder: Path) -> subprocess.Popen[str]:
    """Start the query in a session of its own, so that JVM and workers die with it."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.Popen(
        [sys.executable, "-c", QUERY, str(folder)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, start_new_session=True,
    )  # fmt: skip


def arrived(folder: Path) -> int:
    """Count the versions of the copy."""
    versions = folder / "to" / "_versions"
    return len(list(versions.glob("*.manifest"))) if versions.exists() else 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        rows = pa.table({"id": range(ROWS)})
        LanceTable.create(folder / "from", rows, max_rows_per_file=ROWS_PER_FILE)
        for number in range(given.kills):
            process = start(folder)
            assert process.stdout is not None
            said = process.stdout.readline()
            before = arrived(folder)
            if said.strip() == "started":
                # Between nothing and a few batches after the first one of this run.
                target = before + chance.randint(0, 2)
                deadline = time.monotonic() + 120
                while arrived(folder) < target and process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.02)
                time.sleep(chance.uniform(0, 2.0))
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            print(
                f"kill {number + 1}: after {arrived(folder) - before} more versions, {arrived(folder)} in all",
                flush=True,
            )
        process = start(folder)
        out, _ = process.communicate(timeout=900)
        if "done" not in out:
            print("the last run did not end")
            return 1
        table = LanceTable.open(folder / "to")
        counts = Counter(table.to_table()["id"].to_pylist())
        missing = [one for one in range(ROWS) if one not in counts]
        twice = [one for one, count in counts.items() if count > 1]
        named = {file.path for one in table.manifest.fragments for file in one.files}
        orphans = len(set(path.name for path in (folder / "to" / "data").iterdir()) - named)
        told = table.cleanup(delete_unverified=True)
        found = sum(one.reason == "no version" and one.path.startswith("data/") for one in told.files)
        print(f"{given.kills} kills, {table.version} versions, {len(counts)} of {ROWS} rows")
        print(f"missing {len(missing)}, twice {len(twice)}; {orphans} orphans, {found} found by cleanup's dry run")
        return 1 if missing or twice or orphans != found else 0


if __name__ == "__main__":
    sys.exit(main())
