"""Jobs that go through data frames, and one through tasks, on a running Spark."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from shells import CHECKOUT

from lance_arrow import LanceTable
from lance_arrow.demo import flights, ingest
from lance_arrow.errors import InvalidArgumentError, ResourceLimitError
from lance_arrow.spark import jobs
from lance_arrow.spark.jobs import spread as spreading
from lance_arrow.spark.jobs.snapshots import TableSnapshot, address_of, newest


@pytest.fixture
def people(tmp_path: Path) -> str:
    """Seven records: one with a word for a number, one cut short, one younger than nothing."""
    lines = ["id,name,age,born", "1,ada,36,1815-12-10", "2,grace,x,1906-12-09", "3,edsger,72,1930-05-11"]
    lines += ["4,barbara,-5,1939-11-07", "5", "6,tony,,1934-01-11", "7,ken,81,not a day"]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    return str(tmp_path / "people.csv")


SCHEMA = "id long, name string, age string, born string"


def test_ingest_puts_bad_rows_into_quarantine(spark: SparkSession, tmp_path: Path, people: str) -> None:
    said: list[str] = []
    report = jobs.ingest(
        spark,
        people,
        str(tmp_path / "t"),
        read={"header": "true"},
        schema=SCHEMA,
        columns={"id": "id", "name": "upper(name)", "age": "age", "born": "born"},
        types={"age": "int", "born": "date"},
        require=["age IS NULL OR age >= 0"],
        quarantine=str(tmp_path / "bad"),
        cluster_by=["name"],
        num_files=1,
        message="people",
        on_progress=said.append,
    )
    assert LanceTable.open(tmp_path / "t").to_table().to_pydict() == {
        "id": [1, 3, 6],
        "name": ["ADA", "EDSGER", "TONY"],
        "age": [36, 72, None],
        "born": pa.array(["1815-12-10", "1930-05-11", "1934-01-11"]).cast(pa.date32()).to_pylist(),
    }
    bad = LanceTable.open(tmp_path / "bad").to_table().sort_by("record").to_pylist()
    assert sorted(one["problem"] for one in bad) == [
        "column age: the value is no int",
        "column born: the value is no date",
        "not true: age IS NULL OR age >= 0",
        "the record does not fit the schema",
    ]
    assert all(one["file"].endswith("people.csv") for one in bad)
    assert {"5"} <= {one["record"] for one in bad}
    assert json.loads(next(one["record"] for one in bad if "barbara" in one["record"]))["age"] == "-5"
    assert (report.counts["rows_written"], report.counts["rows_quarantined"]) == (3, 4)
    assert (report.version_before, report.version_after) == (None, 1)
    assert LanceTable.open(tmp_path / "t").history()[0].message == "people"
    assert len(said) == 2


def test_ingest_without_quarantine_takes_all_or_nothing(spark: SparkSession, tmp_path: Path, people: str) -> None:
    options = {"read": {"header": "true"}, "schema": SCHEMA, "types": {"age": "int"}}
    with pytest.raises(PySparkException, match=r"the value is no int|does not fit the schema"):
        jobs.ingest(spark, people, str(tmp_path / "t"), **options)
    with pytest.raises(ResourceLimitError, match="2 rows are bad, more than 1"):
        jobs.ingest(spark, people, str(tmp_path / "t"), quarantine=str(tmp_path / "bad"), max_quarantined=1, **options)
    assert not (tmp_path / "t" / "_versions").exists()
    for wrong in ({"mode": "ignore"}, {"format": "xml"}, {"types": {"nope": "int"}}):
        with pytest.raises(InvalidArgumentError):
            jobs.ingest(spark, people, str(tmp_path / "t"), **wrong)


def test_ingest_of_parquet_and_of_frames(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table({"id": range(100), "k": [one % 3 for one in range(100)]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    first = jobs.ingest(spark, str(tmp_path / "rows.parquet"), str(tmp_path / "t"), partition_by=["k"])
    assert first.counts["files_written"] == 3
    second = jobs.ingest(spark, spark.range(100, 150).selectExpr("id", "id % 3 AS k"), str(tmp_path / "t"))
    assert second.version_before == first.version_after
    assert sorted(LanceTable.open(tmp_path / "t").to_table()["id"].to_pylist()) == list(range(150))


def test_rewriting_by_another_order_keeps_types(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table({
        "id": pa.array([one * 7919 % 1000 for one in range(1000)], pa.uint16()),
        "v": pa.array([[one, one + 0.5] for one in range(1000)], pa.list_(pa.float16(), 2)),
        "d": pa.array([f"s{one % 5}" for one in range(1000)]).dictionary_encode(),
    })  # fmt: skip
    table = LanceTable.create(tmp_path / "t", rows, max_rows_per_file=300)
    report = jobs.rewrite(spark, str(tmp_path / "t"), cluster_by=["id"], num_files=1, rows_per_zone=100)
    after = LanceTable.open(tmp_path / "t")
    assert after.schema.equals(table.schema)
    assert after.to_table().to_pydict() == rows.sort_by("id").to_pydict()
    assert report.counts["files_written"] == 1
    assert report.version_after == 2


def test_spread_items_beyond_what_one_job_sends(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "JOB_BYTES", 100)
    items = ["x" * count for count in range(0, 60, 3)]
    before = spark.sparkContext.statusTracker().getJobIdsForGroup(None)
    assert spreading.spread(spark, len, items, num_tasks=2) == list(range(0, 60, 3))
    num_jobs = len(set(spark.sparkContext.statusTracker().getJobIdsForGroup(None)) - set(before))
    assert num_jobs == len(list(spreading._shares(items))) > 5
    assert spreading.spread(spark, len, []) == []


def test_tasks_get_a_table_once(tmp_path: Path) -> None:
    """What all fragments of a table share is pickled once, not with each."""
    table = LanceTable.create(tmp_path / "t", pa.table({f"column_{one}": [0] * 4 for one in range(300)}))
    meta = newest(address_of(str(tmp_path / "t"), None))
    snapshot = TableSnapshot(address_of(str(tmp_path / "t"), None), meta.facts)
    assert meta.fragments[0].file_of(0) is not None, "what it remembers is not pickled"
    assert len(pickle.dumps(snapshot)) > 5 * len(pickle.dumps(meta.fragments[0]))
    again = pickle.loads(pickle.dumps(snapshot))
    assert again.reader(meta.fragments).fragment(0).num_physical == table.count_rows() == 4


def test_compaction_in_tasks(spark: SparkSession, tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"id": range(100)}), max_rows_per_file=10)
    table.delete(pc.field("id") < 5)
    report = jobs.compact(spark, str(tmp_path / "t"), target_rows_per_fragment=40)
    assert report.counts["fragments_made"] < 10
    assert sorted(LanceTable.open(tmp_path / "t").to_table()["id"].to_pylist()) == list(range(5, 100))


@pytest.mark.whole
def test_the_demo_ingests_by_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    """The command in a process of its own, as `spark-submit` would start it; the rows are those that pyarrow makes.

    It is started in the checkout, where Python finds the source tree first, in Spark's workers too. Every day,
    `nox -s first_command` runs the demo so.
    """
    monkeypatch.chdir(CHECKOUT)
    monkeypatch.setattr(ingest, "_SPARK_SECONDS", 280)
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")
    made = flights.run(tmp_path / "spark", engine="spark")
    assert (made.engine, made.notes) == ("spark", [])
    twin = flights.run(tmp_path / "arrow", engine="pyarrow")
    ours = LanceTable.open(tmp_path / "spark" / "trips.lance", version=1)
    theirs = LanceTable.open(tmp_path / "arrow" / "trips.lance", version=1)
    assert ours.schema.remove_metadata().equals(theirs.schema.remove_metadata())
    order = [(name, "ascending") for name in ("origin", "time_hour", "carrier", "flight", "dest")]
    assert ours.to_table().sort_by(order).equals(theirs.to_table().sort_by(order))
    assert ours.to_table()["origin"].to_pylist() == theirs.to_table()["origin"].to_pylist()
    assert [step.rows for step in made.steps[1:4]] == [step.rows for step in twin.steps[1:4]]
    assert ours.history()[-1].message == "flights of 2013"
