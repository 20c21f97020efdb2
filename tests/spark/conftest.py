"""One Spark session for the whole room, small: two cores, a bounded heap, no UI; gone when the room is done."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from spark_machine import JAVA_OPTIONS, PLUGINS, found_by_name, need_java

from lance_arrow.spark.environment import unpacked_home


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker have all tests that need the session: each worker would start its own."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    need_java()
    folder = tmp_path_factory.mktemp("spark")
    patch = pytest.MonkeyPatch()
    patch.setenv("PYSPARK_PYTHON", sys.executable)
    patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
    patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    # Each Python process of Spark begins sooner.
    patch.setenv("SPARK_HOME", str(unpacked_home(folder / "home")))
    if not found_by_name("pyspark_lance_arrow"):
        (folder / "path").mkdir()
        (folder / "path" / "pyspark_lance_arrow").symlink_to(PLUGINS / "pyspark_lance_arrow")
        patch.setenv("PYTHONPATH", str(folder / "path"), prepend=os.pathsep)
    builder = SparkSession.builder.master("local[2]").appName("lance-arrow tests")
    for key, value in {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.timeType.enabled": "true",
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
    gateway = session.sparkContext._gateway
    if gateway is not None:
        # stop() leaves the JVM running until this process ends.
        gateway.shutdown()
        gateway.proc.terminate()
        gateway.proc.wait(30)
    patch.undo()
