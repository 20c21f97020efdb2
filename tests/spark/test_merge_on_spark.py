"""`jobs.merge` on a running Spark: each rule, stable ids, a source that is computed once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from lance_arrow import LanceTable
from lance_arrow.choices import Matched, NotMatched, NotMatchedBySource
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.spark import jobs


@pytest.mark.parametrize("stable", [False, True])
def test_merging_equals_that_of_the_library(spark: SparkSession, tmp_path: Path, stable: bool) -> None:
    rows = pa.table({"id": range(100), "v": ["old"] * 100, "w": pa.array(range(100), pa.uint8())})
    new = pa.table({"id": [5, 50, 500, None], "v": ["new"] * 4})
    names = ["id", "v", "w", *(["_rowid", "_row_created_at_version"] if stable else [])]
    table = LanceTable.create(tmp_path / "t", rows, max_rows_per_file=40, enable_stable_row_ids=stable)
    twin = LanceTable.create(tmp_path / "twin", rows, max_rows_per_file=40, enable_stable_row_ids=stable)
    source = spark.createDataFrame(new).coalesce(1)
    report = jobs.merge(spark, source, str(tmp_path / "t"), "id")
    twin.merge(new, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
    after = LanceTable.open(tmp_path / "t")
    made = [file.size_bytes or 0 for one in list(after.manifest.fragments)[3:] for file in one.files]
    assert report.counts == {
        "rows_updated": 2,
        "rows_inserted": 2,
        "rows_deleted": 0,
        "files_written": len(made),
        "bytes_written": sum(made),
        "retries": 0,
    }
    assert after.version == table.version + 1 == 2

    def content(one: LanceTable) -> list[dict[str, object]]:
        return one.to_table(columns=names).sort_by("id").to_pylist()

    # Either of two new rows may get either new id.
    def without_new(one: LanceTable) -> list[dict[str, object]]:
        return [row for row in content(one) if row["id"] is not None and row["id"] < 100]

    assert without_new(after) == without_new(twin)
    assert [(row["id"], row["v"], row["w"]) for row in content(after)] == [
        (row["id"], row["v"], row["w"]) for row in content(twin)
    ]
    if stable:
        return
    twice = spark.createDataFrame(pa.table({"id": [5, 5], "v": ["a", "b"]}))
    with pytest.raises(InvalidArgumentError, match="several rows of the source"):
        jobs.merge(spark, twice, str(tmp_path / "t"), "id")
    assert LanceTable.open(tmp_path / "t").version == 2
    report = jobs.merge(
        spark, spark.range(50), str(tmp_path / "t"), "id", matched="delete", not_matched="ignore",
        not_matched_by_source="delete",
    )  # fmt: skip
    assert report.counts["rows_deleted"] == 102
    assert LanceTable.open(tmp_path / "t").count_rows() == 0


@pytest.mark.cover(1)
@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize(
    ("matched", "not_matched", "others"),
    [
        ("update", "insert", "delete"),
        ("update", "ignore", "keep"),
        ("delete", "insert", "delete"),
        ("delete", "insert", "keep"),
        ("keep", "insert", "delete"),
        ("keep", "insert", "keep"),
        ("keep", "ignore", "delete"),
    ],
)
def test_merging_by_each_rule(
    spark: SparkSession, tmp_path: Path, stable: bool, matched: Matched, not_matched: NotMatched,
    others: NotMatchedBySource,
) -> None:  # fmt: skip
    rows = pa.table({"id": [*range(60), None], "v": ["old"] * 61, "w": pa.array(range(61), pa.uint8())})
    new = pa.table({"v": ["new"] * 23, "id": [*range(50, 70), 3, 5, None]})
    uri = str(tmp_path / "t")
    before = LanceTable.create(uri, rows, max_rows_per_file=25, enable_stable_row_ids=stable)
    ids = before.to_table(columns=["id", "_rowid"]).to_pydict()
    report = jobs.merge(
        spark, spark.createDataFrame(new).repartition(3), uri, "id", matched=matched, not_matched=not_matched,
        not_matched_by_source=others,
    )  # fmt: skip
    both = {*range(50, 60), 3, 5}
    kept = {**dict(zip(range(60), range(60), strict=True)), None: 60}
    expected = [
        (id, "new" if id in both and matched == "update" else "old", w)
        for id, w in kept.items()
        if (matched != "delete" if id in both else others == "keep")
    ]
    if not_matched == "insert":
        expected += [(id, "new", None) for id in [*range(60, 70), None]]
    after = LanceTable.open(uri)
    found = after.to_table(columns=["id", "v", "w", "_rowid"]).to_pylist()
    assert sorted(map(str, expected)) == sorted(str((one["id"], one["v"], one["w"])) for one in found)
    assert report.counts["rows_updated"] == (12 if matched == "update" else 0)
    assert report.counts["rows_inserted"] == (11 if not_matched == "insert" else 0)
    assert report.counts["rows_deleted"] == (12 if matched == "delete" else 0) + (49 if others == "delete" else 0)
    if stable:
        was = dict(zip(ids["id"], ids["_rowid"], strict=True))
        assert all(one["_rowid"] == was[one["id"]] for one in found if one["w"] is not None)
        assert len({one["_rowid"] for one in found}) == len(found)
        assert all(one["_rowid"] >= 61 for one in found if one["w"] is None)


def test_merging_a_source_that_changes(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that would come out otherwise a second time are computed once, so none is lost or doubled."""
    uri = str(tmp_path / "t")
    LanceTable.create(uri, pa.table({"id": range(1000), "v": [0.0] * 1000}))
    computed = spark.sparkContext.accumulator(0)

    def some(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            computed.add(batch.num_rows)
            chosen = random.SystemRandom().sample(range(2000), batch.num_rows)
            yield pa.record_batch({"id": pa.array(chosen, pa.int64()), "v": [1.0] * batch.num_rows})

    source = spark.range(0, 500, 1, 1).mapInArrow(some, "id long, v double")
    report = jobs.merge(spark, source, uri, "id")
    assert computed.value == report.counts["rows_updated"] + report.counts["rows_inserted"] == 500
    found = LanceTable.open(uri).to_table()
    assert len(set(found["id"].to_pylist())) == found.num_rows == 1000 + report.counts["rows_inserted"]
    assert sum(found["v"].to_pylist()) == 500
