"""Spark Connect: a client without a JVM of its own reads, writes and asks in SQL through a server on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from spark_machine import JAVA_OPTIONS, PLUGINS, found_by_name, need_java

from lance_arrow import LanceTable

CLIENT = """
import json, sys
from pyspark.sql import SparkSession
from lance_arrow.spark.source import register

folder, java_options = sys.argv[1:]
spark = (SparkSession.builder.remote("local[1]").config("spark.driver.memory", "1g")
    .config("spark.driver.extraJavaOptions", java_options).config("spark.ui.enabled", "false")
    .config("spark.local.dir", folder).getOrCreate())
told = {"class": type(spark).__module__}
frame = spark.read.format("lance").load(f"{folder}/from")
told["sum"] = frame.filter("id < 10").agg({"id": "sum"}).collect()[0][0]
frame.filter("id >= 900").write.format("lance").mode("append").save(f"{folder}/to")
spark.sql(f"CREATE TEMPORARY VIEW numbers USING lance OPTIONS (path '{folder}/from')")
told["even"] = spark.sql("SELECT count(*) FROM numbers WHERE id % 2 = 0").collect()[0][0]
register(spark)
told["registered"] = spark.read.format("lance").option("columns", "s").load(f"{folder}/from").columns
spark.stop()
print(json.dumps(told))
"""


@pytest.mark.whole
@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(300)
def test_a_client_reads_writes_and_asks(tmp_path: Path) -> None:
    need_java()
    rows = pa.table({"id": range(1000), "s": [str(one) for one in range(1000)]})
    LanceTable.create(tmp_path / "from", rows, max_rows_per_file=100)
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    if not found_by_name("pyspark_lance_arrow"):
        (tmp_path / "path").mkdir()
        (tmp_path / "path" / "pyspark_lance_arrow").symlink_to(PLUGINS / "pyspark_lance_arrow")
        environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "path"), environment.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, str(tmp_path), JAVA_OPTIONS],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told == {"class": "pyspark.sql.connect.session", "sum": 45, "even": 500, "registered": ["s"]}
    assert LanceTable.open(tmp_path / "to").to_table().sort_by("id").equals(rows.slice(900))
