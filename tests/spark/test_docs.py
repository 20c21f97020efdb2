"""The blocks of the pages about Spark run, in order, in the session of this room; so do the README's lines of Spark."""

from __future__ import annotations

import bz2
import itertools
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyspark
import pytest

from lance_arrow import LanceTable
from lance_arrow.demo.flights import data_directory
from lance_arrow.spark import jobs
from lance_arrow.spark.options import READ_NAMES, STREAM_NAMES, WRITE_NAMES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "spark.md"
OTHERS = ("how_to/stream_with_spark.md", "coming_from/lance_spark.md")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Spark resolves relative paths where its JVM was started, which is not where the test may write.
PLACE = re.compile(r"""(["'])(\w+\.lance|flights\.csv\.bz2|warehouse|checkpoint(?:_\w+)?)\1""")


LINES_EVERY_DAY = 5000


@pytest.fixture
def flights(tmp_path: Path, whole_run: bool) -> pa.Table:
    """What `lance-arrow demo --keep` leaves in a folder, or its first lines."""
    name = "flights.csv.bz2"
    if whole_run:
        shutil.copy(data_directory() / name, tmp_path)
    else:
        with bz2.open(data_directory() / name) as source, bz2.open(tmp_path / name, "wb") as sink:
            sink.writelines(itertools.islice(source, 1 + LINES_EVERY_DAY))
    return pyarrow.csv.read_csv(tmp_path / name)


def run(page: Path, tmp_path: Path, beginning: str = "") -> dict[str, object]:
    """Run the blocks of a page that begin so, and return their names."""
    text = page.read_text()
    if pyspark.__version__.startswith("4.1."):
        # Which bounds no micro-batches.
        text = text.replace('.option("maxRowsPerTrigger", 1000000)', "")
    # As a script: what it defines travels to tasks by value.
    example: dict[str, object] = {"__name__": "__main__"}
    for found in BLOCK.finditer(text):
        if not found[1].startswith(beginning):
            continue
        line = text[: found.start()].count("\n") + 1
        code = PLACE.sub(lambda place: f"{place[1]}{tmp_path}/{place[2]}{place[1]}", found[1])
        exec(compile("\n" * line + code, str(page), "exec", dont_inherit=True), example)
    return example


@pytest.mark.whole
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.usefixtures("spark", "flights")
def test_other_pages_run(name: str, tmp_path: Path) -> None:
    run(DOCS / name, tmp_path)


@pytest.mark.usefixtures("spark")
def test_the_page_runs(tmp_path: Path, flights: pa.Table) -> None:
    report = run(PAGE, tmp_path)["report"]
    assert isinstance(report, jobs.JobReport)
    short = pc.sum(pc.less_equal(flights["distance"], 100)).as_py()
    assert report.counts["rows_quarantined"] == short > 0
    assert report.counts["rows_written"] == flights.num_rows - short


@pytest.mark.usefixtures("spark")
def test_the_four_lines_of_the_readme_run(
    tmp_path: Path, flights: pa.Table, capsys: pytest.CaptureFixture[str]
) -> None:
    import_line = "from pyspark.sql import SparkSession\n"
    readme = DOCS.parent / "README.md"
    [block] = [found[1] for found in BLOCK.finditer(readme.read_text()) if found[1].startswith(import_line)]
    assert len(block.replace("\n\n", "\n").splitlines()) == 4
    run(readme, tmp_path, import_line)
    table = LanceTable.open(tmp_path / "all.lance")
    assert table.count_rows() == flights.num_rows
    late = flights.filter(pc.greater(flights["dep_delay"], 60)).group_by("carrier").aggregate([([], "count_all")])
    shown = dict(re.findall(r"^\|\s*(\w+)\|\s*(\d+)\|$", capsys.readouterr().out, re.MULTILINE))
    assert shown == {row["carrier"]: str(row["count_all"]) for row in late.to_pylist()}


def test_every_option_and_job_is_documented() -> None:
    text = PAGE.read_text()
    undocumented = [name for name in (*READ_NAMES, *STREAM_NAMES, *WRITE_NAMES) if f"`{name}`" not in text]
    assert undocumented == ["path", "path"]
    assert [name for name in jobs.__all__ if f"`{name}" not in text] == []
