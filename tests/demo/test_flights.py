"""The demo's answers are those of the reference package and pyarrow over the same rows, with honest receipts.

Ingested by pyarrow here; tests/spark has the other way.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest
from outside import run
from same import assert_same
from witness import Witness

import lance_arrow
from lance_arrow.cli.app import run as command
from lance_arrow.demo import flights, ingest
from lance_arrow.errors import InvalidArgumentError, LanceError, UnsupportedError

MAX_DATA_BYTES = 2 << 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def report(folder: Path) -> flights.DemoReport:
    return flights.run(folder, engine="pyarrow")


def test_data_is_small() -> None:
    files = [file for file in flights.data_directory().iterdir() if file.name.endswith((".csv", ".csv.bz2"))]
    assert len(files) == 2
    assert sum(file.stat().st_size for file in files) <= MAX_DATA_BYTES


@pytest.mark.interop
def test_every_version_reads_as_the_reference_reads_it(
    witness: Witness, folder: Path, report: flights.DemoReport
) -> None:
    table = lance_arrow.LanceTable.open(folder / "trips.lance")
    assert table.version == 4
    for version in (1, 2, 4):
        expected = witness.read_version(folder / "trips.lance", version)
        assert_same(expected, table.checkout(version).to_table())
    files = [path for path in sorted(folder.rglob("*.lance")) if path.is_file()]
    assert {path.name for path in files} >= {"flights.lance", "airlines.lance", "2013-01.lance", "2013-02.lance"}
    for path in files:
        assert lance_arrow.verify(path).ok


def test_every_flight_is_there(folder: Path, report: flights.DemoReport) -> None:
    source = pyarrow.csv.read_csv(flights.data_directory() / "flights.csv.bz2")
    found = lance_arrow.LanceTable.open(folder / "trips.lance", version=1).to_table()
    keys = ["time_hour", "carrier", "flight", "origin", "dest"]
    source = source.set_column(
        source.schema.names.index("time_hour"), "time_hour", source["time_hour"].cast(found["time_hour"].type)
    )
    order = [(key, "ascending") for key in keys]
    assert found.sort_by(order)["flight"].to_pylist() == source.sort_by(order)["flight"].to_pylist()
    assert found["tailnum"].null_count == source["tailnum"].to_pylist().count("")
    missing = [value is None for value in source.sort_by(order)["dep_delay"].to_pylist()]
    assert found.sort_by(order)["cancelled"].to_pylist() == missing
    assert found["origin"].to_pylist() == sorted(found["origin"].to_pylist())


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    flights.run(tmp_path, engine="pyarrow", on_progress=lambda done, total: seen.append((done, total)))
    assert len(seen) > 3
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1] == (flights.data_directory() / "flights.csv.bz2").stat().st_size


def test_report_is_plain_data(report: flights.DemoReport) -> None:
    plain = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert plain["num_rows"] == 51_955
    assert plain["engine"] == "pyarrow"
    assert len(plain["files"]) == 3
    assert plain["notes"] == []
    assert [len(step["rows"]) > 0 for step in plain["steps"]] == [True] * len(plain["steps"])


def test_every_receipt_has_figures(report: flights.DemoReport) -> None:
    assert len(report.steps) == 6
    for step in report.steps:
        for name in ("reads", "files", "pages", "rows", "requests", "bytes", "seconds"):
            assert step.receipt[name] > 0, (step.title, name)
        assert step.receipt["columns"]


def test_what_is_kept(folder: Path, report: flights.DemoReport) -> None:
    assert report.kept == str(folder)
    made = sorted(path.name for path in folder.iterdir())
    assert made == ["airlines.csv", "airlines.lance", "flights", "flights.csv.bz2", "flights.lance", "trips.lance"]
    table = lance_arrow.LanceTable.open(folder / "trips.lance")
    assert {name: tag.version for name, tag in table.tags.items()} == {"flown": 2}
    assert list(table.branches) == ["trial"]
    everything = lance_arrow.read_table(folder / "flights.lance")
    assert everything["time_hour"].to_pylist() == sorted(everything["time_hour"].to_pylist())
    assert everything["route"][0].as_py().keys() == {"origin", "dest"}
    months = [lance_arrow.read_table(path) for path in sorted((folder / "flights").iterdir())]
    assert [month.num_rows for month in months] == [27_004, 24_951]
    assert pa.concat_tables(months).equals(everything)


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InvalidArgumentError, match="new or empty folder"):
        flights.run(tmp_path, engine="pyarrow")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_failure_on_spark_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "why_not_spark", lambda: None)
    # Fails before a JVM is started: the job is run with an interpreter that has no PySpark.
    monkeypatch.setattr(sys, "executable", str(_without_spark(tmp_path)))
    with pytest.raises(LanceError, match=r"the ingest job failed on Spark: .*--engine pyarrow"):
        flights.run(tmp_path / "demo")


def _without_spark(folder: Path) -> Path:
    """Make an interpreter that fails as one without PySpark does."""
    script = folder / "python"
    script.write_text('#!/bin/sh\necho "No module named pyspark" >&2\nexit 1\n')
    script.chmod(0o755)
    return script


def test_receipts_show_projection_and_filter(report: flights.DemoReport) -> None:
    head, late, *_ = report.steps
    assert len(head.rows) == 5
    assert set(late.receipt["columns"]) == {"time_hour", "carrier", "flight", "dest", "dep_delay", "origin"}
    assert 0 < late.receipt["bytes"] < report.num_bytes
    # Sorted by origin: zone maps leave the part that begins in LaGuardia.
    assert late.receipt["zones"] / 2 <= late.receipt["zones_pruned"] < late.receipt["zones"]
    assert any("240" in text for text in late.receipt["filters"])


def test_deletion_compaction_and_a_look_back(report: flights.DemoReport) -> None:
    deleted, compacted, before = (step.rows[0] for step in report.steps[-3:])
    assert deleted == {"version": 2, "fragments": 3, "flights": 50_173, "cancelled": 0}
    assert compacted == {"version": 4, "fragments": 1, "flights": 50_173, "cancelled": 0}
    assert before == {"version": 1, "fragments": 3, "flights": 51_955, "cancelled": 51_955 - 50_173}


def test_without_java_it_ingests_with_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = str(tmp_path / "nothing")
    monkeypatch.setenv("JAVA_HOME", home)
    report = flights.run(tmp_path / "demo")
    assert report.engine == "pyarrow"
    (note,) = report.notes
    assert note.startswith(
        "pyarrow ingests the flights, because Spark cannot run: "
        f"Spark needs Java 17 or newer, JAVA_HOME is {home!r} and has no executable bin/java: "
    )
    assert report.num_rows == 51_955
    with pytest.raises(UnsupportedError, match="Java 17"):
        flights.run(tmp_path / "asked", engine="spark")
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_the_command_says_why_before_it_ingests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """The line is complete when the ingest begins; it is printed once, and not on standard output."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    told: list[str] = []

    def ingest_late(*given: object, **named: object) -> None:
        told.append(capsys.readouterr().err)
        ingest.ingest(*given, **named)

    monkeypatch.setattr(flights, "ingest", ingest_late)
    assert command(["demo", "--keep", str(tmp_path / "demo"), *arguments]) == 0
    [before] = told
    assert before.startswith("note: pyarrow ingests the flights, because Spark cannot run: Spark needs Java 17 or ")
    assert before.count("\n") == 1
    after = capsys.readouterr()
    assert "Spark cannot run" not in after.err
    if arguments:
        document = json.loads(after.out)
        assert (document["engine"], document["notes"]) == ("pyarrow", [before.removeprefix("note: ").strip()])
    else:
        assert "51,955 rows ingested by pyarrow" in after.out
        assert "Spark" not in after.out


