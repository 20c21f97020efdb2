"""What must work on a cluster where nothing dies: batches, SQL, streams, every job, Connect."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
from processes import SETTINGS, SPARK_HOME, Driver, DriverError, end, environment
from running import HOST, _free_port
from storage import wait
from world import World, check, equal

from lance_arrow import LanceTable
from lance_arrow.spark.same_version import own_version

ROOT = Path(__file__).parents[2]
PYTHON = "./environment/bin/python"

CLIENT = """
import json, sys
from pyspark.sql import SparkSession

url, uri, storage = sys.argv[1:]
spark = SparkSession.builder.remote(url).getOrCreate()
spark.range(0, 1000, 1, 4).write.format("lance").mode("append").option("storageOptions", storage).save(uri)
frame = spark.read.format("lance").option("storageOptions", storage).load(uri)
found = [frame.count(), frame.filter("id < 10").count(), type(spark).__module__]
spark.stop()
print(json.dumps(found))
"""


def batch(world: World) -> str:
    """Append, overwrite and read."""
    uri = world.uri("batch", "t")
    world.write(uri, 0, 4000)
    world.write(uri, 4000, 6000)
    world.holds(uri, range(6000), version=2)
    equal(world.driver.call("summed", uri=uri, **world.options), [6000, sum(range(6000))], "rows in tasks")
    few = world.driver.call("summed", uri=uri, filter="id >= 5990", columns="id", **world.options)
    equal(few, [10, sum(range(5990, 6000))], "filtered rows")
    world.write(uri, 0, 100, mode="overwrite")
    world.holds(uri, range(100), version=3)
    old = world.driver.call("summed", uri=uri, version="2", **world.options)
    equal(old[0], 6000, "rows of version 2")
    return "3 versions"


def sql(world: World) -> str:
    """Views and queries."""
    uri = world.uri("sql", "t")
    world.write(uri, 0, 7000)
    storage = world.options["storageOptions"].replace("'", "\\'")
    world.driver.call(
        "sql", query=f"CREATE TEMPORARY VIEW numbers USING lance OPTIONS (path '{uri}', storageOptions '{storage}')"
    )
    found = world.driver.call("sql", query="SELECT g, count(*) FROM numbers WHERE id < 700 GROUP BY g ORDER BY g")
    equal(found, [[group, 100] for group in range(7)], "groups")
    return "a view, 7 groups"


def stream(world: World) -> str:
    """A table copied by micro-batches."""
    source, sink = world.uri("stream", "from"), world.uri("stream", "to")
    world.write(source, 0, 2000, parts=8)
    checkpoint = str(world.cluster.folder / "checkpoint")
    given = {"source": source, "sink": sink, "checkpoint": checkpoint, "limit": 3, "options": world.options}
    world.driver.call("stream", **given)
    first = world.holds(sink, range(2000)).version
    world.write(source, 2000, 2500, parts=2)
    world.driver.call("stream", **given)
    after = world.holds(sink, range(2500)).version
    check(first > 1 and after > first, f"versions {first} and {after}")
    return f"{after} micro-batches"


def all_jobs(world: World) -> str:
    """Every job of `lance_arrow.spark.jobs`."""
    uri = world.uri("jobs", "t")
    report = world.job("ingest", uri, rows=[0, 3000, 6], require=["id >= 1000"], quarantine=world.uri("jobs", "bad"))
    equal(report["counts"]["rows_quarantined"], 1000, "rows in quarantine")
    world.holds(uri, range(1000, 3000))
    equal(world.job("delete", uri, predicate="id < 1500")["counts"]["rows_deleted"], 500, "deleted rows")
    world.holds(uri, range(1500, 3000))
    merged = world.job("merge", uri, rows=[2900, 3100, 2])["counts"]
    equal([merged["rows_updated"], merged["rows_inserted"]], [100, 100], "merged rows")
    world.holds(uri, range(1500, 3100))
    compacted = world.job("compact", uri)["counts"]
    equal(compacted["rows_written"], 1600, "compacted rows")
    world.job("rewrite", uri, cluster_by=["g"], num_files=2)
    world.job("rewrite", uri, rows_per_zone=0)
    built = world.job("zones", uri)["counts"]
    check(built["files"] > 0, built)
    verified = world.job("verify", uri)["counts"]
    equal(verified["rows"], 1600, "verified rows")
    world.job("cleanup", uri)
    table = world.holds(uri, range(1500, 3100))
    equal(table.to_table()["s"].to_pylist().count("merged"), 200, "merged values")
    world.orphans(uri)
    return f"8 jobs, {table.version} versions"


def archives(world: World) -> str:
    """An environment that is shipped as an archive; the driver has it unpacked too, for planning."""
    with _shipped(world, "archives") as driver:
        pythons = driver.call("pythons")
        check(pythons and all("/app-" in one for one in pythons), f"interpreters of tasks: {pythons}")
        uri = world.uri("archives", "t")
        driver.call("write", uri=uri, start=0, stop=1000, **world.options)
    world.holds(uri, range(1000), version=1)
    return f"tasks run {PYTHON} on {len(pythons)} workers"


def other_version(world: World) -> str:
    """Executors with another version of the package: one sentence, and nothing is written."""
    said = f"the driver runs lance-arrow {own_version()} and this executor lance-arrow 0.0.7: install the same"
    uri, new = world.uri("other_version", "t"), world.uri("other_version", "new")
    LanceTable.create(uri, pa.table({"id": range(10)}), storage_options=world.storage.options)
    storage = {"storage_options": world.storage.options}
    tried: dict[str, dict[str, Any]] = {
        "write": {"uri": new, "start": 0, "stop": 10, **world.options},
        "summed": {"uri": uri, **world.options},
        "job": {"uri": uri, "job": "verify", **storage},
    }
    with _shipped(world, "other_version", executors="0.0.7") as driver:
        for name, given in tried.items():
            try:
                driver.call(name, **given)
            except DriverError as error:
                check(said in str(error), f"{name}: {error}")
                continue
            check(False, f"{name} went on")
    check(not world.storage.filesystem.exists(new), "something was written")
    return "a write, a read and a job are refused"


@contextmanager
def _shipped(world: World, name: str, *, executors: str | None = None) -> Iterator[Driver]:
    """Run an application whose executors get an environment as an archive, with a version of their own if named."""
    world.stop_driver()
    folder = world.cluster.folder / name
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "environment")], check=True)
    (site,) = (folder / "environment" / "lib").glob("python*/site-packages")
    # The packages themselves stay where they are: a gigabyte with Spark.
    own = [one for one in sys.path if "site-packages" in one or Path(one).is_relative_to(ROOT)]
    (site / "packages.pth").write_text("\n".join(one for one in own if "tests" not in Path(one).parts))
    installed = metadata.distribution("lance-arrow")
    with tarfile.open(folder / "environment.tar.gz", "w:gz") as tar:
        if executors is not None:
            found = site / f"lance_arrow-{executors}.dist-info"
            found.mkdir()
            (found / "METADATA").write_text(f"Metadata-Version: 2.1\nName: lance-arrow\nVersion: {executors}\n")
            (found / "entry_points.txt").write_text(installed.read_text("entry_points.txt") or "")
        for one in (folder / "environment").iterdir():
            tar.add(one, one.name)
        if executors is not None:
            shutil.rmtree(found)
    conf = {"spark.archives": f"{folder / 'environment.tar.gz'}#environment"}
    with world.application(name, conf, env={"PYSPARK_PYTHON": PYTHON}) as driver:
        (driver.log.parent / "environment").symlink_to(folder / "environment")
        yield driver


def connect(world: World) -> str:
    """A client of Spark Connect; the server is an application of the cluster."""
    world.stop_driver()
    uri, port = world.uri("connect", "t"), _free_port()
    folder = world.cluster.folder / "connect"
    folder.mkdir()
    conf = {**SETTINGS, "spark.connect.grpc.binding.port": str(port), "spark.connect.grpc.binding.address": HOST}
    command = [SPARK_HOME / "bin" / "spark-submit", "--master", world.cluster.url]
    command += [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with (folder / "log").open("wb") as log:
        # Spark counts this server among its daemons.
        env = environment(folder, SPARK_DAEMON_MEMORY="512m")
        server = subprocess.Popen(list(map(str, command)), cwd=folder, env=env, stdout=log, stderr=log)
    try:
        check(
            wait(lambda: _listens(port) or server.poll() is not None, 90) and server.poll() is None,
            f"the server did not start: {(folder / 'log').read_text()[-2000:]}",
        )
        client = [sys.executable, "-c", CLIENT, f"sc://{HOST}:{port}", uri, world.options["storageOptions"]]
        done = subprocess.run(
            client, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=240, check=False
        )
        check(done.returncode == 0, done.stderr[-3000:])
        found = json.loads(done.stdout.splitlines()[-1])
        equal(found, [1000, 10, "pyspark.sql.connect.session"], "what the client saw")
    finally:
        end(server)
    world.holds(uri, range(1000), version=1)
    return "1,000 rows written and read by a client without a JVM"


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
