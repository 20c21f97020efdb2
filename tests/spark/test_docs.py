"""The blocks of docs/spark.md run, in order, in the session of this room."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
from pyspark.sql import SparkSession

from lance_arrow.spark import jobs
from lance_arrow.spark.options import READ_NAMES, STREAM_NAMES, WRITE_NAMES

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Spark resolves relative paths where its JVM was started, which is not where the test may write.
PLACE = re.compile(r"""(["'])(\w+\.lance|flights\.csv\.gz|checkpoint)\1""")


def test_the_page_runs(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table({
        "time": [f"2013-01-{1 + one % 28:02} 10:00:00" for one in range(600)],
        "carrier": [("UA", "AA", "B6", "DL")[one % 4] for one in range(600)],
        "dest": [("LAX", "ATL", "ORD")[one % 3] for one in range(600)],
        "dep_delay": pa.array([None if one % 50 == 0 else one % 200 - 20 for one in range(600)], pa.int16()),
        "distance": pa.array([0 if one == 7 else 100 + one for one in range(600)], pa.int32()),
    })  # fmt: skip
    with gzip.open(tmp_path / "flights.csv.gz", "wb") as file:
        pyarrow.csv.write_csv(rows, file)
    text = PAGE.read_text()
    # As a script: what it defines travels to tasks by value.
    example: dict[str, object] = {"__name__": "__main__"}
    for found in BLOCK.finditer(text):
        line = text[: found.start()].count("\n") + 1
        code = PLACE.sub(lambda place: f"{place[1]}{tmp_path}/{place[2]}{place[1]}", found[1])
        exec(compile("\n" * line + code, str(PAGE), "exec", dont_inherit=True), example)
    report = example["report"]
    assert isinstance(report, jobs.JobReport)
    assert report.counts["rows_quarantined"] == 1
    assert report.counts["rows_written"] == 599


def test_every_option_and_job_is_documented() -> None:
    text = PAGE.read_text()
    undocumented = [name for name in (*READ_NAMES, *STREAM_NAMES, *WRITE_NAMES) if f"`{name}`" not in text]
    assert undocumented == ["path", "path"]
    assert [name for name in jobs.__all__ if f"`{name}" not in text] == []
