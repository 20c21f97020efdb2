"""Ingest, reads, compaction, merge and delete of many rows on a cluster of Spark, beside Parquet; asserts equal rows.

``python spark_cluster.py [--rows 60000000] [--merged 5000000] [--folder FOLDER] [--only STEP ...]``: a master and two
workers with one core each on loopback, executors with heaps of 1 GiB, tables in a folder that all see. Half of the
rows have the same value of the column that is sorted by. One line for each step: seconds, bytes shuffled and spilled,
bytes read and written of the last table, and the most memory of one JVM of an executor, of one Python worker, of the
driver's JVM and of the driver's Python process. Parquet has no merge and no delete: its rows are written anew.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).parents[1] / name) for name in ("cluster", "support")]

import psutil
from processes import HOST, SETTINGS, Cluster, environment
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from lance_arrow import LanceTable
from lance_arrow.spark import jobs
from lance_arrow.spark.source import register

HEAP = "1g"
COLUMNS = (
    "id",
    # Half of the rows have one key.
    "if(id % 2 = 0, 0, pmod(hash(id), 1000000)) AS skewed",
    "CAST(pmod(xxhash64(id), 200000) AS INT) AS part",
    "CAST(pmod(hash(id, 1), 50) + 1 AS DOUBLE) AS quantity",
    "round(pmod(xxhash64(id, 2), 10000000) / 100, 2) AS price",
    "date_add(DATE '1992-01-01', CAST(pmod(hash(id, 3), 2500) AS INT)) AS day",
    "element_at(array('AIR', 'FOB', 'MAIL', 'RAIL', 'SHIP'), CAST(pmod(hash(id, 4), 5) + 1 AS INT)) AS mode",
    "concat('word', pmod(hash(id, 5), 500), ' word', pmod(hash(id, 6), 500)) AS comment",
)
DELETED = "mode = 'AIR' AND quantity <= 25"
SUMS = (
    "count(id)", "sum(id)", "sum(skewed)", "sum(part)", "sum(quantity)", "max(day)", "sum(length(comment))",
    "sum(crc32(mode))", "sum(CAST(round(price * 100) AS BIGINT))",
)  # fmt: skip


class Roles:
    """The most bytes that one process of a role had while it was watched."""

    def __init__(self) -> None:
        self._most: dict[str, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._stop.wait(0.2):
            for one in [me, *me.children(recursive=True)]:
                try:
                    role = self._role(one, me)
                    num_bytes = one.memory_info().rss if role.endswith("JVM") else one.memory_full_info().uss
                except (psutil.NoSuchProcess, psutil.AccessDenied):
                    continue
                self._most[role] = max(self._most.get(role, 0), num_bytes)

    @staticmethod
    def _role(one: psutil.Process, me: psutil.Process) -> str:
        if one.pid == me.pid:
            return "driver"
        if "java" not in one.name():
            # Planners are children of the driver's JVM, workers those of an executor's.
            above = [parent for parent in one.parents() if "java" in parent.name()]
            return "worker" if above and "CoarseGrained" in " ".join(above[0].cmdline()) else "planner"
        called = " ".join(one.cmdline())
        return "executor JVM" if "CoarseGrained" in called else "daemon JVM" if "deploy." in called else "driver JVM"

    def stop(self) -> dict[str, int]:
        """Return bytes by role, in MiB."""
        self._stop.set()
        self._thread.join()
        return {role: num_bytes >> 20 for role, num_bytes in sorted(self._most.items()) if role != "daemon JVM"}


class EventLog:
    """What tasks shuffled and spilled, from the log that Spark writes of an application."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._at = folder, 0

    def taken(self) -> dict[str, int]:
        """Return MiB since the last call."""
        [path] = [one for one in self._folder.rglob("*") if one.is_file() and one.name[0] not in "._"]
        found = {"shuffled": 0, "spilled": 0}
        with path.open("rb") as log:
            log.seek(self._at)
            for line in log:
                event = json.loads(line)
                if event["Event"] == "SparkListenerTaskEnd" and "Task Metrics" in event:
                    metrics = event["Task Metrics"]
                    found["shuffled"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                    found["spilled"] += metrics["Disk Bytes Spilled"]
            self._at = log.tell()
        return {name: num_bytes >> 20 for name, num_bytes in found.items()}


def rows(spark: SparkSession, start: int, stop: int, parts: int) -> DataFrame:
    """Rows with ids of a range, which any process makes in the same way."""
    return spark.range(start, stop, 1, parts).selectExpr(*COLUMNS)


def changes(spark: SparkSession, count: int, merged: int, parts: int) -> DataFrame:
    """Rows to be merged: one half updates rows all over the table, the other half is new."""
    half = merged // 2
    step = count // half
    ids = sf.when(sf.col("id") < half, sf.col("id") * step).otherwise(sf.col("id") - half + count)
    made = spark.range(0, merged, 1, parts).select(ids.alias("id")).selectExpr(*COLUMNS)
    return made.withColumn("comment", sf.lit("merged"))


class Bench:
    """The steps, each once with Parquet and once with Lance."""

    def __init__(self, spark: SparkSession, folder: Path, count: int, merged: int, log: EventLog) -> None:
        self._spark, self._folder, self._count, self._merged, self._log = spark, folder, count, merged, log
        # 250,000 rows a task, as many small files as there are tasks.
        self._parts = max(2, count // 250_000)
        self._files = max(2, count // (1 << 20))

    def path(self, name: str) -> str:
        return str(self._folder / name)

    def parquet(self, name: str) -> DataFrame:
        return self._spark.read.parquet(self.path(name))

    def lance(self, name: str, **options: Any) -> DataFrame:
        return self._spark.read.format("lance").options(**options).load(self.path(name))

    def step(self, name: str, run: Callable[[], object], made: str | None = None) -> None:
        """Run one step, and say what it took."""
        self._log.taken()
        roles, begun = Roles(), time.perf_counter()
        try:
            run()
        finally:
            seconds, most = time.perf_counter() - begun, roles.stop()
        said: dict[str, Any] = {"step": name, "seconds": round(seconds, 1), **self._log.taken(), **most}
        if made is not None:
            said["bytes"] = sum(one.stat().st_size for one in Path(made).rglob("*") if one.is_file()) >> 20
        print(json.dumps(said), flush=True)

    def same(self, name: str, lance: DataFrame, parquet: DataFrame) -> None:
        """Read all rows of both, and fail unless they are the same."""
        found: list[Any] = []
        self.step(f"{name}: scan, lance", lambda: found.append(lance.selectExpr(*SUMS).first()))
        self.step(f"{name}: scan, parquet", lambda: found.append(parquet.selectExpr(*SUMS).first()))
        if found[0] != found[1]:
            raise SystemExit(f"{name}: rows differ: {found}")

    def ingest(self) -> None:
        """Rows as they come, a small file for each task."""
        source, table = rows(self._spark, 0, self._count, self._parts), self.path("t.lance")
        self.step("ingest, parquet", lambda: source.write.parquet(self.path("t.parquet")), self.path("t.parquet"))
        self.step("ingest, lance", lambda: jobs.ingest(self._spark, source, table), table)
        self.same("ingest", self.lance("t.lance"), self.parquet("t.parquet"))

    def clustered(self) -> None:
        """All rows sorted by a column of which half of the rows have one value."""
        source, table, other = rows(self._spark, 0, self._count, self._parts), "c.lance", self.path("c.parquet")
        ordered = source.repartitionByRange(self._files, "skewed").sortWithinPartitions("skewed")
        self.step("clustered, parquet", lambda: ordered.write.parquet(other), other)
        self.step(
            "clustered, lance",
            lambda: jobs.ingest(
                self._spark, source, self.path(table), cluster_by=["skewed"], num_files=self._files
            ),
            self.path(table),
        )  # fmt: skip
        self.same("clustered", self.lance(table), self.parquet("c.parquet"))
        few = "skewed BETWEEN 5000 AND 6000"
        narrow = self.lance(table, filter="skewed >= 5000 AND skewed <= 6000", columns="id,skewed")
        self.step("clustered: filter, lance", lambda: narrow.agg(sf.sum("id")).first())
        self.step("clustered: filter, parquet", lambda: self.parquet("c.parquet").where(few).agg(sf.sum("id")).first())
        for name in (table, "c.parquet"):
            shutil.rmtree(self.path(name))

    def compact(self) -> None:
        """Small files become large ones."""
        target, table = self.path("u.parquet"), self.path("t.lance")
        whole = self.parquet("t.parquet").coalesce(self._files)
        self.step("compact, parquet", lambda: whole.write.parquet(target), target)
        self.step("compact, lance", lambda: jobs.compact(self._spark, table))
        self._replace("u.parquet")

    def merge(self) -> None:
        """Rows updated and inserted by key."""
        source, target = changes(self._spark, self._count, self._merged, 8), self.path("u.parquet")
        held = self.parquet("t.parquet")
        merged = held.join(source.select("id"), "id", "left_anti").unionByName(source)
        self.step("merge, parquet", lambda: merged.write.parquet(target), target)
        told: list[jobs.JobReport] = []
        self.step("merge, lance", lambda: told.append(jobs.merge(self._spark, source, self.path("t.lance"), "id")))
        print(json.dumps(dict(told[0].counts)), flush=True)
        self._replace("u.parquet")
        self.same("merge", self.lance("t.lance"), self.parquet("t.parquet"))

    def delete(self) -> None:
        """A tenth of the rows goes."""
        target = self.path("u.parquet")
        left = self.parquet("t.parquet").where(f"NOT ({DELETED})")
        self.step("delete, parquet", lambda: left.write.parquet(target), target)
        self.step("delete, lance", lambda: jobs.delete(self._spark, self.path("t.lance"), DELETED))
        self._replace("u.parquet")
        self.same("delete", self.lance("t.lance"), self.parquet("t.parquet"))
        print(json.dumps({"version": LanceTable.open(self.path("t.lance")).version}), flush=True)

    def _replace(self, made: str) -> None:
        shutil.rmtree(self.path("t.parquet"))
        os.rename(self.path(made), self.path("t.parquet"))


STEPS = ("ingest", "clustered", "compact", "merge", "delete")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=60_000_000)
    parser.add_argument("--merged", type=int, default=5_000_000)
    parser.add_argument("--folder", help="a new one for tables and scratch files; a temporary one when not given")
    parser.add_argument("--only", nargs="+", choices=STEPS, default=STEPS, help="all but `clustered` need `ingest`")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "events").mkdir()
        os.environ.update(environment(folder))
        with Cluster(folder, memory=HEAP) as cluster:
            builder = SparkSession.builder.master(cluster.url).appName("scale")
            own = {
                **SETTINGS,
                "spark.executor.memory": HEAP,
                "spark.driver.memory": HEAP,
                # As users have them: what is measured here is long.
                "spark.executor.extraJavaOptions": "",
                "spark.sql.shuffle.partitions": str(max(2, given.rows // 1_000_000)),
                "spark.eventLog.enabled": "true",
                "spark.eventLog.dir": (folder / "events").as_uri(),
                "spark.eventLog.compress": "false",
                "spark.eventLog.rolling.enabled": "false",
                "spark.driver.host": HOST,
            }
            for key, value in own.items():
                builder = builder.config(key, value)
            spark = builder.getOrCreate()
            try:
                register(spark)
                bench = Bench(spark, folder, given.rows, given.merged, EventLog(folder / "events"))
                for one in STEPS:
                    if one in given.only:
                        getattr(bench, one)()
            finally:
                spark.stop()


if __name__ == "__main__":
    main()
