"""The demo's answers are those of the reference package and pyarrow over the same rows, with honest receipts."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as pads
import pytest
from outside import run
from same import assert_same
from witness import Witness

import lance_arrow
from lance_arrow.demo import flights

MAX_DATA_BYTES = 2 << 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def report(folder: Path) -> flights.DemoReport:
    return flights.run(folder)


def test_data_is_small() -> None:
    files = [file for file in flights.data_directory().iterdir() if file.name.endswith((".csv", ".csv.gz"))]
    assert len(files) == 2
    assert sum(file.stat().st_size for file in files) <= MAX_DATA_BYTES


@pytest.mark.interop
def test_files_read_as_the_reference_reads_them(witness: Witness, folder: Path, report: flights.DemoReport) -> None:
    paths = sorted(folder.rglob("*.lance"))
    assert len(paths) == 3
    for path in paths:
        expected = witness.read(path)
        assert lance_arrow.verify(path).ok
        with lance_arrow.LanceFile(path) as file:
            assert file.version == "2.2"
            assert file.schema.equals(expected.schema, check_metadata=True)
            assert_same(expected, file.read())


def test_every_flight_is_there(folder: Path, report: flights.DemoReport) -> None:
    source = pyarrow.csv.read_csv(flights.data_directory() / "flights.csv.gz")
    found = pads.dataset(str(folder / "flights"), format=lance_arrow.LanceFormat()).to_table()
    assert found["flight"].to_pylist() == source["flight"].to_pylist()
    assert found["tailnum"].null_count == source["tailnum"].to_pylist().count("")
    assert found["cancelled"].to_pylist() == [value is None for value in source["dep_time"].to_pylist()]


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    flights.run(tmp_path, on_progress=lambda done, total: seen.append((done, total)))
    assert len(seen) > 3
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1] == (flights.data_directory() / "flights.csv.gz").stat().st_size


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
def test_duckdb_agrees_with_pyarrow(folder: Path, report: flights.DemoReport, witness: Witness) -> None:
    (step,) = (step for step in report.steps if "DuckDB" in step.title)
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
