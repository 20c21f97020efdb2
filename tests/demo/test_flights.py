"""The demo's answers are those of the reference package and pyarrow over the same rows, with honest receipts."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from outside import run
from same import assert_same
from witness import Witness

import lance_arrow
from lance_arrow.demo import flights

MAX_DATA_BYTES = 2 << 20


@pytest.fixture(scope="module")
def report() -> flights.DemoReport:
    return flights.run()


def test_data_is_small_and_of_more_than_one_file() -> None:
    files = sorted(flights.data_directory().rglob("*.lance"))
    assert len(files) == 3
    assert sum(file.stat().st_size for file in files) <= MAX_DATA_BYTES


@pytest.mark.interop
def test_files_read_as_the_reference_reads_them(witness: Witness) -> None:
    for path in flights.data_directory().rglob("*.lance"):
        expected = witness.read(path)
        with lance_arrow.LanceFile(path) as file:
            assert file.version == "2.2"
            assert file.schema.equals(expected.schema, check_metadata=True)
            assert_same(expected, file.read())


def test_report_is_plain_data(report: flights.DemoReport) -> None:
    plain = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert plain["num_rows"] == 51_955
    assert plain["files"] == ["flights/2013-01.lance", "flights/2013-02.lance"]
    assert [len(step["rows"]) > 0 for step in plain["steps"]] == [True] * len(plain["steps"])


def test_receipts_show_projection_and_filter(report: flights.DemoReport) -> None:
    head, late, *_ = report.steps
    assert len(head.rows) == 5
    assert set(late.receipt["columns"]) == {"time_hour", "carrier", "flight", "dest", "dep_delay", "origin"}
    assert late.receipt["files"] == 2
    assert 0 < late.receipt["bytes"] < report.num_bytes
    assert late.receipt["pages"] == 2 * len(late.receipt["columns"])
    assert any("240" in text for text in late.receipt["filters"])


@pytest.mark.interop
def test_duckdb_agrees_with_pyarrow(report: flights.DemoReport, witness: Witness) -> None:
    (step,) = (step for step in report.steps if "DuckDB" in step.title)
    folder = flights.data_directory()
    table = pa.concat_tables([witness.read(path) for path in sorted((folder / "flights").glob("*.lance"))])
    table = table.filter((pc.field("origin") == "JFK") & ~pc.field("cancelled"))
    table = table.join(witness.read(folder / "airlines.lance"), "carrier")
    means = table.group_by("name").aggregate([("arr_delay", "mean"), ([], "count_all")])
    expected = {row["name"]: (row["count_all"], round(row["arr_delay_mean"], 1)) for row in means.to_pylist()}
    assert {row["airline"]: (row["flights"], row["mean_delay_min"]) for row in step.rows} == expected
    assert "unused" not in step.receipt["columns"]
    assert set(step.receipt["columns"]) <= {"carrier", "name", "origin", "cancelled", "arr_delay"}


def test_works_from_any_folder() -> None:
    done = run("from lance_arrow.demo import flights; print(flights.run().num_rows)")
    assert done.stdout.strip() == "51955", done.stderr
