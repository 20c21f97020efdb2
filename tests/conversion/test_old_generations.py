"""Old files and tables become new ones: same rows in order, verified, with progress; from Python and the command."""

from __future__ import annotations

import json
from pathlib import Path

import golden
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from canonical import difference
from same import assert_same
from witness import Witness

import lance_arrow
from lance_arrow.cli.app import run
from lance_arrow.errors import TableExistsError

OLD = ["v0.7.5/with_deletions/dataset", "v0.8.14/corrupt_index/dataset", "v0.21.0/bad_index_fragment_bitmap/dataset"]


def rows() -> pa.Table:
    return pa.table({"n": [3, 1, 2], "s": ["c", "a", "b"], "l": pa.array([[1], [], [2, 3]], pa.list_(pa.int32()))})


@pytest.mark.interop
@pytest.mark.parametrize("version", ["legacy", "2.0"])
def test_old_tables_and_files(witness: Witness, tmp_path: Path, version: str) -> None:
    table = witness.write_directory(rows(), tmp_path / "old.lance", version)
    seen: list[tuple[int, int | None]] = []
    report = lance_arrow.convert(
        table, tmp_path / "new.lance", file_version="2.2", on_progress=lambda done, total: seen.append((done, total))
    )
    assert (report.target_kind, report.table_version, report.file_version) == ("table", 1, "2.2")
    assert (report.sources[0].format, report.num_rows, report.verified) == ("table", 3, True)
    done, total = seen[-1]
    assert total in (None, done)
    made = lance_arrow.LanceTable.open(tmp_path / "new.lance")
    assert_same(rows(), made.to_table())
    assert {file.version.value for fragment in made.manifest.fragments for file in fragment.files} == {"2.2"}
    (file,) = (table / "data").glob("*.lance")
    report = lance_arrow.convert(file, tmp_path / "file.lance")
    assert (report.sources[0].format, report.num_rows, report.verified) == ("lance", 3, True)
    with lance_arrow.LanceFile(tmp_path / "file.lance") as new:
        assert new.version == "2.2"
        assert_same(rows(), new.read())


@pytest.mark.interop
def test_the_command(witness: Witness, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = witness.write_directory(rows(), tmp_path / "old.lance", "legacy")
    assert run(["convert", str(table), str(tmp_path / "new.lance"), "--file-version", "2.2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["num_rows"] == 3
    assert report["verified"] is True
    assert_same(rows(), witness.read_directory(tmp_path / "new.lance"))
    assert run(["convert", str(table), str(tmp_path / "new.lance")]) == 1
    assert "there is a table here already" in capsys.readouterr().err


def test_a_table_is_not_replaced(tmp_path: Path) -> None:
    for name in ("one.lance", "two.lance"):
        lance_arrow.LanceTable.create(tmp_path / name, rows())
    with pytest.raises(TableExistsError):
        lance_arrow.convert(tmp_path / "one.lance", tmp_path / "two.lance")


@pytest.mark.parametrize("name", OLD)
def test_historical_tables(tmp_path: Path, name: str) -> None:
    root = golden.FOLDER / name
    if not root.exists():
        pytest.skip(f"no historical tables in {golden.FOLDER}; set LANCE_ARROW_GOLDEN to their folder")
    newest = max(int(path.stem[1:]) for path in root.parent.glob("expected/v*.parquet"))
    expected = pq.read_table(root.parent / "expected" / f"v{newest}.parquet")
    lance_arrow.convert(root, tmp_path / "new.lance")
    actual = lance_arrow.LanceTable.open(tmp_path / "new.lance").to_table()
    for column in actual.column_names:
        assert difference(expected[column], actual[column], types=False) is None
    assert actual.num_rows == expected.num_rows
