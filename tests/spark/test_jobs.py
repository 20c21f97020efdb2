"""Jobs without a JVM: tasks run here, through pickles, one after another."""

from __future__ import annotations

import datetime
import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from copied_early import copied_early

from lance_arrow import LanceFile, LanceTable
from lance_arrow.errors import CommitConflictError, InvalidArgumentError, LanceError
from lance_arrow.spark import jobs
from lance_arrow.spark.jobs import command, compacting, deleting, spread, verifying, zone_maps
from lance_arrow.spark.source import LanceDataSource

NO_SPARK: Any = None


@pytest.fixture(autouse=True)
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    def here(
        spark: object, function: Callable[[Any], Any], items: Sequence[Any], *, num_tasks: int | None = None
    ) -> list[Any]:
        found = [pickle.loads(spread._result(pickle.loads(pickle.dumps(function)), pickle.dumps(one))) for one in items]
        for error, _ in found:
            if error is not None:
                raise error
        return [result for _, result in found]

    for module in (compacting, deleting, verifying, zone_maps):
        monkeypatch.setattr(module, "spread", here)


def table_of(path: Path, *, files: int = 4, rows: int = 1000, **options: Any) -> LanceTable:
    data = pa.table({
        "id": range(rows), "s": pa.array([f"s{one % 7}" for one in range(rows)]).dictionary_encode(),
        "u": pa.array([one % 256 for one in range(rows)], pa.uint8()),
    })  # fmt: skip
    return LanceTable.create(path, data, max_rows_per_file=rows // files, **options)


def test_jobs_are_found_by_name() -> None:
    assert [name for name in jobs.__all__ if not callable(getattr(jobs, name))] == []
    assert set(jobs.__all__) <= set(dir(jobs))
    with pytest.raises(AttributeError, match=r"module 'lance_arrow\.spark\.jobs' has no attribute 'nope'"):
        _ = jobs.nope


def test_compaction_keeps_rows_and_their_ids(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", enable_stable_row_ids=True)
    table.delete(pc.field("id") < 100)
    before = table.to_table(columns=["id", "s", "u", "_rowid", "_row_created_at_version"])
    said: list[str] = []
    report = jobs.compact(NO_SPARK, str(tmp_path / "t"), target_rows_per_fragment=1000, on_progress=said.append)
    after = LanceTable.open(tmp_path / "t")
    assert after.to_table(columns=before.column_names).to_pydict() == before.to_pydict()
    assert len(after.manifest.fragments) == 1
    num_bytes = sum(file.size_bytes or 0 for one in after.manifest.fragments for file in one.files)
    assert report.counts == {
        "fragments_rewritten": 4, "fragments_made": 1, "rows_written": 900, "bytes_written": num_bytes, "retries": 0,
    }  # fmt: skip
    assert (report.version_before, report.version_after) == (2, after.version)
    assert said == ["compact: 4 of 4 fragments in 1 groups"]
    again = jobs.compact(NO_SPARK, str(tmp_path / "t"), target_rows_per_fragment=400)
    assert again.version_before == again.version_after == after.version
    # The library's own compaction makes the same of it.
    twin = table_of(tmp_path / "twin", enable_stable_row_ids=True)
    twin.delete(pc.field("id") < 100)
    twin.compact(target_rows_per_fragment=1000)
    assert twin.to_table(columns=before.column_names).to_pydict() == before.to_pydict()
    assert [one.physical_rows for one in twin.manifest.fragments] == [
        one.physical_rows for one in after.manifest.fragments
    ]


def test_compactions_copy_pages_and_rewrites_do_not(tmp_path: Path) -> None:
    """A rewrite is asked for because of other encodings."""
    table = table_of(tmp_path / "t")
    before = table.to_table()
    with copied_early() as counts:
        jobs.rewrite(NO_SPARK, str(tmp_path / "t"), preset="compact")
        assert not counts
        jobs.compact(NO_SPARK, str(tmp_path / "t"))
    assert counts == {"id": 4, "s": 4, "u": 4}
    assert LanceTable.open(tmp_path / "t").to_table().to_pydict() == before.to_pydict()


def test_deletion_equals_that_of_the_library(tmp_path: Path) -> None:
    table, twin = table_of(tmp_path / "t"), table_of(tmp_path / "twin")
    for predicate in ("id < 260 AND u > 3", "s = 's1'", "id < 0"):
        report = jobs.delete(NO_SPARK, str(tmp_path / "t"), predicate)
        count = twin.count_rows()
        twin.delete(predicate)
        assert report.counts["rows_deleted"] == count - twin.count_rows()
        assert LanceTable.open(tmp_path / "t").to_table().equals(twin.to_table())
    assert LanceTable.open(tmp_path / "t").version == twin.version == 4
    report = jobs.delete(NO_SPARK, str(tmp_path / "t"), [("id", "<", 250)])
    assert report.counts["fragments_removed"] == 1
    with pytest.raises(InvalidArgumentError, match="nope"):
        jobs.delete(NO_SPARK, str(tmp_path / "t"), "nope = 1")
    assert table.checkout(1).count_rows() == 1000


def test_deletion_counts_zones(tmp_path: Path) -> None:
    """Zones of all fragments are counted once, those of fragments that no row is deleted from among them."""
    table_of(tmp_path / "t", rows_per_zone=50)
    report = jobs.delete(NO_SPARK, str(tmp_path / "t"), "id >= 240 AND id < 260")
    assert (report.counts["zones"], report.counts["zones_pruned"]) == (20, 18)
    assert report.counts["rows_deleted"] == 20
    table_of(tmp_path / "none", rows_per_zone=None)
    report = jobs.delete(NO_SPARK, str(tmp_path / "none"), "id < 10")
    assert (report.counts["zones"], report.counts["zones_pruned"]) == (0, 0)


def test_deletion_goes_on_where_others_came_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(tmp_path / "t")
    found = deleting.spread
    others = iter([lambda: table.delete(pc.field("id") == 5)])

    def disturbed(*arguments: Any, **options: Any) -> Any:
        result = found(*arguments, **options)
        for one in others:
            one()
            break
        return result

    monkeypatch.setattr(deleting, "spread", disturbed)
    report = jobs.delete(NO_SPARK, str(tmp_path / "t"), "id < 10")
    assert report.counts["rows_deleted"] == 9
    assert report.counts["retries"] == 1
    assert LanceTable.open(tmp_path / "t").to_table()["id"].to_pylist() == list(range(10, 1000))


def test_rewriting_in_place_keeps_types_and_ids(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", enable_stable_row_ids=True, rows_per_zone=None)
    table.delete(pc.field("id") == 3)
    before = table.to_table(columns=["id", "s", "u", "_rowid"])
    report = jobs.rewrite(NO_SPARK, str(tmp_path / "t"), rows_per_zone=100, preset="compact")
    after = LanceTable.open(tmp_path / "t")
    assert after.schema.equals(table.schema, check_metadata=True)
    assert after.to_table(columns=before.column_names).to_pydict() == before.to_pydict()
    num_bytes = sum(file.size_bytes or 0 for one in after.manifest.fragments for file in one.files)
    assert report.counts == {"rows_written": 999, "files_written": 4, "bytes_written": num_bytes}
    assert all(one.deletion is None for one in after.manifest.fragments)


def test_rewriting_into_another_file_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(tmp_path / "t", file_version="2.1")
    before = table.to_table()
    jobs.rewrite(NO_SPARK, str(tmp_path / "t"), file_version="2.2")
    after = LanceTable.open(tmp_path / "t")
    assert after.to_table().equals(before)
    assert after.schema.equals(table.schema)
    for fragment in after.manifest.fragments:
        with LanceFile(tmp_path / "t" / "data" / fragment.files[0].path) as file:
            assert file.version == "2.2"
    found = compacting.spread

    def disturbed(*arguments: Any, **options: Any) -> Any:
        result = found(*arguments, **options)
        LanceTable.open(tmp_path / "t").append(before.slice(0, 1))
        return result

    monkeypatch.setattr(compacting, "spread", disturbed)
    with pytest.raises(CommitConflictError, match="version 2 was to be replaced, but the newest one is 3"):
        jobs.rewrite(NO_SPARK, str(tmp_path / "t"), file_version="2.1")
    assert LanceTable.open(tmp_path / "t").count_rows() == 1001
    names = {file.path for one in LanceTable.open(tmp_path / "t").manifest.fragments for file in one.files}
    assert len(set(path.name for path in (tmp_path / "t" / "data").iterdir()) - names) == 4


def test_zones_are_built_beside_files_and_used(tmp_path: Path) -> None:
    table_of(tmp_path / "t", rows_per_zone=None)
    path = str(tmp_path / "t")
    report = jobs.zones(NO_SPARK, path, columns=["id"], rows_per_zone=50)
    assert report.counts["sidecars_written"] == report.counts["columns_built"] == 4
    source = LanceDataSource({"path": path, "filter": "id = 260"})
    (partition,) = source.reader(source.schema()).partitions()
    assert [(one.fragment.id, one.starts, one.stops) for one in partition.pieces] == [(1, (0,), (50,))]
    with pytest.raises(InvalidArgumentError, match="'nope'"):
        jobs.zones(NO_SPARK, path, columns=["nope"])


def test_verification_lists_everything_that_is_wrong(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", rows=4000)
    table.delete(pc.field("id") == 3999)
    path = str(tmp_path / "t")
    good = jobs.verify(NO_SPARK, path)
    assert good.ok
    assert good.counts["files"] == 4
    assert good.counts["rows"] == 3999
    assert good.counts["blocks_compared"] > 0
    files = [tmp_path / "t" / "data" / one.files[0].path for one in table.manifest.fragments]
    damaged = bytearray(files[0].read_bytes())
    damaged[100] ^= 1
    files[0].write_bytes(damaged)
    files[1].unlink()
    files[2].write_bytes(files[2].read_bytes()[:-50])
    (deletion,) = (tmp_path / "t" / "_deletions").iterdir()
    deletion.write_bytes(b"nothing")
    bad = jobs.verify(NO_SPARK, path)
    assert not bad.ok
    assert [problem.split(":")[0] for problem in bad.problems] == [f"fragment {number}" for number in range(4)]
    assert "checksum" in bad.problems[0]
    assert "MissingFileError" in bad.problems[1]
    assert jobs.verify(NO_SPARK, path, version=1).counts["fragments"] == 4


def test_cleanup_finds_what_dead_tasks_left(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_of(path)
    LanceTable.open(path).overwrite(pa.table({"id": [1]}))
    writer = LanceDataSource({"path": str(path)}).writer(LanceDataSource({"path": str(path)}).schema(), False)
    writer.write(iter([pa.record_batch({"id": [2]})]))
    told = jobs.cleanup(NO_SPARK, str(path), delete_unverified=True)
    assert told.counts["unnamed_files_would_go"] == 1
    assert len(list((path / "data").iterdir())) == 6
    now = datetime.timedelta(0)
    gone = jobs.cleanup(NO_SPARK, str(path), older_than=now, delete_unverified=True, dry_run=False)
    assert gone.counts["unnamed_files_gone"] == 1
    assert gone.counts["versions_gone"] == 1
    assert len(list((path / "data").iterdir())) == 1
    assert LanceTable.open(path).to_table().to_pydict() == {"id": [1]}


def test_cleanup_as_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table_of(tmp_path / "t")
    assert command.main(["cleanup", str(tmp_path / "t")]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["counts"]["versions_kept"] == 1
    assert err == "cleanup: looking\n"
    assert command.main(["cleanup", str(tmp_path / "not"), "--report", str(tmp_path / "report.json")]) == 1
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["error"]["type"] == "TableNotFoundError"
    assert "there is no table here" in capsys.readouterr().err


def test_commands_refuse_what_makes_no_sense(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong in (["nope"], ["ingest", "a"], ["ingest", "a", "b", "--read", "x"], ["delete", "t"]):
        with pytest.raises(SystemExit) as caught:
            command.main(wrong)
        assert caught.value.code == 2
    assert command.main([]) == 2
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    capsys.readouterr()
    assert command.main(["verify", str(tmp_path)]) == 1
    said = json.loads(capsys.readouterr().out)
    told = f"Spark needs Java 17 or newer, JAVA_HOME is {str(tmp_path)!r} and has no executable bin/java: "
    assert said["error"]["message"].startswith(told)


def test_errors_of_tasks_come_back_as_they_are(tmp_path: Path) -> None:
    table_of(tmp_path / "t")
    (file, *_) = (tmp_path / "t" / "data").iterdir()
    file.unlink()
    with pytest.raises(LanceError, match=file.name):
        jobs.compact(NO_SPARK, str(tmp_path / "t"))
    assert LanceTable.open(tmp_path / "t").version == 1


class Context:
    """The part of a Spark context that describes jobs."""

    def __init__(self) -> None:
        self.properties: dict[str, str | None] = {"spark.job.description": "mine"}

    def getLocalProperty(self, name: str) -> str | None:
        return self.properties.get(name)

    def setLocalProperty(self, name: str, value: str | None) -> None:
        self.properties[name] = value


def test_spark_is_told_table_and_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table_of(tmp_path / "t")
    context = Context()
    seen = []
    plain = deleting.spread

    def watched(*args: Any, **named: Any) -> list[Any]:
        seen.append(context.properties["spark.job.description"])
        return plain(*args, **named)

    monkeypatch.setattr(deleting, "spread", watched)
    session: Any = SimpleNamespace(sparkContext=context)
    jobs.delete(session, str(tmp_path / "t"), "id < 10")
    assert seen == [f"lance delete {tmp_path / 't'}: looking at 4 fragments"]
    assert context.properties["spark.job.description"] == "mine"
    monkeypatch.setattr(deleting, "spread", None)
    with pytest.raises(TypeError):
        jobs.delete(session, str(tmp_path / "t"), "id < 20")
    assert context.properties["spark.job.description"] == "mine"