def test_without_duckdb_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "duckdb" else found(name))
    report = flights.run(tmp_path, engine="pyarrow")
    assert report.notes == ["DuckDB is skipped, not installed: python -m pip install 'lance-arrow[duckdb]'"]
    assert not any("DuckDB" in step.title for step in report.steps)
    assert len(report.steps) == 5


def test_the_job_runs_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of Spark Connect would not see the demo's folder."""
    seen = tmp_path / "seen"
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nenv > "{seen}"\n')
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost:1")
    ingest.by_spark(flights.data_directory(), tmp_path / "t")
    variables = dict(line.split("=", 1) for line in seen.read_text().splitlines() if "=" in line)
    assert "SPARK_REMOTE" not in variables
    assert variables["PYSPARK_SUBMIT_ARGS"].startswith("--master local[2] ")


@pytest.mark.interop
def test_duckdb_agrees_with_pyarrow(folder: Path, report: flights.DemoReport, witness: Witness) -> None:
    (step,) = (step for step in report.steps if "DuckDB" in step.title)
    table = witness.read_version(folder / "trips.lance", 1)
    table = table.filter((pc.field("origin") == "JFK") & ~pc.field("cancelled"))
    # pyarrow joins no nested columns.
    table = table.drop_columns("route").join(witness.read(folder / "airlines.lance"), "carrier")
    means = table.group_by("name").aggregate([("arr_delay", "mean"), ([], "count_all")])
    expected = {row["name"]: (row["count_all"], round(row["arr_delay_mean"], 1)) for row in means.to_pylist()}
    assert {row["airline"]: (row["flights"], row["mean_delay_min"]) for row in step.rows} == expected
    assert "unused" not in step.receipt["columns"]
    assert set(step.receipt["columns"]) <= {"carrier", "name", "origin", "cancelled", "arr_delay"}


def test_works_from_any_folder() -> None:
    done = run("from lance_arrow.demo import flights; print(flights.run(engine='pyarrow').num_rows)")
    assert done.stdout.strip() == "51955", done.stderr
