"""Sessions of Spark; each but `scale_spark` starts a JVM."""

from __future__ import annotations

import nox

from sessions.common import ROOT, SPARK_EXTRAS, TEST_REQUIREMENTS, WHERE, install

# The releases that pyproject.toml claims.
PYSPARKS = ("4.1", "4.2", "4.3")


@nox.session
@nox.parametrize("release", PYSPARKS)
def pysparks(session: nox.Session, release: str) -> None:
    """Run the tests of Spark with each release of PySpark that is claimed; `-- spark/test_session.py` for some."""
    install(session, SPARK_EXTRAS, f"pyspark=={release}.*", *TEST_REQUIREMENTS)
    session.chdir(ROOT / "tests")
    session.run("pytest", *WHERE, "--whole", *(session.posargs or ["spark"]), env={"LANCE_ARROW_REQUIRE_SPARK": "1"})


@nox.session
def cluster(session: nox.Session) -> None:
    """Run Spark on a master and two workers, tables on S3, and kill what can be killed; `-- --list`, `-- NAME`."""
    install(session, SPARK_EXTRAS, *TEST_REQUIREMENTS, "moto[server]>=5", "s3fs")
    session.run("python", "tests/cluster/run.py", *session.posargs)


@nox.session
def killed_streams(session: nox.Session) -> None:
    """Kill a streaming query 20 times at random moments: each row exactly once in the end; `-- --kills 3` for fewer."""
    install(session, SPARK_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/faults/killed_streams.py", *session.posargs)


@nox.session
def scale_spark(session: nox.Session) -> None:
    """Plan and commit 1 M fragments by 10,000 tasks without a JVM: times and memory of the driver."""
    install(session, SPARK_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/benchmarks/spark_scale.py", *session.posargs)


@nox.session
def bench_spark(session: nox.Session) -> None:
    """Time ingest and reads on Spark beside Parquet and beside sources and sinks that do nothing; asserts nothing."""
    install(session, SPARK_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/benchmarks/spark_pipeline.py", *session.posargs)


@nox.session
def bench_cluster(session: nox.Session) -> None:
    """Ingest, compact, merge into and delete from 60 M rows on two workers, beside Parquet; `-- --rows 2000000`."""
    install(session, SPARK_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/benchmarks/spark_cluster.py", *session.posargs)
