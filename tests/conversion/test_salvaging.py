"""`salvage` writes what can be saved to a new file or table, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.cli.app import run
from lance_arrow.errors import InvalidArgumentError, TableExistsError, TableNotFoundError, TargetExistsError

ROWS = pa.table({"key": list(range(3000)), "text": [f"text {number}" for number in range(3000)]})


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """The first page of the second column is damaged."""
    path = tmp_path / "damaged.lance"
    lance_arrow.write_table(ROWS, path, file_version="2.1", page_bytes=8192)
    with lance_arrow.LanceFile(path) as file:
        place = int(file._file.columns([1])[0].pages[0].buffer_offsets[-1])
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    return path


def test_a_file_is_written(damaged, tmp_path):
    target = tmp_path / "saved.lance"
    before = damaged.read_bytes()
    report = lance_arrow.salvage(damaged, target)
    assert damaged.read_bytes() == before
    assert (report.target, report.ok, report.rows_saved) == (str(target), False, 3000)
    with lance_arrow.LanceFile(target) as file:
        assert file.version == "2.1"
        saved = file.read()
    assert saved["key"].equals(ROWS["key"])
    assert saved["text"].null_count == report.rows_with_nulls > 0
    assert lance_arrow.verify(target).ok
    lance_arrow.salvage(damaged, tmp_path / "skipped.lance", lost="skip")
    assert lance_arrow.read_table(tmp_path / "skipped.lance").equals(saved.filter(saved["text"].is_valid()))


def test_progress(damaged, tmp_path):
    """Rows are told as they are read, and again as they are written."""
    told: list[tuple[int, int]] = []
    lance_arrow.salvage(damaged, tmp_path / "new.lance", on_progress=lambda *said: told.append(said))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (6000, 6000)
    told.clear()
    lance_arrow.salvage(damaged, on_progress=lambda *said: told.append(said))
    assert told[-1] == (3000, 3000)


def test_progress_of_a_table(tmp_path):
    """Rows of a file that is gone are not read, and not written."""
    LanceTable.create(tmp_path / "t", ROWS, max_rows_per_file=1000)
    sorted((tmp_path / "t" / "data").iterdir())[0].unlink()
    told: list[tuple[int, int]] = []
    lance_arrow.salvage(tmp_path / "t", tmp_path / "new.lance", on_progress=lambda *said: told.append(said))
    assert told == [(1000, 6000), (2000, 6000), (3000, 4000), (4000, 4000)]


def test_a_report_alone_writes_nothing(damaged, tmp_path):
    before = sorted(tmp_path.iterdir())
    report = lance_arrow.salvage(damaged)
    assert report.target is None
    assert report.lost
    assert sorted(tmp_path.iterdir()) == before


def test_existing_targets_are_refused(damaged, tmp_path):
    with pytest.raises(InvalidArgumentError, match="is the source"):
        lance_arrow.salvage(damaged, damaged)
    (tmp_path / "there.lance").write_bytes(b"there")
    with pytest.raises(TargetExistsError):
        lance_arrow.salvage(damaged, tmp_path / "there.lance")
    table = LanceTable.create(tmp_path / "table", ROWS)
    LanceTable.create(tmp_path / "other", ROWS)
    with pytest.raises(TableExistsError):
        lance_arrow.salvage(table.uri, tmp_path / "other")
    with pytest.raises(TableNotFoundError):
        lance_arrow.salvage(tmp_path, tmp_path.parent / "new")


def test_nothing_is_written_where_nothing_is_saved(tmp_path):
    path = tmp_path / "one.lance"
    lance_arrow.write_table(ROWS.select(["key"]), path)
    with lance_arrow.LanceFile(path) as file:
        place = file._file.columns([0])[0].byte_range[0]
    content = bytearray(path.read_bytes())
    content[place + 9] ^= 1
    path.write_bytes(content)
    report = lance_arrow.salvage(path, tmp_path / "saved.lance", lost="skip")
    assert (report.rows_saved, report.target, report.left_out) == (0, None, [(0, 3000)])
    assert not (tmp_path / "saved.lance").exists()


def test_a_table_is_written(tmp_path):
    table = LanceTable.create(tmp_path / "table", ROWS, file_version="2.1")
    table.append(ROWS)
    table.delete("key < 100")
    whole = table.to_table()
    Path(table.manifest.facts.data_path(table.manifest.fragments[0].files[0])).unlink()
    report = lance_arrow.salvage(table.uri, tmp_path / "saved")
    saved = LanceTable.open(tmp_path / "saved")
    assert saved.to_table().equals(whole.slice(2900))
    assert saved.manifest.data_format == "2.1"
    assert (report.target, report.rows_saved) == (str(tmp_path / "saved"), 2900)


def test_the_command_writes_and_reports(damaged, tmp_path, capsys):
    target, report = tmp_path / "saved.lance", tmp_path / "report.json"
    assert run(["salvage", str(damaged), str(target), "--skip", "--report", str(report)]) == 1
    text = capsys.readouterr().out
    told = json.loads(report.read_text())
    assert f"{told['rows_saved']:,} rows saved of 3,000" in text
    assert f"wrote: {target}" in text
    (start, stop) = told["left_out"][0]
    assert f"left out: rows {start}..{stop}" in text
    assert "lost: rows 0.." in text
    assert "column 'text', page 0" in text
    assert run(["salvage", str(target)]) == 0
    assert "wrote nothing" in capsys.readouterr().out
    assert run(["--json", "salvage", str(target)]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True
    assert run(["salvage", str(damaged), str(target)]) == 1
    assert "there is a file here already" in capsys.readouterr().err


def test_the_command_tells_of_tables(tmp_path, capsys):
    table = LanceTable.create(tmp_path / "table", ROWS)
    table.append(ROWS)
    table.delete("key < 100")
    newest = max((tmp_path / "table" / "_versions").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:-1])
    path = Path(table.manifest.facts.data_path(table.manifest.fragments[0].files[0]))
    path.write_bytes(path.read_bytes()[:-1])
    for deletion in (tmp_path / "table" / "_deletions").iterdir():
        deletion.unlink()
    assert run(["salvage", table.uri, str(tmp_path / "saved")]) == 1
    text = capsys.readouterr().out
    assert "version 2, 6,000 rows saved of 6,000" in text
    assert "version 3 cannot be read" in text
    assert f"rebuilt from checksums: {path}: the footer, the size of the file" in text
