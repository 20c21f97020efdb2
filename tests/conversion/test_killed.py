"""A conversion that is killed at any call leaves the target as it was, or complete, and hinders no second one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import killed_conversions
import pyarrow.parquet as pq
import pytest
from killed_conversions import NUM_ROWS, OLD_ROWS, WAYS, rows

import lance_arrow
from lance_arrow.errors import TableNotFoundError


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory, whole_run: bool) -> Path:
    step = 1 if whole_run else 3
    root = tmp_path_factory.mktemp("killed")
    killed_conversions.prepare(root / "prepared")
    done = subprocess.run(
        [sys.executable, killed_conversions.__file__, str(root), str(step)],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    # Each way writes through several calls.
    assert int(done.stdout) >= 6 // step * len(WAYS)
    return root


@pytest.mark.xdist_group("killed")
@pytest.mark.parametrize("way", WAYS)
def test_all_or_nothing(killed: Path, way: str) -> None:
    folders = sorted(killed.glob(f"{way} [0-9][0-9][0-9]"))
    states = [state(way, folder) for folder in folders]
    assert set(states) <= {"before", "after"}
    assert states[0] == "before"
    assert states[-1] == "after", "the last one lived"
    # Once it is there, it stays.
    assert states == sorted(states, reverse=True), states
    for folder in folders[:: max(1, len(folders) // 4)]:
        if way == "append" or state(way, folder) == "before":
            WAYS[way](folder)
        assert state(way, folder) == "after" or way == "append"


def state(way: str, folder: Path) -> str:
    new = rows(NUM_ROWS)
    visible = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    if way in ("file", "over file"):
        name = "out.lance" if way == "file" else "old.lance"
        if name not in visible:
            assert way == "file", "the old file is gone"
            return "before"
        found = lance_arrow.read_table(folder / name)
        if way == "over file" and found.equals(rows(OLD_ROWS)):
            return "before"
        assert found.equals(new)
        assert lance_arrow.verify(folder / name).ok
        return "after"
    if way == "export":
        if "out.parquet" not in visible:
            return "before"
        assert pq.read_table(folder / "out.parquet").equals(new)
        return "after"
    try:
        table = lance_arrow.LanceTable.open(folder / ("out" if way == "table" else "old"))
    except TableNotFoundError:
        assert way == "table"
        return "before"
    if way != "table" and table.version == 1:
        assert table.to_table().equals(rows(OLD_ROWS))
        return "before"
    found = table.to_table()
    assert (found.slice(OLD_ROWS) if way == "append" else found).slice(0, NUM_ROWS).equals(new)
    return "after"
